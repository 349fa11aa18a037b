"""Kernels made from sums over the columns, in compiled loops: no matrix product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from akkm.kernels._base import Array, Fill, Kernel, Rows, to_dense
from akkm.kernels._minimum import require_numba, sums_of_minima


@dataclass(frozen=True)
class _ColumnSum(Kernel):
    """k(x, y) = f(sum_j term(x_j, y_j)), with f applied in place by `_apply`."""

    _term: ClassVar[str]  # a key of `_loops`

    def _apply(self, t: Array) -> None:
        """Replace the sums t by f(t)."""
        raise NotImplementedError

    def bind(self, Z: Rows) -> Fill:
        points, loop = to_dense(Z), _loops()[self._term]

        def fill(X: Rows, out: Array) -> None:
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
        t *= -t.dtype.type(self.gamma)
        np.exp(t, out=t)

    def diag(self, X: Rows) -> Array:
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
    """Kernels of histograms, whose entries are never negative."""

    def check(self, X: Rows) -> None:
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

    Rows are non-negative, and 0/0 counts as 0. It is not positive semi-definite.

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

    def diag(self, X: Rows) -> Array:
        return np.zeros(X.shape[0])


@dataclass(frozen=True)
class Chi2(_NonNegative, _Exponential):
    """Chi² kernel, k(x, y) = exp(-gamma sum_j (x_j - y_j)² / (x_j + y_j)).

    Rows are non-negative, and 0/0 counts as 0.

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

    Rows are non-negative.

    Examples
    --------
    >>> from akkm.kernels import Intersection
    >>> Intersection()([[1.0, 5.0]], [[3.0, 4.0]]).tolist()
    [[5.0]]
    """

    psd: ClassVar[bool] = True

    def bind(self, Z: Rows) -> Fill:
        return sums_of_minima(Z)

    def diag(self, X: Rows) -> Array:
        return np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()


@cache
def _loops() -> dict[str, Callable[[Array, Array, Array], None]]:
    """Compiled loops by term; compiled on first use, as importing numba is slow."""
    require_numba()
    import numba

    def compiled(term: Callable[[Any, Any], Any]) -> Any:
        term = numba.njit(inline="always")(term)

        # Reassociation lets the sum over columns use vector registers.
        @numba.njit(nogil=True, fastmath={"reassoc", "nsz", "contract"})
        def loop(X: Array, Z: Array, out: Array) -> None:
            for i in range(X.shape[0]):
                for k in range(Z.shape[0]):
                    total = out.dtype.type(0)
                    for j in range(X.shape[1]):
                        total += term(X[i, j], Z[k, j])
                    out[i, k] = total

        return loop

    return {
        "manhattan": compiled(lambda x, z: abs(x - z)),
        "chi2": compiled(
            lambda x, z: (x - z) * (x - z) / (x + z) if x + z > 0 else x * 0
        ),
    }
