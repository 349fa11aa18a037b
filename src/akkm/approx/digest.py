"""A digest of all rows, so that a fit does not resume with other data.

A row's values are read as 32-bit words. Each word is multiplied by a fixed 64-bit key
that depends on the word's position in the row. The row's digest is the sum of these
products, modulo 2⁶⁴. Each row's digest is mixed with the row's number, and the sum over
all rows is the digest of the data. If a value changes or two rows change places, the
digest changes, except with a probability of about 2⁻³². The digest does not depend on
how the rows are stored or cut into blocks: an array, a CSR matrix, files and partitions
with equal values have equal digests.

The digest detects mistakes. It is not cryptographic.
"""

from typing import Any

import numpy as np
from scipy import sparse

from akkm.rows import as_rows
from akkm.typing import Array, RowsLike

# Number of words that are multiplied at a time. They fit in the processor's cache, even
# after conversion to 64 bits.
_WORDS = 2**15
_MASK = 2**64 - 1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # odd, with no pattern in its bits


def digest(X: RowsLike) -> int:
    """Return a digest of the values and the order of rows X (n, d), in one pass.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from akkm.approx.digest import digest
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> digest(X) == digest(sparse.csr_matrix(X)), digest(X) == digest(X[::-1])
    (True, False)
    """
    return sum(as_rows(X).map_blocks(_digest_block)) & _MASK


def _digest_block(block: Any, rows: slice) -> int:
    """Return the sum of the mixed row digests of a block (b, d)."""
    per_value = block.dtype.itemsize // 4
    keys = _mixed(_GOLDEN * np.arange(per_value * block.shape[1], dtype=np.uint64))
    if sparse.issparse(block):
        sums = _sparse_sums(block, keys.reshape(-1, per_value))
    else:
        words = np.ascontiguousarray(block).view(np.uint32)
        step = max(1, _WORDS // len(keys))
        cuts = [words[start : start + step] for start in range(0, len(words), step)]
        sums = np.concatenate([keys[:0], *(cut @ keys for cut in cuts)])
    sums += _GOLDEN * np.arange(rows.start, rows.stop, dtype=np.uint64)
    return int(_mixed(sums).sum())


def _sparse_sums(block: Any, keys: Array) -> Array:
    """Return the digests (b,) of the rows of a CSR matrix (b, d).

    `keys` (d, w) are the keys of the w words of each column's value.
    """
    words = block.data.view(np.uint32).reshape(-1, keys.shape[1])
    products = (words * keys[block.indices]).sum(axis=1, dtype=np.uint64)
    totals = np.append(np.uint64(0), np.cumsum(products))
    return totals[block.indptr[1:]] - totals[block.indptr[:-1]]


def _mixed(values: Array) -> Array:
    """Mix 64-bit numbers (b,), so that every bit depends on all bits (SplitMix64)."""
    values = values + _GOLDEN
    values ^= values >> np.uint64(30)
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values
