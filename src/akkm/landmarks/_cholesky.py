"""Randomly pivoted Cholesky: rows that the landmarks so far leave unexplained.

Chen, Epperly, Tropp and Webber (2024) draw one pivot after the other, in proportion to
its residual: the part of k(x, x) outside the span of the pivots so far. As in the
accelerated form (Epperly, Tropp and Webber 2024), pivots are proposed in blocks, so
that most of the work is matrix products. Of the proposals, those that explain most are
taken: a pivot i takes |E_i|² / E_ii from the trace of the residual matrix E. |E_i|² is
estimated from a random sketch E Ω, which is updated after each pivot.
"""

import numpy as np
from scipy import linalg

from akkm.core.kernel_matrix import kernel_matrix
from akkm.core.nearest import require_finite
from akkm.core.products import KernelProduct
from akkm.landmarks._pool import Pool, fill_up
from akkm.rows import chunks
from akkm.typing import Array

# Candidates: at least 10,000 and 10 per landmark, as long as the factor has at most
# 2^26 entries; but never fewer than 4 per landmark.
_CANDIDATES, _PER_LANDMARK, _ENTRIES, _LEAST_PER_LANDMARK = 10_000, 10, 2**26, 4
# Proposals per block, and how many of them are taken at most. Fewer are taken if less
# than this share of the proposals' residuals is left: then other rows are better.
_PROPOSED, _TAKEN, _STALE = 1024, 64, 0.5
# Columns of the sketch.
_SKETCH = 50
# Residuals below this share of k(x, x) are rounding.
_EXHAUSTED = 1e-12


def rpcholesky(
    pool: Pool, m: int, rng: np.random.Generator, *, candidates: int = _CANDIDATES
) -> Array:
    """Select rows far from the span of those before which explain most of K.

    They come from all rows, or from a uniform sample if n x m numbers are too many.
    """
    size = min(max(candidates, _PER_LANDMARK * m), _ENTRIES // m)
    rows = pool.sample(max(size, _LEAST_PER_LANDMARK * m), rng)
    # If fewer than m pivots span everything, any other rows will do.
    return fill_up(rows[_pivots(pool, rows, m, rng)], rows, m, rng)


def _pivots(pool: Pool, rows: Array, m: int, rng: np.random.Generator) -> Array:
    """Positions in `rows` of at most m pivots."""
    weights = pool.weights_of(rows)
    residuals = pool.diag()[rows]  # E_ii
    floor = _EXHAUSTED * residuals
    sketch = _sketch(pool, rows, weights, rng)
    F = np.empty((len(rows), m))  # K ≈ F Fᵀ
    pivots = np.empty(0, dtype=np.intp)
    while (k := len(pivots)) < m:
        chances = np.where(residuals > floor, weights * residuals, 0)
        available = int((chances > 0).sum())
        if not available:
            break
        size = min(_PROPOSED, available)
        p = chances / chances.sum()
        proposed = rng.choice(len(rows), size, replace=False, p=p)
        H = kernel_matrix(pool.X, pool.kernel, rows[proposed])
        H -= F[proposed, :k] @ F[proposed, :k].T
        taken, lower = _take(H, sketch[proposed], floor[proposed], min(_TAKEN, m - k))
        if not len(taken):
            break
        new = proposed[taken]
        _eliminate(pool, rows, new, lower, F, residuals, sketch, k)
        pivots = np.concatenate([pivots, new])
    return pivots


def _sketch(pool: Pool, rows: Array, weights: Array, rng: np.random.Generator) -> Array:
    """K Ω of the rows' kernel matrix for Gaussian Ω: (N, p)."""
    omega = rng.standard_normal((len(rows), _SKETCH)) * np.sqrt(weights)[:, None]
    Z = pool.kernel.select(pool.X, rows)
    product = KernelProduct(pool.kernel, Z, omega, np.float64)
    parts = pool.engine.map(lambda c: product(pool.X[rows[c]]), chunks(len(rows)))
    sketch = np.concatenate(list(parts))
    require_finite(sketch, np.float64)
    return sketch


def _take(H: Array, sketch: Array, floor: Array, most: int) -> tuple[Array, Array]:
    """Positions (t,) of the proposals that explain most, and H's factor there.

    They are taken one after the other. H (b, b) is the proposals' residual matrix.
    sketch (b, p) holds their rows of E Ω and is overwritten. Rows whose residual is
    below `floor` (b,) are not taken. The factor is the lower triangle L (t, t) with
    L Lᵀ = H at these positions.
    """
    residuals = H.diagonal().copy()
    enough = _STALE * residuals.sum()
    columns = np.empty((len(H), most))  # of the Cholesky factor of H
    taken: list[int] = []
    for j in range(most):
        allowed = residuals > floor
        gain = np.square(sketch).sum(axis=1) / np.where(allowed, residuals, np.inf)
        i = int(gain.argmax())
        if not gain[i] > 0:
            break
        taken.append(i)
        pivot = np.sqrt(residuals[i])
        columns[:, j] = (H[i] - columns[:, :j] @ columns[i, :j]) / pivot
        sketch -= np.outer(columns[:, j], sketch[i] / pivot)
        residuals -= columns[:, j] ** 2
        residuals[i] = 0
        if residuals.sum() < enough:
            break
    positions = np.array(taken, dtype=np.intp)
    return positions, np.tril(columns[positions, : len(positions)])


def _eliminate(
    pool: Pool,
    rows: Array,
    new: Array,
    lower: Array,
    F: Array,
    residuals: Array,
    sketch: Array,
    k: int,
) -> None:
    """Fill columns k, k + 1, ... of F for new pivots; update residuals and sketch."""
    strip = pool.strip(rows, rows[new])
    stop = k + len(new)
    before = F[new, :k].T.copy()
    explained = linalg.solve_triangular(lower, sketch[new], lower=True)

    def eliminate(chunk: slice) -> None:
        for part, phi in strip.tiles(chunk):
            phi -= F[part, :k] @ before
            columns = linalg.solve_triangular(
                lower, phi.T, lower=True, check_finite=False
            ).T
            F[part, k:stop] = columns
            residuals[part] -= np.square(columns).sum(axis=1)
            sketch[part] -= columns @ explained

    pool.engine.for_each(eliminate, chunks(len(rows)))
    residuals[new] = 0
