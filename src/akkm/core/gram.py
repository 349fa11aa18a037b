"""The factored kernel matrix K̂ of the landmarks, and centers computed with it.

The coefficients of the centers are α = means K̂⁻¹ (`Gram.solve`), where row c of `means`
is the mean of the kernel rows in cluster c.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from akkm.typing import Array

# Eigenvalues below this share of the largest eigenvalue are dropped, because kernel
# rows of the given precision can't resolve them.
TOLERANCE = {np.dtype(np.float32): 1e-7, np.dtype(np.float64): 1e-12}

INDEFINITE = ("clip", "flip", "pinv")
# "clip" drops a positive eigenvalue if it is at most this share of the largest
# eigenvalue, and some negative eigenvalue is at least as large in absolute value.
_UNRELIABLE = 0.01


class Centers(NamedTuple):
    """C cluster centers in the span of the landmarks."""

    beta: Array  # (C, r) whitened coordinates
    alpha: Array  # (C, m) coefficients of the landmarks, the paper's α
    norms: Array  # (C,) squared lengths, α_kᵀ K̂ α_k


@dataclass(frozen=True)
class Gram:
    """The factored kernel matrix of m landmarks.

    A point with kernel row φ has whitened coordinates φ W. The squared distance between
    two points of the landmarks' span, with coordinates a and b, is the sum of
    s_j (a_j - b_j)² over the r coordinates j. s_j is the sign of coordinate j.
    """

    whitener: Array  # W, (m, r) float64, columns by decreasing |eigenvalue|
    signs: Array  # (r,) +1, or -1 for negative eigenvalues kept by "pinv"
    negative_mass: float  # share of negative eigenvalues in the sum of |eigenvalue|

    @property
    def rank(self) -> int:
        """Number of coordinates r."""
        return self.whitener.shape[1]

    @property
    def metric(self) -> bool:
        """Whether distances are those of a Euclidean space, so that bounds hold."""
        return bool((self.signs > 0).all())

    def solve(self, means: Array, start: Array | None = None) -> Centers:
        """Return centers α = means K̂⁻¹ for mean kernel rows (C, m).

        `start` (C, m) is for iterative solvers; it is ignored here.
        """
        beta = means @ self.whitener
        signed = beta * self.signs
        norms = (signed * beta).sum(axis=1)
        return Centers(beta, signed @ self.whitener.T, norms)

    def means_of(self, alpha: Array) -> Array:
        """Return the mean kernel rows (C, m) from which `solve` computes `alpha`."""
        # Columns of W are eigenvectors divided by the square roots of the eigenvalues.
        unwhitener = self.whitener / (self.whitener**2).sum(axis=0)
        return (alpha @ unwhitener * self.signs) @ unwhitener.T

    def squared_norms(self, kernel_rows: Array) -> Array:
        """Return squared lengths (b,) within the span, from kernel rows (b, m)."""
        whitener = self.whitener.astype(kernel_rows.dtype, copy=False)
        return self.squared_lengths(kernel_rows @ whitener)

    def squared_lengths(self, coordinates: Array) -> Array:
        """Return squared lengths (b,) of points with whitened coordinates (b, r)."""
        return np.einsum("ij,ij,j->i", coordinates, coordinates, self.signs)


def factor(K: Array, *, dtype: Any = np.float64, indefinite: str = "clip") -> Gram:
    """Factor K = k(Z, Z) (m, m) in float64.

    `dtype` is the precision of the kernel rows. `indefinite` says how to treat negative
    eigenvalues: "clip" drops them, "flip" replaces them by their absolute values, and
    "pinv" inverts them as they are (the paper's K̂⁻¹; distances are then not a metric).
    "clip" also drops a small positive eigenvalue if some negative eigenvalue is at
    least as large in absolute value. Such a positive eigenvalue carries as little
    information as the negative one, and dividing by it would make the images of rows
    far too long.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.core.gram import factor
    >>> gram = factor(np.array([[2.0, 2.0], [2.0, 2.0]]))  # the same landmark twice
    >>> gram.rank, gram.negative_mass
    (1, 0.0)
    """
    values, vectors = linalg.eigh(K, driver="evd", check_finite=False)
    negative = float(-values[values < 0].sum() / np.abs(values).sum().clip(1e-300))
    largest = np.abs(values).max()
    # Eigenvalues below `floor` in absolute value are rounding errors.
    floor = TOLERANCE[np.dtype(dtype)] * largest
    if indefinite == "clip":
        kept = values > max(floor, min(-values[0], _UNRELIABLE * values[-1]))
    else:
        kept = np.abs(values) > floor
    order = np.flatnonzero(kept)[np.argsort(-np.abs(values[kept]), kind="stable")]
    whitener = vectors[:, order] / np.sqrt(np.abs(values[order]))
    signs = np.sign(values[order]) if indefinite == "pinv" else np.ones(order.size)
    rounding = len(K) * np.finfo(np.float64).eps
    return Gram(whitener, signs, negative if negative > rounding else 0.0)
