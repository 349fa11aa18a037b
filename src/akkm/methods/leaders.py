"""Leaders: one pass over the rows picks those that stand for the others around them.

A row within a distance τ of a leader, in the kernel's space, follows the first such
leader; any other row becomes a leader itself. Which rows lead depends on their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.core.nearest import require_finite
from akkm.core.strip import Rows, Strip, pieces
from akkm.core.threads import Threads
from akkm.kernels import Kernel

Array = NDArray[Any]

# Rows compared with the leaders at a time, and with one another.
_BATCH, _AMONG = 8192, 1024
# What rounding can make of a squared distance of zero, as a share of k(x, x).
_ZERO = 1e-12
# A wanted number of leaders is met if it is within this factor.
_ABOUT = 1.1
# ... or, on all rows with a threshold from a sample, not above this multiple of it.
_AT_MOST = 1.2
# So many times as many as wanted are too many for exact kernel k-means.
_MANY = 20
# A threshold to double from, if all rows have the length zero.
_SMALLEST = 1e-9
# Rows per wanted leader of the smallest sample, and how much larger the next one is.
_PER_LEADER, _GROWTH = 10, 8
_BISECTIONS = 40


@dataclass(frozen=True)
class Heads:
    """Leaders, ready to be followed. Rows are compared with them in float64."""

    kernel: Kernel
    points: Rows  # (L, d), or column numbers of a precomputed kernel
    diag: Array  # (L,) k(z, z)
    threshold: float

    def follow(self, X: Rows, diag: Array, engine: Threads) -> Array:
        """Position of each row's leader: the first within reach, else the nearest.

        diag (b,) is k(x, x); where it is NaN (not known) the nearest is followed.
        """
        known = not np.isnan(diag).any()
        found = self.first(X, diag, engine) if known else np.full(X.shape[0], -1)
        lost = np.flatnonzero(found < 0)

        def nearest(piece: slice) -> None:
            rows = lost[piece]
            for part, scores in self._scores(X[rows]):
                found[rows[part]] = scores.argmin(axis=1)

        for _ in engine.map(nearest, pieces(len(lost))):
            pass
        return found

    def first(self, X: Rows, diag: Array, engine: Threads) -> Array:
        """Position of each row's first leader within the threshold, -1: none."""
        found = np.full(X.shape[0], -1, dtype=np.int32)

        def task(piece: slice) -> None:
            some, own = found[piece], diag[piece]
            for part, scores in self._scores(X[piece]):
                near = scores <= _within(own[part], self.threshold)
                first = near.argmax(axis=1)
                there = near[np.arange(len(first)), first]
                some[part] = np.where(there, first, -1)

        for _ in engine.map(task, pieces(X.shape[0])):
            pass
        return found

    def _scores(self, X: Rows) -> Iterator[tuple[slice, Array]]:
        """Tiles (rows, squared distances less k(x, x): (b, L))."""
        strip = Strip(X, self.kernel, self.points, np.float64)
        for part, phi in strip.tiles(slice(0, strip.n)):
            require_finite(phi, np.float64)
            phi *= -2
            phi += self.diag
            yield part, phi


def _within(diag: Array, threshold: float) -> Array:
    """Scores (b, 1) up to which rows with these k(x, x) follow."""
    return (threshold**2 + _ZERO * np.abs(diag) - diag)[:, None]


@dataclass(frozen=True)
class Leaders:
    """Who leads, and whom each row follows."""

    indices: Array  # (L,) the leaders' row numbers, in the order they were found
    followed: Array  # (n,) position in `indices` of each row's leader
    counted: Array  # (n,) the same of the leader that the row's weight counts for
    heads: Heads


class Crowd:
    """Rows X (n, d) of which some will lead; rows of weight 0 never do."""

    def __init__(
        self, X: Rows, kernel: Kernel, engine: Threads, weights: Array | None = None
    ) -> None:
        self.X, self.kernel, self.engine = X, kernel, engine
        self.n = X.shape[0]
        self.able = np.ones(self.n, dtype=bool) if weights is None else weights > 0
        self.diag = kernel.diag(X)
        self._last: Leaders | None = None  # of the thresholds that were tried

    def lead(
        self, threshold: float, *, rows: Array | None = None, most: float = np.inf
    ) -> Leaders | None:
        """One pass over all rows, or some; None if more than `most` come to lead.

        Of `followed` there is then one entry for each of these rows.
        """
        rows = np.arange(self.n) if rows is None else rows
        leaders = np.empty(0, dtype=np.intp)
        followed = np.empty(len(rows), dtype=np.int32)
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            found = self._first(batch, leaders, threshold)
            known = len(leaders)
            left = np.flatnonzero((found < 0) & self.able[batch])
            for begin in range(0, len(left), _AMONG):
                part = left[begin : begin + _AMONG]
                # Leaders of this batch are news to them.
                late = self._first(batch[part], leaders[known:], threshold)
                found[part] = np.where(late < 0, -1, late + known)
                part = part[late < 0]
                new, own = self._among(batch[part], threshold)
                found[part] = len(leaders) + own
                leaders = np.concatenate([leaders, batch[part[new]]])
                if len(leaders) > most:
                    return None
            followed[start : start + _BATCH] = found
        heads = self._heads(leaders, threshold)
        lost = np.flatnonzero(followed < 0)  # without weight, and far from all leaders
        lost_rows = rows[lost]
        followed[lost] = heads.follow(
            self.X[lost_rows], self.diag[lost_rows], self.engine
        )
        return Leaders(leaders, followed, followed, heads)

    def _heads(self, leaders: Array, threshold: float) -> Heads:
        points = self.kernel.select(self.X, leaders)
        return Heads(self.kernel, points, self.diag[leaders], threshold)

    def _first(self, rows: Array, leaders: Array, threshold: float) -> Array:
        if not len(leaders):
            return np.full(len(rows), -1, dtype=np.int32)
        heads = self._heads(leaders, threshold)
        return heads.first(self.X[rows], self.diag[rows], self.engine)

    def _among(self, rows: Array, threshold: float) -> tuple[Array, Array]:
        """Leaders among rows that have none: positions (l,), and whom each follows."""
        own = np.full(len(rows), -1, dtype=np.int32)
        new: list[int] = []
        if not len(rows):
            return np.array(new, dtype=np.intp), own
        tiles = self._heads(rows, threshold)._scores(self.X[rows])
        scores = np.concatenate([tile.copy() for _, tile in tiles])
        near = scores <= _within(self.diag[rows], threshold)
        for i in range(len(rows)):
            if own[i] < 0:
                own[(own < 0) & near[:, i]] = len(new)
                own[i] = len(new)
                new.append(i)
        return np.array(new, dtype=np.intp), own

    def lead_about(self, wanted: int, least: int, rng: np.random.Generator) -> Leaders:
        """One pass with the threshold that gives about `wanted` leaders.

        The threshold is found on a sample by bisection. If it gives too many leaders
        on all rows, it is found anew on a larger sample, in the end on all rows. Where
        there are fewer distinct rows than `least`, some lead that could follow.
        """
        if wanted >= self.able.sum():
            return self._all_lead()
        low, size = 0.0, min(self.n, _PER_LEADER * wanted)
        while True:
            whole = size == self.n
            rows = None if whole else np.sort(rng.choice(self.n, size, replace=False))
            threshold = self._bisect(rows, low, wanted, least)
            most = (_MANY if whole else _AT_MOST) * wanted
            found = self._last  # the pass that the bisection ended with will do
            if found is None or not whole or found.heads.threshold != threshold:
                found = self.lead(threshold, most=most)
            if found is not None:
                return self._with_more(found, least)
            if whole:
                raise ValueError(
                    f"No threshold gives about {wanted} leaders: there are more than "
                    f"{most:g} at {threshold:.6g} and fewer than {least} just above, "
                    "as many rows are equally far from one another. Give a threshold, "
                    "or another kernel."
                )
            low, size = threshold, min(self.n, _GROWTH * size)

    def _all_lead(self) -> Leaders:
        """Every row of weight counts for itself, and follows the first of its copies.

        With a kernel that is not positive definite others may be as near.
        """
        leaders = np.flatnonzero(self.able)
        heads = self._heads(leaders, 0.0)
        followed = heads.follow(self.X, self.diag, self.engine)
        counted = np.cumsum(self.able, dtype=np.int32) - np.int32(1)
        counted[~self.able] = followed[~self.able]
        return Leaders(leaders, followed, counted, heads)

    def _with_more(self, found: Leaders, least: int) -> Leaders:
        """At least `least` leaders: copies of others, that count for themselves."""
        missing = least - len(found.indices)
        if missing <= 0:
            return found
        leads = np.zeros(self.n, dtype=bool)
        leads[found.indices] = True
        more = np.flatnonzero(self.able & ~leads)[:missing]
        leaders = np.concatenate([found.indices, more])
        counted = found.counted.copy()
        counted[more] = len(found.indices) + np.arange(len(more))
        heads = self._heads(leaders, found.heads.threshold)
        return Leaders(leaders, found.followed, counted, heads)

    def _bisect(self, rows: Array | None, low: float, wanted: int, least: int) -> float:
        """A threshold above `low` that gives about `wanted` leaders.

        Where the number jumps past `wanted`, the smaller one, unless it is below
        `least`.
        """
        high = max(2 * low, float(np.sqrt(np.abs(self.diag).max())), _SMALLEST)
        while self._count(high, rows, wanted) > wanted:
            low, high = high, 2 * high
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            count = self._count(middle, rows, wanted)
            if count > _ABOUT * wanted:
                low = middle
            elif count < wanted / _ABOUT:
                high = middle
            else:
                return middle
        few = self._count(high, rows, wanted) < least
        return low if few and self._count(low, rows, wanted) > least else high

    def _count(self, threshold: float, rows: Array | None, wanted: int) -> float:
        """Leaders at a threshold; infinity if there are many more than wanted."""
        self._last = self.lead(threshold, rows=rows, most=_ABOUT * wanted)
        return np.inf if self._last is None else len(self._last.indices)
