"""Lloyd's algorithm with centers in the span of the landmarks.

In each iteration, a sweep over the rows returns new labels and sums of kernel rows per
cluster (`Stats`). The new centers are computed from these sums. Bounds prove most
labels without evaluating the rows again (docs/how-bounds.md derives them). The loop
does not know where the rows are stored.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from akkm.core.bounds import Moves, max_past
from akkm.core.gram import Centers, Gram
from akkm.core.nearest import Probes, Scorer, require_finite
from akkm.core.parts import EMPTY_SHARE, Parts, Stats
from akkm.typing import Array

# If a cluster shrinks below this share of its largest size, its sums are recomputed.
SHRUNK = 1 / 16


@dataclass(frozen=True)
class Step:
    """One iteration, as callbacks see it."""

    iteration: int
    changed: int  # rows whose label changed
    evaluated: int  # rows whose kernel row was needed
    centers: Centers


@dataclass(frozen=True)
class Position:
    """All that a run needs to resume after a sweep, besides the rows.

    The labels of the rows are not stored: they follow from the centers. The sums are
    stored, because their last digits depend on the order in which rows were added.
    """

    centers: Centers  # the centers that the labels refer to
    stats: Stats  # the sums after the sweep; the next sweep changes them in place
    largest: Array  # (C,) largest size of each cluster since its sums were recomputed
    # (labels changed, rows evaluated) for each iteration so far
    history: Sequence[tuple[int, int]]
    # the error of the previous iteration, without the trace; infinite before the first
    previous: float = np.inf

    @staticmethod
    def start(centers: Centers) -> "Position":
        """Return the position before the first sweep: no row has a label."""
        stats = Stats.zeros(*centers.alpha.shape)
        return Position(centers, stats, stats.counts, ())


@dataclass(frozen=True)
class LloydStep(Step):
    """One iteration, from which an interrupted run can resume."""

    position: Position


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    centers: Centers  # the centers that the labels refer to
    history: Array  # (t, 2) labels changed and rows evaluated in each iteration
    converged: bool
    stopped: bool  # whether a callback stopped the run

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.history)

    @property
    def finished(self) -> bool:
        """Whether the run converged or was stopped; if not, `max_iter` ended it."""
        return self.converged or self.stopped


@dataclass(frozen=True)
class Solution(Outcome):
    """The result of a run over parts."""

    parts: Parts  # the rows, with their labels
    stats: Stats

    @property
    def labels(self) -> Any:
        """Labels (n,) int32."""
        return self.parts.labels

    def error(self, trace: float) -> float:
        """Return the sum of squared distances; `trace` is sum_i w_i k(x_i, x_i)."""
        return _error(self.stats, self.centers, trace)


def lloyd(
    parts: Parts,
    gram: Gram,
    probes: Probes | None,
    *,
    dtype: Any,
    centers: Centers | None = None,
    n_clusters: int,
    max_iter: int = 300,
    tol: float = 0.0,
    watch: Callable[[LloydStep], bool] | None = None,
    prune: bool = True,
    resume: Position | None = None,
) -> Solution:
    """Iterate from given centers or the parts' labels until no label changes.

    The arrays must be validated. `dtype` is the precision of the kernel rows. The run
    also ends if an iteration decreases the error by less than the share `tol`. `watch`
    is called after each iteration and stops the run by returning true. Without `prune`,
    every row is evaluated in every iteration; the labels are the same. `resume` is the
    position of an interrupted run. A resumed run has the same result, bit for bit, as a
    run without interruption.
    """
    if resume is None and centers is not None:
        resume = Position.start(centers)
    elif resume is None:
        stats = parts.label_stats(n_clusters)
        require_finite(stats.sums, dtype)
        resume = Position(centers_of(stats, gram, None), stats, stats.counts, ())
    centers, stats, largest = resume.centers, resume.stats, resume.largest.copy()
    history = [*resume.history]
    restore = bool(history)
    previous = resume.previous
    trace: float | None = None
    past: list[Centers] = []
    limit = max_past(n_clusters, gram.rank)
    stop = False
    while True:
        scorer = Scorer.of(centers.alpha, centers.norms, dtype, probes)
        moves = Moves(past, centers) if past and prune and gram.metric else None
        past = [*past, centers] if len(past) < limit else [centers]
        stamp = len(past) - 1
        sweep = parts.sweep(scorer, moves, stamp)
        if restore:  # the sweep only restored the labels; `resume` has sums and history
            restore = False
        else:
            stats += sweep.stats
            history.append((sweep.changed, sweep.evaluated))
            position = Position(centers, stats, largest, tuple(history), previous)
            step = LloydStep(len(history), *history[-1], centers, position)
            stop = watch is not None and watch(step)
        unchanged = history[-1][0] == 0
        error = _error(stats, centers, 0.0)
        if tol and trace is None:
            trace = parts.trace()
        settled = trace is not None and changed_little(previous, error, tol, trace)
        previous = error
        if stop or len(history) >= max_iter:
            # If a cluster is empty, the run has not converged: in the next iteration,
            # this cluster would get a row.
            converged = unchanged and not _empty(stats).size
            break
        reseeded = _reseed(parts, moves if stamp else None, stats, scorer)
        if (unchanged or settled) and not reseeded:
            converged = True
            break
        largest = _refresh(parts, stats, largest)
        centers = centers_of(stats, gram, centers)
    return Solution(centers, np.array(history), converged, stop, parts, stats)


def _error(stats: Stats, centers: Centers, trace: float) -> float:
    """Return the sum of squared distances; `trace` is sum_i w_i k(x_i, x_i)."""
    inner = (stats.sums * centers.alpha).sum()
    return float(trace - 2 * inner + stats.counts @ centers.norms)


def changed_little(
    previous: float, error: float, tol: float, trace: float = 0.0
) -> bool:
    """Return whether the error changed by less than the share `tol`.

    If the errors do not contain the trace, give it as `trace`. With constraints or an
    indefinite kernel, the error may rise; a large rise is no reason to stop.

    Examples
    --------
    >>> from akkm.core.lloyd import changed_little
    >>> changed_little(8.0, 7.5, 0.1), changed_little(8.0, 7.0, 0.1)
    (True, False)
    """
    return abs(previous - error) < tol * abs(trace + previous)


def _refresh(parts: Parts, stats: Stats, largest: Array) -> Array:
    """Recompute the sums of clusters that are far smaller than their largest size.

    Otherwise, rounding errors made while a sum was large would distort the small sum.
    Returns the largest size (C,) of each cluster since its sums were last recomputed.
    """
    largest = np.maximum(largest, stats.counts)
    for k in np.flatnonzero((stats.counts > 0) & (stats.counts < SHRUNK * largest)):
        fresh = parts.cluster_stats(int(k))
        stats.sums[k], stats.counts[k] = fresh.sums[0], fresh.counts[0]
        largest[k] = stats.counts[k]
    return largest


def centers_of(stats: Stats, gram: Gram, previous: Centers | None) -> Centers:
    """Return the centers at the clusters' means, the paper's α = Û K_B K̂⁻¹.

    An empty cluster keeps its previous center. Without `previous`, it gets the center
    of the first nonempty cluster. Rows are then equally near to both centers, and go to
    the cluster of lower number.
    """
    filled = stats.counts > 0
    means = stats.sums / np.where(filled, stats.counts, 1)[:, None]
    centers = gram.solve(means, None if previous is None else previous.alpha)
    for k in np.flatnonzero(~filled):
        for new, old in zip(centers, previous or centers, strict=True):
            new[k] = old[filled.argmax() if previous is None else k]
    return centers


def _empty(stats: Stats) -> Array:
    """Return the empty clusters."""
    return np.flatnonzero(stats.counts <= EMPTY_SHARE * stats.counts.sum())


def _reseed(parts: Parts, stale: Moves | None, stats: Stats, scorer: Scorer) -> bool:
    """If there is an empty cluster, move the row farthest from its center there.

    Only one cluster is filled per iteration; the next one is filled after the centers
    have moved. `stale` holds the movements of the centers if bounds refer to past
    centers, else it is None. Returns whether a row was reassigned: false if no cluster
    is empty, or if every row lies on its center.
    """
    empty = _empty(stats)
    if not empty.size:
        return False
    stats.sums[empty] = 0
    stats.counts[empty] = 0
    row = parts.worst_row(scorer, stale, stats.counts)
    if row.squared == -np.inf:
        return False
    label, weight = np.array([row.label]), np.array([row.weight])
    stats.move_rows(row.phi[None], label, empty[:1], weight)
    parts.reassign(row, int(empty[0]))
    return True
