"""Kernels without a GEMM form: sums over the columns, in compiled loops over tiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from akkm.kernels._base import Array, Fill, Kernel, Rows, to_dense
from akkm.kernels._minimum import sums_of_minima


@dataclass(frozen=True)
class _ColumnSum(Kernel):
    """A kernel computed from sum_j term(x_j, y_j)."""

    def _loop(self) -> Callable[[Array, Array, Array], None]:
        raise AssertionError("given by each kernel")

    def _of_sum(self, t: Array) -> Array:
        return t

    def bind(self, Z: Rows) -> Fill:
        points = to_dense(Z)
        loop = self._loop()

        def fill(X: Rows, out: Array) -> None:
            loop(to_dense(X), points, out)
            self._of_sum(out)

        return fill


@dataclass(frozen=True)
class _Exponential(_ColumnSum):
    """exp(-gamma sum_j term(x_j, y_j)) with terms that are 0 for x_j = y_j."""

    gamma: float = 1.0
    psd: ClassVar[bool] = True
    unit: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.gamma > 0:
            raise ValueError(
                f"{type(self).__name__} needs a positive width; got gamma={self.gamma}."
            )

    def _of_sum(self, t: Array) -> Array:
        t *= -t.dtype.type(self.gamma)
        return np.exp(t, out=t)

    def diag(self, X: Rows) -> Array:
        return np.ones(X.shape[0])


@dataclass(frozen=True)
class Laplacian(_Exponential):
    """k(x, y) = exp(-gamma |x - y|₁)"""

    def _loop(self) -> Callable[[Array, Array, Array], None]:
        return _loops()["manhattan"]


class _NonNegative(Kernel):
    def check(self, X: Rows) -> None:
        lowest = X.min() if X.shape[0] else 0
        if lowest < 0:
            raise ValueError(
                f"Negative values in data: the smallest is {lowest:g}, and the "
                f"{type(self).__name__} kernel compares histograms, whose entries are "
                "0 or more. Shift or scale the columns (e.g. MinMaxScaler), or choose "
                "another kernel."
            )


@dataclass(frozen=True)
class AdditiveChi2(_NonNegative, _ColumnSum):
    """k(x, y) = -sum_j (x_j - y_j)² / (x_j + y_j), 0/0 = 0; x, y ≥ 0"""

    psd: ClassVar[bool] = False

    def _loop(self) -> Callable[[Array, Array, Array], None]:
        return _loops()["chi2"]

    def _of_sum(self, t: Array) -> Array:
        return np.negative(t, out=t)

    def diag(self, X: Rows) -> Array:
        return np.zeros(X.shape[0])


@dataclass(frozen=True)
class Chi2(_NonNegative, _Exponential):
    """k(x, y) = exp(-gamma sum_j (x_j - y_j)² / (x_j + y_j)), 0/0 = 0; x, y ≥ 0"""

    def _loop(self) -> Callable[[Array, Array, Array], None]:
        return _loops()["chi2"]


@dataclass(frozen=True)
class Intersection(_NonNegative):
    """k(x, y) = sum_j min(x_j, y_j); x, y ≥ 0 (histogram intersection)"""

    psd: ClassVar[bool] = True

    def bind(self, Z: Rows) -> Fill:
        require_numba()
        return sums_of_minima(Z)

    def diag(self, X: Rows) -> Array:
        return np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()


def require_numba() -> None:
    """Raise ImportError, with the cure, if numba is not there."""
    try:
        import numba  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "The laplacian, chi2 and intersection kernels need numba, which is not "
            "installed. Install it with: pip install 'akkm[numba]'"
        ) from error


@cache
def _loops() -> dict[str, Callable[[Array, Array, Array], None]]:
    """The compiled loops, made when first needed: numba takes a second to import."""
    require_numba()
    import numba

    def compiled(
        term: Callable[[Any, Any], Any],
    ) -> Callable[[Array, Array, Array], None]:
        # Reassociation lets the sum over columns use vector registers.
        term = numba.njit(inline="always")(term)

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
