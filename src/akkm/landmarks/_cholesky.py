"""Randomly pivoted Cholesky: landmarks where the ones so far leave most unexplained.

Chen, Epperly, Tropp and Webber (2024) draw one pivot after the other with a chance in
proportion to its residual, what is left of k(x, x) outside the span of those before.
Here, as in their accelerated form (Epperly, Tropp and Webber 2024), pivots are proposed
in blocks so that the work is in matrix products. Of the proposals those are taken that
explain most: a pivot i takes |E_i|² / E_ii from the trace of the residual matrix E, and
|E_i|² is known from a random sketch E Ω that is kept up to date.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from akkm.core.kernel_matrix import kernel_matrix
from akkm.core.nearest import require_finite
from akkm.core.products import KernelProduct
from akkm.core.strip import chunks
from akkm.landmarks._pool import Pool

Array = NDArray[Any]

# Candidates: at least so many and so many per landmark, while a factor has at most so
# many entries; never fewer than so many per landmark.
_CANDIDATES, _PER_LANDMARK, _ENTRIES, _LEAST_PER_LANDMARK = 10_000, 10, 2**26, 4
# Proposals at a time, and how many of them are taken at most: fewer if these leave
# less than this share of the proposals' residuals, as others are likelier then.
_PROPOSED, _TAKEN, _STALE = 1024, 64, 0.5
# Columns of the sketch.
_SKETCH = 50
# Residuals below this share of k(x, x) are rounding.
_EXHAUSTED = 1e-12


def rpcholesky(pool: Pool, m: int, rng: np.random.Generator) -> Array:
    """Of rows far from the span of those before, those that explain most.

    Out of all rows, or where n x m numbers are too many, of a uniform sample of them.
    """
    wanted = min(max(_CANDIDATES, _PER_LANDMARK * m), _ENTRIES // m)
    rows = pool.some(max(wanted, _LEAST_PER_LANDMARK * m), rng)
    pivots = _pivots(pool, rows, m, rng)
    if len(pivots) < m:  # these span all there is; any others will do
        rest = np.setdiff1d(rows, rows[pivots])
        more = rng.choice(rest, m - len(pivots), replace=False)
        return np.sort(np.concatenate([rows[pivots], more]))
    return np.sort(rows[pivots])


def _pivots(pool: Pool, rows: Array, m: int, rng: np.random.Generator) -> Array:
    """Positions in `rows` of at most m pivots."""
    weights = pool.weights_of(rows)
    left = pool.diag()[rows]  # residuals E_ii
    floor = _EXHAUSTED * left
    sketch = _sketch(pool, rows, weights, rng)
    F = np.empty((len(rows), m))  # K ≈ F Fᵀ
    pivots = np.empty(0, dtype=np.intp)
    while (k := len(pivots)) < m:
        chance = np.where(left > floor, weights * left, 0)
        able = int((chance > 0).sum())
        if not able:
            break
        proposed = rng.choice(
            len(rows), min(_PROPOSED, able), replace=False, p=chance / chance.sum()
        )
        H = kernel_matrix(pool.X, pool.kernel, rows[proposed])
        H -= F[proposed, :k] @ F[proposed, :k].T
        taken, lower = _take(H, sketch[proposed], floor[proposed], min(_TAKEN, m - k))
        if not len(taken):
            break
        new = proposed[taken]
        _eliminate(pool, rows, new, lower, F, left, sketch, k)
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
    """Positions (t,) of those that explain most, one after the other, and H's factor.

    H (b, b) is the proposals' residual matrix and sketch (b, p) their rows of E Ω,
    which is overwritten: a pivot changes every row by its share of the pivot's own.
    Rows with less than `floor` (b,) left are not taken. The factor is the lower
    triangle L (t, t) with L Lᵀ = H at these positions.
    """
    left = H.diagonal().copy()
    enough = _STALE * left.sum()
    columns = np.empty((len(H), most))  # of the Cholesky factor of H
    taken: list[int] = []
    for j in range(most):
        able = left > floor
        gain = np.square(sketch).sum(axis=1) / np.where(able, left, np.inf)
        i = int(gain.argmax())
        if not gain[i] > 0:
            break
        taken.append(i)
        pivot = np.sqrt(left[i])
        columns[:, j] = (H[i] - columns[:, :j] @ columns[i, :j]) / pivot
        sketch -= np.outer(columns[:, j], sketch[i] / pivot)
        left -= columns[:, j] ** 2
        left[i] = 0
        if left.sum() < enough:
            break
    chosen = np.array(taken, dtype=np.intp)
    return chosen, np.tril(columns[chosen, : len(chosen)])


def _eliminate(
    pool: Pool,
    rows: Array,
    new: Array,
    lower: Array,
    F: Array,
    left: Array,
    sketch: Array,
    k: int,
) -> None:
    """Columns k, k + 1, ... of F for new pivots, and what they leave."""
    strip = pool.against(rows, rows[new])
    stop = k + len(new)
    before = F[new, :k].T.copy()
    explained = linalg.solve_triangular(lower, sketch[new], lower=True)

    def task(chunk: slice) -> None:
        for part, phi in strip.tiles(chunk):
            phi -= F[part, :k] @ before
            columns = linalg.solve_triangular(
                lower, phi.T, lower=True, check_finite=False
            ).T
            F[part, k:stop] = columns
            left[part] -= np.square(columns).sum(axis=1)
            sketch[part] -= columns @ explained

    for _ in pool.engine.map(task, chunks(len(rows))):
        pass
    left[new] = 0
