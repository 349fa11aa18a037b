"""Nyström spectral clustering: the top eigenvectors of the normalised kernel.

The kernel matrix is approximated by B Bᵀ, where B = Φ W (n, r) are the whitened
coordinates of the rows (`akkm.core.gram`). Let d = B Bᵀ 1 be the degrees and
D = diag(d). The eigenvectors of D^(-1/2) B Bᵀ D^(-1/2) are the left singular vectors of
D^(-1/2) B, which follow from the r x r matrix Bᵀ D⁻¹ B. This takes three passes over
the kernel rows: for the degrees, for that matrix (m² numbers per thread) and for the
vectors. No n x m array is stored. The result equals that of Fowlkes, Belongie, Chung
and Malik (2004).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from akkm.approx.factored import Factored
from akkm.core.nearest import require_finite
from akkm.core.products import KernelProduct
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.kernels import Kernel
from akkm.rows import chunks
from akkm.typing import Array, RowsLike

# A degree below this share of the mean degree is a rounding error.
_ROUNDING = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-10}


@dataclass(frozen=True)
class SpectralEmbedding:
    """Maps rows to their entries in the top q eigenvectors, scaled to unit length."""

    kernel: Kernel
    points: RowsLike  # the landmarks (m, d), or column numbers of a precomputed kernel
    columns: Array  # (m, 1 + q); kernel rows @ columns give degrees and vectors
    dtype: Any  # precision of the kernel rows
    least: float  # rows whose degree is at most this are mapped to zero
    eigenvalues: Array  # (q,) of the normalised kernel, in descending order

    def __call__(self, X: RowsLike, engine: Threads) -> Array:
        """Return the embedding (n, q) of rows X (n, d), in the precision of X."""
        product = KernelProduct(self.kernel, self.points, self.columns, self.dtype)
        points = np.empty((X.shape[0], len(self.eigenvalues)), dtype=X.dtype)

        def embed(chunk: slice) -> None:
            products = product(X[chunk])
            require_finite(products, self.dtype)
            # D^(-1/2) only scales rows, and rows are scaled to unit length anyway.
            vectors = products[:, 1:]
            vectors[products[:, 0] <= self.least] = 0
            norms = np.linalg.norm(vectors, axis=1, keepdims=True)
            points[chunk] = vectors / np.where(norms > 0, norms, 1)

        engine.for_each(embed, chunks(X.shape[0]))
        return points


def spectral_embedding(
    factored: Factored, engine: Threads, *, n_vectors: int, weights: Array | None
) -> SpectralEmbedding:
    """Compute the top eigenvectors of the normalised kernel, from validated arrays.

    A row of weight w counts as w rows.
    """
    strip, W = factored.strip, factored.gram.whitener
    w = np.ones(strip.n) if weights is None else weights

    def add_rows(total: Array, rows: slice, phi: Array) -> None:
        total += w[rows].astype(phi.dtype) @ phi

    total = _sum_over_tiles(add_rows, strip, engine, (strip.m,))  # Φᵀ w
    require_finite(total, strip.dtype)
    degree = W @ (W.T @ total)  # the degrees are d = Φ degree
    rounded = degree.astype(strip.dtype)
    least = _ROUNDING[strip.dtype] * max(0.0, float(total @ degree / w.sum()))

    def add_products(total: Array, rows: slice, phi: Array) -> None:
        degrees = phi @ rounded
        above = degrees > least
        scale = np.zeros(len(phi), dtype=phi.dtype)
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            scale[above] = np.sqrt(w[rows][above] / degrees[above])
            scaled = phi * scale[:, None]
            total += scaled.T @ scaled

    M = _sum_over_tiles(add_products, strip, engine, (strip.m, strip.m))  # Φᵀ D⁻¹ Φ
    with np.errstate(over="ignore", invalid="ignore"):
        normalised = W.T @ M @ W
    require_finite(normalised, strip.dtype)  # not finite if kernel values are tiny
    values, vectors = linalg.eigh(normalised, driver="evd", check_finite=False)
    q = min(n_vectors, int((values > 1e-12).sum()))
    if not q:
        raise ValueError(
            "No row has a positive degree (sum of similarities to all rows); expected "
            "a kernel that is mostly positive. Choose another kernel, such as 'rbf'."
        )
    values, vectors = values[::-1][:q], vectors[:, ::-1][:, :q]
    columns = np.column_stack([degree, W @ (vectors / np.sqrt(values))])
    return SpectralEmbedding(strip.kernel, strip.Z, columns, strip.dtype, least, values)


def _sum_over_tiles(
    add: Callable[[Array, slice, Array], None],
    strip: Strip,
    engine: Threads,
    shape: tuple[int, ...],
) -> Array:
    """Return a float64 sum over all tiles; add(total, rows, phi) adds one tile."""

    def over(chunk: slice) -> Array:
        total = np.zeros(shape)
        for rows, phi in strip.tiles(chunk):
            add(total, rows, phi)
        return total

    return sum(engine.map(over, chunks(strip.n)), np.zeros(shape))
