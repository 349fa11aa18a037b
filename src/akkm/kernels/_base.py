"""The contract of a kernel, and the kernels made of other kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]
# Dense (n, d) array or CSR matrix; no type that mypy knows covers both.
Rows = Any

# Right factors of a product with sparse rows are made dense up to this many bytes.
_DENSE_BYTES = 256 * 2**20


class Fill(Protocol):
    """A function that computes a block of kernel values against bound points."""

    def __call__(self, X: Rows, out: Array, /) -> None:
        """Write k(X, Z) of the rows X (b, d) into out (b, m)."""


class Kernel(ABC):
    """A function of two points, `k(x, y)`, as a small immutable object.

    Laws, checked by the tests for every kernel:

    * `bind(Z)` fills a block with the same numbers as `kernel(X, Z)`;
    * `diag(X)` is the diagonal of `kernel(X, X)`, ones where `unit` is true;
    * `kernel(X, X)` is symmetric, and positive semi-definite where `psd` is true.

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

    # Whether a block costs little more than one matrix product, so that computing it
    # once more is as good as keeping it.
    cheap: ClassVar[bool] = False
    # Whether k(x, x) is one, whatever x.
    unit: ClassVar[bool] = False

    @abstractmethod
    def diag(self, X: Rows) -> Array:
        """k(x, x) of each row of X, in float64: (n,)."""

    @abstractmethod
    def bind(self, Z: Rows) -> Fill:
        """Prepare the points Z (m, d) and return the function that fills a block."""

    def select(self, X: Rows, indices: Array) -> Rows:
        """The points to bind for the rows `indices` of X."""
        return X[indices]

    def check(self, X: Rows) -> None:  # noqa: B027 (most kernels take any rows)
        """Raise ValueError if the rows X are not valid input."""

    def __call__(self, X: Rows, Y: Rows | None = None) -> Array:
        """The kernel matrix k(X, Y) of shape (n, m); k(X, X) without Y."""
        X = _floating(X)
        Z = X if Y is None else _floating(Y)
        dtype = np.result_type(X.dtype, Z.dtype)
        out = np.empty((X.shape[0], Z.shape[0]), dtype=dtype)
        self.bind(Z.astype(dtype, copy=False))(X.astype(dtype, copy=False), out)
        return out

    def __add__(self, other: Kernel | float) -> Kernel:
        return Sum(self, _as_kernel(other))

    def __mul__(self, other: Kernel | float) -> Kernel:
        return Product(self, _as_kernel(other))

    __radd__ = __add__
    __rmul__ = __mul__


@dataclass(frozen=True)
class Constant(Kernel):
    """k(x, y) = value"""

    value: float

    @property
    def psd(self) -> bool:
        return self.value >= 0

    def diag(self, X: Rows) -> Array:
        return np.full(X.shape[0], self.value)

    def bind(self, Z: Rows) -> Fill:
        def fill(X: Rows, out: Array) -> None:
            out[...] = self.value

        return fill


@dataclass(frozen=True)
class _Pair(Kernel):
    """Two kernels and what joins them."""

    first: Kernel
    second: Kernel

    @property
    def psd(self) -> bool:
        return self.first.psd and self.second.psd

    def _join(self, a: Array, b: Array, out: Array | None = None) -> Array:
        raise AssertionError("given by Sum and Product")

    def diag(self, X: Rows) -> Array:
        return self._join(self.first.diag(X), self.second.diag(X))

    def check(self, X: Rows) -> None:
        self.first.check(X)
        self.second.check(X)

    def bind(self, Z: Rows) -> Fill:
        fill_first, fill_second = self.first.bind(Z), self.second.bind(Z)

        def fill(X: Rows, out: Array) -> None:
            other = np.empty_like(out)
            fill_first(X, out)
            fill_second(X, other)
            self._join(out, other, out)

        return fill


@dataclass(frozen=True)
class Sum(_Pair):
    """k(x, y) = first(x, y) + second(x, y)"""

    def _join(self, a: Array, b: Array, out: Array | None = None) -> Array:
        return np.add(a, b, out=out)


@dataclass(frozen=True)
class Product(_Pair):
    """k(x, y) = first(x, y) * second(x, y)"""

    def _join(self, a: Array, b: Array, out: Array | None = None) -> Array:
        return np.multiply(a, b, out=out)


def _floating(X: Rows) -> Rows:
    X = X if sparse.issparse(X) else np.asarray(X)
    return X if X.dtype.kind == "f" else X.astype(np.float64)


def _as_kernel(value: Kernel | float) -> Kernel:
    return value if isinstance(value, Kernel) else Constant(float(value))


def squared_norms(X: Rows, dtype: Any = None) -> Array:
    """|x|² of each row, in that precision or that of X: (n,)."""
    if sparse.issparse(X):
        total = X.multiply(X).sum(axis=1, dtype=np.float64)
        return np.asarray(total).ravel().astype(dtype or X.dtype)
    return np.einsum("ij,ij->i", X, X, dtype=dtype or X.dtype)


def right_factor(Z: Rows, scale: float = 1.0) -> Rows:
    """Scale · Zᵀ (d, m), laid out for products with blocks of rows.

    Dense, unless Z is sparse and so wide that its dense form would not be reasonable.
    """
    if sparse.issparse(Z):
        transposed = (Z.T * Z.dtype.type(scale)).tocsr()
        if Z.shape[0] * Z.shape[1] * Z.dtype.itemsize > _DENSE_BYTES:
            return transposed
        return transposed.toarray()
    return np.ascontiguousarray(Z.T) * Z.dtype.type(scale)


def product(X: Rows, right: Rows, out: Array) -> None:
    """Out = X @ right, whichever of the two is sparse."""
    if sparse.issparse(X) or sparse.issparse(right):
        result = X @ right
        out[...] = result.toarray() if sparse.issparse(result) else result
    else:
        np.matmul(X, right, out=out)


def to_dense(X: Rows) -> Array:
    """X as a C-ordered array."""
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X)
