"""Dask arrays and data frames as rows."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from akkm.rows.batches import Batches, DiskRows
from akkm.rows.contract import Rows
from akkm.rows.remote import RemoteRows
from akkm.typing import Array


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask collection, without importing Dask."""
    return type(X).__module__.split(".")[0] == "dask"


def rows_of_dask(X: Any) -> Rows:
    """Return the rows of a Dask array or data frame.

    With an active `dask.distributed` client, the rows stay on its workers. Without a
    client, Dask's current scheduler computes each partition when it is needed.
    """
    array, names = _as_array(X)
    if any(math.isnan(size) for size in array.chunks[0]):
        raise ValueError(
            "The Dask array has chunks of unknown size; call its "
            "compute_chunk_sizes() first."
        )
    client = _active_client()
    if client is not None:
        return RemoteRows.of(array, client, names)
    return DiskRows(_LocalPartitions(array, names))


def columns_of_dask(X: Any) -> tuple[int, tuple[str, ...] | None]:
    """Return the number of columns of a Dask array or data frame, and their names."""
    array, names = _as_array(X, lengths=False)
    return array.shape[1], names


def apply_lazily(
    method: Callable[[Any], Any], X: Any, *, width: int | None, dtype: Any = None
) -> Any:
    """Return a lazy Dask array: an estimator's method applied to each partition.

    `width` is the number of columns of the result, or None if the result is 1-D.
    `dtype` is the type of the result, by default the type of X.
    """
    array, _ = _as_array(X, lengths=False)
    dtype = array.dtype if dtype is None else dtype
    chunks = (array.chunks[0],) if width is None else (array.chunks[0], (width,))
    none = np.empty((0,) if width is None else (0, width), dtype=dtype)
    return array.map_blocks(
        partial(_unless_empty, method, none),
        dtype=dtype,
        chunks=chunks,
        drop_axis=1 if width is None else None,
        meta=none,
    )


def _unless_empty(method: Callable[[Any], Any], none: Array, block: Array) -> Any:
    """Return method(block), or `none` for a partition without rows."""
    return method(block) if len(block) else none


def _as_array(X: Any, lengths: bool = True) -> tuple[Any, tuple[str, ...] | None]:
    """Return a Dask array of floats, in chunks of whole rows, and column names."""
    names = None
    if hasattr(X, "to_dask_array"):
        names = tuple(str(name) for name in X.columns)
        dtypes = dict(zip(names, X.dtypes, strict=True))
        text = [n for n, dtype in dtypes.items() if getattr(dtype, "kind", "O") == "O"]
        if text:
            raise ValueError(
                f"Columns {text} of the Dask data frame are not numbers; encode them, "
                "or leave them out."
            )
        X = X.to_dask_array(lengths=lengths or None)
    if not hasattr(X, "map_blocks") or X.ndim != 2:
        raise ValueError(
            f"X is a Dask {type(X).__name__} with {getattr(X, 'ndim', 0)} dimensions; "
            "expected a 2-D Dask array or a Dask data frame."
        )
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float32 if X.dtype == np.float16 else np.float64)
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return X, names


def _active_client() -> Any:
    try:
        from distributed import Client
    except ImportError:
        return None
    try:
        return Client.current()
    except ValueError:  # no client is active
        return None


class _LocalPartitions(Batches):
    """Partitions of a Dask array, computed one at a time in this process."""

    def __init__(self, array: Any, names: tuple[str, ...] | None) -> None:
        self._array = array
        self.names = names
        self.dtype, self.width = array.dtype, array.shape[1]
        self.starts = np.append(0, np.cumsum(array.chunks[0], dtype=np.int64))

    def read(self, batch: int) -> Array:
        """Compute a partition and return its rows (b, d)."""
        return np.array(self._array.blocks[batch].compute(), order="C")

    def where(self, batch: int) -> str:
        """Return the name of a partition for error messages."""
        return f"partition {batch}"

    def as_labels(self, labels: Array) -> Any:
        """Return labels or other values (n, ...) as a Dask array, chunked like X."""
        import dask.array

        chunks = (self._array.chunks[0], *labels.shape[1:])
        return dask.array.from_array(labels, chunks=chunks)
