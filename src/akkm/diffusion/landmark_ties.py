"""Ties: the few landmarks that are nearest to each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from akkm.core.nearest import require_finite
from akkm.core.strip import Rows, chunks
from akkm.core.threads import Threads

Array = NDArray[Any]

# Neighbours beyond the p that are wanted, so that rounding can't leave one out.
_SPARE = 2
# Ties with less than this share of the strongest are none.
_WEAK = 0.01
# A tile of distances stays near the processor.
_TILE_BYTES = 4 * 2**20


@dataclass(frozen=True)
class Ties:
    """Rows and their p nearest landmarks."""

    indices: Array  # (n, p) int32
    squared: Array  # (n, p) float64 squared distances, rising

    def weights(self, width: float) -> Array:
        """(n, p) float64 in [0, 1] that sum to one in each row."""
        # Relative to the nearest, so that a far-off row has ties too.
        beyond = self.squared - self.squared[:, :1]
        weights = np.exp(-beyond / width) if width > 0 else (beyond == 0) * 1.0
        weights[weights < _WEAK] = 0
        return weights / weights.sum(axis=1, keepdims=True)

    def matrix(self, width: float, m: int) -> Any:
        """P as a CSR array (n, m)."""
        n, p = self.indices.shape
        ends = np.arange(n + 1) * p
        return sparse.csr_array(
            (self.weights(width).ravel(), self.indices.ravel(), ends), shape=(n, m)
        )

    def part(self, rows: Any) -> Ties:
        """Those of some rows."""
        return Ties(self.indices[rows], self.squared[rows])


def tie_rows(X: Rows, points: Rows, n_neighbors: int, engine: Threads) -> Ties:
    """The nearest of the points (m, d) for each row X (n, d), exactly."""
    p = min(n_neighbors, points.shape[0])
    ties = Ties(np.empty((X.shape[0], p), dtype=np.int32), np.empty((X.shape[0], p)))
    find = tie_finder(points, p, X.dtype)

    def task(chunk: slice) -> None:
        found = find(X[chunk])
        ties.indices[chunk], ties.squared[chunk] = found.indices, found.squared

    for _ in engine.map(task, chunks(X.shape[0])):
        pass
    return ties


def tie_finder(points: Rows, p: int, dtype: Any) -> Callable[[Rows], Ties]:
    """A function from rows (b, d) to their p nearest points.

    A matrix product in the rows' precision says which points may be nearest, and
    distances in float64, row by row, which are: the same wherever the row is.
    """
    m = points.shape[0]
    many = min(p + _SPARE, m)
    step = int(np.clip(_TILE_BYTES // (4 * m), 32, 1024))
    if sparse.issparse(points):
        rough = _sparse_distances(points)
    else:
        rough = _distances(points, dtype)

    def find(X: Rows) -> Ties:
        indices = np.empty((X.shape[0], p), dtype=np.int32)
        squared = np.empty((X.shape[0], p))
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            block = _like(X[rows], points)
            near = _lowest(rough(block), many)
            near.sort(axis=1)  # of equally near ones the first
            exact = _exact(block, points, near)
            order = exact.argsort(axis=1, kind="stable")[:, :p]
            indices[rows] = np.take_along_axis(near, order, axis=1)
            squared[rows] = np.take_along_axis(exact, order, axis=1)
        return Ties(indices, squared)

    return find


def _like(X: Rows, points: Rows) -> Rows:
    """X dense or sparse, as the points are."""
    if sparse.issparse(points):
        return sparse.csr_array(X)
    return X.toarray() if sparse.issparse(X) else X


def _distances(points: Array, dtype: Any) -> Callable[[Array], Array]:
    """Squared distances less |x|² of rows (b, d) to points: (b, m), about."""
    shift = _shift(points).astype(dtype)
    Z = points.astype(dtype) - shift
    norms = np.einsum("ij,ij->i", Z, Z)
    Z *= -2

    def rough(X: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            out = (X - shift) @ Z.T
            out += norms
        require_finite(out, dtype)
        return out

    return rough


def _shift(points: Array) -> Array:
    """About the mean, (d,), which is taken from all for the sake of precision.

    Rounded to a power of two, so that differences of whole numbers stay exact, and
    equal distances equal.
    """
    mean = points.mean(axis=0, dtype=np.float64)
    spread = float(np.abs(points - mean).mean())
    grid = 2.0 ** np.ceil(np.log2(spread)) if spread > 0 else 1.0
    return np.rint(mean / grid) * grid


def _sparse_distances(points: Any) -> Callable[[Any], Array]:
    Z = points.astype(np.float64).T.tocsc()
    norms = np.asarray(points.astype(np.float64).power(2).sum(axis=1)).ravel()
    return lambda X: norms - 2 * (X.astype(np.float64) @ Z).toarray()


def _exact(X: Rows, points: Rows, near: Array) -> Array:
    """Squared distances in float64 of rows (b, d) to some points each: (b, s)."""
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
    """Columns of the `count` lowest of each row of values (b, m), overwritten."""
    rows = np.arange(len(values))
    lowest = np.empty((len(values), count), dtype=np.int32)
    for j in range(count):  # one pass each is faster than a partial sort
        lowest[:, j] = values.argmin(axis=1)
        values[rows, lowest[:, j]] = np.inf
    return lowest
