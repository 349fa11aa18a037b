"""Step 3, solve: centers, bounds, the sweep of a chunk, and the one loop.

All of it is Lloyd's algorithm in the space that the landmarks span. A chunk of rows
gives kernel rows φ; these give labels and a `Stats`; Stats add; centers follow from
their sum. Bounds on distances prove most labels without looking at the point again
(docs/design.md derives them).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.bounds import Moves, State, most_past
from akkm.engines import Threads
from akkm.gram import Centers, Gram
from akkm.nearest import Probes, View, nearest, padded, require_finite
from akkm.sources import Strip, chunks, pieces

Array = NDArray[Any]

# A cluster below this share of its largest size is summed anew.
_SHRUNK = 1 / 16
# A cluster with less than this share of all weight is empty, but for rounding.
_NOTHING = 1e-12


@dataclass
class Stats:
    """What the rows of each cluster add up to."""

    sums: Array  # (C, m) float64, of weighted kernel rows
    counts: Array  # (C,) float64, of weights

    @staticmethod
    def zeros(n_clusters: int, m: int) -> Stats:
        """No rows yet."""
        return Stats(np.zeros((n_clusters, m)), np.zeros(n_clusters))

    def __iadd__(self, other: Stats) -> Stats:
        self.sums += other.sums
        self.counts += other.counts
        return self

    def put(self, phi: Array, labels: Array, weights: Array | None) -> None:
        """Add rows phi (b, m) to their clusters; `weights` may be negative."""
        b, n_clusters = len(phi), len(self.counts)
        member = np.zeros((padded(n_clusters), b), dtype=phi.dtype)
        member[labels, np.arange(b)] = 1 if weights is None else weights
        with np.errstate(over="ignore", invalid="ignore"):
            self.sums += (member @ phi)[:n_clusters]
        self.counts += member.sum(axis=1, dtype=np.float64)[:n_clusters]

    def move(self, phi: Array, old: Array, new: Array, weights: Array | None) -> None:
        """Take rows phi (b, m) from clusters `old` to clusters `new`, in float64."""
        precise = phi.astype(np.float64)
        weight = np.ones(len(phi)) if weights is None else weights
        self.put(precise, old, -weight)
        self.put(precise, new, weight)


@dataclass(frozen=True)
class Swept:
    """What one chunk reports after a sweep."""

    stats: Stats
    changed: int
    evaluated: int


def doubtful(
    state: State, view: View, moves: Moves, rebase: bool, chunk: slice
) -> Array:
    """The rows of a chunk whose labels are not proved, as an index array."""
    rows = chunk.start + moves.doubtful(state, chunk, view.tie)
    if rebase:
        moves.rebase(state, chunk)
    return rows


def sweep(
    strip: Strip,
    gram: Gram,
    weights: Array | None,
    state: State,
    view: View,
    stamp: int,
    work: Any,
) -> Swept:
    """Assign rows, a slice or some, to their nearest centers and tally what changed."""
    stats = Stats.zeros(len(view.norms), strip.m)
    changed = evaluated = 0
    for rows, phi in strip.tiles(work):
        reach = state.reach[rows]
        if np.isnan(reach).any():
            reach = lengths(strip, gram, rows, phi)
            state.reach[rows] = reach
        found = nearest(phi, view, reach, strip, rows)
        state.upper[rows] = view.upper(reach, found.score)
        state.gap[rows] = found.gap
        state.stamp[rows] = stamp
        old = state.labels[rows]
        weight = None if weights is None else weights[rows]
        moved = np.flatnonzero(found.labels != old)
        if old[0] < 0:  # none has a label yet
            stats.put(phi, found.labels, weight)
        elif moved.size:
            weight = None if weight is None else weight[moved]
            stats.move(phi[moved], old[moved], found.labels[moved], weight)
        state.labels[rows] = found.labels
        changed += moved.size
        evaluated += len(phi)
    return Swept(stats, changed, evaluated)


def lengths(strip: Strip, gram: Gram, rows: Any, phi: Array) -> Array:
    """Length of the rows' images: sqrt k(x, x); in the span if k is indefinite."""
    if strip.kernel.psd:
        squared = strip.kernel.diag(strip.take(rows))
    else:
        squared = gram.squared_norms(phi).astype(np.float64)
    return np.sqrt(np.abs(squared))


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

    labels: Array  # (n,) int32
    centers: Centers  # the ones the labels are nearest to
    stats: Stats
    history: Array  # (t, 2) of each iteration: labels changed, rows looked at
    converged: bool
    stopped: bool  # by whoever watched

    @property
    def n_iter(self) -> int:
        """Iterations over all rows."""
        return len(self.history)

    def error(self, trace: float) -> float:
        """Sum of squared distances to the centers; `trace` is sum_i w_i k(x_i, x_i)."""
        inner = (self.stats.sums * self.centers.alpha).sum()
        return float(trace - 2 * inner + self.stats.counts @ self.centers.norms)


def lloyd(
    strip: Strip,
    gram: Gram,
    probes: Probes,
    engine: Threads,
    *,
    centers: Centers | None = None,
    labels: Array | None = None,
    n_clusters: int,
    weights: Array | None = None,
    max_iter: int = 300,
    cache_bytes: float = 0,
    watch: Callable[[Step], bool] | None = None,
    prune: bool = True,
) -> Solution:
    """Iterate from centers, or from labels, until no label changes.

    Assumes clean arrays: validation happens at the door. `watch` is told of each
    iteration and stops the run by returning true. Kernel rows that are looked at again
    are kept in `cache_bytes`. Without `prune` every row is looked at in every
    iteration; the labels are the same.
    """
    strip.keep(cache_bytes)
    n = strip.n
    state = State.start(np.full(n, -1) if labels is None else labels)
    stats = Stats.zeros(n_clusters, strip.m)
    if centers is None:
        for tally in engine.map(
            partial(_tally, strip, weights, state, n_clusters), chunks(n)
        ):
            stats += tally
        require_finite(stats.sums, strip.dtype)
        centers = _means(stats, gram, None)

    past: list[Centers] = []
    limit = most_past(n_clusters, gram.rank)
    largest = stats.counts.copy()
    history: list[tuple[int, int]] = []
    for iteration in range(1, max_iter + 1):
        view = View.of(centers.alpha, centers.norms, strip.dtype, probes)
        moves = Moves(past, centers) if past and prune and gram.metric else None
        past = [*past, centers] if len(past) < limit else [centers]
        stamp = len(past) - 1
        work: list[Any] = chunks(n)
        if moves is not None:
            find = partial(doubtful, state, view, moves, stamp == 0)
            rows = np.concatenate(list(engine.map(find, work)))
            strip.reserve(rows)
            work = [rows[piece] for piece in pieces(len(rows))]
        changed = evaluated = 0
        task = partial(sweep, strip, gram, weights, state, view, stamp)
        for part in engine.map(task, work):
            stats += part.stats
            changed += part.changed
            evaluated += part.evaluated
        history.append((changed, evaluated))
        stop = watch is not None and watch(Step(iteration, changed, evaluated, centers))
        if stop or iteration == max_iter:
            break
        stale = moves if stamp else None
        reseeded = _reseed(strip, weights, state, stale, stats, view)
        if changed == 0 and not reseeded:
            break
        largest = _refresh(strip, weights, state, stats, largest)
        centers = _means(stats, gram, centers)
    return Solution(state.labels, centers, stats, np.array(history), changed == 0, stop)


def _tally(
    strip: Strip, weights: Array | None, state: State, n_clusters: int, chunk: slice
) -> Stats:
    """The Stats of a chunk under the labels it has."""
    stats = Stats.zeros(n_clusters, strip.m)
    for rows, phi in strip.tiles(chunk):
        stats.put(phi, state.labels[rows], None if weights is None else weights[rows])
    return stats


def _refresh(
    strip: Strip, weights: Array | None, state: State, stats: Stats, largest: Array
) -> Array:
    """Sum clusters anew that shrank to a small part of their largest size.

    What rounding left in a large sum would weigh in a small one. Returns the largest
    sizes (C,) since.
    """
    largest = np.maximum(largest, stats.counts)
    for k in np.flatnonzero((stats.counts > 0) & (stats.counts < _SHRUNK * largest)):
        stats.sums[k] = stats.counts[k] = 0
        for rows, phi in strip.tiles(np.flatnonzero(state.labels == k)):
            weight = None if weights is None else weights[rows]
            stats.put(phi.astype(np.float64), np.full(len(phi), k), weight)
        largest[k] = stats.counts[k]
    return largest


def _means(stats: Stats, gram: Gram, previous: Centers | None) -> Centers:
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


def _reseed(
    strip: Strip,
    weights: Array | None,
    state: State,
    stale: Moves | None,
    stats: Stats,
    view: View,
) -> bool:
    """Give an empty cluster, if there is one, the row that fits its own center worst.

    One a step: the next one is chosen when the centers know of this one. `stale` is
    given if bounds are about past centers. Returns whether a row was moved; none is
    when every row lies on its center.
    """
    nothing = _NOTHING * stats.counts.sum()
    empty = np.flatnonzero(stats.counts <= nothing)
    if not empty.size:
        return False
    stats.sums[empty] = 0
    stats.counts[empty] = 0
    # Bounds say in which order to look; distances of the rows decide. Once they are
    # above all other bounds there is no need to look further.
    row, worst = -1, 0.0
    upper = state.upper if stale is None else stale.present(state)
    able = upper**2 > 2 * view.noise(state.reach)
    if weights is not None:
        able &= weights > 0
    candidates = np.flatnonzero(able)
    order = candidates[np.argsort(-upper[candidates], kind="stable")]
    for start in range(0, len(order), strip.tile_rows):
        rows = order[start : start + strip.tile_rows]
        if upper[rows[0]] ** 2 <= worst:
            break
        own, reach = state.labels[rows], state.reach[rows]
        scores = view.scores(strip.precise(strip.take(rows)))
        squared = reach**2 + scores[own, np.arange(len(rows))]
        rest = stats.counts[own] - (1 if weights is None else weights[rows])
        squared[(squared <= view.noise(reach)) | (rest <= nothing)] = -np.inf
        best = squared.argmax()
        if squared[best] > worst:
            row, worst = rows[best], squared[best]
    if row < 0:
        return False
    rows = np.array([row])
    stats.move(
        strip.kernel_rows(strip.take(rows), strip.dtype),
        state.labels[rows],
        empty[:1],
        None if weights is None else weights[rows],
    )
    state.labels[row], state.gap[row] = empty[0], -np.inf
    return True
