"""Sums of minima: sparse rows against points, in compiled loops over tiles.

A zero entry of x adds nothing to sum_j min(x_j, z_j), so the cost of a row is
proportional to its number of nonzero entries. The points are stored in tiles of 128,
column by column: each entry of x is compared with 128 points by vector instructions.
256 columns of a tile stay in the second-level cache while a block of rows is processed.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from akkm.kernels._base import Array, Fill, Rows

_TILE, _COLUMNS = 128, 256


def require_numba() -> None:
    """Raise ImportError if numba is missing, with the extra to install."""
    try:
        import numba  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "The laplacian, chi2 and intersection kernels need numba, which is not "
            "installed. Install it with: pip install 'akkm[numba]'"
        ) from error


def sums_of_minima(Z: Rows) -> Fill:
    """Bind points Z ≥ 0 (m, d): the Fill of sum_j min(x_ij, z_kj) for rows X ≥ 0."""
    scatter, add_minima = _loops()
    m, d = Z.shape
    tiles = np.zeros((-(-m // _TILE) * d, _TILE), dtype=Z.dtype)
    Z = _sparse(Z)
    scatter(Z.indptr, Z.indices, Z.data, d, tiles)

    def fill(X: Rows, out: Array) -> None:
        X = _sparse(X)
        out[...] = 0
        add_minima(X.indptr, X.indices, X.data, d, tiles, out)

    return fill


def _sparse(X: Rows) -> Rows:
    """X as CSR with sorted column numbers and no duplicates."""
    X = sparse.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()  # it may share its arrays with the caller
        X.sum_duplicates()
    return X


@cache
def _loops() -> tuple[Any, Any]:
    """Compiled loops; compiled on first use, as importing numba is slow."""
    require_numba()
    import numba

    @numba.njit(nogil=True)
    def scatter(indptr: Array, indices: Array, data: Array, d: int, tiles: Any) -> None:
        for i in range(len(indptr) - 1):
            first = i // _TILE * d
            for p in range(indptr[i], indptr[i + 1]):
                tiles[first + indices[p], i % _TILE] = data[p]

    @numba.njit
    def least(x: Any, z: Any) -> Any:  # one instruction; min() would check for NaN
        return x if x < z else z

    # Unsigned row numbers: signed ones could be negative, and numba's check for that
    # would prevent the use of vector registers.
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
                    while p + 4 <= q:  # four at a time, to load the totals less often
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

    return scatter, add_minima
