"""Centers by conjugate gradients, without factoring the landmarks' kernel matrix K̂.

By the paper's eq. 13, α minimises tr(α K̂ αᵀ) / 2 - tr(Û K_B αᵀ), where the rows of
Û K_B are the mean kernel rows of the clusters. Each step of the minimisation multiplies
by K̂ once. The number of steps of steepest descent is proportional to the condition
number of K̂. The number of steps of conjugate gradients is proportional to the square
root of the condition number. Without a factorisation, there are no coordinates in which
movements of the centers are cheap to measure. Therefore there are no bounds, and every
row is evaluated in every iteration.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from akkm.core.gram import Centers, Gram, factor
from akkm.typing import Array

# A solve has converged if the norm of the residual is at most this share of the norm of
# the right-hand side.
_TOLERANCE = 1e-6
# Maximum number of steps of a solve.
_MAX_STEPS = 1000
# Number of landmarks that span the coordinates for the initialisation.
_COARSE = 256


@dataclass(frozen=True)
class Unfactored(Gram):
    """The landmarks' kernel matrix K̂, not factored.

    The whitener is computed from a subset of the landmarks. Its coordinates cover only
    a part of the landmarks' span. This part suffices for the initialisation and for
    measuring rounding errors.
    """

    K: Array  # (m, m) float64
    eps: float  # relative rounding error of kernel rows
    # One entry per solve: None if it converged, else K̂'s estimated condition number.
    failures: list[float | None]

    @property
    def metric(self) -> bool:
        """False: coordinates cover only a part of the span, so bounds don't hold."""
        return False

    @property
    def rank(self) -> int:
        """Number of landmarks: the numerical rank is not known."""
        return len(self.K)

    def solve(self, means: Array, start: Array | None = None) -> Centers:
        """Solve α K̂ ≈ means (C, m) by conjugate gradients, starting at `start`."""
        start = np.zeros_like(means) if start is None else start
        alpha, converged, condition = conjugate_gradients(
            self.K, means, start, steps=_MAX_STEPS, eps=self.eps
        )
        self.failures.append(None if converged else condition)
        norms = np.einsum("km,km->k", alpha @ self.K, alpha)
        return Centers(means @ self.whitener, alpha, norms)

    def means_of(self, alpha: Array) -> Array:
        """Return the mean kernel rows (C, m) from which `solve` computes `alpha`."""
        return alpha @ self.K

    def failure(self) -> float | None:
        """Return K̂'s condition number if the last solve did not converge, else None."""
        return self.failures[-1]


def unfactored(K: Array, *, dtype: Any = np.float64) -> Unfactored:
    """Prepare K̂ (m, m) for the iterative solver; `dtype` is that of the kernel rows.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.core.gradient import unfactored
    >>> unfactored(np.diag([2.0, 4.0])).solve(np.array([[1.0, 1.0]])).alpha.round(6)
    array([[0.5 , 0.25]])
    """
    some = np.unique(np.linspace(0, len(K) - 1, _COARSE).astype(int))
    coarse = factor(K[np.ix_(some, some)], dtype=dtype)
    whitener = np.zeros((len(K), coarse.rank))
    whitener[some] = coarse.whitener
    eps = float(np.finfo(dtype).eps)
    return Unfactored(whitener, coarse.signs, coarse.negative_mass, K, eps, [None])


def conjugate_gradients(
    K: Array,
    B: Array,
    A: Array,
    *,
    steps: int = _MAX_STEPS,
    tolerance: float = _TOLERANCE,
    eps: float = float(np.finfo(np.float64).eps),
) -> tuple[Array, bool, float]:
    """Solve A K ≈ B for all rows of B (C, m) at once, starting at A (C, m).

    `eps` is the relative rounding error of B. Returns the solution A, whether all its
    rows converged, and an estimate of K's condition number. The estimate is computed
    from the steps and may be too low.
    """
    small = tolerance**2 * (B * B).sum(axis=1)
    A = np.where(small[:, None] > 0, A, 0)
    R = B - A @ K
    P = R.copy()
    squared = (R * R).sum(axis=1)
    flat = eps * np.abs(K.diagonal()).max()
    hardest = int(np.argmax(squared / np.where(small > 0, small, 1)))
    lengths: list[float] = []
    ratios: list[float] = []
    for _ in range(steps):
        active = squared > small
        if not active.any():
            return A, True, _condition(lengths, ratios)
        Q = P @ K
        curvature = (P * Q).sum(axis=1)
        # A direction without curvature can't reduce the residual.
        active &= curvature > flat * (P * P).sum(axis=1)
        if not active.any():
            break
        length = np.where(active, squared / np.where(active, curvature, 1), 0)
        A = A + length[:, None] * P
        R = R - length[:, None] * Q
        new = (R * R).sum(axis=1)
        ratio = np.where(active, new / np.where(squared > 0, squared, 1), 0)
        P = R + ratio[:, None] * P
        if length[hardest] > 0:
            lengths.append(float(length[hardest]))
            ratios.append(float(ratio[hardest]))
        squared = new
    return A, False, _condition(lengths, ratios)


def _condition(lengths: list[float], ratios: list[float]) -> float:
    """Estimate K's condition number from the Lanczos matrix of the steps."""
    if len(lengths) < 2:
        return 1.0
    inverse = 1 / np.array(lengths)
    ratio = np.array(ratios)
    diagonal = inverse.copy()
    diagonal[1:] += ratio[:-1] * inverse[:-1]
    beside = np.sqrt(ratio[:-1]) * inverse[:-1]
    values = linalg.eigvalsh_tridiagonal(diagonal, beside)
    return float(values[-1] / max(values[0], np.finfo(np.float64).eps * values[-1]))
