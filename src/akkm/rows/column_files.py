"""Parquet and Arrow files, read in pieces in any order. This module needs pyarrow."""

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow.parquet import ParquetFile

from akkm.rows.batches import Batches
from akkm.rows.formats import TableError, float_type, reading
from akkm.typing import Array

# Number of cells that are transposed from columns to rows at a time. This many cells
# fit in the CPU cache.
_TRANSPOSED = 2**19


class Pieces(ABC):
    """One or more files with the same columns, cut into pieces of rows.

    A piece can be read on its own, by any thread, in any order.
    """

    schema: pa.Schema
    starts: Array  # (P + 1,) first row of each piece, and the number of rows

    @abstractmethod
    def read(self, piece: int, names: Sequence[str]) -> pa.RecordBatch:
        """Return the columns `names` of one piece."""

    @abstractmethod
    def where(self, piece: int) -> str:
        """Return the name of the file that contains a piece, for messages."""

    def stream(self, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield all rows in order, in batches of at most `rows` rows within a piece."""
        for piece, (first, last) in enumerate(pairwise(self.starts.tolist())):
            batch = self.read(piece, names)
            for start in range(0, last - first, rows):
                yield batch.slice(start, rows)


class ColumnFiles(Pieces):
    """Parquet or Arrow files; a piece is a row group or a record batch.

    Parameters
    ----------
    paths : sequence of str or Path
        The files.
    columns : sequence of str, optional
        The columns that must have the same types in all files; by default all columns
        of the first file.
    """

    format: str  # for messages

    def __init__(
        self, paths: Sequence[str | Path], columns: Sequence[str] | None = None
    ) -> None:
        self._pieces: list[tuple[str | Path, int]] = []
        counts = [0]
        for path in paths:
            with reading(path, self.format):
                schema, rows = self._open(path)
                # `str` fails if names or types in a damaged file are not UTF-8.
                str(schema.names), str(schema.types)
            if path == paths[0]:
                self.schema = schema
                require_distinct(schema.names, str(path))
            types = dict(zip(schema.names, schema.types, strict=True))
            for field in self.schema:
                here = types.get(field.name, "missing")
                if here != field.type and (columns is None or field.name in columns):
                    raise TableError(
                        f"{path}: column {field.name!r} is {here}, but {field.type} in "
                        f"{paths[0]}; all files of a folder need the same columns"
                    )
            self._pieces += [(path, i) for i, count in enumerate(rows) if count]
            counts += [count for count in rows if count]
        if not self.schema.names or not self._pieces:
            missing = "rows" if self.schema.names else "columns"
            raise TableError(f"{paths[0]}: there are no {missing}")
        self.starts = np.cumsum(counts, dtype=np.int64)

    @abstractmethod
    def _open(self, path: str | Path) -> tuple[pa.Schema, list[int]]:
        """Return the schema of a file and the number of rows of each piece."""

    @abstractmethod
    def _read(self, path: str | Path, number: int, names: list[str]) -> pa.RecordBatch:
        """Return the columns `names` of one piece, in any order."""

    def read(self, piece: int, names: Sequence[str]) -> pa.RecordBatch:
        """Return the columns `names` of one row group or record batch."""
        path, number = self._pieces[piece]
        with reading(path, self.format):
            return self._read(path, number, list(names)).select(list(names))

    def where(self, piece: int) -> str:
        """Return the name of the file that contains a piece."""
        return str(self._pieces[piece][0])


class ParquetFiles(ColumnFiles):
    """Parquet files; a piece is a row group."""

    format = "Parquet"

    def _open(self, path: str | Path) -> tuple[pa.Schema, list[int]]:
        with _open_file(path) as source, ParquetFile(source) as file:
            groups = range(file.metadata.num_row_groups)
            rows = [file.metadata.row_group(i).num_rows for i in groups]
            return file.schema_arrow, rows

    def _read(self, path: str | Path, number: int, names: list[str]) -> pa.RecordBatch:
        with _open_file(path) as source, ParquetFile(source) as file:
            table = file.read_row_group(number, columns=names, use_threads=False)
            (batch,) = table.combine_chunks().to_batches()
            return batch

    def stream(self, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield rows as `Pieces.stream` does, without reading whole row groups."""
        for path, number in self._pieces:
            parquet = reading(path, self.format)
            with parquet, _open_file(path) as source, ParquetFile(source) as file:
                for batch in file.iter_batches(rows, [number], list(names)):
                    yield batch.select(list(names))


class ArrowFiles(ColumnFiles):
    """Arrow (Feather) files; a piece is a record batch."""

    format = "Arrow"

    def _open(self, path: str | Path) -> tuple[pa.Schema, list[int]]:
        with pa.memory_map(os.fsencode(path)) as source:
            file = pa.ipc.open_file(source)
            numbers = range(file.num_record_batches)
            return file.schema, [file.get_batch(i).num_rows for i in numbers]

    def _read(self, path: str | Path, number: int, names: list[str]) -> pa.RecordBatch:
        fields = sorted(self.schema.get_field_index(name) for name in names)
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        with _open_file(path) as source:
            batch = pa.ipc.open_file(source, options=options).get_batch(number)
            return validated(batch)


class NumberBatches(Batches):
    """Numeric columns of Parquet or Arrow files as rows of floats."""

    names: tuple[str, ...]

    def __init__(self, files: Pieces, columns: Sequence[str] | None, dtype: Any):
        self._files, schema = files, files.schema
        self.names = tuple(schema.names if columns is None else map(str, columns))
        if unknown := [name for name in self.names if name not in schema.names]:
            raise ValueError(
                f"{self.where(0)}: the file has no columns {unknown}; expected some of "
                f"{schema.names}."
            )
        types = [_number_type(self.where(0), schema.field(name)) for name in self.names]
        self.width, self.dtype = len(self.names), float_type(dtype, types)
        self.starts = files.starts

    def read(self, batch: int) -> Array:
        """Return the rows of a piece (b, d); missing values become NaN."""
        return self._rows(self._files.read(batch, self.names))

    def some(self, batch: int, rows: Array) -> Array:
        """Return a few rows of a piece without transposing its other rows."""
        return self._rows(self._files.read(batch, self.names).take(rows))

    def where(self, batch: int) -> str:
        """Return the name of the file that contains a batch."""
        return self._files.where(batch)

    def _rows(self, batch: pa.RecordBatch) -> Array:
        columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        out = np.empty((batch.num_rows, self.width), dtype=self.dtype)
        step = max(1, _TRANSPOSED // self.width)
        for start in range(0, len(out), step):
            for j, column in enumerate(columns):
                out[start : start + step, j] = column[start : start + step]
        return out


def _open_file(path: str | Path) -> pa.NativeFile:
    """Open a file for reading; paths that are not UTF-8 must be passed as bytes."""
    return pa.OSFile(os.fsencode(path))


def validated(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch of an Arrow file; raise ArrowInvalid if the file is damaged.

    pyarrow doesn't check offsets, lengths and dictionary indices when it reads them. If
    they point beyond the end of a buffer, using them would crash the process.
    """
    batch.validate(full=True)
    return batch


def require_distinct(names: Sequence[str], path: str, hint: str = "") -> None:
    """Raise TableError if two columns have the same name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        shown = ", ".join(map(repr, twice[:5]))
        raise TableError(f"{path}: duplicate column names: {shown}; rename them{hint}")


def _number_type(path: str, field: pa.Field) -> np.dtype[Any]:
    """Return the NumPy dtype of a column; raise TableError if it is not numeric."""
    kind, types = field.type, pa.types
    if not (types.is_integer(kind) or types.is_floating(kind) or kind == pa.bool_()):
        raise TableError(
            f"{path}: column {field.name!r} is of type {kind}, expected numbers; "
            "leave the column out (columns=...), or encode it first"
        )
    return np.dtype(kind.to_pandas_dtype())
