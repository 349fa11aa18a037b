"""Nyström spectral clustering: the top eigenvectors of the normalised kernel.

The kernel matrix is approximated by B Bᵀ, B = Φ W (n, r) being the rows' whitened
coordinates (`akkm.core.gram`). With degrees d = B Bᵀ 1, the eigenvectors of
D^(-1/2) B Bᵀ D^(-1/2) are the left singular vectors of D^(-1/2) B, which follow from
the r x r matrix Bᵀ D⁻¹ B. So three passes over kernel rows do, and nothing is n x m:
one for the degrees, one for that matrix (m² numbers per thread), one for the vectors.
It is what Fowlkes, Belongie, Chung and Malik (2004) compute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from akkm.approx.solve import Factored
from akkm.core.nearest import require_finite
from akkm.core.products import KernelProduct
from akkm.core.strip import Rows, Strip, chunks
from akkm.core.threads import Threads
from akkm.kernels import Kernel

Array = NDArray[Any]

# A degree below this share of the mean is nothing, but for rounding.
_NOTHING = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-10}


@dataclass(frozen=True)
class Embedding:
    """Rows -> their entries in the top q eigenvectors, scaled to length one."""

    kernel: Kernel
    points: Rows  # the landmarks (m, d), or column numbers of a precomputed kernel
    columns: Array  # (m, 1 + q): kernel rows times these are degree and vectors
    dtype: Any  # of the kernel rows
    least: float  # rows of a lower degree are nowhere: all zeros
    eigenvalues: Array  # (q,) of the normalised kernel, falling
    nowhere: int  # how many rows were

    def __call__(self, X: Rows, engine: Threads) -> Array:
        """(n, q) for rows X (n, d), in their precision."""
        product = KernelProduct(self.kernel, self.points, self.columns, self.dtype)
        points = np.empty((X.shape[0], len(self.eigenvalues)), dtype=X.dtype)

        def embed(chunk: slice) -> None:
            products = product(X[chunk])
            require_finite(products, self.dtype)
            # D^(-1/2) is the same for all of a row and goes with its length.
            vectors = products[:, 1:]
            vectors[products[:, 0] <= self.least] = 0
            length = np.linalg.norm(vectors, axis=1, keepdims=True)
            points[chunk] = vectors / np.where(length > 0, length, 1)

        for _ in engine.map(embed, chunks(X.shape[0])):
            pass
        return points


def spectral_embedding(
    factored: Factored, engine: Threads, *, n_vectors: int, weights: Array | None
) -> Embedding:
    """The top eigenvectors of the normalised Nyström kernel. Assumes clean arrays.

    A row of weight w counts as w rows.
    """
    strip, W = factored.strip, factored.gram.whitener
    w = np.ones(strip.n) if weights is None else weights
    total = _total(strip, engine, w)
    degree = W @ (W.T @ total)  # d = Φ W Wᵀ Φᵀ 1
    least = _NOTHING[strip.dtype] * max(0.0, float(total @ degree / w.sum()))
    M, nowhere = _normalised(strip, engine, w, degree.astype(strip.dtype), least)
    values, vectors = linalg.eigh(W.T @ M @ W, driver="evd", check_finite=False)
    q = min(n_vectors, int((values > 1e-12).sum()))
    if not q:
        raise ValueError(
            "No row has a positive degree (sum of similarities to all rows), so there "
            "is nothing to cluster by; choose a kernel that is mostly positive, such "
            "as 'rbf'."
        )
    top = slice(len(values) - 1, len(values) - 1 - q if q < len(values) else None, -1)
    vectors = W @ (vectors[:, top] / np.sqrt(values[top]))
    columns = np.column_stack([degree, vectors])
    return Embedding(
        strip.kernel, strip.Z, columns, strip.dtype, least, values[top], nowhere
    )


def _total(strip: Strip, engine: Threads, weights: Array) -> Array:
    """Φᵀ w: the sum of all kernel rows, (m,) float64."""

    def add(chunk: slice) -> Array:
        total = np.zeros(strip.m)
        for rows, phi in strip.tiles(chunk):
            total += weights[rows].astype(phi.dtype) @ phi
        return total

    total = sum(engine.map(add, chunks(strip.n)), np.zeros(strip.m))
    require_finite(total, strip.dtype)
    return total


def _normalised(
    strip: Strip, engine: Threads, weights: Array, degree: Array, least: float
) -> tuple[Array, int]:
    """Φᵀ D⁻¹ Φ (m, m) float64 over rows above the least degree; how many are not."""

    def add(chunk: slice) -> tuple[Array, int]:
        total, nowhere = np.zeros((strip.m, strip.m)), 0
        for rows, phi in strip.tiles(chunk):
            degrees = phi @ degree
            there = degrees > least
            nowhere += len(phi) - int(there.sum())
            scale = np.zeros(len(phi), dtype=phi.dtype)
            scale[there] = np.sqrt(weights[rows][there] / degrees[there])
            scaled = phi * scale[:, None]
            total += scaled.T @ scaled
        return total, nowhere

    M, nowhere = np.zeros((strip.m, strip.m)), 0
    for part, count in engine.map(add, chunks(strip.n)):
        M += part
        nowhere += count
    return M, nowhere
