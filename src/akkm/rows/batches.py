"""Rows of files, a few batches of them in memory at a time."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from akkm.rows.contract import Stored, by_batch

Array = NDArray[Any]
Result = TypeVar("Result")

# Batches that are read ahead, at the same time, and those in memory: besides these, the
# ones that threads may be using.
_AHEAD, _BATCHES = 2, 5
# Rows that one thread takes at a time: several from one batch.
_CHUNK_ROWS = 8192


class Batches(ABC):
    """A file, or several, as batches of rows."""

    names: tuple[str, ...] | None
    starts: Array  # (B + 1,) the first row of each batch, and n
    dtype: np.dtype[Any]
    width: int

    @abstractmethod
    def read(self, batch: int) -> Array:
        """The rows of a batch: (b, d), C-ordered, of that dtype."""

    def some(self, batch: int, rows: Array) -> Array:
        """A few rows of a batch, counted from its start."""
        return self.read(batch)[rows]

    @abstractmethod
    def where(self, batch: int) -> str:
        """What to call a batch in a message."""


class DiskRows(Stored):
    """Rows in files, read in batches, one of them ahead of its use.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> import akkm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(folder + "/x.npy", np.arange(8.0).reshape(4, 2))
    ...     rows = akkm.open_rows(folder + "/x.npy")
    ...     rows.shape, rows[1:3].tolist()
    ((4, 2), [[2.0, 3.0], [4.0, 5.0]])
    """

    def __init__(
        self, batches: Batches, checks: tuple[Callable[[Array], None], ...] = ()
    ) -> None:
        self._batches, self._checks = batches, checks
        self.shape = (int(batches.starts[-1]), batches.width)
        self.dtype = batches.dtype
        self.names = batches.names
        self._there: OrderedDict[int, Future[Array]] = OrderedDict()
        self._next: dict[int, int] = {}  # of each batch that will be used, the next one
        # Which rows will be gathered after others, and these rows, read along.
        self._soon: Array | None = None  # (s,) in order
        self._along: Array | None = None  # (s, d)
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self.expect(None)

    def __repr__(self) -> str:
        n, d = self.shape
        return f"DiskRows({n:,} x {d:,}, {self.dtype}, {self._batches.where(0)} ...)"

    def __getstate__(self) -> dict[str, Any]:
        # Threads and batches in memory stay here.
        state = self.__dict__.copy()
        state.update(_there=OrderedDict(), _lock=None, _pool=None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def checked_by(self, check: Callable[[Array], None]) -> DiskRows:
        """The same rows, on which check(rows) is called when they are read."""
        return DiskRows(self._batches, (*self._checks, check))

    def expect(self, rows: Array | None) -> None:
        """Which rows will be asked for next, in order; None: all of them."""
        starts = self._batches.starts
        if rows is None:
            wanted = np.arange(len(starts) - 1)
        else:
            wanted = np.unique(np.searchsorted(starts, rows, side="right") - 1)
        self._next = dict(pairwise(wanted.tolist()))

    def chunks(self) -> list[slice]:
        """All rows, in cuts that do not cross batches."""
        return [
            slice(start, min(start + _CHUNK_ROWS, last))
            for first, last in pairwise(self._batches.starts.tolist())
            for start in range(first, last, _CHUNK_ROWS)
        ]

    def soon(self, rows: Array) -> None:
        """Some rows that will be gathered, after others: to be read with these."""
        self._soon, self._along = np.unique(rows), None

    def gather(self, rows: Array) -> Array:
        """A few rows (b,) from all over, of each batch at once.

        Those that come soon are read along, and kept until they are asked for.
        """
        soon, along = self._soon, self._along
        if soon is not None and np.isin(rows, soon).all():
            self._soon = self._along = None
            if along is not None:
                return along[np.searchsorted(soon, rows)]
        elif soon is not None and along is None:
            both = np.union1d(rows, soon)
            found = self._few(both)
            self._along = found[np.searchsorted(both, soon)]
            return found[np.searchsorted(both, rows)]
        return self._few(rows)

    def _few(self, rows: Array) -> Array:
        """Some rows, without the rest of their batches: (b, d)."""
        wanted = by_batch(rows, self._batches.starts)
        out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)

        def read(batch: tuple[int, Array, Array]) -> Array:
            b, _, local = batch
            return self._checked(self._batches.some(b, local), b, local)

        for (_, places, _), some in zip(
            wanted, self._readers().map(read, wanted), strict=True
        ):
            out[places] = some
        return out

    def over(self, function: Callable[..., Result], *along: Array) -> Iterator[Result]:
        """function(rows, which, ...) for each batch, in order."""
        self.expect(None)
        for b, cut in enumerate(pairwise(self._batches.starts.tolist())):
            rows = slice(*cut)
            yield function(self._batch(b), rows, *(values[rows] for values in along))

    def __getitem__(self, rows: Any) -> Array:
        """Some rows, by a slice or an index array: (b, d)."""
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.shape[0])
            if step == 1:
                return self._slice(start, max(start, stop))
            rows = np.arange(start, stop, step)
        rows = np.asarray(rows)
        if rows.dtype == bool:
            rows = np.flatnonzero(rows)
        out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        wanted = by_batch(rows, self._batches.starts)
        for i, (b, places, local) in enumerate(wanted):
            then = [later for later, _, _ in wanted[i + 1 : i + 1 + _AHEAD]]
            out[places] = self._batch(b, then)[local]
        return out

    def _slice(self, start: int, stop: int) -> Array:
        starts = self._batches.starts
        first = int(np.searchsorted(starts, start, side="right")) - 1
        parts = []
        for b in range(max(first, 0), len(starts) - 1):
            if starts[b] >= stop:
                break
            part = self._batch(b)
            parts.append(part[max(start - starts[b], 0) : stop - starts[b]])
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts or [np.empty((0, self.shape[1]), self.dtype)])

    def _batch(self, b: int, then: Sequence[int] | None = None) -> Array:
        """A batch, and those that come `then` on their way."""
        with self._lock:
            wanted = self._ask(b)
            for later in self._after(b) if then is None else then:
                self._ask(later)
            while len(self._there) > _BATCHES:
                self._there.popitem(last=False)
        return wanted.result()

    def _after(self, b: int) -> Iterator[int]:
        """The next batches that will be used."""
        for _ in range(_AHEAD):
            if b not in self._next:
                return
            b = self._next[b]
            yield b

    def _ask(self, b: int) -> Future[Array]:
        """The batch, there or on its way."""
        if b not in self._there:
            self._there[b] = self._readers().submit(self._read, b)
        self._there.move_to_end(b)
        return self._there[b]

    def _readers(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_AHEAD, thread_name_prefix="akkm-read")
        return self._pool

    def _read(self, b: int) -> Array:
        block = self._batches.read(b)
        block = self._checked(block, b, np.arange(len(block)))
        block.flags.writeable = False
        return block

    def _checked(self, block: Array, b: int, local: Array) -> Array:
        """Rows of a batch, if they are as they should be."""
        self._require_finite(block, b, local)
        for check in self._checks:
            try:
                check(block)
            except ValueError as error:
                raise ValueError(f"{self._batches.where(b)}: {error}") from None
        return block

    def _require_finite(self, block: Array, b: int, local: Array) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(block.sum()):
                return
        wrong = np.nonzero(~np.isfinite(block))
        if not len(wrong[0]):  # large numbers, whose sum is not one
            return
        row, column = (first[0] for first in wrong)
        name = column if self.names is None else repr(self.names[column])
        number = local[row] + self._batches.starts[b]
        raise ValueError(
            f"{self._batches.where(b)}: row {number:,}, column "
            f"{name} is {block[row, column]}; expected finite "
            "numbers. Drop or fill such rows."
        )
