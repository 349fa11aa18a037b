"""Checks of single values: the type, range and shape of arrays and numbers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

# Squares and sums of smaller numbers are finite in float64.
_LARGEST = 1e150


@dataclass
class Sizes:
    """Sizes by name, such as m for the number of landmarks; each name has one value."""

    known: dict[str, int] = field(default_factory=dict)

    def require(self, names: str, shape: tuple[int, ...]) -> None:
        """Raise ValueError if a shape, named like "m d", contradicts known sizes."""
        found = names.split()
        require(len(found) == len(shape), f"an array of shape {shape} for {names!r}")
        for name, size in zip(found, shape, strict=True):
            known = self.known.setdefault(name, size)
            require(known == size, f"{name} is both {known} and {size}")


# A check raises an exception if a value is not valid. It gets the sizes found so far
# and adds those that the value determines.
Check = Callable[[Any, Sizes], None]


def require(condition: Any, text: str) -> None:
    if not condition:
        raise ValueError(f"Invalid model: {text}.")


def numbers(names: str) -> Check:
    """A check for an array of finite floats, whose shape has names such as "m d"."""

    def check(value: Any, sizes: Sizes) -> None:
        require(type(value) is np.ndarray, "an array is missing")
        require(value.dtype in (np.float32, np.float64), f"type {value.dtype}")
        sizes.require(names, value.shape)
        largest = float(np.abs(value).max(initial=0))  # NaN if any value is NaN
        require(largest < _LARGEST, "numbers that are not finite")

    return check


def integers(names: str, below: str = "", kinds: Any = "iu") -> Check:
    """A check for an array of integers; they are below the size `below`, if given."""

    def check(value: Any, sizes: Sizes) -> None:
        require(type(value) is np.ndarray, "an array is missing")
        require(value.dtype.kind in kinds, f"type {value.dtype}")
        sizes.require(names, value.shape)
        if below and value.size:
            inside = value.min() >= 0 and value.max() < sizes.known[below]
            require(inside, f"indices beyond {below}")

    return check


def flags(names: str) -> Check:
    def check(value: Any, sizes: Sizes) -> None:
        require(type(value) is np.ndarray and value.dtype == bool, "no booleans")
        sizes.require(names, value.shape)

    return check


def rows(names: str) -> Check:
    """A check for rows: array, CSR matrix, or column numbers of a kernel matrix."""
    dense, columns = numbers(names), integers(names.split()[0], below="d")

    def check(value: Any, sizes: Sizes) -> None:
        if isinstance(value, np.ndarray):
            (columns if value.ndim == 1 else dense)(value, sizes)
            return
        require(isinstance(value, sparse.csr_array | sparse.csr_matrix), "no rows")
        # SciPy's loader does not check that indices are in range.
        value.check_format(full_check=True)
        sizes.require(names, value.shape)
        numbers("entries")(value.data, Sizes())

    return check


def number(least: float = -_LARGEST, *, may_lack: bool = False) -> Check:
    """A check for a real number of at least `least`; NaN is valid if `may_lack`."""

    def check(value: Any, sizes: Sizes) -> None:
        require(_is_real(value), f"{value!r:.40} instead of a number")
        missing = may_lack and np.isnan(value)
        require(missing or least <= value < _LARGEST, f"the number {value}")

    return check


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool)


def whole(least: int = 0, most: str = "") -> Check:
    """A check for an integer from `least` to the size named `most`, if given."""

    def check(value: Any, sizes: Sizes) -> None:
        whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool)
        require(whole and value >= least, f"{value!r:.40} instead of a whole number")
        require(not most or value <= sizes.known[most], f"{value} exceeds {most}")

    return check


def instance(*types: type) -> Check:
    def check(value: Any, sizes: Sizes) -> None:
        require(isinstance(value, types), f"a {type(value).__name__}")

    return check


def float_type(value: Any, sizes: Sizes) -> None:
    require(value in (np.dtype(np.float32), np.dtype(np.float64)), "no type of rows")


def optional(check: Check) -> Check:
    def check_unless_none(value: Any, sizes: Sizes) -> None:
        if value is not None:
            check(value, sizes)

    return check_unless_none
