"""Squared distances of pairs of rows, without cancellation errors."""

import numpy as np
from scipy import sparse

from akkm.kernels._base import squared_norms, to_dense
from akkm.typing import Array, RowsLike

# Number of array entries that are computed at a time.
_ENTRIES = 2**20


def squared_distances(X: RowsLike, Z: RowsLike, i: Array, j: Array) -> Array:
    """Return |x - z|² (p,) in float64, for pairs of a row x of X and a row z of Z.

    i (p,) and j (p,) are the row numbers of each pair in X and Z.

    The differences x - z are computed first. So the result is exact up to its last
    digits, even if two rows are close to each other and far from the origin. The result
    is zero for equal rows. It is infinite if the square overflows.
    """
    if sparse.issparse(X) != sparse.issparse(Z):
        X, Z = to_dense(X), to_dense(Z)
    squared = np.empty(len(i))
    step = max(1, _ENTRIES // max(X.shape[1], 1))
    with np.errstate(over="ignore"):
        for start in range(0, len(i), step):
            pairs = slice(start, start + step)
            x, z = X[i[pairs]].astype(np.float64), Z[j[pairs]].astype(np.float64)
            squared[pairs] = squared_norms(x - z)
    return squared
