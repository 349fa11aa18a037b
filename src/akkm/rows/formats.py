"""Parquet, Arrow and .npy files, read piece by piece in any order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from akkm.rows.batches import Batches
from akkm.typing import Array

# Cells per piece of a file without pieces of its own: about 32 MB of float32.
_CELLS = 8 * 2**20
# Cells transposed from columns to rows at a time; they fit the processor's cache.
_TRANSPOSED = 2**19


class TableError(ValueError):
    """A file that can't be used as a table of rows.

    The message is one line: the file, what was found, and what to do.

    Examples
    --------
    >>> from akkm.tables import open_table
    >>> open_table("data.csv")
    Traceback (most recent call last):
    ...
    akkm.rows.formats.TableError: data.csv: there is no such file
    """


class Pieces(ABC):
    """One or more files with the same columns, cut into pieces of rows.

    A piece can be read on its own, by any thread, in any order.
    """

    schema: Any  # pyarrow.Schema
    starts: Array  # (P + 1,) first row of each piece, and the number of rows

    @abstractmethod
    def read(self, piece: int, names: Sequence[str]) -> Any:
        """Columns of one piece as a pyarrow.RecordBatch."""

    @abstractmethod
    def where(self, piece: int) -> str:
        """Name of the file that holds a piece, for messages."""

    def stream(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        """All record batches in order, at most `rows` long; none crosses a piece."""
        for piece, (first, last) in enumerate(pairwise(self.starts.tolist())):
            batch = self.read(piece, names)
            for start in range(0, last - first, rows):
                yield batch.slice(start, rows)


class ColumnFiles(Pieces):
    """Parquet or Arrow files; a piece is a row group or a record batch."""

    format: str

    def __init__(
        self,
        paths: Sequence[Path],
        columns: Sequence[str] | None = None,
        owner: Any = None,
    ) -> None:
        self._owner = owner  # of a temporary file
        self._failures = _arrow_failures()
        self._pieces: list[tuple[Path, int]] = []
        counts = [0]
        for path in paths:
            try:
                schema, rows = self._open(path)
            except self._failures as error:
                raise unreadable(path, self.format, error) from None
            if path == paths[0]:
                self.schema = schema
                require_distinct(schema.names, str(path))
                used = [f for f in schema if columns is None or f.name in columns]
            _require_same_columns(path, schema, paths[0], used)
            self._pieces += [(path, i) for i, count in enumerate(rows) if count]
            counts += [count for count in rows if count]
        if not self.schema.names:
            raise TableError(f"{paths[0]}: there are no columns")
        if not self._pieces:
            raise TableError(f"{paths[0]}: there are no rows")
        self.starts = np.cumsum(counts, dtype=np.int64)

    @abstractmethod
    def _open(self, path: Path) -> tuple[Any, list[int]]:
        """The schema of a file, and the number of rows of each piece."""

    @abstractmethod
    def _read(self, path: Path, number: int, names: Sequence[str]) -> Any:
        """Columns of one piece, in any order."""

    def read(self, piece: int, names: Sequence[str]) -> Any:
        """Columns of one row group or record batch."""
        path, number = self._pieces[piece]
        try:
            return self._read(path, number, names).select(list(names))
        except self._failures as error:
            raise unreadable(path, self.format, error) from None

    def where(self, piece: int) -> str:
        """Name of the file that holds a piece."""
        return str(self._pieces[piece][0])


class ParquetFiles(ColumnFiles):
    """Parquet files; a piece is a row group."""

    format = "Parquet"

    def _open(self, path: Path) -> tuple[Any, list[int]]:
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as file:
            groups = range(file.metadata.num_row_groups)
            rows = [file.metadata.row_group(i).num_rows for i in groups]
            return file.schema_arrow, rows

    def _read(self, path: Path, number: int, names: Sequence[str]) -> Any:
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as file:
            table = file.read_row_group(number, columns=list(names), use_threads=False)
            (batch,) = table.combine_chunks().to_batches()
            return batch

    def stream(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        """As for all pieces; a large row group is not read as a whole."""
        from pyarrow.parquet import ParquetFile

        for path, number in self._pieces:
            try:
                with ParquetFile(path) as file:
                    for batch in file.iter_batches(rows, [number], list(names)):
                        yield batch.select(list(names))
            except self._failures as error:
                raise unreadable(path, self.format, error) from None


class ArrowFiles(ColumnFiles):
    """Arrow (Feather) files; a piece is a record batch."""

    format = "Arrow"

    def _open(self, path: Path) -> tuple[Any, list[int]]:
        import pyarrow as pa

        with pa.memory_map(str(path)) as source:
            file = pa.ipc.open_file(source)
            numbers = range(file.num_record_batches)
            return file.schema, [file.get_batch(i).num_rows for i in numbers]

    def _read(self, path: Path, number: int, names: Sequence[str]) -> Any:
        import pyarrow as pa

        fields = sorted(self.schema.get_field_index(name) for name in names)
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        with pa.OSFile(str(path)) as source:
            return pa.ipc.open_file(source, options=options).get_batch(number)


class NumberBatches(Batches):
    """Numeric columns of Parquet or Arrow files as rows of floats."""

    names: tuple[str, ...]

    def __init__(self, files: Pieces, columns: Sequence[str] | None, dtype: Any):
        self._files, schema = files, files.schema
        path = files.where(0)
        self.names = tuple(schema.names if columns is None else map(str, columns))
        if unknown := [name for name in self.names if name not in schema.names]:
            raise ValueError(
                f"{path}: there are no columns {unknown}; expected some of "
                f"{schema.names}."
            )
        types = [_number_type(path, schema.field(name)) for name in self.names]
        self.width, self.dtype = len(self.names), float_type(dtype, types)
        self.starts = files.starts

    def read(self, batch: int) -> Array:
        """Rows of a piece (b, d); missing values become NaN."""
        columns = self._columns(batch)
        out = np.empty((len(columns[0]), self.width), dtype=self.dtype)
        step = max(1, _TRANSPOSED // self.width)
        for start in range(0, len(out), step):
            rows = out[start : start + step]
            for j, column in enumerate(columns):
                rows[:, j] = column[start : start + len(rows)]
        return out

    def some(self, batch: int, rows: Array) -> Array:
        """A few rows of a piece, without transposing the others."""
        out = np.empty((len(rows), self.width), dtype=self.dtype)
        for j, column in enumerate(self._columns(batch)):
            out[:, j] = column[rows]
        return out

    def where(self, batch: int) -> str:
        """Name of the file."""
        return self._files.where(batch)

    def _columns(self, batch: int) -> list[Array]:
        found = self._files.read(batch, self.names).columns
        return [column.to_numpy(zero_copy_only=False) for column in found]


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
        """A copy (b, d), so that mapped pages don't accumulate in memory."""
        return self._copy(slice(*self.starts[batch : batch + 2]))

    def some(self, batch: int, rows: Array) -> Array:
        """A few rows, without reading the others."""
        return self._copy(self.starts[batch] + rows)

    def where(self, batch: int) -> str:
        """Name of the file."""
        return str(self._path)

    def _copy(self, rows: Any) -> Array:
        return np.array(map_npy(self._path)[rows], dtype=self.dtype, order="C")


def map_npy(path: str | Path, name: str | None = None) -> Array:
    """Map a .npy file with a 2-D array of numbers; `name` is for messages."""
    try:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise unreadable(name or path, ".npy", error) from None
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "fiub":
        raise TableError(
            f"{name or path}: expected a 2-D array of numbers, found shape {X.shape} "
            f"of type {X.dtype}"
        )
    return X


def npy_starts(X: Array) -> Array:
    """First rows of the pieces of an array (n, d), and n."""
    step = max(1, _CELLS // X.shape[1])
    return np.append(np.arange(0, len(X), step), len(X))


def unreadable(path: Any, what: str, error: Exception) -> TableError:
    """What to report about a file that a library could not read."""
    reason = " ".join(str(error).split())[:200] or "it ends early"
    return TableError(
        f"{path}: can't be read as {what}: it is another kind of file, or cut off or "
        f"damaged ({reason})"
    )


def float_type(dtype: Any, types: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The dtype asked for; else float32 if it holds all `types`, or float64."""
    if dtype is not None:
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype={dtype!r}: expected float32 or float64.")
        return np.dtype(dtype)
    narrow = all(np.can_cast(each, np.float32) for each in types)
    return np.dtype(np.float32 if narrow else np.float64)


def require_distinct(names: Sequence[str], path: str, hint: str = "") -> None:
    """Raise TableError if two columns have the same name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        shown = ", ".join(map(repr, twice[:5]))
        raise TableError(f"{path}: duplicate column names: {shown}; rename them{hint}")


def _require_same_columns(
    path: Path, schema: Any, first: Path, expected: Sequence[Any]
) -> None:
    """All files of a folder have the columns and types of the first."""
    names = [field.name for field in expected]
    if missing := [name for name in names if name not in schema.names]:
        raise TableError(
            f"{path}: columns {missing} are missing, which {first} has; all files of a "
            "folder need the same columns"
        )
    for field in expected:
        if (here := schema.field(field.name).type) != field.type:
            raise TableError(
                f"{path}: column {field.name!r} is of type {here}, in {first} it is "
                f"{field.type}; all files of a folder need the same types"
            )


def _number_type(path: str, field: Any) -> np.dtype[Any]:
    """The NumPy dtype of a numeric column."""
    try:
        dtype = np.dtype(field.type.to_pandas_dtype())
    except (NotImplementedError, TypeError):
        dtype = np.dtype(object)
    if dtype.kind not in "fiub":
        raise TableError(
            f"{path}: column {field.name!r} is of type {field.type}, expected numbers; "
            "name the columns to use (columns=...), or encode it first"
        )
    return dtype


def _arrow_failures() -> tuple[type[Exception], ...]:
    """What pyarrow raises for a file that it can't read."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError(
            "Parquet and Arrow files need pyarrow, which is not installed. Install it "
            "with: pip install 'akkm[files]'"
        ) from error
    return (pa.ArrowException, OSError, EOFError)
