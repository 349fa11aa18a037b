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


def symmetric(K: Array) -> Array:
    """Return (K + Kᵀ) / 2 of a kernel matrix K (m, m); raise if K is not finite."""
    require_finite(K, np.float64)
    return (K + K.T) / 2
