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

    def soon(self, rows: Array) -> None:
        """Some rows that will be gathered, after others: to be read with these."""
        return  # most rows need no such advice

    def gather(self, rows: Array) -> Array:
        """A few rows (b,) from all over, for a sample: (b, d)."""
        return self[rows]

    @abstractmethod
    def over(self, function: Callable[..., Result], *along: Array) -> Iterator[Result]:
        """function(some rows, which, ...) for all rows, in order.

        Further arguments are the entries of `along` (n,) for these rows.
        """

    @abstractmethod
    def chunks(self) -> list[slice]:
        """All rows, cut where reading is cut."""

    @abstractmethod
    def expect(self, rows: Array | None) -> None:
        """Which rows will be asked for next, in order; None: all of them."""

    @abstractmethod
    def checked_by(self, check: Callable[[Array], None]) -> Stored:
        """The same rows, on which check(rows) is called when they are read."""


def by_batch(rows: Array, starts: Array) -> list[tuple[int, Array, Array]]:
    """Rows (b,) sorted into batches: number, places in `rows`, places in the batch.

    `starts` (B + 1,) are the first rows of the batches, and n.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.rows.contract import by_batch
    >>> [(b, p.tolist(), r.tolist()) for b, p, r in by_batch(
    ...     np.array([7, 0, 5]), np.array([0, 5, 6, 9]))]
    [(0, [1], [0]), (1, [2], [0]), (2, [0], [1])]
    """
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    edges = np.searchsorted(ordered, starts)
    cuts = [(b, slice(*edges[b : b + 2])) for b in np.flatnonzero(np.diff(edges))]
    return [(int(b), order[cut], ordered[cut] - starts[b]) for b, cut in cuts]


def sampled(X: Any, rows: Array) -> Any:
    """A few rows of an array, a matrix or stored rows."""
    return X.gather(rows) if isinstance(X, Stored) else X[rows]


def over(
    X: Any, function: Callable[..., Result], step: int, *along: Array
) -> Iterator[Result]:
    """function(some rows, which, ...) for all rows, in order.

    `step` at a time in memory. Further arguments are entries of `along` (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.rows.contract import over
    >>> list(over(np.arange(6).reshape(3, 2), lambda rows, _: int(rows.sum()), step=2))
    [6, 9]
    """
    if isinstance(X, Stored):
        yield from X.over(function, *along)
        return
    for start in range(0, X.shape[0], step):
        rows = slice(start, min(start + step, X.shape[0]))
        yield function(X[rows], rows, *(values[rows] for values in along))
