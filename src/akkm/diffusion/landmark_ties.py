"""Ties: the nearest landmarks of each row, and the weights of steps to them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from akkm.core.nearest import require_finite
from akkm.core.threads import Threads
from akkm.rows import chunks
from akkm.typing import Array, RowsLike

# Candidates beyond p, so that rounding can't exclude one of the p nearest landmarks.
_SPARE = 2
# Ties weaker than this share of the row's strongest tie are dropped.
_WEAK = 0.01
# Size of a block of approximate distances, so that it fits in the processor's cache.
_BLOCK_BYTES = 4 * 2**20


@dataclass(frozen=True)
class Ties:
    """The p nearest landmarks of each row."""

    indices: Array  # (n, p) int32
    squared: Array  # (n, p) float64 squared distances, ascending

    def weights(self, width: float) -> Array:
        """exp(-d² / width), normalised to sum to one in each row: (n, p) float64."""
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
    float64, computed row by row, decide. So a row's ties do not depend on other rows.
    """
    (n, _), m = X.shape, points.shape[0]
    p, n_candidates = min(n_neighbors, m), min(n_neighbors + _SPARE, m)
    step = int(np.clip(_BLOCK_BYTES // (4 * m), 32, 1024))
    approximate = _approximate_distances(points, X.dtype)
    ties = Ties(np.empty((n, p), dtype=np.int32), np.empty((n, p)))

    def fill(chunk: slice) -> None:
        for start in range(chunk.start, chunk.stop, step):
            rows = slice(start, min(start + step, chunk.stop))
            block = match_storage(X[rows], points)
            near = _lowest(approximate(block), n_candidates)
            near.sort(axis=1)  # of equally near landmarks, the first is taken
            exact = _exact_distances(block, points, near)
            order = exact.argsort(axis=1, kind="stable")[:, :p]
            ties.indices[rows] = np.take_along_axis(near, order, axis=1)
            ties.squared[rows] = np.take_along_axis(exact, order, axis=1)

    engine.for_each(fill, chunks(n))
    return ties


def match_storage(X: RowsLike, points: RowsLike) -> RowsLike:
    """X as a CSR array if the points are sparse, else as a dense array."""
    if sparse.issparse(points):
        return sparse.csr_array(X)
    return X.toarray() if sparse.issparse(X) else X


def _approximate_distances(points: RowsLike, dtype: Any) -> Callable[[RowsLike], Array]:
    """Function that maps rows x (b, d) to |x - z|² - |x|² for all points z: (b, m)."""
    if sparse.issparse(points):
        Z = points.astype(np.float64)
        norms = np.asarray(Z.power(2).sum(axis=1)).ravel()
        columns = Z.T.tocsc()
        return lambda X: norms - 2 * (X.astype(np.float64) @ columns).toarray()
    shift = _rounded_mean(points).astype(dtype)
    Z = points.astype(dtype) - shift
    norms = np.einsum("ij,ij->i", Z, Z)
    Z *= -2

    def approximate(X: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            out = (X - shift) @ Z.T
            out += norms
        require_finite(out, dtype)
        return out

    return approximate


def _rounded_mean(points: Array) -> Array:
    """The mean of the points (d,), which is subtracted for precision.

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
