"""Hashes that identify equal rows."""

import numpy as np
from scipy import sparse

from akkm.typing import Array, RowsLike

# Numbers that are mixed at a time, so that they stay in the processor's cache.
_BLOCK = 2**16
# An odd number with irregular bits: 2^64 divided by the golden ratio.
_ODD = np.uint64(0x9E3779B97F4A7C15)


def row_hashes(X: RowsLike) -> Array:
    """A hash of each row of X (n, d): (n,) uint64, the same in every process.

    Equal rows have equal hashes, whether they are dense or sparse. Different rows of
    the same dtype have different hashes, except for an accident with a probability of
    about 2^-64 per pair.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from akkm.diffusion.row_hashes import row_hashes
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -0.0]])
    >>> hashes = row_hashes(X)
    >>> bool(hashes[0] == hashes[2]), bool(hashes[0] == hashes[1])
    (True, False)
    >>> bool((row_hashes(sparse.csr_array(X)) == hashes).all())
    True
    """
    n, d = X.shape
    factors = np.random.default_rng(0).integers(2**64, size=d, dtype=np.uint64)
    factors |= np.uint64(1)
    if sparse.issparse(X):
        X = X.copy()
        X.sum_duplicates()
        sums = np.zeros(X.nnz + 1, dtype=np.uint64)
        np.cumsum(_mixed(X.data) * factors[X.indices], out=sums[1:])
        return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    hashes = np.empty(n, dtype=np.uint64)
    step = max(1, _BLOCK // max(d, 1))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        hashes[rows] = _mixed(np.ascontiguousarray(X[rows])) @ factors
    return hashes


def _mixed(values: Array) -> Array:
    """Spread the bits of each number over 64 bits; zero stays zero."""
    values = values + values.dtype.type(0)  # turns -0.0 into 0.0
    bits = values.view(f"u{values.dtype.itemsize}").astype(np.uint64)
    bits *= _ODD
    bits ^= bits >> np.uint64(32)
    return bits
