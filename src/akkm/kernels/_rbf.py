"""The Gaussian kernel.

The exponent -gamma |x - z|² is computed as 2 gamma x·z - gamma |x|² - gamma |z|², by
one matrix product. Its rounding error is proportional to gamma (|x|² + |z|²). If the
error of a pair may exceed `_MAX_ERROR`, its exponent is computed again from x - z,
unless k is zero anyway. So k(x, x) = 1 and 0 ≤ k ≤ 1 hold at every scale of the data,
up to the accepted error.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from akkm.kernels import _base
from akkm.kernels._base import Fill, Kernel, squared_norms, to_dense
from akkm.kernels._distances import squared_distances
from akkm.typing import Array, RowsLike

# Largest accepted rounding error of an exponent.
_MAX_ERROR = {np.dtype(np.float32): 2e-4, np.dtype(np.float64): 1e-8}
# Exponents below the negative of this number give k = 0.
_VANISHING = {np.dtype(np.float32): 110.0, np.dtype(np.float64): 750.0}


@dataclass(frozen=True)
class RBF(Kernel):
    """Gaussian kernel, k(x, y) = exp(-gamma |x - y|²), with gamma = 1 / (2 sigma²).

    Parameters
    ----------
    gamma : float, optional
        The factor of the squared distance. The default is 1, unless sigma is given.
    sigma : float, optional
        The width. Give `gamma` or `sigma`, not both.

    Examples
    --------
    >>> from akkm.kernels import RBF
    >>> RBF(gamma=0.25)([[0.0]], [[2.0]]).round(3).tolist()
    [[0.368]]
    >>> RBF(sigma=0.5).rate
    2.0
    """

    gamma: float | None = None
    sigma: float | None = None
    psd: ClassVar[bool] = True
    cheap: ClassVar[bool] = True
    unit: ClassVar[bool] = True

    def __post_init__(self) -> None:
        both = self.gamma is not None and self.sigma is not None
        if both or not self.rate > 0:
            raise ValueError(
                f"RBF got gamma={self.gamma} and sigma={self.sigma}; expected one "
                "positive number. Give gamma or sigma: gamma = 1 / (2 sigma²)."
            )

    @property
    def rate(self) -> float:
        """The gamma of the formula; if sigma was given, it is computed from sigma."""
        if self.sigma is not None:
            return 1.0 / (2.0 * self.sigma**2)
        return 1.0 if self.gamma is None else self.gamma

    def __call__(self, X: RowsLike, Y: RowsLike | None = None) -> Array:
        """Compute the kernel matrix k(X, Y) (n, m), or k(X, X) without Y."""
        # Rounding errors may make the exponents of nearly equal rows positive. The
        # resulting values above 1 are corrected only here. In the blocks of a fit, the
        # correction would take time, and rounding errors of this size do no harm.
        K = super().__call__(X, Y)
        return np.minimum(K, 1, out=K)

    def diag(self, X: RowsLike) -> Array:
        return np.ones(X.shape[0])

    def bind(self, Z: RowsLike) -> Fill:
        exponents = self._sparse_exponents if sparse.issparse(Z) else self._exponents
        with np.errstate(over="ignore", invalid="ignore"):
            compute, from_z = exponents(Z)
        far_points = np.flatnonzero(_is_far(from_z))

        def fill(X: RowsLike, out: Array) -> None:
            with np.errstate(over="ignore", invalid="ignore"):
                from_x = compute(X, out)
                far_rows = np.flatnonzero(_is_far(from_x))
                if far_rows.size or far_points.size:
                    i, j = _uncertain(out, from_x, from_z, far_rows, far_points)
                    out[i, j] = -self.rate * squared_distances(X, Z, i, j)
            np.exp(out, out=out)

        return fill

    def _exponents(self, Z: Array) -> tuple[Callable[[RowsLike, Array], Array], Array]:
        """Return a function that computes exponents, and gamma |z|² (m,).

        The function writes the exponents of rows X to `out`. It returns gamma |x|² of
        these rows (b,).
        """
        # The exponent is one matrix product:
        # (x, -gamma |x|², 1) · (2 gamma z, 1, -gamma |z|²).
        # Subtracting the mean of Z from x and z reduces rounding errors and does not
        # change the exponent.
        m, d = Z.shape
        rate = Z.dtype.type(self.rate)
        center = Z.mean(axis=0)
        right = np.ones((d + 2, m), dtype=Z.dtype)
        right[:d] = (Z - center).T
        right[d + 1] = -rate * np.einsum("ij,ij->j", right[:d], right[:d])
        right[:d] *= 2 * rate

        def compute(X: RowsLike, out: Array) -> Array:
            left = np.ones((X.shape[0], d + 2), dtype=out.dtype)
            shifted = left[:, :d]
            np.subtract(to_dense(X), center, out=shifted)
            left[:, d] = -rate * np.einsum("ij,ij->i", shifted, shifted)
            np.matmul(left, right, out=out)
            return -left[:, d]

        return compute, -right[d + 1]

    def _sparse_exponents(
        self, Z: RowsLike
    ) -> tuple[Callable[[RowsLike, Array], Array], Array]:
        """Return the same as `_exponents`, for sparse points."""
        # Subtracting a mean would make rows dense. So rows are not shifted, and the
        # three terms of the exponent are added.
        rate = Z.dtype.type(self.rate)
        right = _base.right_factor(Z, 2 * self.rate)
        from_z = rate * squared_norms(Z)

        def compute(X: RowsLike, out: Array) -> Array:
            _base.product(X, right, out)
            from_x: Array = rate * squared_norms(X)
            out -= from_x[:, None]
            out -= from_z
            return from_x

        return compute, from_z


def _is_far(sizes: Array) -> Array:
    """Return which rows may have inaccurate exponents (b,), given gamma |x|² (b,)."""
    eps = np.finfo(sizes.dtype).eps
    # A comparison with NaN is false. So NaN, the result of an overflow, counts as far.
    return ~(2 * eps * sizes <= _MAX_ERROR[sizes.dtype])


def _uncertain(
    exponents: Array, from_x: Array, from_z: Array, far_rows: Array, far_points: Array
) -> tuple[Array, Array]:
    """Return the pairs of a row and a point whose exponents may be inaccurate.

    In such a pair, the row or the point is far (see `_is_far`), and k may be positive.
    The result contains the row (p,) and the point (p,) of each pair.
    """
    eps = np.finfo(exponents.dtype).eps

    def positive(exponents: Array, sizes: Array) -> Array:
        error = 8 * eps * sizes
        return ~(exponents + error < -_VANISHING[exponents.dtype])

    both = from_x[far_rows, None] + from_z
    i, j = np.nonzero(positive(exponents[far_rows], both))
    near_rows = np.delete(np.arange(len(from_x)), far_rows)
    both = from_x[near_rows, None] + from_z[far_points]
    near = positive(exponents[np.ix_(near_rows, far_points)], both)
    p, q = np.nonzero(near)
    return (
        np.concatenate([far_rows[i], near_rows[p]]),
        np.concatenate([j, far_points[q]]),
    )
