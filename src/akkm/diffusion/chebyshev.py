"""Leading eigenvectors of a large sparse matrix, by filtered subspace iteration.

A polynomial of the matrix is applied to a block of vectors. The polynomial is large at
the wanted eigenvalues, and its absolute value is at most one at the unwanted ones. It
is a Chebyshev polynomial, scaled to the interval of the unwanted eigenvalues. So the
unwanted parts of the vectors fade. Then the best approximations of eigenpairs in the
block's span are computed (the Rayleigh-Ritz method), and the interval is adjusted.

The products of the matrix with the block run in float32 and dominate the cost. The
Rayleigh-Ritz step runs in float64. The error of an eigenvalue is about the square of
the error of its vector.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from akkm.typing import Array

# A block has more vectors than wanted, because its last vectors converge slowly. The
# number of extra vectors is the larger of _SPARE and _SPARE_SHARE of the wanted number.
_SPARE, _SPARE_SHARE = 8, 0.2
# The polynomial has the lowest degree for which its value at 1 is at least this number.
_AMPLIFICATION = 3e3
# Maximum degree of the polynomial.
_DEGREE = 80
# Degree of the first polynomial, and the largest eigenvalue that it treats as unwanted.
_FIRST_DEGREE, _FIRST_BOUND = 10, 0.5
# The rate of an eigenvector is 1 - eigenvalue. Stop when no rate has changed by more
# than this share of its value. The remaining error is then much smaller than this
# share, because each filter divides errors by a large factor.
_CHANGE = 0.05
# The largest number of products of the matrix with a block.
_PRODUCTS = 4000
# A direction of the block's span is dropped if its squared length is below this share
# of the largest squared length.
_DEPENDENT = 1e-10
_CHUNK = 65536


def leading_eigenpairs_by_filter(
    S: Any,
    known: Any,
    n_pairs: int,
    rng: np.random.Generator,
    say: Callable[[str], Any] = lambda text: None,
) -> tuple[Array, Array]:
    """The largest eigenvalues of S and their eigenvectors, apart from known ones.

    Parameters
    ----------
    S : symmetric CSR array of shape (n, n)
        A matrix with eigenvalues from -1 to 1.
    known : CSR array of shape (n, c)
        Orthonormal eigenvectors with eigenvalue 1. The result does not contain them.
    n_pairs : int
        The number q of eigenpairs.
    rng : numpy.random.Generator
        Draws the first vectors.
    say : callable, optional
        Receives a line of progress after each filter.

    Returns
    -------
    values : array of shape (q,)
        Eigenvalues in descending order.
    vectors : array of shape (n, q)
        Their eigenvectors.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from akkm.diffusion.chebyshev import leading_eigenpairs_by_filter
    >>> S = sparse.diags_array(np.linspace(0, 0.9, 200)).tocsr()
    >>> none = sparse.csr_array((200, 0))
    >>> values, _ = leading_eigenpairs_by_filter(S, none, 2, np.random.default_rng(0))
    >>> values.round(3).tolist()
    [0.9, 0.895]
    """
    # In this order, linked rows are near each other in memory, and products are faster.
    order = reverse_cuthill_mckee(S, symmetric_mode=True)
    S, known = sparse.csr_array(S[order][:, order]), known[order]
    low = _in_32_bits(S)
    size = n_pairs + max(_SPARE, int(_SPARE_SHARE * n_pairs))
    say(f"eigenvectors: the leading {n_pairs} of {S.shape[0]:,}")
    block = rng.standard_normal((S.shape[0], size), dtype=np.float32)
    block = _filter(low, block, _FIRST_DEGREE, _FIRST_BOUND)
    values, vectors = _ritz_pairs(S, known, block)
    products, change = _FIRST_DEGREE, np.inf
    while change > _CHANGE and products < _PRODUCTS:
        bound = float(min(values[-1], 1 - 1e-7))
        # Where eigenvalue 1 lies, if the unwanted interval is scaled to [-1, 1].
        edge = (3 - bound) / (1 + bound)
        degree = int(np.ceil(np.arccosh(_AMPLIFICATION) / np.arccosh(edge)))
        degree = max(4, min(degree, _DEGREE))
        block = _filter(low, vectors.astype(np.float32), degree, bound)
        before = 1 - values[:n_pairs]
        values, vectors = _ritz_pairs(S, known, block)
        rates = np.maximum(1 - values[:n_pairs], 1e-12)
        change = float(np.abs(before[: len(rates)] / rates - 1).max())
        products += degree
        say(f"eigenvectors: {products} products, change {min(change, 9.99):.3f}")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return values[:n_pairs], vectors[:, :n_pairs][place]


def _in_32_bits(S: Any) -> Any:
    """S with float32 entries and, if it is small enough, int32 indices."""
    low = S.astype(np.float32)
    if max(S.nnz, S.shape[0]) < 2**31:
        low.indices = low.indices.astype(np.int32, copy=False)
        low.indptr = low.indptr.astype(np.int32, copy=False)
    return low


def _filter(S: Any, block: Array, degree: int, bound: float) -> Array:
    """Apply the Chebyshev polynomial of [-1, bound] to a block of vectors (n, b)."""
    middle, half = (bound - 1) / 2, (bound + 1) / 2
    unit = sparse.eye_array(S.shape[0], dtype=np.float32, format="csr")
    twice = _in_32_bits((S - np.float32(middle) * unit) * np.float32(2 / half))
    before, block = block, twice @ block
    block *= np.float32(0.5)
    for _ in range(degree - 1):
        after = twice @ block
        after -= before
        before, block = block, after
    return block


def _ritz_pairs(S: Any, known: Any, block: Array) -> tuple[Array, Array]:
    """Best approximations of eigenpairs of S in the span of a block (n, b)."""
    vectors = block.astype(np.float64)
    vectors /= np.abs(vectors).max()
    vectors -= known @ (known.T @ vectors)
    chunks = [slice(a, a + _CHUNK) for a in range(0, len(vectors), _CHUNK)]
    A = sum(vectors[chunk].T @ (S[chunk] @ vectors) for chunk in chunks)
    squares, axes = linalg.eigh(vectors.T @ vectors)
    independent = squares > _DEPENDENT * squares[-1]
    basis = axes[:, independent] / np.sqrt(squares[independent])
    values, axes = linalg.eigh(basis.T @ ((A + A.T) / 2) @ basis)
    basis = basis @ axes[:, ::-1]
    if independent.all():
        for chunk in chunks:
            vectors[chunk] = vectors[chunk] @ basis
        return values[::-1], vectors
    return values[::-1], vectors @ basis
