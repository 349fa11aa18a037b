"""The factored kernel matrix K̂ of the landmarks, and the strip of kernel rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from akkm.core import gradient, gram
from akkm.core.gram import Centers, Gram
from akkm.core.kernel_matrix import is_resolved, symmetric
from akkm.core.model import Model, precomputed_diagonal
from akkm.core.nearest import Probes, Scorer, require_finite
from akkm.core.strip import Strip, float32_suffices
from akkm.kernels import Kernel, Linear
from akkm.landmarks import Landmarks
from akkm.typing import Array, RowsLike


@dataclass(frozen=True)
class Factored:
    """The landmarks' factored kernel matrix, and the strip of kernel rows."""

    strip: Strip
    gram: Gram
    probes: Probes
    # False if all kernel values between different landmarks are negligible
    resolved: bool = True

    def model(self, centers: Centers) -> Model:
        """Return the model that compares new rows with the centers."""
        kernel = self.strip.kernel
        return Model(
            kernel,
            self.strip.Z,
            Scorer.of(centers.alpha, centers.norms, self.strip.dtype, self.probes),
            self.strip.dtype,
            None if kernel.psd else self.gram,
            precomputed_diagonal(kernel, self.strip.X),
        )


def factor(
    X: RowsLike,
    kernel: Kernel,
    landmarks: Landmarks,
    *,
    dtype: Any,
    indefinite: str = "clip",
    solver: str = "eigh",
) -> Factored:
    """Compute K̂ in float64, and factor it unless `solver` is "gradient".

    `dtype` is the precision of the kernel rows. It is replaced by float64 if float32
    kernel values are not exact enough to separate the landmarks.
    """
    strip = Strip(X, kernel, landmarks.points, dtype)
    K = symmetric(strip.kernel_rows(landmarks.rows))
    if strip.dtype == np.float32:
        rounded = strip.kernel_rows(landmarks.rows, np.float32)
        require_finite(rounded, np.float32)
        if not float32_suffices(rounded, K):
            strip = Strip(X, kernel, landmarks.points, np.float64)
    if solver == "gradient":
        factored: Gram = gradient.unfactored(K, dtype=strip.dtype)
    else:
        factored = gram.factor(K, dtype=strip.dtype, indefinite=indefinite)
    probes = Probes.of(strip, landmarks.rows, factored, K)
    return Factored(strip, factored, probes, is_resolved(K, kernel))


def kmeans_problem(points: Array) -> Factored:
    """Express k-means of points (n, q) as kernel k-means with a linear kernel.

    The landmarks are the q unit vectors.
    """
    axes = np.eye(points.shape[1], dtype=points.dtype)
    return factor(points, Linear(), Landmarks(axes, axes, None), dtype=points.dtype)
