"""Step 3, solve: the one loop.

All of it is Lloyd's algorithm in the space that the landmarks span. Rows give kernel
rows φ; these give labels and a `Stats`; Stats add; centers follow from their sum.
Bounds on distances prove most labels without looking at the point again
(docs/design.md derives them). Where the rows are is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.core.bounds import Moves, most_past
from akkm.core.gram import Centers, Gram
from akkm.core.nearest import Probes, View, require_finite
from akkm.core.parts import NOTHING, Parts, Stats

Array = NDArray[Any]

# A cluster below this share of its largest size is summed anew.
_SHRUNK = 1 / 16


@dataclass(frozen=True)
class Step:
    """One iteration, for whoever watches."""

    iteration: int
    changed: int  # rows whose label changed
    evaluated: int  # rows whose kernel row was needed
    centers: Centers


@dataclass(frozen=True)
class Solution:
    """The end of a run."""

    parts: Parts  # the rows, with their labels
    centers: Centers  # the ones the labels are nearest to
    stats: Stats
    history: Array  # (t, 2) of each iteration: labels changed, rows looked at
    converged: bool
    stopped: bool  # by whoever watched

    @property
    def labels(self) -> Any:
        """(n,) int32"""
        return self.parts.labels

    @property
    def n_iter(self) -> int:
        """Iterations over all rows."""
        return len(self.history)

    def error(self, trace: float) -> float:
        """Sum of squared distances to the centers; `trace` is sum_i w_i k(x_i, x_i)."""
        inner = (self.stats.sums * self.centers.alpha).sum()
        return float(trace - 2 * inner + self.stats.counts @ self.centers.norms)


def lloyd(
    parts: Parts,
    gram: Gram,
    probes: Probes,
    *,
    dtype: Any,
    centers: Centers | None = None,
    n_clusters: int,
    max_iter: int = 300,
    watch: Callable[[Step], bool] | None = None,
    prune: bool = True,
    before: Sequence[tuple[int, int]] = (),
) -> Solution:
    """Iterate from centers, or from the labels there are, until no label changes.

    Assumes clean arrays: validation happens at the door. Kernel rows are of that
    `dtype`. `watch` is told of each iteration and stops the run by returning true.
    Without `prune` every row is looked at in every iteration; the labels are the same.
    `before` is the history of a run that goes on from `centers`.
    """
    stats = Stats.zeros(n_clusters, gram.whitener.shape[0])
    if centers is None:
        stats += parts.tally(n_clusters)
        require_finite(stats.sums, dtype)
        centers = means_of(stats, gram, None)

    past: list[Centers] = []
    limit = most_past(n_clusters, gram.rank)
    largest = stats.counts.copy()
    history = [*before]
    changed, stop = 1, False
    for iteration in range(len(history) + 1, max_iter + 1):
        view = View.of(centers.alpha, centers.norms, dtype, probes)
        moves = Moves(past, centers) if past and prune and gram.metric else None
        past = [*past, centers] if len(past) < limit else [centers]
        stamp = len(past) - 1
        swept = parts.sweep(view, moves, stamp)
        stats += swept.stats
        changed = swept.changed
        history.append((changed, swept.evaluated))
        step = Step(iteration, changed, swept.evaluated, centers)
        stop = watch is not None and watch(step)
        if stop or iteration == max_iter:
            break
        reseeded = _reseed(parts, moves if stamp else None, stats, view)
        if changed == 0 and not reseeded:
            break
        largest = _refresh(parts, stats, largest)
        centers = means_of(stats, gram, centers)
    return Solution(parts, centers, stats, np.array(history), changed == 0, stop)


def _refresh(parts: Parts, stats: Stats, largest: Array) -> Array:
    """Sum clusters anew that shrank to a small part of their largest size.

    What rounding left in a large sum would weigh in a small one. Returns the largest
    sizes (C,) since.
    """
    largest = np.maximum(largest, stats.counts)
    for k in np.flatnonzero((stats.counts > 0) & (stats.counts < _SHRUNK * largest)):
        fresh = parts.recount(int(k))
        stats.sums[k], stats.counts[k] = fresh.sums[0], fresh.counts[0]
        largest[k] = stats.counts[k]
    return largest


def means_of(stats: Stats, gram: Gram, previous: Centers | None) -> Centers:
    """Centers at the clusters' means (α = Û K_B K̂⁻¹).

    An empty one stays where it was, or shares the first mean there is: in a tie the
    lower number wins.
    """
    filled = stats.counts > 0
    means = stats.sums / np.where(filled, stats.counts, 1)[:, None]
    centers = gram.solve(means, None if previous is None else previous.alpha)
    for k in np.flatnonzero(~filled):
        for new, old in zip(centers, previous or centers, strict=True):
            new[k] = old[filled.argmax() if previous is None else k]
    return centers


def _reseed(parts: Parts, stale: Moves | None, stats: Stats, view: View) -> bool:
    """Give an empty cluster, if there is one, the row that fits its own center worst.

    One a step: the next one is chosen when the centers know of this one. `stale` is
    given if bounds are about past centers. Returns whether a row was moved; none is
    when every row lies on its center.
    """
    empty = np.flatnonzero(stats.counts <= NOTHING * stats.counts.sum())
    if not empty.size:
        return False
    stats.sums[empty] = 0
    stats.counts[empty] = 0
    row = parts.worst(view, stale, stats.counts)
    if row.squared == -np.inf:
        return False
    label, weight = np.array([row.label]), np.array([row.weight])
    stats.move(row.phi[None], label, empty[:1], weight)
    parts.give(row, int(empty[0]))
    return True
