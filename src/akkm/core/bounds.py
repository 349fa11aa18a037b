"""What is remembered of each row, and what that proves about its label.

A row was last looked at when the centers were at `past[stamp]`. With its image at
β_a + e, a being its cluster then and |e| ≤ upper, the moves of the centers since change
its squared distance to center k, less that to its own, by

    -2 β_a·(Δ_k - Δ_a) + (|β_k'|² - |β_k|²) - (|β_a'|² - |β_a|²)  -  2 e·(Δ_k - Δ_a).

The first part is known exactly for the pair (a, k), and the second is at most
2 upper |Δ_k - Δ_a|. This proves much of centers that moved little. Of one that jumped,
which says nothing about a gap to another, where it is now may say more: at a distance
D from the row's own center, to which the row is at most u' = upper + |Δ_a|, its squared
distance is larger by at least D (D - 2 u').

While the better of the two is above zero for every center, the label stands and the row
is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Past centers remembered: at most so many, and so many numbers in all.
_MOST_PAST, _PAST_ENTRIES = 32, 2**23


class Located(Protocol):
    """Centers, as far as bounds are concerned."""

    @property
    def beta(self) -> Array:
        """(C, r) whitened coordinates"""

    @property
    def norms(self) -> Array:
        """(C,) squared lengths"""


@dataclass
class State:
    """One entry per row: besides rows and weights, all that a fit keeps of size n."""

    labels: Array  # (n,) int32, -1 before the first sweep
    upper: Array  # (n,) float32, at least the distance to its own center, back then
    gap: Array  # (n,) float32, at most d²(next center) - d²(own center), back then
    # (n,) float64, length of the row's image, NaN until computed; read-only, and one
    # number in memory, where all rows have the same
    reach: Array
    stamp: Array  # (n,) int8, when "then" was

    @staticmethod
    def start(
        n: int,
        labels: Array | None = None,
        *,
        unit: bool = False,
        full: Callable[[int, float, Any], Array] = np.full,
    ) -> State:
        """Nothing is known of n rows, but labels (n,) if these are given.

        With `unit` all have length one. `full(n, value, dtype)` makes the arrays.
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

    def look(
        self, rows: Any, labels: Array, upper: Array, gap: Array, stamp: int
    ) -> None:
        """Rows, a slice or some, were looked at: labels and bounds (b,) float64."""
        self.labels[rows] = labels
        self.upper[rows], self.gap[rows] = above(upper), _below(gap)
        self.stamp[rows] = stamp

    def give(self, row: int, cluster: int) -> None:
        """Put a row into a cluster, to be looked at in the next sweep."""
        self.labels[row], self.upper[row], self.gap[row] = cluster, np.inf, -np.inf

    def copy(self) -> State:
        """The same, to be changed."""
        return State(
            self.labels.copy(),
            self.upper.copy(),
            self.gap.copy(),
            self.reach.copy() if self.reach.flags.writeable else self.reach,
            self.stamp.copy(),
        )


class Moves:
    """From each of the past centers to the present ones, as the bounds need it."""

    def __init__(self, past: Sequence[Located], now: Located) -> None:
        pairs = [_move(then, now) for then in past]
        # (C, S C): for a row of stamp s and label a, at s C + a.
        self.known = np.concatenate([known.T for known, _, _ in pairs], axis=1)
        self.apart = 2 * np.concatenate([apart.T for _, apart, _ in pairs], axis=1)
        self.shift = np.concatenate([shift for _, _, shift in pairs])  # (S C,)
        self.between = _between(now)  # (C, C)
        # One line below all of them, and the center next to one's own, settle most
        # rows.
        self.least = self.known.min(axis=0)
        self.most = self.apart.max(axis=0)
        self.next = self.between.min(axis=0)
        self.n_clusters = len(now.norms)

    def doubtful(self, state: State, chunk: slice, tie: float) -> Array:
        """Rows of the chunk, counted from its start, whose label is not proved.

        Gaps below `tie` times a row's length prove nothing.
        """
        own, upper, gap = self._own(state, chunk), state.upper[chunk], state.gap[chunk]
        need = tie * state.reach[chunk]
        # Written so that a row without bounds (NaN, or beyond float32) is in doubt.
        with np.errstate(invalid="ignore"):
            sure = gap + self.least[own] - upper * self.most[own] > need
            open_ = np.flatnonzero(~sure)
            own, upper, gap, need = own[open_], upper[open_], gap[open_], need[open_]
            next_ = self.next[own % self.n_clusters]
            sure = next_ * (next_ - 2 * (upper + self.shift[own])) > need
        rest = np.flatnonzero(~sure)
        gap = self._gaps(own[rest], upper[rest], gap[rest])
        return open_[rest[~(gap > need[rest])]]

    def present(self, state: State, chunk: slice) -> Array:
        """At least the distance of each row to its own center now: (b,) float64.

        Rows that were looked at now have the stamp after those of the past.
        """
        shift = np.append(self.shift, np.zeros(self.n_clusters))
        return state.upper[chunk] + shift[self._own(state, chunk)]

    def rebase(self, state: State, chunk: slice) -> None:
        """Make the bounds of a chunk speak of the present centers, as stamp 0."""
        own, upper = self._own(state, chunk), state.upper[chunk]
        state.gap[chunk] = _below(self._gaps(own, upper, state.gap[chunk]))
        state.upper[chunk] = above(upper + self.shift[own])
        state.stamp[chunk] = 0

    def _own(self, state: State, chunk: slice) -> Array:
        return (
            state.stamp[chunk].astype(np.intp) * self.n_clusters + state.labels[chunk]
        )

    def _gaps(self, own: Array, upper: Array, gap: Array) -> Array:
        """Gaps to the next center now, from what they were: at least (b,) float64."""
        least = np.full(len(own), np.inf)
        moved, away, apart = (np.empty_like(least) for _ in range(3))
        label, twice = own % self.n_clusters, 2 * (upper + self.shift[own])
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(self.n_clusters):
                self.known[k].take(own, out=moved, mode="clip")
                self.apart[k].take(own, out=away, mode="clip")
                away *= upper
                moved -= away
                moved += gap
                self.between[k].take(label, out=apart, mode="clip")
                np.subtract(apart, twice, out=away)
                away *= apart
                np.maximum(moved, away, out=moved)
                np.minimum(least, moved, out=least)
        return least


def above(values: Array) -> Array:
    """float32 numbers that are not less than the float64 values."""
    with np.errstate(over="ignore"):
        return np.nextafter(values.astype(np.float32), np.float32(np.inf))


def _below(values: Array) -> Array:
    """float32 numbers that are not more than the float64 values."""
    return -above(-values)


def most_past(n_clusters: int, rank: int) -> int:
    """How many past centers to remember before the bounds are rebased."""
    entries = n_clusters * (rank + 2 * n_clusters)
    return int(np.clip(_PAST_ENTRIES // max(entries, 1), 1, _MOST_PAST))


def _squared(points: Array) -> tuple[Array, Array]:
    """Squared distances between points (C, r), and what rounding may make of them."""
    dots = points @ points.T
    both = dots.diagonal()[:, None] + dots.diagonal()
    return both - 2 * dots, 8 * np.finfo(np.float64).eps * both


def _between(now: Located) -> Array:
    """At most the distances between centers (C, C), infinite to oneself."""
    squared, rounding = _squared(now.beta)
    squared -= rounding
    np.fill_diagonal(squared, np.inf)
    return np.sqrt(squared.clip(0))


def _move(then: Located, now: Located) -> tuple[Array, Array, Array]:
    """Known (C, C), apart (C, C) and shift (C,)."""
    step = now.beta - then.beta
    squared, rounding = _squared(step)
    apart = np.sqrt(squared.clip(0) + rounding)
    known = now.norms - then.norms - 2 * (then.beta @ step.T)
    known -= known.diagonal()[:, None].copy()
    # Not a rival of itself.
    np.fill_diagonal(known, np.inf)
    np.fill_diagonal(apart, 0)
    return known, apart, np.linalg.norm(step, axis=1)
