"""Strategies that draw rows with probabilities proportional to a score."""

import numpy as np
from scipy import linalg

from akkm.core.kernel_matrix import kernel_matrix
from akkm.core.nearest import require_finite
from akkm.landmarks._pool import Pool, weighted_sample
from akkm.typing import Array

# Number of rows of the kernel matrix from which its column norms are estimated.
_COLUMN_ROWS = 10_000
# Leverage scores are computed for this many candidates per landmark.
_PER_LANDMARK = 50


def uniform(pool: Pool, m: int, rng: np.random.Generator) -> Array:
    """Draw m rows with equal probabilities, or in proportion to their weights."""
    p = None if pool.weights is None else pool.weights / pool.weights.sum()
    return np.sort(rng.choice(pool.n, size=m, replace=False, p=p))


def diagonal(pool: Pool, m: int, rng: np.random.Generator) -> Array:
    """Draw m rows in proportion to k(x, x), the squared length of a row's image."""
    diag = pool.diag()
    require_finite(diag, np.float64)
    return _sample_by_score(pool, np.arange(pool.n), diag, m, rng)


def column_norm(pool: Pool, m: int, rng: np.random.Generator) -> Array:
    """Draw m rows: row i in proportion to the squared norm of column i of K."""
    norms = squared_column_norms(pool, rng)
    return _sample_by_score(pool, np.arange(pool.n), norms, m, rng)


def squared_column_norms(
    pool: Pool, rng: np.random.Generator, *, most_rows: int = _COLUMN_ROWS
) -> Array:
    """Compute the squared norms of the kernel matrix's columns, tile by tile.

    Parameters
    ----------
    pool : Pool
        The rows.
    rng : numpy.random.Generator
        Random numbers for the sample.
    most_rows : int, default=10_000
        If there are more rows, the norms are computed from a uniform sample of this
        many rows of the kernel matrix.

    Returns
    -------
    float64 array of shape (n,)
        The squared norms. Each squared entry of the kernel matrix is multiplied by the
        weight of its row.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.core.threads import Threads
    >>> from akkm.kernels import Linear
    >>> from akkm.landmarks import Pool, squared_column_norms
    >>> with Threads(1) as engine:
    ...     pool = Pool(np.array([[1.0], [2.0]]), Linear(), None, engine)
    ...     squared_column_norms(pool, np.random.default_rng(0))
    array([ 5., 20.])
    """
    others = pool.sample(most_rows, rng)
    weights = pool.weights_of(others)

    def weighted_squares(phi: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.square(phi, out=phi) @ weights

    norms = pool.map_kernel_rows(weighted_squares, np.arange(pool.n), others)
    require_finite(norms, np.float64)
    return norms


def leverage(pool: Pool, m: int, rng: np.random.Generator) -> Array:
    """Draw m of 50 m candidates in proportion to their ridge leverage scores."""
    rows = pool.sample(_PER_LANDMARK * m, rng)
    basis = pool.sample(m, rng)
    diag = pool.diag()[rows]
    if not diag.sum() > 0:
        return uniform(pool, m, rng)
    scores = _ridge_leverage(pool, rows, diag, basis)
    return _sample_by_score(pool, rows, scores, m, rng)


def _ridge_leverage(pool: Pool, rows: Array, diag: Array, basis: Array) -> Array:
    """Approximate the ridge leverage scores (K (K + λ)⁻¹)ᵢᵢ of `rows` (b,): (b,).

    The score is the share of a row's image that the other rows do not explain, up to a
    ridge λ (Alaoui and Mahoney 2015). K is approximated from the rows `basis` (m,).
    λ is chosen so that about m / 2 directions count (Musco and Musco 2017).
    """
    share = len(rows) / len(basis)
    K = kernel_matrix(pool.X, pool.kernel, basis)
    values, vectors = linalg.eigh(K, driver="evd", check_finite=False)
    values = values.clip(0)
    leading = np.sort(values)[::-1][: max(1, len(basis) // 2)]
    rest = diag.sum() - share * leading.sum()
    ridge = max(rest, 1e-12 * diag.sum()) / len(leading)
    # The explained part of k(x, x) is φ (K̂ + λ/share)⁻¹ φᵀ.
    inverse = vectors / np.sqrt(values + ridge / share)
    explained = pool.map_kernel_rows(
        lambda phi: np.square(phi @ inverse).sum(axis=1), rows, basis
    )
    return ((diag - explained) / ridge).clip(0, 1)


def _sample_by_score(
    pool: Pool, rows: Array, scores: Array, m: int, rng: np.random.Generator
) -> Array:
    """Draw m of the rows with probabilities proportional to score times weight."""
    weights = pool.weights_of(rows)
    available = weights > 0
    chances = (scores * weights)[available]
    return rows[available][weighted_sample(chances, m, rng)]
