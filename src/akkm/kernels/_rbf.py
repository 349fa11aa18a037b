"""The Gaussian kernel."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from akkm.kernels import _base
from akkm.kernels._base import Fill, Kernel, squared_norms, to_dense
from akkm.typing import Array, RowsLike


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

    def diag(self, X: RowsLike) -> Array:
        return np.ones(X.shape[0])

    def bind(self, Z: RowsLike) -> Fill:
        return self._bind_sparse(Z) if sparse.issparse(Z) else self._bind_dense(Z)

    def _bind_dense(self, Z: Array) -> Fill:
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

        def fill(X: RowsLike, out: Array) -> None:
            left = np.ones((X.shape[0], d + 2), dtype=out.dtype)
            shifted = left[:, :d]
            np.subtract(to_dense(X), center, out=shifted)
            left[:, d] = -rate * np.einsum("ij,ij->i", shifted, shifted)
            np.matmul(left, right, out=out)
            np.exp(out, out=out)

        return fill

    def _bind_sparse(self, Z: RowsLike) -> Fill:
        # Subtracting a mean would make rows dense; the three terms are added instead.
        rate = Z.dtype.type(self.rate)
        right = _base.right_factor(Z, 2 * self.rate)
        from_z = rate * squared_norms(Z)

        def fill(X: RowsLike, out: Array) -> None:
            _base.product(X, right, out)
            out -= (rate * squared_norms(X))[:, None]
            out -= from_z
            np.minimum(out, 0, out=out)
            np.exp(out, out=out)

        return fill
