"""Loops over rows, compiled by numba.

Import this module only when it is needed: numba is optional and slow to import.

`manhattan` and `chi2` sum a term over the columns of dense rows.

`add_minima` computes sum_j min(x_j, z_j) of sparse rows. A zero entry of x adds
nothing, so the cost of a row is proportional to its number of nonzero entries.
`scatter` stores the points in tiles of 128 points, column by column. So vector
instructions compare each entry of x with 128 points. Columns are processed in groups of
256. The part of a tile in such a group stays in the CPU's second-level cache while a
block of rows is processed.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from akkm.typing import Array

# Points per tile.
TILE = 128
# Columns per group.
_COLUMNS = 256
# Options that let numba reorder sums, so that they use vector registers.
_FAST = {"reassoc", "nsz", "contract"}


def _sum_over_columns(term: Callable[[Any, Any], Any]) -> Any:
    """Compile out_ik = sum_j term(x_ij, z_kj)."""
    term = numba.njit(inline="always")(term)

    @numba.njit(nogil=True, fastmath=_FAST)
    def loop(X: Array, Z: Array, out: Array) -> None:
        for i in range(X.shape[0]):
            for k in range(Z.shape[0]):
                total = out.dtype.type(0)
                for j in range(X.shape[1]):
                    total += term(X[i, j], Z[k, j])
                out[i, k] = total

    return loop


manhattan = _sum_over_columns(lambda x, z: abs(x - z))
chi2 = _sum_over_columns(
    lambda x, z: (x - z) * (x - z) / (x + z) if x + z > 0 else x * 0
)


@numba.njit(nogil=True)
def scatter(indptr: Array, indices: Array, data: Array, d: int, tiles: Any) -> None:
    for i in range(len(indptr) - 1):
        first = i // TILE * d
        for p in range(indptr[i], indptr[i + 1]):
            tiles[first + indices[p], i % TILE] = data[p]


@numba.njit
def least(x: Any, z: Any) -> Any:  # one instruction; min() would check for NaN
    return x if x < z else z


# Row numbers are unsigned. For signed numbers, numba would check whether they are
# negative, and this check would prevent the use of vector registers.
@numba.njit(nogil=True, fastmath=_FAST)
def add_minima(
    indptr: Array, indices: Array, data: Array, d: int, tiles: Any, out: Array
) -> None:
    n, m = out.shape
    at = np.empty(n, np.int64)
    total = np.empty(TILE, out.dtype)
    for tile in range(len(tiles) // max(d, 1)):
        base = np.uint64(tile * d)
        start = tile * TILE
        width = min(TILE, m - start)
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
                for k in range(TILE):
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
                    for k in range(TILE):
                        total[k] += (
                            least(x0, tiles[r0, k]) + least(x1, tiles[r1, k])
                        ) + (least(x2, tiles[r2, k]) + least(x3, tiles[r3, k]))
                    p += 4
                while p < q:
                    r0, x0 = base + np.uint64(indices[p]), data[p]
                    for k in range(TILE):
                        total[k] += least(x0, tiles[r0, k])
                    p += 1
                for k in range(width):
                    out[i, start + k] += total[k]
