"""Errors about files, and .npy files as batches of rows."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from akkm.rows.batches import Batches
from akkm.typing import Array

# Cells per batch: about 32 MB of float32.
_CELLS = 8 * 2**20


class TableError(ValueError):
    """Error for a file that can't be used as a table of rows.

    The message is one line: the file, what was found, and what to do.

    Examples
    --------
    >>> from akkm.tables import open_table
    >>> open_table("data.csv")
    Traceback (most recent call last):
    ...
    akkm.rows.formats.TableError: data.csv: there is no such file
    """


class NpyBatches(Batches):
    """A 2-D .npy file as rows of floats."""

    names = None

    def __init__(self, path: Path, dtype: Any) -> None:
        self._path = path
        X = map_npy(path)
        self.width = X.shape[1]
        self.dtype = float_type(dtype, [X.dtype])
        self.starts = npy_starts(X)

    def read(self, batch: int) -> Array:
        """Return a batch (b, d), copied so that no pages of the file stay mapped."""
        return self._copy(slice(*self.starts[batch : batch + 2]))

    def some(self, batch: int, rows: Array) -> Array:
        """Return a few rows of a batch without reading its other rows."""
        return self._copy(self.starts[batch] + rows)

    def where(self, batch: int) -> str:
        """Return the name of the file."""
        return str(self._path)

    def _copy(self, rows: Any) -> Array:
        return np.array(map_npy(self._path)[rows], dtype=self.dtype, order="C")


def map_npy(path: str | Path, name: str | None = None) -> Array:
    """Memory-map a 2-D array of numbers in a .npy file; `name` is for messages."""
    with reading(name or path, ".npy"):
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "fiub":
        raise TableError(
            f"{name or path}: expected a 2-D array of numbers, found shape {X.shape} "
            f"of type {X.dtype}"
        )
    return X


def npy_starts(X: Array) -> Array:
    """Return the first row of each piece of an array (n, d), followed by n."""
    step = max(1, _CELLS // X.shape[1])
    return np.append(np.arange(0, len(X), step), len(X))


@contextmanager
def reading(path: Any, what: str) -> Iterator[None]:
    """Turn errors of a library that reads a file of format `what` into TableError."""
    try:
        yield
    except TableError:
        raise
    except MemoryError:
        raise TableError(
            f"{path}: can't be read as {what}: there is not enough memory for one of "
            "its parts; the file is damaged, or too large for this machine"
        ) from None
    except Exception as error:  # damaged files cause errors of any type
        reason = " ".join(str(error).split())[:200] or "it ends early"
        raise TableError(
            f"{path}: can't be read as {what}: it is another kind of file, or cut off "
            f"or damaged ({reason})"
        ) from None


def float_type(dtype: Any, types: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """Return the type of rows: `dtype`, unless it is None.

    If `dtype` is None, the type of rows is float32 if float32 can represent all values
    of all `types`, else float64.
    """
    if dtype is not None:
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype={dtype!r}: expected float32 or float64.")
        return np.dtype(dtype)
    narrow = all(np.can_cast(each, np.float32) for each in types)
    return np.dtype(np.float32 if narrow else np.float64)
