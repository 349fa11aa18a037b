"""Square kernel matrices of a few rows, in float64."""

import numpy as np

from akkm.core.nearest import require_finite
from akkm.core.strip import Strip
from akkm.kernels import Kernel
from akkm.typing import Array, RowsLike


def kernel_matrix(X: RowsLike, kernel: Kernel, indices: Array) -> Array:
    """Return k(Z, Z) (m, m) of Z = X[indices] in float64, symmetric and finite."""
    strip = Strip(X, kernel, kernel.select(X, indices), np.float64)
    return symmetric(strip.kernel_rows(X[indices]))


def is_resolved(K: Array, kernel: Kernel) -> bool:
    """Return whether K = k(Z, Z) (m, m) has a non-negligible entry off the diagonal.

    If the kernel is far narrower than the distances between points, all such entries
    k(x, y) are negligible compared with k(x, x) = 1. The result is always true for a
    single point, and for kernels whose k(x, x) is not 1.
    """
    if len(K) < 2 or not kernel.unit:
        return True
    others = np.abs(K)
    np.fill_diagonal(others, 0)
    return bool(others.max() > np.finfo(np.float64).eps)


def symmetric(K: Array) -> Array:
    """Return (K + Kᵀ) / 2 of a kernel matrix K (m, m); raise if K is not finite."""
    require_finite(K, np.float64)
    return (K + K.T) / 2
