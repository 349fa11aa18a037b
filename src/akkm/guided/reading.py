"""Read known classes and pairs of rows, in all forms that users may give."""

from collections.abc import Hashable, Mapping
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np

from akkm.typing import Array


def read_known(known: Any, n: int) -> tuple[Array, list[Hashable]]:
    """Return the rows whose class is known (k,), ascending, and the class of each.

    Parameters
    ----------
    known : mapping or array of shape (n,)
        A mapping from row numbers to classes, or one class per row. -1, None and NaN
        mean that the class is not known.
    n : int
        The number of rows.

    Returns
    -------
    rows : int array of shape (k,)
        Rows whose class is known, in ascending order.
    classes : list of length k
        Their classes. Whole numbers are of type int.

    Examples
    --------
    >>> from akkm.guided.reading import read_known
    >>> read_known(["cat", None, "dog"], 3)
    (array([0, 2]), ['cat', 'dog'])
    >>> read_known({1: "cat"}, 3)
    (array([1]), ['cat'])
    """
    if isinstance(known, Mapping):
        rows = [_row_number(row, n, "known") for row in known]
        classes = [_class(value) for value in known.values()]
        found = {
            row: name for row, name in zip(rows, classes, strict=True) if _given(name)
        }
    else:
        if isinstance(known, str | bytes) or not hasattr(known, "__len__"):
            raise TypeError(
                f"known is a {type(known).__name__}; expected one class per row, or a "
                "mapping from row numbers to classes."
            )
        shape = np.shape(known) if hasattr(known, "shape") else (len(known),)
        if len(shape) != 1:
            raise ValueError(
                f"known has shape {shape}; expected one class per row: shape ({n},)."
            )
        if shape[0] != n:
            raise ValueError(
                f"known has {shape[0]} entries, but X has {n} rows; give one entry per "
                "row (-1 if unknown), or a mapping from row numbers to classes."
            )
        values = np.asarray(known) if hasattr(known, "shape") else known
        if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
            given = np.flatnonzero((values != -1) & ~np.isnan(values.astype(float)))
            found = {int(i): _class(values[i]) for i in given}
        else:
            names = (_class(value) for value in values)
            found = {i: name for i, name in enumerate(names) if _given(name)}
    order = sorted(found)
    return np.array(order, dtype=np.int64), [found[row] for row in order]


def _class(value: Any) -> Hashable:
    """Return a class label; whole numbers of any type become int."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"known contains {value!r}; expected classes that are numbers, strings or "
            "other hashable values."
        ) from None
    return value


def _given(name: Any) -> bool:
    """Whether a label names a class: it is not -1, None or NaN."""
    if name is None or (isinstance(name, int) and name == -1):
        return False
    try:
        return bool(name == name)  # NaN differs from itself
    except TypeError:  # pandas.NA
        return False


def read_pairs(pairs: Any, n: int, name: str) -> Array:
    """Return pairs of rows (p, 2).

    Parameters
    ----------
    pairs : array of shape (p, 2), or list of groups
        Pairs of row numbers. A group of more than two rows stands for all its pairs.
    n : int
        The number of rows.
    name : str
        The name of the argument, for messages.

    Returns
    -------
    int array of shape (p, 2)
        The pairs. For "must_link", only the pairs of rows that follow each other in a
        group are returned. They have the same effect as all pairs of the group.

    Examples
    --------
    >>> from akkm.guided.reading import read_pairs
    >>> read_pairs([[0, 1], [2, 3, 4]], 5, "cannot_link").tolist()
    [[0, 1], [2, 3], [2, 4], [3, 4]]
    """
    if isinstance(pairs, str | bytes | Mapping) or not hasattr(pairs, "__iter__"):
        raise TypeError(
            f"{name} is a {type(pairs).__name__}; expected pairs of row numbers (p, 2) "
            "or a list of groups of rows."
        )
    groups = np.asarray(pairs) if hasattr(pairs, "shape") else list(pairs)
    if isinstance(groups, np.ndarray):
        if groups.size and (groups.ndim != 2 or groups.shape[1] < 2):
            raise ValueError(
                f"{name} has shape {groups.shape}; expected pairs of rows: (p, 2)."
            )
        if groups.ndim == 2 and groups.shape[1] == 2 and groups.dtype.kind in "iu":
            return _checked_array(groups, n, name)
    found: list[tuple[int, int]] = []
    for group in groups:
        if isinstance(group, str | bytes) or not hasattr(group, "__len__"):
            raise TypeError(
                f"{name} contains {group!r}; expected pairs or groups of row numbers, "
                "such as [(0, 1), (2, 5)]."
            )
        rows = [_row_number(row, n, name) for row in group]
        if len(rows) < 2:
            raise ValueError(
                f"{name} contains the group {rows}; expected at least two rows."
            )
        if len(set(rows)) < len(rows):
            twice = next(row for row in rows if rows.count(row) > 1)
            _refuse_twice(name, twice)
        if name == "must_link":
            found += pairwise(rows)
        else:
            found += [(a, b) for i, a in enumerate(rows) for b in rows[i + 1 :]]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _checked_array(pairs: Array, n: int, name: str) -> Array:
    """Return pairs (p, 2) as int64; raise an error if a pair is not valid."""
    outside = pairs[(pairs < 0) | (pairs >= n)]
    if outside.size:
        _row_number(outside[0], n, name)
    same = pairs[:, 0] == pairs[:, 1]
    if same.any():
        _refuse_twice(name, int(pairs[same][0, 0]))
    return pairs.astype(np.int64)


def _refuse_twice(name: str, row: int) -> None:
    raise ValueError(
        f"{name} pairs row {row} with itself; expected pairs of different rows."
    )


def _row_number(row: Any, n: int, name: str) -> int:
    """Return a row number; raise an error unless the row exists."""
    whole = isinstance(row, Integral) and not isinstance(row, bool)
    if isinstance(row, Real) and not isinstance(row, bool):
        whole = float(row).is_integer()
    if not whole:
        raise TypeError(f"{name} contains the row {row!r}; expected a row number.")
    if not 0 <= row < n:
        raise ValueError(
            f"{name} contains the row {int(row)}, which does not exist; rows are "
            f"numbered from 0 to {n - 1}."
        )
    return int(row)
