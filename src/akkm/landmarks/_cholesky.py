"""Randomly pivoted Cholesky: select rows that the previous landmarks explain poorly.

A row's residual is the part of k(x, x) outside the span of the pivots so far. Chen,
Epperly, Tropp and Webber (2024) draw one pivot at a time, with probabilities
proportional to the residuals. As in the accelerated form (Epperly, Tropp and Webber
2024), pivots are proposed in blocks, so that most of the work is matrix products. Of
the proposals, those that explain most are taken. Let E be the kernel matrix minus the
part that the pivots so far explain, and E_i its row i. E_ii is the residual of row i.
Pivot i reduces the trace of E by |E_i|² / E_ii. The lengths |E_i| are estimated from a
sketch E Ω with a random matrix Ω. The sketch is updated after each pivot.
"""

import numpy as np
from scipy import linalg

from akkm.core.kernel_matrix import kernel_matrix
from akkm.core.nearest import require_finite
from akkm.core.products import KernelProduct
from akkm.landmarks._pool import Pool, fill_up
from akkm.rows import chunks
from akkm.typing import Array

# For m landmarks, the number of candidates is the larger of _CANDIDATES and
# _PER_LANDMARK times m.
_CANDIDATES, _PER_LANDMARK = 10_000, 10
# There are fewer candidates if the Cholesky factor would have more than _ENTRIES
# entries, but at least _LEAST_PER_LANDMARK times m.
_ENTRIES, _LEAST_PER_LANDMARK = 2**26, 4
# Number of proposals per block.
_PROPOSED = 1024
# Maximum number of pivots taken from a block.
_TAKEN = 64
# A block ends early when the sum of its proposals' residuals falls below this share of
# the initial sum, because other rows are then better pivots.
_STALE = 0.5
# Number of columns of the sketch.
_SKETCH = 50
# Residuals below this share of k(x, x) are rounding errors.
_EXHAUSTED = 1e-12


def rpcholesky(
    pool: Pool, m: int, rng: np.random.Generator, *, candidates: int = _CANDIDATES
) -> Array:
    """Select m rows by randomly pivoted Cholesky: sorted row numbers (m,).

    Candidates are all rows, or a uniform sample if there are too many rows.
    """
    size = min(max(candidates, _PER_LANDMARK * m), _ENTRIES // m)
    rows = pool.sample(max(size, _LEAST_PER_LANDMARK * m), rng)
    # If fewer than m pivots span all candidates, add random candidates.
    return fill_up(rows[_pivots(pool, rows, m, rng)], rows, m, rng)


def _pivots(pool: Pool, rows: Array, m: int, rng: np.random.Generator) -> Array:
    """Return the positions in `rows` of at most m pivots."""
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
    """Return K Ω (N, p) for the kernel matrix K of N rows and a Gaussian Ω.

    Row j of Ω is scaled by the square root of weight w_j. So column j of K counts w_j
    times in the estimated lengths.
    """
    omega = rng.standard_normal((len(rows), _SKETCH)) * np.sqrt(weights)[:, None]
    Z = pool.kernel.select(pool.X, rows)
    product = KernelProduct(pool.kernel, Z, omega, np.float64)
    parts = pool.engine.map(lambda c: product(pool.X[rows[c]]), chunks(len(rows)))
    sketch = np.concatenate(list(parts))
    require_finite(sketch, np.float64)
    return sketch


def _take(H: Array, sketch: Array, floor: Array, most: int) -> tuple[Array, Array]:
    """Take the proposals that explain most; return positions (t,) and factor (t, t).

    Proposals are taken one at a time. H (b, b) is their residual matrix. `sketch`
    (b, p) holds their rows of E Ω and is overwritten. Proposals whose residual is at
    most `floor` (b,) are not taken. The factor is the lower triangular matrix L for
    which L Lᵀ equals H at the returned positions.
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
    """Fill the next columns of F, one per new pivot; update residuals and sketch.

    The first k columns are already filled.
    """
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
