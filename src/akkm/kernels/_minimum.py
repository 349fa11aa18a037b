"""Sums of minima: sparse rows against points, in compiled loops over tiles.

A zero of x adds nothing to sum_j min(x_j, z_j), so a row costs as much as it has
entries. The points are laid out in tiles of 128, column by column: for an entry of x,
128 of them are compared with vector instructions. A tile's part of 256 columns stays in
the second-level cache while all rows of a block go over it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from akkm.kernels._base import Array, Fill, Rows

_TILE, _COLUMNS = 128, 256


class _Loops(NamedTuple):
    """Compiled for float32 and float64 when first called."""

    scatter: Any
    add_minima: Any


def sums_of_minima(Z: Rows) -> Fill:
    """The function that fills sum_j min(x_ij, z_kj) for rows X ≥ 0, points Z ≥ 0."""
    loops = _loops()
    m, d = Z.shape
    tiles = np.zeros((-(-m // _TILE) * d, _TILE), dtype=Z.dtype)
    Z = _sparse(Z)
    loops.scatter(Z.indptr, Z.indices, Z.data, d, tiles)

    def fill(X: Rows, out: Array) -> None:
        X = _sparse(X)
        out[...] = 0
        loops.add_minima(X.indptr, X.indices, X.data, d, tiles, out)

    return fill


def _sparse(X: Rows) -> Rows:
    """X as CSR with each column at most once in a row, in order."""
    X = sparse.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()  # it may share its arrays with the caller's
        X.sum_duplicates()
    return X


@cache
def _loops() -> _Loops:
    """The compiled loops, made when first needed: numba takes a second to import."""
    import numba

    @numba.njit(nogil=True)
    def scatter(indptr: Array, indices: Array, data: Array, d: int, tiles: Any) -> None:
        for i in range(len(indptr) - 1):
            first = i // _TILE * d
            for p in range(indptr[i], indptr[i + 1]):
                tiles[first + indices[p], i % _TILE] = data[p]

    @numba.njit
    def least(x: Any, z: Any) -> Any:  # one instruction; min would mind NaN
        return x if x < z else z

    # Unsigned row numbers of tiles: signed ones might be counted from the end, and the
    # check for that keeps loops from using vector registers.
    @numba.njit(nogil=True, fastmath={"reassoc", "nsz", "contract"})
    def add_minima(
        indptr: Array, indices: Array, data: Array, d: int, tiles: Any, out: Array
    ) -> None:
        n, m = out.shape
        at = np.empty(n, np.int64)
        total = np.empty(_TILE, out.dtype)
        for tile in range(len(tiles) // max(d, 1)):
            base = np.uint64(tile * d)
            start = tile * _TILE
            width = min(_TILE, m - start)
            for i in range(n):
                at[i] = indptr[i]
            for column in range(0, d, _COLUMNS):
                for i in range(n):
                    p = q = at[i]
                    while q < indptr[i + 1] and indices[q] < column + _COLUMNS:
                        q += 1
                    if p == q:
                        continue
                    at[i] = q
                    for k in range(_TILE):
                        total[k] = 0
                    while p + 4 <= q:  # four at a time: fewer loads of the totals
                        r0 = base + np.uint64(indices[p])
                        r1 = base + np.uint64(indices[p + 1])
                        r2 = base + np.uint64(indices[p + 2])
                        r3 = base + np.uint64(indices[p + 3])
                        x0 = data[p]
                        x1 = data[p + 1]
                        x2 = data[p + 2]
                        x3 = data[p + 3]
                        for k in range(_TILE):
                            total[k] += (
                                least(x0, tiles[r0, k]) + least(x1, tiles[r1, k])
                            ) + (least(x2, tiles[r2, k]) + least(x3, tiles[r3, k]))
                        p += 4
                    while p < q:
                        r0, x0 = base + np.uint64(indices[p]), data[p]
                        for k in range(_TILE):
                            total[k] += least(x0, tiles[r0, k])
                        p += 1
                    for k in range(width):
                        out[i, start + k] += total[k]

    return _Loops(scatter, add_minima)
