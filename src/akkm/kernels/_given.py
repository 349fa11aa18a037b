"""Kernels given by the user: as a function, or as a matrix of kernel values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from akkm.kernels._base import Fill, Kernel
from akkm.typing import Array, RowsLike

_DIAGONAL_BLOCK = 64
_SYMMETRY_ROWS = 1024


@dataclass(frozen=True)
class Function(Kernel):
    """Kernel given by a function, `k(X, Y) = function(X, Y, **params)`.

    Parameters
    ----------
    function : callable
        A function of two blocks of rows, (b, d) and (m, d), that returns an array
        (b, m).
    params : dict, optional
        Additional keyword arguments of the function.

    Examples
    --------
    >>> from akkm.kernels import Function
    >>> Function(lambda X, Y, p: (X @ Y.T) ** p, {"p": 2})([[3.0]]).tolist()
    [[81.0]]
    """

    function: Callable[..., Any]
    params: Mapping[str, Any] = field(default_factory=dict)
    psd: ClassVar[bool] = False

    def bind(self, Z: RowsLike) -> Fill:
        def fill(X: RowsLike, out: Array) -> None:
            out[...] = self._block(X, Z)

        return fill

    def diag(self, X: RowsLike) -> Array:
        starts = range(0, X.shape[0], _DIAGONAL_BLOCK)
        blocks = (X[s : s + _DIAGONAL_BLOCK].astype(np.float64) for s in starts)
        return np.concatenate([self._block(B, B).diagonal() for B in blocks])

    def _block(self, X: RowsLike, Y: RowsLike) -> Array:
        block = np.asarray(self.function(X, Y, **self.params))
        expected = (X.shape[0], Y.shape[0])
        if block.shape != expected:
            name = getattr(self.function, "__name__", repr(self.function))
            raise ValueError(
                f"The kernel function {name} returned an array of shape {block.shape} "
                f"for {expected[0]} and {expected[1]} rows; expected {expected}. It is "
                "called with two blocks of rows, as in sklearn.svm.SVC. For a function "
                "of two single rows pass lambda X, Y: "
                "sklearn.metrics.pairwise_kernels(X, Y, metric=function)."
            )
        return block


@dataclass(frozen=True)
class Precomputed(Kernel):
    """Precomputed kernel matrix: X[i, j] = k(x_i, x_j), as in scikit-learn.

    X has shape (n, n). The points of `bind` are column numbers of X.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.kernels import Precomputed
    >>> Precomputed().diag(np.array([[1.0, 0.5], [0.5, 2.0]]))
    array([1., 2.])
    """

    psd: ClassVar[bool] = False
    cheap: ClassVar[bool] = True

    def check_matrix(self, X: Array) -> None:
        """Raise ValueError unless the matrix is square and symmetric.

        Parameters
        ----------
        X : array of shape (n, n)
            The kernel matrix.
        """
        n = len(X)
        if X.shape != (n, n):
            raise ValueError(
                f"The precomputed kernel has shape {X.shape}; expected a square matrix "
                "(n, n). For a strip (n, m), pass landmarks: for each column, the "
                "index of the row that it belongs to."
            )
        largest = max(abs(float(X.max())), abs(float(X.min())))
        for start in range(0, n, _SYMMETRY_ROWS):
            rows = slice(start, start + _SYMMETRY_ROWS)
            asymmetry = float(np.abs(X[rows] - X[:, rows].T).max())
            if asymmetry > 1e-4 * largest:
                raise ValueError(
                    "The precomputed kernel matrix is not symmetric: entries (i, j) "
                    f"and (j, i) differ by up to {asymmetry:g}. If only rounding makes "
                    "them differ, pass (K + K.T) / 2. The columns of a strip must be "
                    "in the order of landmarks."
                )

    def __add__(self, other: Kernel | float) -> Kernel:
        raise TypeError("Add precomputed kernel matrices, not kernel objects.")

    def __mul__(self, other: Kernel | float) -> Kernel:
        raise TypeError("Multiply precomputed kernel matrices, not kernel objects.")

    __radd__, __rmul__ = __add__, __mul__

    def select(self, X: RowsLike, indices: Array) -> RowsLike:
        return np.asarray(indices)

    def bind(self, Z: RowsLike) -> Fill:
        def fill(X: RowsLike, out: Array) -> None:
            np.take(X, Z, axis=1, out=out, mode="clip")

        return fill

    def diag(self, X: RowsLike) -> Array:
        return X.diagonal().astype(np.float64)

    def diag_of_block(self, X: RowsLike, rows: slice) -> Array:
        return self.diag(X[:, rows])


@dataclass(frozen=True)
class PrecomputedStrip(Precomputed):
    """Precomputed kernel values of rows and landmarks: X[i, j] = k(x_i, z_j).

    X has shape (n, m), and k(x, x) is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.kernels import PrecomputedStrip
    >>> PrecomputedStrip().diag(np.array([[1.0, 0.5]]))
    array([nan])
    """

    def select(self, X: RowsLike, indices: Array) -> RowsLike:
        return np.arange(X.shape[1])

    def diag(self, X: RowsLike) -> Array:
        return np.full(X.shape[0], np.nan)

    def diag_of_block(self, X: RowsLike, rows: slice) -> Array:
        return self.diag(X)
