"""Kernels that the user brings: a function, or the numbers themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from akkm.kernels._base import Array, Fill, Kernel, Rows

_DIAGONAL_BLOCK = 64
_SYMMETRY_ROWS = 1024


@dataclass(frozen=True)
class Function(Kernel):
    """k(X, Y) = function(X, Y, **params), for blocks: (b, d), (m, d) -> (b, m)"""

    function: Callable[..., Any]
    params: Mapping[str, Any] = field(default_factory=dict)
    psd: ClassVar[bool] = False

    def bind(self, Z: Rows) -> Fill:
        def fill(X: Rows, out: Array) -> None:
            out[...] = self._block(X, Z)

        return fill

    def diag(self, X: Rows) -> Array:
        starts = range(0, X.shape[0], _DIAGONAL_BLOCK)
        blocks = (X[s : s + _DIAGONAL_BLOCK].astype(np.float64) for s in starts)
        return np.concatenate([self._block(B, B).diagonal() for B in blocks])

    def _block(self, X: Rows, Y: Rows) -> Array:
        block = np.asarray(self.function(X, Y, **self.params))
        expected = (X.shape[0], Y.shape[0])
        if block.shape != expected:
            name = getattr(self.function, "__name__", repr(self.function))
            raise ValueError(
                f"The kernel function {name} returned an array of shape {block.shape} "
                f"for {expected[0]} and {expected[1]} rows; expected {expected}. It is "
                "called with two blocks of rows, as in sklearn.svm.SVC; for a function "
                "of two single rows pass lambda X, Y: "
                "sklearn.metrics.pairwise_kernels(X, Y, metric=function)."
            )
        return block


@dataclass(frozen=True)
class Precomputed(Kernel):
    """Row i of X holds k(x_i, every training point): (n, n), as in scikit-learn

    Points are named by their column.
    """

    psd: ClassVar[bool] = False
    cheap: ClassVar[bool] = True

    def check_matrix(self, X: Array) -> None:
        """Raise ValueError unless X is square and symmetric."""
        n = len(X)
        if X.shape != (n, n):
            raise ValueError(
                f"The precomputed kernel has shape {X.shape}; expected a square matrix "
                "(n, n), or a strip (n, m) with landmarks= the m row indices that its "
                "columns stand for."
            )
        largest = max(abs(float(X.max())), abs(float(X.min())))
        for start in range(0, n, _SYMMETRY_ROWS):
            rows = slice(start, start + _SYMMETRY_ROWS)
            uneven = float(np.abs(X[rows] - X[:, rows].T).max())
            if uneven > 1e-4 * largest:
                raise ValueError(
                    "The precomputed kernel matrix is not symmetric: entries (i, j) "
                    f"and (j, i) differ by up to {uneven:g}. If it is one up to "
                    "rounding, pass (K + K.T) / 2; the columns of a strip must be in "
                    "the order of landmarks."
                )

    def __add__(self, other: Kernel | float) -> Kernel:
        raise TypeError("Add precomputed kernel matrices, not their kernels.")

    def __mul__(self, other: Kernel | float) -> Kernel:
        raise TypeError("Multiply precomputed kernel matrices, not their kernels.")

    __radd__, __rmul__ = __add__, __mul__

    def select(self, X: Rows, indices: Array) -> Rows:
        return np.asarray(indices)

    def bind(self, Z: Rows) -> Fill:
        def fill(X: Rows, out: Array) -> None:
            np.take(X, Z, axis=1, out=out, mode="clip")

        return fill

    def diag(self, X: Rows) -> Array:
        return X.diagonal().astype(np.float64)


@dataclass(frozen=True)
class PrecomputedStrip(Precomputed):
    """Row i of X holds k(x_i, every landmark): (n, m); k(x, x) is not known"""

    def select(self, X: Rows, indices: Array) -> Rows:
        return np.arange(X.shape[1])

    def diag(self, X: Rows) -> Array:
        return np.full(X.shape[0], np.nan)
