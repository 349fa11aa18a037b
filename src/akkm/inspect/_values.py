"""Single rows in words and numbers: a few columns of each, as people know them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from akkm.core.strip import Rows
from akkm.inspect._features import Features, labelled
from akkm.report._html import short

Array = NDArray[Any]

# Columns that are shown of a single row.
_SHOWN = 5
# Digits of numbers as they were clustered, and as they were in a file.
_ENCODED, _ORIGINAL = 4, 6


@dataclass(frozen=True)
class Values:
    """The columns that are shown of single rows."""

    names: tuple[str, ...]  # (f,)
    original: bool  # as in the file, rather than as they were clustered
    of: Callable[[Array], list[list[Any]]]  # row numbers (b,) to (b, f), for JSON


def values(
    X: Rows,
    told: Features,
    records: Callable[[Array], list[dict[str, Any]]] | None,
) -> Values:
    """The most telling columns of X, or those of the records that they come from."""
    if records is None:
        columns = told.columns[:_SHOWN]

        def encoded(rows: Array) -> list[list[Any]]:
            some = X[rows][:, columns]
            some = some.toarray() if sparse.issparse(some) else np.asarray(some)
            return [[plain(v, _ENCODED) for v in row] for row in some]

        return Values(told.names[:_SHOWN], False, encoded)
    there = [str(name) for name in records(np.arange(1))[0]]
    names = _columns_of(told.names, there)

    def given(rows: Array) -> list[list[Any]]:
        found = ({str(k): v for k, v in row.items()} for row in records(rows))
        return [[plain(row.get(n), _ORIGINAL) for n in names] for row in found]

    return Values(tuple(map(labelled, names)), True, given)


def _columns_of(features: Sequence[str], columns: list[str]) -> list[str]:
    """Columns of the data that the most telling features were made of, and others."""
    named = {labelled(column): column for column in columns}
    found: dict[str, None] = {}
    for feature in features:
        # "town=Ulm" is of "town", and scikit-learn's "num__age" of "age".
        start = feature.partition("=")[0]
        inside = [name for name in named if _has_word(feature, name)]
        best = next((name for name in (feature, start) if name in named), None)
        if best is None and inside:
            best = max(inside, key=len)
        if best is not None:
            found.setdefault(named[best])
    return [*found, *(name for name in columns if name not in found)][:_SHOWN]


def _has_word(text: str, name: str) -> bool:
    return re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text) is not None


def plain(value: Any, digits: int) -> Any:
    """A value for JSON: a number, text, or None for what is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect._values import plain
    >>> plain(np.float32(0.1), 6), plain(20121224, 6), plain("Ulm", 6)
    (0.1, 20121224, 'Ulm')
    >>> plain(float("nan"), 6), plain(True, 6)
    (None, 'True')
    """
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if not isinstance(value, float):
        return short(value)
    if not np.isfinite(value):
        return None
    if abs(value) >= 2**53:
        return value
    if value.is_integer():
        return int(value)
    # Of large numbers no digit before the point is lost.
    return round(value, 1) if abs(value) >= 1e5 else float(f"{value:.{digits}g}")


def said(value: Any) -> str:
    """A value of `plain` as text.

    Examples
    --------
    >>> from akkm.inspect._values import said
    >>> said(-0.25), said(2012), said(1234567.2), said("Ulm"), said(None)
    ('−0.25', '2012', '1234567.2', 'Ulm', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, float):
        value = f"{value:.12g}"
    elif not isinstance(value, int):
        return str(value)
    return str(value).replace("-", "−")
