"""The contract of a kernel, and kernels that combine other kernels."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from akkm.typing import Array, RowsLike

# Sparse points are made dense for matrix products if that takes at most this many
# bytes.
_DENSE_BYTES = 256 * 2**20


# fill(X, out) writes the kernel values k(X, Z) of rows X (b, d) to out (b, m). Such a
# function is the result of `Kernel.bind(Z)` for points Z (m, d).
Fill = Callable[[RowsLike, Array], None]


class Kernel(ABC):
    """A function k(x, y) of two rows, as a small immutable object.

    The sum and the product of two kernels, or of a kernel and a number, are kernels.

    Notes
    -----
    Every kernel obeys these laws, which the tests check:

    * `bind(Z)` returns a function that computes the same values as `kernel(X, Z)`;
    * `diag(X)` is the diagonal of `kernel(X, X)`, and all ones if `unit` is true;
    * `kernel(X, X)` is symmetric, and positive semi-definite if `psd` is true.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.kernels import RBF, Linear
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> (RBF(gamma=1.0) + 2 * Linear())(X).round(3).tolist()
    [[1.0, 0.368], [0.368, 3.0]]
    """

    @property
    @abstractmethod
    def psd(self) -> bool:
        """Whether every kernel matrix is positive semi-definite."""

    # Whether a block of kernel values costs little more than one matrix product. If so,
    # recomputing the block takes no longer than reading it from a cache.
    cheap: ClassVar[bool] = False
    # Whether k(x, x) = 1 for every x.
    unit: ClassVar[bool] = False

    @abstractmethod
    def diag(self, X: RowsLike) -> Array:
        """Compute k(x, x) of each row.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            The rows.

        Returns
        -------
        float64 array of shape (n,)
            The diagonal of `kernel(X, X)`.
        """

    def diag_of_block(self, X: RowsLike, rows: slice) -> Array:
        """Compute k(x, x) of a block of rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (b, d)
            The block.
        rows : slice
            The row numbers of the block, which a precomputed kernel needs.

        Returns
        -------
        float64 array of shape (b,)
            The diagonal entries of these rows in the kernel matrix of all rows.
        """
        return self.diag(X)

    @abstractmethod
    def bind(self, Z: RowsLike) -> Fill:
        """Return a function that computes k(X, Z) for any block X of rows.

        Parameters
        ----------
        Z : array or CSR matrix of shape (m, d)
            The points, in the precision of the rows that `fill` will get.

        Returns
        -------
        Fill
            A function `fill(X, out)` that writes k(X, Z) into `out`.
        """

    def select(self, X: RowsLike, indices: Array) -> RowsLike:
        """Return rows of X as points for `bind`.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            The rows.
        indices : int array of shape (m,)
            Row numbers.

        Returns
        -------
        array or CSR matrix of shape (m, d)
            These rows or, for a precomputed kernel, their column numbers (m,).
        """
        return X[indices]

    def check(self, X: RowsLike) -> None:  # noqa: B027 (most kernels accept any rows)
        """Raise ValueError if the kernel is not defined for these rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            The rows.
        """

    def __call__(self, X: RowsLike, Y: RowsLike | None = None) -> Array:
        """Compute the kernel matrix k(X, Y) (n, m), or k(X, X) without Y."""
        X = _floating(X)
        Z = X if Y is None else _floating(Y)
        dtype = np.result_type(X.dtype, Z.dtype)
        out = np.empty((X.shape[0], Z.shape[0]), dtype=dtype)
        self.bind(Z.astype(dtype, copy=False))(X.astype(dtype, copy=False), out)
        return out

    def __add__(self, other: "Kernel | float") -> "Kernel":
        return Sum(self, _as_kernel(other))

    def __mul__(self, other: "Kernel | float") -> "Kernel":
        return Product(self, _as_kernel(other))

    __radd__ = __add__
    __rmul__ = __mul__


@dataclass(frozen=True)
class Constant(Kernel):
    """Constant kernel, k(x, y) = value.

    Parameters
    ----------
    value : float
        The value for every pair of rows.

    Examples
    --------
    >>> from akkm.kernels import Constant
    >>> Constant(2.0)([[0.0], [1.0]]).tolist()
    [[2.0, 2.0], [2.0, 2.0]]
    """

    value: float

    @property
    def psd(self) -> bool:
        return self.value >= 0

    def diag(self, X: RowsLike) -> Array:
        return np.full(X.shape[0], self.value)

    def bind(self, Z: RowsLike) -> Fill:
        def fill(X: RowsLike, out: Array) -> None:
            out[...] = self.value

        return fill


@dataclass(frozen=True)
class _Pair(Kernel):
    """Two kernels, combined value by value."""

    first: Kernel
    second: Kernel
    _combine: ClassVar[np.ufunc]

    @property
    def psd(self) -> bool:
        return self.first.psd and self.second.psd

    def diag(self, X: RowsLike) -> Array:
        return self._combine(self.first.diag(X), self.second.diag(X))

    def check(self, X: RowsLike) -> None:
        self.first.check(X)
        self.second.check(X)

    def bind(self, Z: RowsLike) -> Fill:
        fill_first, fill_second = self.first.bind(Z), self.second.bind(Z)

        def fill(X: RowsLike, out: Array) -> None:
            other = np.empty_like(out)
            fill_first(X, out)
            fill_second(X, other)
            self._combine(out, other, out=out)

        return fill


@dataclass(frozen=True)
class Sum(_Pair):
    """Sum of two kernels, k(x, y) = first(x, y) + second(x, y).

    Parameters
    ----------
    first, second : Kernel
        The kernels. `first + second` is a shorter way to write their sum.

    Examples
    --------
    >>> from akkm.kernels import Constant, Linear, Sum
    >>> Sum(Linear(), Constant(1.0))([[2.0]]).tolist()
    [[5.0]]
    """

    _combine = np.add


@dataclass(frozen=True)
class Product(_Pair):
    """Product of two kernels, k(x, y) = first(x, y) * second(x, y).

    Parameters
    ----------
    first, second : Kernel
        The kernels. `first * second` is a shorter way to write their product.

    Examples
    --------
    >>> from akkm.kernels import Constant, Linear, Product
    >>> Product(Linear(), Constant(3.0))([[2.0]]).tolist()
    [[12.0]]
    """

    _combine = np.multiply


def _floating(X: RowsLike) -> RowsLike:
    """Return X as an array or CSR matrix of floating-point numbers."""
    X = X if sparse.issparse(X) else np.asarray(X)
    return X if X.dtype.kind == "f" else X.astype(np.float64)


def _as_kernel(value: Kernel | float) -> Kernel:
    return value if isinstance(value, Kernel) else Constant(float(value))


def squared_norms(X: RowsLike, dtype: Any = None) -> Array:
    """Return |x|² of each row, computed in `dtype` (default: that of X): (n,)."""
    if sparse.issparse(X):
        precise = X.astype(np.result_type(X.dtype, dtype or X.dtype), copy=False)
        total = precise.multiply(precise).sum(axis=1, dtype=np.float64)
        return np.asarray(total).ravel().astype(dtype or X.dtype)
    return np.einsum("ij,ij->i", X, X, dtype=dtype or X.dtype)


def right_factor(
    Z: RowsLike, scale: float = 1.0, *, dense_bytes: int = _DENSE_BYTES
) -> RowsLike:
    """Return scale · Zᵀ (d, m), laid out for products with blocks of rows.

    The result is dense, unless Z is sparse and a dense result would need more than
    `dense_bytes`.
    """
    if sparse.issparse(Z):
        transposed = (Z.T * Z.dtype.type(scale)).tocsr()
        if Z.shape[0] * Z.shape[1] * Z.dtype.itemsize > dense_bytes:
            return transposed
        return transposed.toarray()
    return np.ascontiguousarray(Z.T) * Z.dtype.type(scale)


def product(X: RowsLike, right: RowsLike, out: Array) -> None:
    """Write X @ right to `out`; either factor may be sparse."""
    if sparse.issparse(X) or sparse.issparse(right):
        result = X @ right
        out[...] = result.toarray() if sparse.issparse(result) else result
    else:
        np.matmul(X, right, out=out)


def to_dense(X: RowsLike) -> Array:
    """Convert rows to a C-ordered array.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The rows.

    Returns
    -------
    array of shape (n, d)
        X itself, if it already is such an array.

    Examples
    --------
    >>> from scipy import sparse
    >>> from akkm.kernels import to_dense
    >>> to_dense(sparse.csr_array([[0.0, 1.0]]))
    array([[0., 1.]])
    """
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X)


def narrow_indices(X: RowsLike) -> RowsLike:
    """Return a CSR matrix with 32-bit indices, if 32 bits are enough; else X itself.

    Some functions of scikit-learn, such as `manhattan_distances`, accept only 32-bit
    indices. The values of X are not copied.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows.

    Returns
    -------
    array or CSR matrix of shape (n, d)
        The same rows.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from akkm.kernels import narrow_indices
    >>> X = sparse.csr_array(np.eye(2))
    >>> X.indices, X.indptr = X.indices.astype("int64"), X.indptr.astype("int64")
    >>> narrow_indices(X).indices.dtype
    dtype('int32')
    """
    if not sparse.issparse(X) or X.indices.dtype == np.int32 == X.indptr.dtype:
        return X
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return type(X)((X.data, indices, indptr), shape=X.shape)
