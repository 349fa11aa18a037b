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


def _require_array(value: Any) -> None:
    found = type(value)
    require(found is np.ndarray, f"a {found.__name__} instead of an array")


def numbers(names: str) -> Check:
    """A check for an array of finite floats, whose shape has names such as "m d"."""

    def check(value: Any, sizes: Sizes) -> None:
        _require_array(value)
        found, expected = value.dtype, (np.float32, np.float64)
        require(found in expected, f"{found} numbers instead of float32 or float64")
        sizes.require(names, value.shape)
        largest = float(np.abs(value).max(initial=0))  # NaN if any value is NaN
        require(largest < _LARGEST, f"numbers that are NaN or not below {_LARGEST:g}")

    return check


def integers(names: str, below: str = "", kinds: Any = "iu") -> Check:
    """A check for an array of integers; they are below the size `below`, if given."""

    def check(value: Any, sizes: Sizes) -> None:
        _require_array(value)
        expected = "unsigned integers" if kinds == "u" else "integers"
        right = value.dtype.kind in kinds
        require(right, f"numbers of type {value.dtype} instead of {expected}")
        sizes.require(names, value.shape)
        if below and value.size:
            inside = value.min() >= 0 and value.max() < sizes.known[below]
            most = sizes.known[below] - 1
            require(inside, f"indices that are not all from 0 to {most}")

    return check


def flags(names: str) -> Check:
    def check(value: Any, sizes: Sizes) -> None:
        _require_array(value)
        boolean = value.dtype == bool
        require(boolean, f"values of type {value.dtype} instead of booleans")
        sizes.require(names, value.shape)

    return check


def rows(names: str) -> Check:
    """A check for rows: array, CSR matrix, or column numbers of a kernel matrix."""
    dense, columns = numbers(names), integers(names.split()[0], below="d")

    def check(value: Any, sizes: Sizes) -> None:
        if isinstance(value, np.ndarray):
            (columns if value.ndim == 1 else dense)(value, sizes)
            return
        is_csr = isinstance(value, sparse.csr_array | sparse.csr_matrix)
        require(is_csr, f"a {type(value).__name__} instead of an array or a CSR matrix")
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
        inside = missing or least <= value < _LARGEST
        require(inside, f"{value} instead of a number from {least:g} to {_LARGEST:g}")

    return check


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool)


def whole(least: int = 0, most: str = "") -> Check:
    """A check for an integer from `least` to the size named `most`, if given."""

    def check(value: Any, sizes: Sizes) -> None:
        whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool)
        expected = f"a whole number of at least {least}"
        require(whole and value >= least, f"{value!r:.40} instead of {expected}")
        require(not most or value <= sizes.known[most], f"{value} exceeds {most}")

    return check


def instance(*types: type) -> Check:
    def check(value: Any, sizes: Sizes) -> None:
        expected = " or ".join(each.__name__ for each in types)
        found = type(value).__name__
        require(isinstance(value, types), f"a {found} instead of {expected}")

    return check


def names(size: str) -> Check:
    """A check for a list of texts, numbers or None, whose length is named like "C"."""

    def check(value: Any, sizes: Sizes) -> None:
        require(isinstance(value, list), f"a {type(value).__name__} instead of a list")
        plain = all(isinstance(name, str | Real | None) for name in value)
        require(plain, "names that are not texts or numbers")
        sizes.require(size, (len(value),))

    return check


def float_type(value: Any, sizes: Sizes) -> None:
    valid = value in (np.dtype(np.float32), np.dtype(np.float64))
    require(valid, f"the type {value!r:.40} of rows instead of float32 or float64")


def optional(check: Check) -> Check:
    def check_unless_none(value: Any, sizes: Sizes) -> None:
        if value is not None:
            check(value, sizes)

    return check_unless_none


def axes(value: Any, sizes: Sizes) -> None:
    """Check a projection (d, axes), pivots (axes, d), or None for all columns."""
    if value is None:
        sizes.require("axes", (sizes.known["d"],))
    elif isinstance(value, np.ndarray) and value.shape[:1] == (sizes.known["d"],):
        numbers("d axes")(value, sizes)
    else:
        rows("axes d")(value, sizes)


def cell_starts(value: Any, sizes: Sizes) -> None:
    """Check the first point of each search cell, followed by the number of points."""
    integers("1+cells")(value, sizes)
    one_more = sizes.known["1+cells"] == sizes.known["cells"] + 1
    require(one_more, "the number of starts is not the number of cells plus one")
    ends = len(value) and value[0] == 0 and value[-1] == sizes.known["m"]
    ascending = ends and (np.diff(value) >= 0).all()
    require(ascending, f"starts of cells don't ascend from 0 to {sizes.known['m']}")


def coordinate_per_axis(value: Any, sizes: Sizes) -> None:
    """Check a flag; if it is set, the embedding has a coordinate per axis."""
    instance(bool)(value, sizes)
    same = sizes.known.get("axes") == sizes.known["q"]
    require(same or not value, f"positions without {sizes.known['q']} axes")
