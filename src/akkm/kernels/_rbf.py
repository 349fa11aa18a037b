"""The Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from akkm.kernels._base import (
    Array,
    Fill,
    Kernel,
    Rows,
    product,
    right_factor,
    squared_norms,
)


@dataclass(frozen=True)
class RBF(Kernel):
    """k(x, y) = exp(-gamma |x - y|²), with gamma = 1 / (2 sigma²)

    Give `gamma` or `sigma`, not both; without either, gamma is 1.

    Examples
    --------
    >>> from akkm.kernels import RBF
    >>> RBF(sigma=0.5).rate
    2.0
    """

    gamma: float | None = None
    sigma: float | None = None
    psd: ClassVar[bool] = True
    cheap: ClassVar[bool] = True
    unit: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.gamma is not None and self.sigma is not None:
            raise ValueError(
                f"RBF got gamma={self.gamma} and sigma={self.sigma}; "
                "give one of them: gamma = 1 / (2 sigma²)."
            )
        if not self.rate > 0:
            raise ValueError(
                f"RBF needs a positive width; got gamma={self.gamma}, "
                f"sigma={self.sigma}."
            )

    @property
    def rate(self) -> float:
        """gamma, whichever of the two was given."""
        if self.sigma is not None:
            return 1.0 / (2.0 * self.sigma**2)
        return 1.0 if self.gamma is None else self.gamma

    def diag(self, X: Rows) -> Array:
        return np.ones(X.shape[0])

    def bind(self, Z: Rows) -> Fill:
        return self._bind_sparse(Z) if sparse.issparse(Z) else self._bind_dense(Z)

    def _bind_dense(self, Z: Array) -> Fill:
        # (x, -gamma |x|², 1) · (2 gamma z, 1, -gamma |z|²) is the exponent: one GEMM.
        # Rows are centered at the mean of Z, which leaves it the same and keeps digits.
        m, d = Z.shape
        rate = Z.dtype.type(self.rate)
        center = Z.mean(axis=0)
        right = np.ones((d + 2, m), dtype=Z.dtype)
        right[:d] = (Z - center).T
        right[d + 1] = -rate * np.einsum("ij,ij->j", right[:d], right[:d])
        right[:d] *= 2 * rate

        def fill(X: Rows, out: Array) -> None:
            left = np.ones((X.shape[0], d + 2), dtype=out.dtype)
            shifted = left[:, :d]
            np.subtract(X.toarray() if sparse.issparse(X) else X, center, out=shifted)
            left[:, d] = -rate * np.einsum("ij,ij->i", shifted, shifted)
            np.matmul(left, right, out=out)
            np.exp(out, out=out)

        return fill

    def _bind_sparse(self, Z: Rows) -> Fill:
        # Centering would fill the zeros, so the three terms are added one by one.
        rate = Z.dtype.type(self.rate)
        right = right_factor(Z, 2 * self.rate)
        from_z = rate * squared_norms(Z)

        def fill(X: Rows, out: Array) -> None:
            product(X, right, out)
            out -= (rate * squared_norms(X))[:, None]
            out -= from_z
            np.minimum(out, 0, out=out)
            np.exp(out, out=out)

        return fill
