"""Rows read in batches: batches without requested rows are skipped.

Only a few batches are in memory at a time.
"""

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from akkm.forks import reset_in_children
from akkm.rows import mapped
from akkm.rows.contract import ArrayRows, Rows, by_batch, slices_between
from akkm.typing import Array

Result = TypeVar("Result")

# Number of batches that are read ahead.
_AHEAD = 2
# Largest number of batches in memory, including batches that are read ahead and batches
# that threads may be using.
_IN_MEMORY = 5
# The points of an embedding are kept in a temporary file if they need more bytes than
# this.
_POINT_BYTES = 256 * 2**20
# Rows per chunk, the unit of work of one thread. A batch is cut into several chunks.
_CHUNK_ROWS = 8192


class Batches(ABC):
    """A source of rows that can be read batch by batch, in any order."""

    names: tuple[str, ...] | None
    starts: Array  # (B + 1,) the first row of each batch, and n
    dtype: np.dtype[Any]
    width: int

    @abstractmethod
    def read(self, batch: int) -> Array:
        """Return a batch as a C-ordered array (b, d) of type `dtype`."""

    def some(self, batch: int, rows: Array) -> Array:
        """Return a few rows of a batch; `rows` are counted from the batch's start."""
        return self.read(batch)[rows]

    @abstractmethod
    def where(self, batch: int) -> str:
        """Return the name of a batch for error messages."""

    def as_labels(self, labels: Array) -> Any:
        """Return labels or other values (n,) in the form that the user expects."""
        return labels


class DiskRows(Rows):
    """Rows read in batches when they are needed; the next batches are read ahead.

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
        # Rows announced by `prefetch_gather` (s,), and their values (s, d) once read.
        self._announced: Array | None = None
        self._announced_rows: Array | None = None
        self.after_fork()
        reset_in_children(self)

    def after_fork(self) -> None:
        """Forget batches and threads: a forked or unpickled copy needs its own."""
        # Batches in memory or being read, the least recently used first.
        self._loaded: OrderedDict[int, Future[Array]] = OrderedDict()
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def __repr__(self) -> str:
        n, d = self.shape
        return f"DiskRows({n:,} x {d:,}, {self.dtype}, {self._batches.where(0)} ...)"

    def __getstate__(self) -> dict[str, Any]:
        # Locks, threads and batches in memory can't be sent to another process.
        own = ("_loaded", "_lock", "_pool")
        return {name: each for name, each in self.__dict__.items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.after_fork()
        reset_in_children(self)

    def checked_by(self, check: Callable[[Array], None]) -> "DiskRows":
        """Return the same rows, with check(block) called on each block that is read."""
        return DiskRows(self._batches, (*self._checks, check))

    def as_labels(self, labels: Array) -> Any:
        """Return labels or other values (n,) in the form that the user expects."""
        return self._batches.as_labels(labels)

    def chunks(self) -> list[slice]:
        """Cut all rows into units of work, each within one batch; return slices."""
        return [
            slice(start, min(start + _CHUNK_ROWS, batch.stop))
            for batch in slices_between(self._batches.starts)
            for start in range(batch.start, batch.stop, _CHUNK_ROWS)
        ]

    def spans(self) -> list[slice]:
        """Return the slice of rows of each batch."""
        return slices_between(self._batches.starts)

    def prefetch_gather(self, rows: Array) -> None:
        """Hint: these rows will be gathered soon; the next `gather` reads them too."""
        self._announced, self._announced_rows = np.unique(rows), None

    def gather(self, rows: Array) -> Array:
        """Return a few scattered rows (b, d); each batch is read at most once."""
        announced, ready = self._announced, self._announced_rows
        if announced is not None and np.isin(rows, announced).all():
            self._announced = self._announced_rows = None
            if ready is not None:
                return ready[np.searchsorted(announced, rows)]
        elif announced is not None and ready is None:
            both = np.union1d(rows, announced)
            values = self._gather(both)
            self._announced_rows = values[np.searchsorted(both, announced)]
            return values[np.searchsorted(both, rows)]
        return self._gather(rows)

    def _gather(self, rows: Array) -> Array:
        def read(group: tuple[int, Array, Array]) -> Array:
            b, _, local = group
            return self._checked(self._batches.some(b, local), b, local)

        groups = by_batch(rows, self._batches.starts)
        out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        blocks = self._readers().map(read, groups)
        for (_, positions, _), block in zip(groups, blocks, strict=True):
            out[positions] = block
        return out

    def map_blocks(
        self, function: Callable[..., Result], *aligned: Array, block_rows: int = 0
    ) -> Iterator[Result]:
        """Yield function(batch, slice of its rows, ...) for each batch, in order."""
        for b, rows in enumerate(slices_between(self._batches.starts)):
            yield function(self._batch(b), rows, *(values[rows] for values in aligned))

    def embed(
        self, function: Callable[..., Any], shared: Any, *, width: int
    ) -> tuple[ArrayRows, Array]:
        """Return the points (n, width) and marks (n,) that `function` returns.

        If there are many points, they are kept in an anonymous temporary file.
        """
        shape = (self.shape[0], width)
        in_file = shape[0] * width * self.dtype.itemsize > _POINT_BYTES
        points = (mapped.full if in_file else np.full)(shape, 0, self.dtype)
        marks = np.empty(shape[0], dtype=bool)

        def fill(block: Array, rows: slice) -> None:
            points[rows], marks[rows] = function(shared, block)

        for _ in self.map_blocks(fill):
            pass
        return ArrayRows(points), marks

    def __getitem__(self, rows: Any) -> Array:
        """Return the rows of a slice or an index array as an array (b, d).

        Only batches that contain at least one of these rows are read.
        """
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.shape[0])
            if step == 1:
                return self._slice(start, max(start, stop))
            rows = np.arange(start, stop, step)
        rows = np.asarray(rows)
        if rows.dtype == bool:
            rows = np.flatnonzero(rows)
        out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        groups = by_batch(rows, self._batches.starts)
        for i, (b, positions, local) in enumerate(groups):
            next_batches = [later for later, _, _ in groups[i + 1 : i + 1 + _AHEAD]]
            out[positions] = self._batch(b, next_batches)[local]
        return out

    def _slice(self, start: int, stop: int) -> Array:
        starts = self._batches.starts
        first = max(int(np.searchsorted(starts, start, side="right")) - 1, 0)
        last = int(np.searchsorted(starts, stop))
        parts = [
            self._batch(b)[max(start - starts[b], 0) : stop - starts[b]]
            for b in range(first, min(last, len(starts) - 1))
        ]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts or [np.empty((0, self.shape[1]), self.dtype)])

    def _batch(self, b: int, next_batches: Sequence[int] | None = None) -> Array:
        """Return batch b; read `next_batches` ahead, by default the batches after b."""
        if next_batches is None:
            count = len(self._batches.starts) - 1
            next_batches = range(b + 1, min(b + 1 + _AHEAD, count))
        with self._lock:
            future = self._request(b)
            for later in next_batches:
                self._request(later)
            while len(self._loaded) > _IN_MEMORY:
                self._loaded.popitem(last=False)
        return future.result()

    def _request(self, b: int) -> Future[Array]:
        """Return the future of batch b; read b unless it is loaded or pending."""
        if b not in self._loaded:
            self._loaded[b] = self._readers().submit(self._read, b)
        self._loaded.move_to_end(b)
        return self._loaded[b]

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
        """Return the block if it passes all checks; errors name the batch."""
        try:
            require_finite_rows(block, local + self._batches.starts[b], self.names)
            for check in self._checks:
                check(block)
        except ValueError as error:
            raise ValueError(f"{self._batches.where(b)}: {error}") from None
        return block


def require_finite_rows(
    block: Array, numbers: Array, names: Sequence[str] | None
) -> None:
    """Raise ValueError for the first entry of a block (b, d) that is not finite.

    The message contains the row's number, from `numbers` (b,), and the column's name,
    from `names`. If `names` is None, the message contains the column's position.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(block.sum()):
            return
    wrong = np.argwhere(~np.isfinite(block))
    if not len(wrong):  # all entries are finite; only their sum overflowed
        return
    row, column = wrong[0]
    name = column if names is None else repr(names[column])
    raise ValueError(
        f"row {numbers[row]:,}, column {name} is {block[row, column]}; expected finite "
        "numbers. Drop such rows or fill in the values."
    )
