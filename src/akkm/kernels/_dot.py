"""Kernels that are a function of the dot product: one GEMM, one elementwise pass."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

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
class _DotKernel(Kernel):
    """k(x, y) = of_dot(gamma x·y), of_dot being the formula in place."""

    gamma: float = 1.0
    cheap: ClassVar[bool] = True

    @abstractmethod
    def _of_dot(self, t: Array) -> Array:
        """The kernel from t = gamma x·y; may overwrite t."""

    def diag(self, X: Rows) -> Array:
        return self._of_dot(squared_norms(X, np.float64) * self.gamma)

    def bind(self, Z: Rows) -> Fill:
        right = right_factor(Z, self.gamma)

        def fill(X: Rows, out: Array) -> None:
            product(X, right, out)
            result = self._of_dot(out)
            if result is not out:
                out[...] = result

        return fill


@dataclass(frozen=True)
class Linear(_DotKernel):
    """k(x, y) = gamma x·y, gamma = 1"""

    @property
    def psd(self) -> bool:
        return self.gamma >= 0

    def _of_dot(self, t: Array) -> Array:
        return t


@dataclass(frozen=True)
class Polynomial(_DotKernel):
    """k(x, y) = (gamma x·y + coef0)^degree"""

    degree: float = 3
    coef0: float = 1.0

    @property
    def psd(self) -> bool:
        whole = float(self.degree).is_integer() and self.degree >= 1
        return whole and self.coef0 >= 0 and self.gamma >= 0

    def _of_dot(self, t: Array) -> Array:
        t += t.dtype.type(self.coef0)
        with np.errstate(over="ignore", invalid="ignore"):  # solvers tell, once
            return _power(t, self.degree)


@dataclass(frozen=True)
class Sigmoid(_DotKernel):
    """k(x, y) = tanh(gamma x·y + coef0), the "neural" kernel; not positive definite"""

    coef0: float = 1.0
    psd: ClassVar[bool] = False

    def _of_dot(self, t: Array) -> Array:
        t += t.dtype.type(self.coef0)
        return np.tanh(t, out=t)


@dataclass(frozen=True)
class Cosine(Kernel):
    """k(x, y) = x·y / (|x| |y|), and 0 where x or y is the zero vector"""

    psd: ClassVar[bool] = True
    cheap: ClassVar[bool] = True

    def diag(self, X: Rows) -> Array:
        return (squared_norms(X) > 0).astype(np.float64)

    def bind(self, Z: Rows) -> Fill:
        right = right_factor(Z)
        over_z = _inverse_lengths(Z)

        def fill(X: Rows, out: Array) -> None:
            product(X, right, out)
            out *= _inverse_lengths(X)[:, None]
            out *= over_z

        return fill


def _inverse_lengths(X: Rows) -> Array:
    lengths = np.sqrt(squared_norms(X))
    return np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def _power(t: Array, degree: float) -> Array:
    """Raise t to the degree; small integers by multiplication, which is faster."""
    if degree == 1:
        return t
    if degree == 2:
        return np.square(t, out=t)
    if degree == 3:
        return np.multiply(t, np.square(t), out=t)
    if degree == 4:
        np.square(t, out=t)
        return np.square(t, out=t)
    return np.power(t, t.dtype.type(degree), out=t)
