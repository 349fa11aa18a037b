"""`Rows`: the interface through which a fit reads rows, wherever they are stored."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from akkm.typing import Array

Result = TypeVar("Result")

# Largest number of chunks. Chunks depend on n alone, never on the number of threads.
_MAX_CHUNKS = 64
# Smallest number of rows in a chunk; the last chunk may have fewer.
_CHUNK_ROWS = 4096
# Smallest number of rows in a piece of an index array; the last piece may have fewer.
_PIECE_ROWS = 2048
# Rows per piece for rows in files. Pieces are small, so that all threads read from the
# same batches.
_STORED_PIECE_ROWS = 4096
# Rows per block when a function is applied to all rows of an array.
_BLOCK_ROWS = 65536


class Rows(ABC):
    """n rows of d numbers, in memory, in files or on the workers of a cluster.

    Laws, checked by the tests for every implementation:

    * for a slice or an index array, `X[rows]` is a block in memory, equal to the block
      that an array of all rows would return;
    * `gather(rows)` equals `X[rows]`, and reads each batch at most once;
    * the slices of `chunks()` and of `spans()` cover all rows once, in order;
    * the pieces of `split(rows)` cover the given rows once, in order;
    * `map_blocks` calls its function on blocks that cover all rows once, in order;
    * if the function given to `embed` treats each row independently, `embed` gives the
      points that the function returns for an array of all rows;
    * `random_labels(C, rng)` gives the same labels wherever the rows are stored, and
      leaves the generator in the same state;
    * `prefetch_gather` is a hint: it affects the running time, never the results.

    Attributes
    ----------
    shape : tuple of int
        (n, d).
    dtype : numpy.dtype
        float32 or float64.
    names : tuple of str or None
        Column names, if there are any.
    in_memory : bool
        Whether rows are in memory, so that reading any row at any time is cheap.
    partitions : Partitions or None
        The blocks of rows on the workers of a cluster; None if rows are not on workers.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    ndim = 2
    names: tuple[str, ...] | None = None
    in_memory = False
    partitions: "Partitions | None" = None

    @abstractmethod
    def __getitem__(self, rows: Any) -> Any:
        """Return the rows of a slice or an index array, in memory: (b, d)."""

    def gather(self, rows: Array) -> Any:
        """Return a few scattered rows (b, d), such as a sample."""
        return self[rows]

    def subset(self, rows: Array) -> "Rows":
        """Return `Rows` with only the given rows (b,), which are read once."""
        return ArrayRows(self.gather(rows))

    @abstractmethod
    def chunks(self) -> list[slice]:
        """Cut all rows into units of work."""

    def spans(self) -> list[slice]:
        """Cut all rows into spans. A span read twice in succession is loaded once."""
        return self.chunks()

    def split(self, rows: Array) -> list[Array]:
        """Cut an index array (b,) into units of work."""
        step = _STORED_PIECE_ROWS
        return [rows[start : start + step] for start in range(0, len(rows), step)]

    @abstractmethod
    def map_blocks(
        self,
        function: Callable[..., Result],
        *aligned: Array,
        block_rows: int = _BLOCK_ROWS,
    ) -> Iterator[Result]:
        """Yield function(block, slice of its rows, ...) for all rows, in order.

        The function also receives the entries of each array in `aligned` (n,) for
        these rows. `block_rows` is the block size for rows in memory. For rows in files
        or on workers, each batch or partition is a block.
        """

    @abstractmethod
    def embed(
        self, function: Callable[..., Any], shared: Any, *, width: int
    ) -> tuple["Rows", Any]:
        """Return the points (n, width) and marks (n,) that `function` returns.

        function(shared, block) returns points (b, width) with the dtype of the rows,
        and marks (b,) of type bool, such as marks of outliers. Workers receive `shared`
        once. The points are stored where the rows are: in memory, in a temporary file,
        or on the workers. The marks (n,) are a Dask array if the rows are on workers,
        else a NumPy array.
        """

    @abstractmethod
    def checked_by(self, check: Callable[[Any], None]) -> "Rows":
        """Return the same rows; check(block) will be called on each block read."""

    def prefetch_gather(self, rows: Array) -> None:  # noqa: B027 (a hint)
        """Hint: these rows will be gathered soon; `gather` may read them in advance."""

    def random_labels(self, n_clusters: int, rng: np.random.Generator) -> Any:
        """Return random labels (n,), or objects that draw these labels on workers."""
        return rng.integers(n_clusters, size=self.shape[0])

    def whole(self) -> Any:
        """Return all rows as one array (n, d): a Dask array if they are on workers."""
        return self[:]

    def as_labels(self, labels: Any) -> Any:
        """Return labels or other values (n,) in the form that the user expects.

        The result is a Dask array if the user gave a Dask collection, else a NumPy
        array.
        """
        return labels


@dataclass(frozen=True)
class Partitions:
    """Blocks of rows held by the workers of a cluster."""

    cluster: Any  # akkm.rows.dask_cluster.Cluster
    blocks: list[Any]  # futures of (b, d) arrays
    starts: Array  # (P + 1,) first row of each block, and n

    @property
    def slices(self) -> list[slice]:
        """The slice of rows of each block."""
        return slices_between(self.starts)

    def as_dask(self, futures: list[Any], dtype: Any, width: int | None = None) -> Any:
        """Join futures of arrays (b,) or (b, width), one per block, in a Dask array."""
        import dask.array as da

        row = () if width is None else (width,)
        pairs = zip(futures, self.slices, strict=True)
        return da.concatenate(
            [
                da.from_delayed(future, (rows.stop - rows.start, *row), dtype)
                for future, rows in pairs
            ]
        )


class ArrayRows(Rows):
    """Rows of an array or a CSR matrix: all of them, or those given by `indices`.

    Rows of type float16 are converted to float32 when they are read.
    """

    in_memory = True

    def __init__(self, X: Any, indices: Array | None = None) -> None:
        self._X, self._indices = X, indices
        n = X.shape[0] if indices is None else len(indices)
        self._half = X.dtype == np.float16
        self.shape = (n, X.shape[1])
        self.dtype = np.dtype(np.float32) if self._half else X.dtype

    def __getitem__(self, rows: Any) -> Any:
        """Return the rows of a slice or an index array: (b, d)."""
        block = self._X[rows if self._indices is None else self._indices[rows]]
        return block.astype(np.float32) if self._half else block

    def subset(self, rows: Array) -> "ArrayRows":
        """Return `Rows` with only the given rows (b,), without copying them."""
        return ArrayRows(
            self._X, rows if self._indices is None else self._indices[rows]
        )

    def chunks(self) -> list[slice]:
        """Cut all rows into units of work."""
        return chunks(self.shape[0])

    def spans(self) -> list[slice]:
        """Return one span: all rows are in memory."""
        return [slice(0, self.shape[0])]

    def split(self, rows: Array) -> list[Array]:
        """Cut an index array (b,) into units of work."""
        return [rows[piece] for piece in pieces(len(rows))]

    def map_blocks(
        self,
        function: Callable[..., Result],
        *aligned: Array,
        block_rows: int = _BLOCK_ROWS,
    ) -> Iterator[Result]:
        """Yield function(block, slice of its rows, ...) for all rows, in order."""
        n = self.shape[0]
        for start in range(0, n, block_rows):
            rows = slice(start, min(start + block_rows, n))
            yield function(self[rows], rows, *(values[rows] for values in aligned))

    def embed(
        self, function: Callable[..., Any], shared: Any, *, width: int
    ) -> tuple["ArrayRows", Array]:
        """Return the points (n, width) and marks (n,) that `function` returns."""
        points, marks = function(shared, self[:])
        return ArrayRows(points), marks

    def checked_by(self, check: Callable[[Any], None]) -> "ArrayRows":
        """Call check(block) on all rows at once, and return the same rows."""
        check(self._X if self._indices is None else self[:])
        return self


def as_rows(X: Any) -> Rows:
    """Wrap an array or a CSR matrix as `Rows`; return `Rows` unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.rows import as_rows
    >>> X = as_rows(np.arange(6).reshape(3, 2))
    >>> list(X.map_blocks(lambda block, rows: int(block.sum()), block_rows=2))
    [6, 9]
    """
    return X if isinstance(X, Rows) else ArrayRows(X)


def is_rows(X: Any) -> bool:
    """Return whether X is a `Rows` object rather than an array."""
    return isinstance(X, Rows)


def chunks(n: int, min_rows: int = _CHUNK_ROWS) -> list[slice]:
    """Cut n rows into slices that depend on n alone, not on the number of threads.

    There are at most 64 slices. All but the last have at least `min_rows` rows.

    Examples
    --------
    >>> from akkm.rows import chunks
    >>> chunks(10_000)
    [slice(0, 4096, None), slice(4096, 8192, None), slice(8192, 10000, None)]
    """
    return _cut(n, min_rows)


def pieces(count: int) -> list[slice]:
    """Cut an index array of length `count` into slices, shorter than chunks of rows."""
    return _cut(count, _PIECE_ROWS)


def _cut(count: int, min_size: int) -> list[slice]:
    size = max(min_size, -(-count // _MAX_CHUNKS))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def slices_between(starts: Array) -> list[slice]:
    """Return the B slices between consecutive entries of `starts` (B + 1,)."""
    edges = starts.tolist()
    return [slice(*pair) for pair in pairwise(edges)]


def by_batch(rows: Array, starts: Array) -> list[tuple[int, Array, Array]]:
    """Group row numbers (b,) by the batch that contains them.

    Each group consists of the number of a batch, the positions of its rows in `rows`,
    and the numbers of these rows within the batch. Batches that contain none of the
    rows are left out. `starts` (B + 1,) contains the first row of each batch, and n.

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
