"""Strategies that give every row a score and draw with chances in proportion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from akkm.core.kernel_matrix import kernel_matrix
from akkm.core.nearest import require_finite
from akkm.core.strip import chunks
from akkm.landmarks._pool import Pool, weighted_sample

Array = NDArray[Any]

# Rows of the kernel matrix that stand for all of them in the norm of a column.
_COLUMN_ROWS = 10_000
# Rows that leverage scores are computed for, per landmark.
_PER_LANDMARK = 50


def uniform(pool: Pool, m: int, rng: np.random.Generator) -> Array:
    """All rows alike; in proportion to their weight, if they have one."""
    chance = None if pool.weights is None else pool.weights / pool.weights.sum()
    return np.sort(rng.choice(pool.n, size=m, replace=False, p=chance))


def diagonal(pool: Pool, m: int, rng: np.random.Generator) -> Array:
    """In proportion to k(x, x), the squared length of the row's image.

    The same as `uniform` for kernels whose k(x, x) is one, such as rbf.
    """
    diag = pool.diag()
    require_finite(diag, np.float64)
    return _sample_by_score(pool, np.arange(pool.n), diag, m, rng)


def column_norm(pool: Pool, m: int, rng: np.random.Generator) -> Array:
    """In proportion to the squared norm of the row's column of the kernel matrix."""
    norms = squared_column_norms(pool, rng)
    return _sample_by_score(pool, np.arange(pool.n), norms, m, rng)


def squared_column_norms(pool: Pool, rng: np.random.Generator) -> Array:
    """Squared norms of the kernel matrix's columns: (n,).

    In tiles, so that the matrix is never there. Above 10,000 rows the norms are those
    of 10,000 of the matrix's rows, drawn at random: n x 10,000 kernel values.
    """
    others = pool.some(_COLUMN_ROWS, rng)
    strip = pool.against(np.arange(pool.n), others)
    weights = pool.weights_of(others)
    norms = np.empty(pool.n)

    def square(chunk: slice) -> None:
        for rows, phi in strip.tiles(chunk):
            with np.errstate(over="ignore"):
                norms[rows] = np.square(phi, out=phi) @ weights

    for _ in pool.engine.map(square, chunks(pool.n)):
        pass
    require_finite(norms, np.float64)
    return norms


def leverage(pool: Pool, m: int, rng: np.random.Generator) -> Array:
    """In proportion to approximate ridge leverage scores, on 50 m candidates.

    The score of a row is the share of its image that the others do not explain, up to
    a ridge λ: (K (K + λ)⁻¹)ᵢᵢ (Alaoui and Mahoney 2015). K is approximated from m
    uniformly drawn rows and λ is such that about m / 2 directions count (as Musco and
    Musco 2017 choose it).
    """
    rows = pool.some(_PER_LANDMARK * m, rng)
    basis = pool.some(m, rng)
    diag = pool.diag()[rows]
    share = len(rows) / len(basis)
    if not diag.sum() > 0:
        return uniform(pool, m, rng)
    K = kernel_matrix(pool.X, pool.kernel, basis)
    values, vectors = linalg.eigh(K, driver="evd", check_finite=False)
    values = values.clip(0)
    leading = np.sort(values)[::-1][: max(1, len(basis) // 2)]
    rest = diag.sum() - share * leading.sum()
    ridge = max(rest, 1e-12 * diag.sum()) / len(leading)
    # φ (K̂ + λ/share)⁻¹ φᵀ, of what k(x, x) is the part that is explained
    inverse = vectors / np.sqrt(values + ridge / share)
    strip = pool.against(rows, basis)
    scores = np.empty(len(rows))

    def score(chunk: slice) -> None:
        for part, phi in strip.tiles(chunk):
            explained = np.square(phi @ inverse).sum(axis=1)
            scores[part] = (diag[part] - explained) / ridge

    for _ in pool.engine.map(score, chunks(len(rows))):
        pass
    return _sample_by_score(pool, rows, scores.clip(0, 1), m, rng)


def _sample_by_score(
    pool: Pool, rows: Array, scores: Array, m: int, rng: np.random.Generator
) -> Array:
    """M of the rows, with chances in proportion to score times weight."""
    able = rows if pool.weights is None else rows[pool.weights[rows] > 0]
    if len(able) < len(rows):
        scores = scores[pool.weights_of(rows) > 0]
    return able[weighted_sample(scores * pool.weights_of(able), m, rng)]
