"""Ties: the nearest landmarks of each row, and the weights of steps to them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from akkm.core.threads import Threads
from akkm.rows import chunks
from akkm.typing import Array, RowsLike

# The p nearest landmarks of a row are chosen from p plus this many candidates, so that
# rounding hardly ever excludes one of them.
_SPARE = 2
# The relative rounding error of a squared distance over d columns is assumed to be at
# most this number times sqrt(d) times the machine epsilon.
_MARGIN = 4
# Products of small multiples of this number have no rounding errors.
_UNIT = 1 / 16
# Ties weaker than this share of the row's strongest tie are dropped.
_WEAK = 0.01
# Size of a block of approximate distances; a block fits in the processor's cache.
_BLOCK_BYTES = 4 * 2**20


@dataclass(frozen=True)
class Ties:
    """The p nearest landmarks of each row."""

    indices: Array  # (n, p) int32
    squared: Array  # (n, p) float64 squared distances, ascending

    def weights(self, width: float) -> Array:
        """Weights exp(-d² / width), scaled to a sum of one in each row: (n, p)."""
        # Use distances relative to the nearest landmark. Otherwise the weights of
        # distant rows would all be zero.
        excess = self.squared - self.squared[:, :1]
        weights = np.exp(-excess / width) if width > 0 else (excess == 0) * 1.0
        weights[weights < _WEAK] = 0
        return weights / weights.sum(axis=1, keepdims=True)

    def matrix(self, width: float, m: int) -> Any:
        """The weights as a CSR array P (n, m)."""
        n, p = self.indices.shape
        starts = np.arange(n + 1) * p
        return sparse.csr_array(
            (self.weights(width).ravel(), self.indices.ravel(), starts), shape=(n, m)
        )

    def part(self, rows: slice) -> "Ties":
        """The ties of a slice of rows."""
        return Ties(self.indices[rows], self.squared[rows])


def tie_rows(X: RowsLike, points: RowsLike, n_neighbors: int, engine: Threads) -> Ties:
    """Find the nearest of the points (m, d) for each row of X (n, d), exactly.

    A matrix product with the precision of the rows proposes candidates. Distances in
    float64, computed row by row, decide which candidates are nearest. So a row's ties
    do not depend on other rows. Of equally near points, the first is taken.
    """
    (n, _), m = X.shape, points.shape[0]
    p = min(n_neighbors, m)
    step = int(np.clip(_BLOCK_BYTES // (4 * m), 32, 1024))
    products = _Products(points, X.dtype)
    ties = Ties(np.empty((n, p), dtype=np.int32), np.empty((n, p)))

    def fill(chunk: slice) -> None:
        for start in range(chunk.start, chunk.stop, step):
            rows = slice(start, min(start + step, chunk.stop))
            block = match_storage(X[rows], points)
            found = _nearest(block, points, products, p, p + _SPARE)
            ties.indices[rows], ties.squared[rows] = found

    engine.for_each(fill, chunks(n))
    return ties


def _nearest(
    X: RowsLike, points: RowsLike, products: "_Products", p: int, n_candidates: int
) -> tuple[Array, Array]:
    """The p nearest points of each row: indices and squared distances, both (b, p)."""
    m = points.shape[0]
    if 4 * n_candidates > m:
        near = np.tile(np.arange(m, dtype=np.int32), (X.shape[0], 1))
    else:
        shifted = products.shift(X)
        near = _lowest(products.distances(shifted), n_candidates)
        near.sort(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        exact = _exact_distances(X, points, near)
    require_finite_distances(exact)
    order = exact.argsort(axis=1, kind="stable")[:, :p]
    indices = np.take_along_axis(near, order, axis=1)
    squared = np.take_along_axis(exact, order, axis=1)
    if near.shape[1] < m:
        # Except for rounding, all other points are at least as far as the farthest
        # candidate. If one of them might still be among the p nearest points, compare
        # more candidates.
        farthest = exact.max(axis=1)
        rounding = products.rounding(shifted, farthest)
        doubtful = (farthest - rounding <= squared[:, -1]) & (rounding > 0)
        rows = np.flatnonzero(doubtful)
        if len(rows):
            found = _nearest(X[rows], points, products, p, 4 * n_candidates)
            indices[rows], squared[rows] = found
    return indices, squared


class _Products:
    """Squared distances to points (m, d) by a matrix product, with error bounds."""

    def __init__(self, points: RowsLike, dtype: Any) -> None:
        self._dtype = np.dtype(np.float64 if sparse.issparse(points) else dtype)
        self._origin = None  # subtracting an origin would make sparse rows dense
        if not sparse.issparse(points):
            self._origin = rounded_mean(points).astype(self._dtype)
        Z = self.shift(points)
        with np.errstate(over="ignore"):  # `distances` refuses infinite norms
            self._norms = _squared_norms(Z).astype(self._dtype)
        self._whole = bool(_whole_rows(Z).all())
        self._right = (-2 * Z).T

    def shift(self, X: RowsLike) -> RowsLike:
        """The rows relative to the origin, in the precision of the products."""
        X = X.astype(self._dtype, copy=False)
        return X if self._origin is None else X - self._origin

    def distances(self, shifted: RowsLike) -> Array:
        """|x - z|² - |x|² for rows x (b, d) and all points z: (b, m)."""
        with np.errstate(over="ignore", invalid="ignore"):
            out = shifted @ self._right
            out = out.toarray() if sparse.issparse(out) else out
            out += self._norms
        require_finite_distances(out)
        return out

    def rounding(self, shifted: RowsLike, squared: Array) -> Array:
        """Bounds (b,) on rounding errors of squared distances up to `squared` (b,).

        There are no rounding errors if all entries are small multiples of `_UNIT`, such
        as integers.
        """
        kind = np.finfo(self._dtype)
        size = (2 * np.sqrt(_squared_norms(shifted)) + np.sqrt(squared)) ** 2
        exact = self._whole & _whole_rows(shifted)
        exact &= size < 2.0**kind.nmant * _UNIT**2
        return np.where(
            exact, 0.0, _MARGIN * np.sqrt(shifted.shape[1]) * kind.eps * size
        )


def _squared_norms(X: RowsLike) -> Array:
    """|x|² of each row, in float64: (b,)."""
    if sparse.issparse(X):
        with np.errstate(over="ignore"):  # checked by `require_finite_distances`
            return np.asarray(X.power(2).sum(axis=1, dtype=np.float64)).ravel()
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def _whole_rows(X: RowsLike) -> Array:
    """Whether each row (b, d) consists of multiples of `_UNIT`: (b,)."""
    if sparse.issparse(X):
        fractions = X.copy()
        fractions.data = np.rint(X.data / _UNIT) != X.data / _UNIT
        return np.asarray(fractions.sum(axis=1)).ravel() == 0
    return (np.rint(X / _UNIT) == X / _UNIT).all(axis=1)


def match_storage(X: RowsLike, points: RowsLike) -> RowsLike:
    """X as a CSR array if the points are sparse, else as a dense array."""
    if sparse.issparse(points):
        return sparse.csr_array(X)
    return X.toarray() if sparse.issparse(X) else X


def rounded_mean(points: Array) -> Array:
    """The rounded mean (d,) of the points, which is subtracted for precision.

    It is rounded to multiples of a power of two. So differences of integers stay exact,
    and equal distances stay equal.
    """
    mean = points.mean(axis=0, dtype=np.float64)
    deviation = float(np.abs(points - mean).mean())
    grid = 2.0 ** np.ceil(np.log2(deviation)) if deviation > 0 else 1.0
    return np.rint(mean / grid) * grid


def _exact_distances(X: RowsLike, points: RowsLike, near: Array) -> Array:
    """Squared distances in float64 of rows (b, d) to their points `near` (b, s)."""
    out = np.empty(near.shape)
    X = X.astype(np.float64)
    for j in range(near.shape[1]):
        difference = X - points[near[:, j]]
        if sparse.issparse(X):
            out[:, j] = np.asarray(difference.power(2).sum(axis=1)).ravel()
        else:
            out[:, j] = np.square(difference).sum(axis=1)
    return out


def _lowest(values: Array, count: int) -> Array:
    """Columns (b, count) of the lowest values (b, m) of each row; overwrites values."""
    rows = np.arange(len(values))
    lowest = np.empty((len(values), count), dtype=np.int32)
    for j in range(count):  # repeated passes are faster than a partial sort
        lowest[:, j] = values.argmin(axis=1)
        values[rows, lowest[:, j]] = np.inf
    return lowest


def require_finite_distances(distances: Array) -> None:
    """Raise ValueError if a distance overflows."""
    if not np.isfinite(distances).all():
        raise ValueError(
            "Some distances between rows overflow; scale the columns (e.g. "
            "StandardScaler)."
        )
