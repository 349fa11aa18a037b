"""Leaders: rows that represent the rows around them, selected in one pass.

A row follows the first leader within a distance τ, in the kernel's space. A row without
such a leader becomes a leader itself. Which rows lead depends on the order of the rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from akkm.core.nearest import require_finite
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.kernels import Kernel
from akkm.rows import pieces
from akkm.typing import Array, RowsLike

# Rounding error of a squared distance of zero, as a share of k(x, x).
_ZERO = 1e-12
# A number of leaders within this factor of the requested number is accepted.
_TOLERANCE = 1.1
# A threshold found on a sample is accepted if it gives at most this many times the
# requested number of leaders on all rows.
_AT_MOST = 1.2
# More leaders than this many times the requested number are too many for exact kernel
# k-means.
_TOO_MANY = 20
# The first threshold to try, if k(x, x) is zero for all rows.
_SMALLEST = 1e-9
# Rows per requested leader in the first sample.
_PER_LEADER = 10
# Factor by which each further sample is larger than the previous one.
_GROWTH = 8
# Maximum number of bisection steps.
_BISECTIONS = 40


@dataclass(frozen=True)
class LeaderPoints:
    """Leaders as points with which rows are compared, in float64."""

    kernel: Kernel
    points: RowsLike  # (L, d), or column numbers of a precomputed kernel
    diag: Array  # (L,) k(z, z)
    threshold: float

    def follow(self, X: RowsLike, diag: Array, engine: Threads) -> Array:
        """Return each row's leader: the first within the threshold, else the nearest.

        `diag` (n,) is k(x, x). Rows whose k(x, x) is unknown (NaN) follow the nearest
        leader.
        """
        return self.map_scores(_first_or_nearest, X, diag, engine)

    def map_scores(
        self, function: Callable[..., Array], X: RowsLike, diag: Array, engine: Threads
    ) -> Array:
        """Apply function(scores, limits) to rows X (n, d), tile by tile; join results.

        Scores (b, L) are squared distances minus k(x, x). A leader is within the
        threshold if its score is at most the row's limit (b, 1).
        """
        limits = (self.threshold**2 + _ZERO * np.abs(diag) - diag)[:, None]

        def compute(piece: slice) -> Array:
            strip = Strip(X[piece], self.kernel, self.points, np.float64)
            results = []
            for tile, phi in strip.tiles(slice(0, strip.n)):
                require_finite(phi, np.float64)
                phi *= -2
                phi += self.diag
                results.append(function(phi, limits[piece][tile]))
            return np.concatenate(results)

        results = list(engine.map(compute, pieces(X.shape[0])))
        return np.concatenate(results) if results else np.empty(0, dtype=np.intp)


def _first_within(scores: Array, limits: Array, otherwise: Any = -1) -> Array:
    """Return each row's first leader within the threshold, or `otherwise`: (b,)."""
    within = scores <= limits
    return np.where(within.any(axis=1), within.argmax(axis=1), otherwise)


def _first_or_nearest(scores: Array, limits: Array) -> Array:
    return _first_within(scores, limits, scores.argmin(axis=1))


@dataclass(frozen=True)
class Leaders:
    """Result of a search for leaders."""

    indices: Array  # (L,) row numbers of the leaders, in the order they were found
    followed: Array  # (n,) position in `indices` of the leader that each row follows
    # (n,) position in `indices` of the leader to which each row's weight is added
    counted: Array
    points: LeaderPoints


@dataclass(frozen=True)
class LeaderSearch:
    """Search for leaders among rows X (n, d). Rows of weight 0 never lead.

    Rows are compared with the leaders in batches of `batch` rows, and with each other
    in blocks of `block` rows.
    """

    X: RowsLike
    kernel: Kernel
    engine: Threads
    weights: Array | None = None
    batch: int = 8192
    block: int = 1024

    @cached_property
    def can_lead(self) -> Array:
        """Whether each row has a positive weight: (n,) bool."""
        n = self.X.shape[0]
        return np.ones(n, dtype=bool) if self.weights is None else self.weights > 0

    @cached_property
    def diag(self) -> Array:
        """k(x, x) of all rows: (n,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            diag = self.kernel.diag(self.X)
        require_finite(diag, np.float64)
        return diag

    def one_pass(
        self, threshold: float, *, rows: Array | None = None, most: float = np.inf
    ) -> Leaders | None:
        """Find leaders in one pass over `rows`; None if there are more than `most`.

        By default, the pass is over all rows. With `rows`, `followed` and `counted` of
        the result have one entry for each of these rows.
        """
        rows = np.arange(len(self.diag)) if rows is None else rows
        leaders = np.empty(0, dtype=np.intp)
        followed = np.full(len(rows), -1, dtype=np.int32)
        for start in range(0, len(rows), self.batch):
            batch = rows[start : start + self.batch]
            found = followed[start : start + self.batch]
            found[:] = self._first_within(batch, leaders, threshold)
            known = len(leaders)
            left = np.flatnonzero((found < 0) & self.can_lead[batch])
            for begin in range(0, len(left), self.block):
                part = left[begin : begin + self.block]
                # These rows have not been compared with the batch's own leaders.
                found[part] = self._first_within(batch[part], leaders, threshold, known)
                part = part[found[part] < 0]
                new, own = self._lead_each_other(batch[part], threshold)
                found[part] = len(leaders) + own
                leaders = np.concatenate([leaders, batch[part[new]]])
                if len(leaders) > most:
                    return None
        points = self._points(leaders, threshold)
        rest = followed < 0  # rows of weight 0 that found no leader in the pass
        followed[rest] = self._compare(rows[rest], points, _first_or_nearest)
        return Leaders(leaders, followed, followed, points)

    def _points(self, leaders: Array, threshold: float) -> LeaderPoints:
        points = self.kernel.select(self.X, leaders)
        return LeaderPoints(self.kernel, points, self.diag[leaders], threshold)

    def _compare(
        self, rows: Array, points: LeaderPoints, function: Callable[..., Array]
    ) -> Array:
        return points.map_scores(function, self.X[rows], self.diag[rows], self.engine)

    def _first_within(
        self, rows: Array, leaders: Array, threshold: float, skip: int = 0
    ) -> Array:
        """Return each row's first leader (b,) within the threshold, or -1.

        The first `skip` leaders are ignored.
        """
        if len(leaders) == skip:
            return np.full(len(rows), -1)
        points = self._points(leaders[skip:], threshold)
        found = self._compare(rows, points, _first_within)
        return np.where(found < 0, -1, found + skip)

    def _lead_each_other(self, rows: Array, threshold: float) -> tuple[Array, Array]:
        """Select leaders (l,) among rows (b,) that have no leader yet.

        Returns their positions in `rows`, and for each row, which of the l leaders it
        follows (b,).
        """
        within = self._compare(rows, self._points(rows, threshold), np.less_equal)
        own = np.full(len(rows), -1, dtype=np.int32)
        new: list[int] = []
        for i in range(len(rows)):
            if own[i] < 0:
                own[(own < 0) & within[:, i]] = len(new)
                own[i] = len(new)
                new.append(i)
        return np.array(new, dtype=np.intp), own

    def find_about(self, wanted: int, least: int, rng: np.random.Generator) -> Leaders:
        """Find about `wanted` leaders by choosing the threshold.

        The threshold is found by bisection on a sample. If it gives too many leaders on
        all rows, a larger sample is used, and in the end all rows. If fewer than
        `least` leaders are found, more rows become leaders, although they are within
        the threshold of a leader.
        """
        if wanted >= self.can_lead.sum():
            return self._all_lead()
        n = len(self.diag)
        low, size = 0.0, min(n, _PER_LEADER * wanted)
        while True:
            whole = size == n
            rows = None if whole else np.sort(rng.choice(n, size, replace=False))
            threshold, found = self._bisect(rows, low, wanted, least)
            most = (_TOO_MANY if whole else _AT_MOST) * wanted
            if found is None or not whole:
                found = self.one_pass(threshold, most=most)
            if found is not None:
                return self._with_at_least(least, found)
            if whole:
                raise ValueError(
                    f"No threshold gives about {wanted} leaders: {threshold:.6g} gives "
                    f"more than {most:g}, and a slightly larger threshold gives fewer "
                    f"than {least}, because many distances are equal. Give a threshold "
                    "or choose another kernel."
                )
            low, size = threshold, min(n, _GROWTH * size)

    def _all_lead(self) -> Leaders:
        """Make every row of positive weight a leader.

        Equal rows follow the first of them, but each keeps its own weight. With a
        kernel that is not positive definite, the squared distance of different rows may
        be zero or negative, and one of them may follow the other.
        """
        leaders = np.flatnonzero(self.can_lead)
        points = self._points(leaders, 0.0)
        followed = points.follow(self.X, self.diag, self.engine)
        counted = followed.copy()
        counted[leaders] = np.arange(len(leaders))
        return Leaders(leaders, followed, counted, points)

    def _with_at_least(self, least: int, found: Leaders) -> Leaders:
        """Make more rows leaders, up to `least` in total; each keeps its own weight."""
        missing = least - len(found.indices)
        if missing <= 0:
            return found
        others = np.setdiff1d(np.flatnonzero(self.can_lead), found.indices)[:missing]
        leaders = np.concatenate([found.indices, others])
        counted = found.counted.copy()
        counted[others] = len(found.indices) + np.arange(len(others))
        points = self._points(leaders, found.points.threshold)
        return Leaders(leaders, found.followed, counted, points)

    def _bisect(
        self, rows: Array | None, low: float, wanted: int, least: int
    ) -> tuple[float, Leaders | None]:
        """Return a threshold that gives about `wanted` leaders, and these leaders.

        The threshold is above `low`. If no threshold gives about `wanted` leaders, a
        threshold that gives fewer leaders is returned. If it would give fewer than
        `least` leaders, a threshold that gives more is returned instead. The leaders
        are None if there are more than _TOLERANCE times `wanted`.
        """

        def attempt(threshold: float) -> tuple[Leaders | None, float]:
            found = self.one_pass(threshold, rows=rows, most=_TOLERANCE * wanted)
            return found, np.inf if found is None else len(found.indices)

        high = max(2 * low, float(np.sqrt(np.abs(self.diag).max())), _SMALLEST)
        while attempt(high)[1] > wanted:
            low, high = high, 2 * high
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            found, count = attempt(middle)
            if count > _TOLERANCE * wanted:
                low = middle
            elif count < wanted / _TOLERANCE:
                high = middle
            else:
                return middle, found
        found, count = attempt(high)
        if count < least:
            more, more_count = attempt(low)
            if more_count > least:
                return low, more
        return high, found
