"""Bounds that prove a row's label without evaluating the row again.

When a row was last evaluated, the centers were at β = `past[stamp]`. The row's image is
β_a + e, where a is the row's cluster and |e| ≤ upper. Since then the centers have moved
by Δ to β'. The gap to center k is the row's squared distance to center k minus its
squared distance to its own center. The gap has changed by

    -2 β_a·(Δ_k - Δ_a) + (|β_k'|² - |β_k|²) - (|β_a'|² - |β_a|²)  -  2 e·(Δ_k - Δ_a).

All terms but the last are known exactly for the pair (a, k). The last term is at most
2 upper |Δ_k - Δ_a| in absolute value. This gives the first lower bound on the present
gap. It is tight for centers that moved little.

The second bound is for centers that moved far. The row is at most u' = upper + |Δ_a|
from its own center. If center k is now at distance D from that center, the gap to
center k is at least D (D - 2 u').

If the better of the two bounds is positive for every center, the label is proved and
the row is skipped.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from akkm.core.gram import Centers
from akkm.typing import Array

# Maximum number of past positions of the centers that are kept.
_MAX_PAST = 32
# Maximum number of array entries that all past positions together take.
_MAX_PAST_ENTRIES = 2**23
# Number of array entries that are computed at a time.
_BLOCK_ENTRIES = 2**15


@dataclass
class State:
    """Label and bounds of each row.

    Besides weights and the index of the cache, these are the only arrays of length n
    that a fit keeps.
    """

    labels: Array  # (n,) int32, -1 before the first sweep
    # (n,) float32, upper bound on the distance to the row's own center, as of the last
    # evaluation
    upper: Array
    # (n,) float32, lower bound on the gap to the next best center, as of the last
    # evaluation
    gap: Array
    # (n,) float64, length of the row's image, NaN until computed. If every length is 1,
    # this is a read-only array that takes the memory of one number.
    length: Array
    stamp: Array  # (n,) int8, index of the past centers that the last evaluation used

    @staticmethod
    def start(
        n: int,
        labels: Array | None = None,
        *,
        unit: bool = False,
        full: Callable[[int, float, Any], Array] = np.full,
    ) -> "State":
        """Return the state of n rows before the first sweep, with labels (n,) if given.

        With `unit`, every row has length 1. `full(n, value, dtype)` allocates arrays.
        """
        state = State(
            full(n, -1, np.int32),
            full(n, np.inf, np.float32),
            full(n, -np.inf, np.float32),
            np.broadcast_to(1.0, n) if unit else full(n, np.nan, np.float64),
            full(n, 0, np.int8),
        )
        if labels is not None:
            state.labels[:] = labels
        return state

    def record(
        self, rows: Any, labels: Array, upper: Array, gap: Array, stamp: int
    ) -> None:
        """Store labels and bounds (b,) of evaluated rows (a slice or indices)."""
        self.labels[rows] = labels
        self.upper[rows], self.gap[rows] = round_up(upper), _round_down(gap)
        self.stamp[rows] = stamp

    def reassign(self, row: int, cluster: int) -> None:
        """Move a row to a cluster; the next sweep will evaluate it."""
        self.labels[row], self.upper[row], self.gap[row] = cluster, np.inf, -np.inf

    def copy(self) -> "State":
        """Return a copy that may be changed."""
        return State(
            self.labels.copy(),
            self.upper.copy(),
            self.gap.copy(),
            self.length.copy() if self.length.flags.writeable else self.length,
            self.stamp.copy(),
        )


class Moves:
    """Movements of the centers since each of S past positions, as tables for bounds."""

    def __init__(self, past: Sequence[Centers], now: Centers) -> None:
        # Process several positions per call, but not more than fit in little memory.
        step = max(1, _BLOCK_ENTRIES // max(now.beta.size, 1))
        groups = [past[start : start + step] for start in range(0, len(past), step)]
        moves = [_moves(some, now) for some in groups]
        # Tables (C, S C): column s C + a is for rows of stamp s and label a.
        self.known = np.concatenate([t.T for k, _, _ in moves for t in k], axis=1)
        self.spread = 2 * np.concatenate([t.T for _, s, _ in moves for t in s], axis=1)
        self.shift = np.concatenate([t.ravel() for _, _, t in moves])  # (S C,)
        self.between = _between(now)  # (C, C)
        # The least favourable entry of each column, and the distance of each center to
        # the nearest other center. These numbers prove most labels without a loop over
        # centers.
        self.min_known = self.known.min(axis=0)
        self.max_spread = self.spread.max(axis=0)
        self.nearest_other = self.between.min(axis=0)
        self.n_clusters = len(now.norms)

    def unproved(self, state: State, chunk: slice, tie: Array | float) -> Array:
        """Return the rows whose label is not proved, as offsets into the chunk.

        Gaps up to `tie` (b,) prove nothing: they may be rounding errors.
        """
        own = self._columns(state, chunk)
        upper, gap = state.upper[chunk], state.gap[chunk]
        need = np.broadcast_to(tie, upper.shape)
        # Comparisons with NaN are false, so a row without finite bounds is unproved.
        with np.errstate(invalid="ignore"):
            proved = gap + self.min_known[own] - upper * self.max_spread[own] > need
            left = np.flatnonzero(~proved)
            own, upper, gap, need = own[left], upper[left], gap[left], need[left]
            other = self.nearest_other[own % self.n_clusters]
            proved = other * (other - 2 * (upper + self.shift[own])) > need
        rest = np.flatnonzero(~proved)
        gap = self._gaps(own[rest], upper[rest], gap[rest])
        return left[rest[~(gap > need[rest])]]

    def current_upper(self, state: State, chunk: slice) -> Array:
        """Return upper bounds (b,) on each row's present distance to its own center.

        For rows evaluated in this iteration, which have stamp S, no center has moved.
        """
        shift = np.append(self.shift, np.zeros(self.n_clusters))
        return state.upper[chunk] + shift[self._columns(state, chunk)]

    def rebase(self, state: State, chunk: slice) -> None:
        """Make the bounds of a chunk refer to the present centers, with stamp 0."""
        own, upper = self._columns(state, chunk), state.upper[chunk]
        state.gap[chunk] = _round_down(self._gaps(own, upper, state.gap[chunk]))
        state.upper[chunk] = round_up(upper + self.shift[own])
        state.stamp[chunk] = 0

    def _columns(self, state: State, chunk: slice) -> Array:
        """Return the column of the tables for each row of the chunk: (b,)."""
        return (
            state.stamp[chunk].astype(np.intp) * self.n_clusters + state.labels[chunk]
        )

    def _gaps(self, own: Array, upper: Array, gap: Array) -> Array:
        """Return lower bounds (b,) on the present gaps to the next best center."""
        lowest = np.full(len(own), np.inf)
        label, twice = own % self.n_clusters, 2 * (upper + self.shift[own])
        # Process several centers per call, but not more than fit in the cache.
        step = max(1, _BLOCK_ENTRIES // max(len(own), 1))
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, self.n_clusters, step):
                k = slice(start, start + step)
                first = self.known[k].take(own, axis=1, mode="clip")
                second = self.spread[k].take(own, axis=1, mode="clip")
                second *= upper
                first -= second
                first += gap
                distance = self.between[k].take(label, axis=1, mode="clip")
                np.subtract(distance, twice, out=second)
                second *= distance
                np.maximum(first, second, out=first)
                np.minimum(lowest, first.min(axis=0), out=lowest)
        return lowest


def round_up(values: Array) -> Array:
    """Round float64 values up to float32: no result is smaller than its value."""
    with np.errstate(over="ignore"):
        return np.nextafter(values.astype(np.float32), np.float32(np.inf))


def _round_down(values: Array) -> Array:
    """Round float64 values down to float32: no result is larger than its value."""
    return -round_up(-values)


def descending(values: Array, step: int) -> Iterator[Array]:
    """Yield positions of the non-negative values (n,), from the largest down.

    Positions come in blocks of at most `step`; equal values keep their order. The first
    round sorts few values, because callers usually stop early; later rounds sort more.
    """
    count, last = step, None
    while len(values):
        count = min(count, len(values))
        lowest = max(np.partition(values, -count)[-count], 0)
        next_ = values >= lowest
        if last is not None:
            next_ &= values < last
        rows = np.flatnonzero(next_)
        rows = rows[np.argsort(-values[rows], kind="stable")]
        for start in range(0, len(rows), step):
            yield rows[start : start + step]
        if lowest == 0 or count == len(values):
            return
        count, last = 8 * count, lowest


def max_past(n_clusters: int, rank: int) -> int:
    """Return how many past positions to keep before the bounds are rebased."""
    entries = n_clusters * (rank + 2 * n_clusters)
    return int(np.clip(_MAX_PAST_ENTRIES // max(entries, 1), 1, _MAX_PAST))


def _squared(points: Array) -> tuple[Array, Array]:
    """Squared distances (..., C, C) between points (..., C, r), and rounding errors."""
    dots = points @ points.swapaxes(-1, -2)
    lengths = dots.diagonal(axis1=-2, axis2=-1)
    both = lengths[..., :, None] + lengths[..., None, :]
    return both - 2 * dots, 8 * np.finfo(np.float64).eps * both


def _between(now: Centers) -> Array:
    """Lower bounds on distances between centers (C, C), infinite on the diagonal."""
    squared, rounding = _squared(now.beta)
    squared -= rounding
    np.fill_diagonal(squared, np.inf)
    return np.sqrt(squared.clip(0))


def _moves(past: Sequence[Centers], now: Centers) -> tuple[Array, Array, Array]:
    """Return the known terms (S, C, C), |Δ_k - Δ_a| (S, C, C) and |Δ_a| (S, C)."""
    beta = np.stack([then.beta for then in past])  # (S, C, r)
    norms = now.norms - np.stack([then.norms for then in past])  # (S, C)
    step = now.beta - beta
    squared, rounding = _squared(step)
    spread = np.sqrt(squared.clip(0) + rounding)
    known = norms[:, None, :] - 2 * (beta @ step.swapaxes(1, 2))
    known -= known.diagonal(axis1=1, axis2=2)[:, :, None].copy()
    # A center does not compete with itself.
    own = np.arange(len(now.norms))
    known[:, own, own], spread[:, own, own] = np.inf, 0
    return known, spread, np.linalg.norm(step, axis=2)
