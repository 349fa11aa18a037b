"""Rows that are not all in memory: what they offer instead of an array."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Result = TypeVar("Result")


class Stored(ABC):
    """Rows that are read, or fetched, when they are needed: like a dense (n, d) array.

    `X[rows]` for a slice or an index array gives an array in memory.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    ndim = 2
    names: tuple[str, ...] | None = None  # of the columns, if they have any

    @abstractmethod
    def __getitem__(self, rows: Any) -> Array:
        """Some rows: (b, d)."""

    @abstractmethod
    def over(self, function: Callable[[Array, slice], Result]) -> Iterator[Result]:
        """function(some rows, which) for all rows, in order."""

    @abstractmethod
    def chunks(self) -> list[slice]:
        """All rows, cut where reading is cut."""

    @abstractmethod
    def expect(self, rows: Array | None) -> None:
        """Which rows will be asked for next, in order; None: all of them."""

    @abstractmethod
    def checked_by(self, check: Callable[[Array], None]) -> Stored:
        """The same rows, on which check(rows) is called when they are read."""


def over(
    X: Any, function: Callable[[Any, slice], Result], step: int
) -> Iterator[Result]:
    """function(some rows, which) for all rows, in order; `step` at a time in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.stored import over
    >>> list(over(np.arange(6).reshape(3, 2), lambda rows, _: int(rows.sum()), step=2))
    [6, 9]
    """
    if isinstance(X, Stored):
        yield from X.over(function)
        return
    for start in range(0, X.shape[0], step):
        rows = slice(start, min(start + step, X.shape[0]))
        yield function(X[rows], rows)
