"""Kernels that are functions of x·y, computed by one matrix product per block."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from akkm.kernels import _base
from akkm.kernels._base import Fill, Kernel, squared_norms
from akkm.typing import Array, RowsLike


@dataclass(frozen=True)
class _DotKernel(Kernel):
    """k(x, y) = f(gamma x·y), with f applied in place by `_apply`."""

    gamma: float = 1.0
    cheap: ClassVar[bool] = True

    @abstractmethod
    def _apply(self, t: Array) -> None:
        """Replace t = gamma x·y by f(t)."""

    def diag(self, X: RowsLike) -> Array:
        t = squared_norms(X, np.float64) * self.gamma
        self._apply(t)
        return t

    def bind(self, Z: RowsLike) -> Fill:
        right = _base.right_factor(Z, self.gamma)

        def fill(X: RowsLike, out: Array) -> None:
            _base.product(X, right, out)
            self._apply(out)

        return fill


@dataclass(frozen=True)
class Linear(_DotKernel):
    """Linear kernel, k(x, y) = gamma x·y.

    Parameters
    ----------
    gamma : float, default=1.0
        The factor of x·y.

    Examples
    --------
    >>> from akkm.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[11.0]]
    """

    @property
    def psd(self) -> bool:
        return self.gamma >= 0

    def _apply(self, t: Array) -> None:
        pass


@dataclass(frozen=True)
class Polynomial(_DotKernel):
    """Polynomial kernel, k(x, y) = (gamma x·y + coef0)^degree.

    Parameters
    ----------
    gamma : float, default=1.0
        The factor of x·y.
    degree : float, default=3
        The exponent.
    coef0 : float, default=1.0
        The constant that is added to gamma x·y.

    Examples
    --------
    >>> from akkm.kernels import Polynomial
    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[144.0]]
    """

    degree: float = 3
    coef0: float = 1.0

    @property
    def psd(self) -> bool:
        whole = float(self.degree).is_integer() and self.degree >= 1
        return whole and self.coef0 >= 0 and self.gamma >= 0

    def _apply(self, t: Array) -> None:
        t += t.dtype.type(self.coef0)
        # Ignore overflow here: the solver reports it once.
        with np.errstate(over="ignore", invalid="ignore"):
            # Multiplications are faster than np.power.
            if self.degree == 3:
                np.multiply(t, np.square(t), out=t)
            elif self.degree in (1, 2, 4):
                for _ in range(int(self.degree) // 2):
                    np.square(t, out=t)
            else:
                np.power(t, t.dtype.type(self.degree), out=t)


@dataclass(frozen=True)
class Sigmoid(_DotKernel):
    """Sigmoid or "neural" kernel, k(x, y) = tanh(gamma x·y + coef0).

    This kernel is not positive semi-definite.

    Parameters
    ----------
    gamma : float, default=1.0
        The factor of x·y.
    coef0 : float, default=1.0
        The constant that is added to gamma x·y.

    Examples
    --------
    >>> from akkm.kernels import Sigmoid
    >>> Sigmoid(gamma=0.5, coef0=-0.5)([[1.0]]).tolist()
    [[0.0]]
    """

    coef0: float = 1.0
    psd: ClassVar[bool] = False

    def _apply(self, t: Array) -> None:
        t += t.dtype.type(self.coef0)
        np.tanh(t, out=t)


@dataclass(frozen=True)
class Cosine(Kernel):
    """Cosine of the angle, k(x, y) = x·y / (|x| |y|), and 0 if x or y is zero.

    Examples
    --------
    >>> from akkm.kernels import Cosine
    >>> Cosine()([[1.0, 0.0]], [[3.0, 4.0]]).tolist()
    [[0.6000000000000001]]
    """

    psd: ClassVar[bool] = True
    cheap: ClassVar[bool] = True

    def diag(self, X: RowsLike) -> Array:
        return (_moderate(X)[1] > 0).astype(np.float64)

    def bind(self, Z: RowsLike) -> Fill:
        Z, squared = _moderate(Z)
        right = _base.right_factor(Z)
        over_z = _inverse_norms(squared)

        def fill(X: RowsLike, out: Array) -> None:
            X, squared = _moderate(X)
            _base.product(X, right, out)
            out *= _inverse_norms(squared)[:, None]
            out *= over_z

        return fill


def _moderate(X: RowsLike) -> tuple[RowsLike, Array]:
    """Return rows with the directions of X but moderate lengths, and their |x|² (n,).

    A row whose |x|² might overflow or vanish is divided by its largest entry.
    """
    with np.errstate(over="ignore"):
        squared = squared_norms(X)
    smallest = np.sqrt(np.finfo(X.dtype).tiny)
    extreme = ~((squared > smallest) & (squared < 1 / smallest))
    if not extreme.any():
        return X, squared
    largest = abs(X).max(axis=1)
    largest = largest.toarray().ravel() if sparse.issparse(X) else largest
    divisor = np.where(extreme & (largest > 0), largest, X.dtype.type(1))
    if sparse.issparse(X):
        X = X.copy()
        X.data /= np.repeat(divisor, np.diff(X.indptr))
    else:
        X = X / divisor[:, None]
    return X, squared_norms(X)


def _inverse_norms(squared: Array) -> Array:
    """Return 1 / |x| for each |x|² (n,), and 0 for 0."""
    norms = np.sqrt(squared)
    return np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)
