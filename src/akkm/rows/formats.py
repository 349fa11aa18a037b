"""Parquet, Arrow and .npy as batches of rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.rows.batches import Batches

Array = NDArray[Any]

# Rows of a batch, where the file leaves it open: some 32 MB of float32.
_CELLS = 8 * 2**20
# Numbers that are turned from columns to rows at a time, near the processor.
_TURNED = 2**19


class Npy(Batches):
    """A 2-D .npy file."""

    names = None

    def __init__(self, path: Path, dtype: Any) -> None:
        self._path = path
        try:
            X = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise _unreadable(path, ".npy", error) from None
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise ValueError(
                f"{path}: expected a 2-D array of numbers, found shape {X.shape} of "
                f"{X.dtype}."
            )
        self.width = X.shape[1]
        self.dtype = _chosen(dtype, [X.dtype])
        step = max(1, _CELLS // max(1, self.width))
        self.starts = np.append(np.arange(0, len(X), step), len(X))

    def read(self, batch: int) -> Array:
        """A copy, so that the file's pages do not pile up in memory."""
        return self._copy(slice(self.starts[batch], self.starts[batch + 1]))

    def some(self, batch: int, rows: Array) -> Array:
        """A few rows, without reading the others."""
        return self._copy(self.starts[batch] + rows)

    def _copy(self, rows: Any) -> Array:
        X = np.load(self._path, mmap_mode="r", allow_pickle=False)
        return np.array(X[rows], dtype=self.dtype, order="C")

    def where(self, batch: int) -> str:
        return str(self._path)


class Columns(Batches):
    """Files with named columns, all the same ones: Parquet or Arrow."""

    names: tuple[str, ...]
    what: str  # of which kind

    def __init__(self, paths: Sequence[Path], columns: Any, dtype: Any) -> None:
        _failures()  # pyarrow is there
        self._paths = list(paths)
        self._pieces: list[tuple[Path, int]] = []  # a file and a piece of it
        counts: list[int] = []
        first: Any = None
        for path in self._paths:
            try:
                schema, rows = self._open(path)
            except Exception as error:
                if not isinstance(error, _failures()):
                    raise
                raise _unreadable(path, self.what, error) from None
            if first is None:
                first = schema
                self.names = _wanted(path, schema, columns)
                fields = [schema.field(name).type for name in self.names]
            else:
                _require_same(path, schema, self._paths[0], first, self.names)
            self._pieces += [(path, i) for i, count in enumerate(rows) if count]
            counts += [count for count in rows if count]
        self.width = len(self.names)
        self.dtype = _chosen(dtype, [_numpy_type(t) for t in fields])
        self.starts = np.append(0, np.cumsum(counts, dtype=np.int64))

    def _open(self, path: Path) -> tuple[Any, list[int]]:
        """The schema, and the rows of each piece."""
        raise AssertionError("given by each format")

    def _piece(self, path: Path, number: int) -> Any:
        """The wanted columns of a piece, as an Arrow table or record batch."""
        raise AssertionError("given by each format")

    def read(self, batch: int) -> Array:
        """The rows of a piece; what is missing becomes NaN."""
        columns = self._columns(batch)
        out = np.empty((len(columns[0]), self.width), dtype=self.dtype)
        step = max(1, _TURNED // self.width)
        for start in range(0, len(out), step):
            rows = out[start : start + step]
            for j, column in enumerate(columns):
                rows[:, j] = column[start : start + len(rows)]
        return out

    def some(self, batch: int, rows: Array) -> Array:
        """A few rows of a piece, without turning the others."""
        out = np.empty((len(rows), self.width), dtype=self.dtype)
        for j, column in enumerate(self._columns(batch)):
            out[:, j] = column[rows]
        return out

    def _columns(self, batch: int) -> list[Array]:
        """The columns of a piece, of the file's types."""
        path, number = self._pieces[batch]
        try:
            piece = self._piece(path, number)
        except Exception as error:
            if not isinstance(error, _failures()):
                raise
            raise _unreadable(path, self.what, error) from None
        return [_numbers(piece.column(name)) for name in self.names]

    def where(self, batch: int) -> str:
        return str(self._pieces[batch][0]) if self._pieces else str(self._paths[0])


class Parquet(Columns):
    """Parquet files; a batch is a row group."""

    what = "Parquet"

    def _open(self, path: Path) -> tuple[Any, list[int]]:
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(path) as file:
            groups = range(file.metadata.num_row_groups)
            rows = [file.metadata.row_group(i).num_rows for i in groups]
            return file.schema_arrow, rows

    def _piece(self, path: Path, number: int) -> Any:
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(path) as file:
            return file.read_row_group(
                number, columns=list(self.names), use_threads=False
            ).combine_chunks()


class Arrow(Columns):
    """Arrow (Feather) files; a batch is a record batch."""

    what = "Arrow"

    def _open(self, path: Path) -> tuple[Any, list[int]]:
        import pyarrow as pa

        with pa.memory_map(str(path)) as source:
            file = pa.ipc.open_file(source)
            numbers = range(file.num_record_batches)
            return file.schema, [file.get_batch(i).num_rows for i in numbers]

    def _piece(self, path: Path, number: int) -> Any:
        import pyarrow as pa

        with pa.OSFile(str(path)) as source:
            return pa.ipc.open_file(source).get_batch(number).select(list(self.names))


def _wanted(path: Path, schema: Any, columns: Any) -> tuple[str, ...]:
    """The columns to read; all of them if none are named."""
    names = list(schema.names) if columns is None else [str(c) for c in columns]
    if unknown := [name for name in names if name not in schema.names]:
        raise ValueError(
            f"{path}: there are no columns {unknown}; expected some of {schema.names}."
        )
    for name in names:
        _numeric(path, schema.field(name))
    if not names:
        raise ValueError(f"{path}: there are no columns.")
    return tuple(names)


def _require_same(
    path: Path, schema: Any, other: Path, first: Any, names: Sequence[str]
) -> None:
    if missing := [name for name in names if name not in schema.names]:
        raise ValueError(
            f"{path}: columns {missing} are missing, which {other} has; all files of "
            "a folder need the same columns."
        )
    for name in names:
        here, there = schema.field(name).type, first.field(name).type
        if here != there:
            raise ValueError(
                f"{path}: column {name!r} is of type {here}, in {other} it is {there}; "
                "all files of a folder need the same types."
            )


def _numeric(path: Path, field: Any) -> None:
    try:
        good = np.dtype(field.type.to_pandas_dtype()).kind in "fiub"
    except (NotImplementedError, TypeError):
        good = False
    if not good:
        raise ValueError(
            f"{path}: column {field.name!r} is of type {field.type}, expected numbers; "
            "name the columns to use (columns=...), or encode it first."
        )


def _numpy_type(arrow_type: Any) -> np.dtype[Any]:
    return np.dtype(arrow_type.to_pandas_dtype())


def _chosen(dtype: Any, found: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The one asked for; else float32 if that holds all there is, or float64."""
    if dtype is not None:
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype={dtype!r}: expected float32 or float64.")
        return np.dtype(dtype)
    narrow = all(np.can_cast(each, np.float32) for each in found)
    return np.dtype(np.float32 if narrow else np.float64)


def _numbers(column: Any) -> Array:
    """An Arrow column as an array, of the file's memory where that is possible."""
    return column.to_numpy(zero_copy_only=False)


def _failures() -> tuple[type[Exception], ...]:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError(
            "Parquet and Arrow files need pyarrow, which is not installed. Install it "
            "with: pip install 'akkm[files]'"
        ) from error
    return (pa.ArrowException, OSError, EOFError)


def _unreadable(path: Path, what: str, error: Exception) -> ValueError:
    reason = " ".join(str(error).split())[:200]
    return ValueError(
        f"{path}: can't be read as {what}: it is another kind of file, or cut off or "
        f"damaged ({reason})."
    )
