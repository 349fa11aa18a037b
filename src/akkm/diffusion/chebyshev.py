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
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.csgraph import reverse_cuthill_mckee

from akkm.core.threads import Threads
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
_CHANGE = 0.12
# The largest number of products of the matrix with a block.
_PRODUCTS = 4000
# A direction of the block's span is dropped if its squared length is below this share
# of the largest squared length.
_DEPENDENT = 1e-10
# Rows of the matrix that are multiplied at a time.
_CHUNK = 32768
# Rows whose numbers differ by less than this are near each other in memory.
_NEAR = 16384


def leading_eigenpairs_by_filter(
    S: Any,
    known: Any,
    n_pairs: int,
    rng: np.random.Generator,
    say: Callable[[str], Any] = lambda text: None,
    engine: Threads | None = None,
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
    engine : Threads, optional
        Multiplies blocks of rows in parallel. The result does not depend on it.

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
    order = _order_in_memory(S)
    matrix, known = _RowBlocks.of(S[order][:, order], engine), known[order]
    size = n_pairs + max(_SPARE, int(_SPARE_SHARE * n_pairs))
    say(f"eigenvectors: the leading {n_pairs} of {S.shape[0]:,}")
    block = rng.standard_normal((S.shape[0], size), dtype=np.float32)
    block = _filter(matrix, block, _FIRST_DEGREE, _FIRST_BOUND)
    values, vectors = _ritz_pairs(matrix, known, block)
    products, change = _FIRST_DEGREE, np.inf
    while change > _CHANGE and products < _PRODUCTS:
        bound = float(min(values[-1], 1 - 1e-7))
        # Where eigenvalue 1 lies, if the unwanted interval is scaled to [-1, 1].
        edge = (3 - bound) / (1 + bound)
        degree = int(np.ceil(np.arccosh(_AMPLIFICATION) / np.arccosh(edge)))
        degree = max(4, min(degree, _DEGREE))
        block = _filter(matrix, vectors.astype(np.float32), degree, bound)
        before = 1 - values[:n_pairs]
        values, vectors = _ritz_pairs(matrix, known, block)
        rates = np.maximum(1 - values[:n_pairs], 1e-12)
        change = float(np.abs(before[: len(rates)] / rates - 1).max())
        products += degree
        say(f"eigenvectors: {products} products, change {min(change, 9.99):.3f}")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return values[:n_pairs], vectors[:, :n_pairs][place]


def _order_in_memory(S: Any) -> Array:
    """An order of the rows (n,) in which linked rows are near each other in memory.

    Products with the matrix are then faster. The given order is kept if it is better
    than the order that the reverse Cuthill-McKee method finds.
    """
    n = S.shape[0]
    given, order = np.arange(n), reverse_cuthill_mckee(S, symmetric_mode=True)
    rows = np.repeat(given, np.diff(S.indptr))
    place = np.empty_like(order)
    place[order] = given
    near = [
        np.count_nonzero(np.abs(p[rows] - p[S.indices]) < _NEAR) for p in (given, place)
    ]
    return given if near[0] > near[1] else order


@dataclass(frozen=True)
class _RowBlocks:
    """A symmetric CSR matrix (n, n), cut into blocks of rows."""

    rows: list[slice]
    blocks: list[Any]  # float64 CSR arrays
    low: list[Any]  # the same in float32
    engine: Threads | None

    @staticmethod
    def of(S: Any, engine: Threads | None) -> "_RowBlocks":
        """Cut S into blocks, with int32 indices if they are large enough."""
        rows = [slice(a, a + _CHUNK) for a in range(0, S.shape[0], _CHUNK)]
        blocks = [S[part] for part in rows]
        for block in blocks:
            if max(block.nnz, S.shape[0]) < 2**31:
                block.indices = block.indices.astype(np.int32, copy=False)
                block.indptr = block.indptr.astype(np.int32, copy=False)
        low = [block.astype(np.float32) for block in blocks]
        return _RowBlocks(rows, blocks, low, engine)

    def map(self, function: Callable[[slice, Any, Any], Any]) -> list[Any]:
        """The results of function(rows, block, block in float32), for each block."""
        jobs = list(zip(self.rows, self.blocks, self.low, strict=True))
        if self.engine is None:
            return [function(*job) for job in jobs]
        return list(self.engine.map(lambda job: function(*job), jobs))


def _filter(S: _RowBlocks, block: Array, degree: int, bound: float) -> Array:
    """Apply the Chebyshev polynomial of [-1, bound] to a block of vectors (n, b)."""
    half = (bound + 1) / 2
    # The interval [-1, bound] of the matrix S becomes [-1, 1] for scale S + shift.
    scale, shift = np.float32(1 / half), np.float32((1 - bound) / (2 * half))

    def product(part: slice, low: Any, of: Array) -> Array:
        result = low @ of
        result *= scale
        result += shift * of[part]
        return np.asarray(result)

    def first(part: slice, _: Any, low: Any) -> None:
        after[part] = product(part, low, block)

    def step(part: slice, _: Any, low: Any) -> None:
        before[part] = 2 * product(part, low, after) - before[part]

    before, after = block, np.empty_like(block)
    S.map(first)
    for _ in range(degree - 1):
        S.map(step)
        before, after = after, before
    return after


def _ritz_pairs(S: _RowBlocks, known: Any, block: Array) -> tuple[Array, Array]:
    """Best approximations of eigenpairs of S in the span of a block (n, b)."""
    vectors = block.astype(np.float64)
    vectors /= np.abs(vectors).max()
    vectors -= known @ (known.T @ vectors)

    def products(part: slice, rows: Any, _: Any) -> tuple[Array, Array]:
        own = vectors[part].T
        return own @ (rows @ vectors), own @ vectors[part]

    A, gram = (sum(each) for each in zip(*S.map(products), strict=True))
    squares, axes = linalg.eigh(gram)
    independent = squares > _DEPENDENT * squares[-1]
    basis = axes[:, independent] / np.sqrt(squares[independent])
    values, axes = linalg.eigh(basis.T @ ((A + A.T) / 2) @ basis)
    basis = basis @ axes[:, ::-1]
    if not independent.all():
        return values[::-1], vectors @ basis

    def rotate(part: slice, *_: Any) -> None:
        vectors[part] = vectors[part] @ basis

    S.map(rotate)
    return values[::-1], vectors
