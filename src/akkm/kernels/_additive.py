"""Kernels that sum over the columns in compiled loops, without a matrix product."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from akkm.extras import import_extra
from akkm.kernels._base import Fill, Kernel, to_dense
from akkm.typing import Array, RowsLike


@dataclass(frozen=True)
class _ColumnSum(Kernel):
    """k(x, y) = f(sum_j term(x_j, y_j)), with f applied in place by `_apply`."""

    _term: ClassVar[str]  # the name of a compiled loop

    @abstractmethod
    def _apply(self, t: Array) -> None:
        """Replace the sums t by f(t)."""

    def bind(self, Z: RowsLike) -> Fill:
        points, loop = to_dense(Z), getattr(_compiled(), self._term)

        def fill(X: RowsLike, out: Array) -> None:
            loop(to_dense(X), points, out)
            self._apply(out)

        return fill


@dataclass(frozen=True)
class _Exponential(_ColumnSum):
    """k(x, y) = exp(-gamma sum_j term(x_j, y_j)), with term(x_j, x_j) = 0."""

    gamma: float = 1.0
    psd: ClassVar[bool] = True
    unit: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.gamma > 0:
            raise ValueError(
                f"{type(self).__name__} got gamma={self.gamma}; expected a positive "
                "number."
            )

    def _apply(self, t: Array) -> None:
        # Rounding may turn gamma into 0 or infinity. Then the product could be NaN.
        limits = np.finfo(t.dtype)
        with np.errstate(over="ignore"):
            t *= -t.dtype.type(np.clip(self.gamma, limits.tiny, limits.max))
        np.exp(t, out=t)

    def diag(self, X: RowsLike) -> Array:
        return np.ones(X.shape[0])


@dataclass(frozen=True)
class Laplacian(_Exponential):
    """Laplacian kernel, k(x, y) = exp(-gamma |x - y|₁).

    Parameters
    ----------
    gamma : float, default=1.0
        The inverse of the width.

    Examples
    --------
    >>> from akkm.kernels import Laplacian
    >>> Laplacian(gamma=0.5)([[0.0]], [[2.0]]).round(3).tolist()
    [[0.368]]
    """

    _term = "manhattan"


class _NonNegative(Kernel):
    """Base class of kernels of histograms, which must not have negative entries."""

    def check(self, X: RowsLike) -> None:
        lowest = X.min() if X.shape[0] else 0
        if lowest < 0:
            raise ValueError(
                f"Negative values in data: the smallest is {lowest:g}. The "
                f"{type(self).__name__} kernel compares histograms and expects entries "
                "of 0 or more. Shift or scale the columns (e.g. MinMaxScaler), or "
                "choose another kernel."
            )


@dataclass(frozen=True)
class AdditiveChi2(_NonNegative, _ColumnSum):
    """Additive chi² kernel, k(x, y) = -sum_j (x_j - y_j)² / (x_j + y_j).

    Rows must be non-negative; 0/0 counts as 0. This kernel is not positive
    semi-definite.

    Examples
    --------
    >>> from akkm.kernels import AdditiveChi2
    >>> AdditiveChi2()([[1.0, 0.0]], [[3.0, 0.0]]).tolist()
    [[-1.0]]
    """

    psd: ClassVar[bool] = False
    _term = "chi2"

    def _apply(self, t: Array) -> None:
        np.negative(t, out=t)

    def diag(self, X: RowsLike) -> Array:
        return np.zeros(X.shape[0])


@dataclass(frozen=True)
class Chi2(_NonNegative, _Exponential):
    """Chi² kernel, k(x, y) = exp(-gamma sum_j (x_j - y_j)² / (x_j + y_j)).

    Rows must be non-negative; 0/0 counts as 0.

    Parameters
    ----------
    gamma : float, default=1.0
        The inverse of the width.

    Examples
    --------
    >>> from akkm.kernels import Chi2
    >>> Chi2()([[1.0, 0.0]], [[3.0, 0.0]]).round(3).tolist()
    [[0.368]]
    """

    _term = "chi2"


@dataclass(frozen=True)
class Intersection(_NonNegative):
    """Histogram intersection, k(x, y) = sum_j min(x_j, y_j).

    Rows must be non-negative.

    Examples
    --------
    >>> from akkm.kernels import Intersection
    >>> Intersection()([[1.0, 5.0]], [[3.0, 4.0]]).tolist()
    [[5.0]]
    """

    psd: ClassVar[bool] = True

    def bind(self, Z: RowsLike) -> Fill:
        loops = _compiled()
        m, d = Z.shape
        tiles = np.zeros((-(-m // loops.TILE) * d, loops.TILE), dtype=Z.dtype)
        Z = _canonical(Z)
        loops.scatter(Z.indptr, Z.indices, Z.data, d, tiles)

        def fill(X: RowsLike, out: Array) -> None:
            X = _canonical(X)
            out[...] = 0
            loops.add_minima(X.indptr, X.indices, X.data, d, tiles, out)

        return fill

    def diag(self, X: RowsLike) -> Array:
        return np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()


def _compiled() -> Any:
    """Return the module of compiled loops; without numba, raise ImportError."""
    purpose = "The laplacian, chi2 and intersection kernels need numba"
    return import_extra("akkm.kernels._compiled", purpose, "numba")


def _canonical(X: RowsLike) -> RowsLike:
    """Return X as CSR with sorted column numbers and no duplicates."""
    X = sparse.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()  # X may share its arrays with the caller
        X.sum_duplicates()
    return X
