"""Square kernel matrices of a few rows, in float64."""

import numpy as np

from akkm.core.nearest import require_finite
from akkm.core.strip import Strip
from akkm.kernels import Kernel
from akkm.typing import Array, Rows


def kernel_matrix(X: Rows, kernel: Kernel, indices: Array) -> Array:
    """k(Z, Z) of the rows Z = X[indices], symmetric and finite: (m, m) float64."""
    strip = Strip(X, kernel, kernel.select(X, indices), np.float64)
    return symmetric(strip.kernel_rows(X[indices]))


def symmetric(K: Array) -> Array:
    """(K + Kᵀ) / 2 of a kernel matrix (m, m), after checking that it is finite."""
    require_finite(K, np.float64)
    return (K + K.T) / 2
