"""Parquet, Arrow and Feather: files that know their types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from akkm.tables._table import Table, TableError, batch_rows, columns_of

_FAILURES = (pa.ArrowException, OSError, EOFError)


class ParquetTable(Table):
    """A Parquet file."""

    def __init__(self, path: str):
        self.name = path
        try:
            with pa.parquet.ParquetFile(path) as file:
                self.columns = columns_of(file.schema_arrow, path)
                self.n_rows = file.metadata.num_rows
        except _FAILURES as error:
            raise _unreadable(path, "Parquet", error) from None
        _require_cells(self)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, some at a time."""
        try:
            with pa.parquet.ParquetFile(self.name) as file:
                size = batch_rows(len(names))
                for batch in file.iter_batches(batch_size=size, columns=names):
                    yield batch.select(names)
        except _FAILURES as error:
            raise _unreadable(self.name, "Parquet", error) from None


class IpcTable(Table):
    """An Arrow file (Feather is the same) or an Arrow stream."""

    def __init__(self, path: str):
        self.name = path
        self._is_file = self._magic() == b"ARROW1"
        try:
            with pa.memory_map(path) as source:
                self._schema = self._reader(source, None).schema
        except _FAILURES as error:
            raise _unreadable(path, "Arrow", error) from None
        self.columns = columns_of(self._schema, path)
        _require_cells(self)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, some at a time."""
        wanted = sorted(self._schema.get_field_index(name) for name in names)
        size, n_rows = batch_rows(len(names)), 0
        try:
            with pa.memory_map(self.name) as source:
                for batch in self._batches(self._reader(source, wanted)):
                    n_rows += batch.num_rows
                    batch = batch.select(names)
                    for start in range(0, batch.num_rows, size):
                        yield batch.slice(start, size)
        except _FAILURES as error:
            raise _unreadable(self.name, "Arrow", error) from None
        if n_rows == 0:
            raise TableError(f"{self.name}: there are no rows")
        self.n_rows = n_rows

    def _reader(self, source: Any, wanted: list[int] | None) -> Any:
        options = pa.ipc.IpcReadOptions(included_fields=wanted)
        if self._is_file:
            return pa.ipc.open_file(source, options=options)
        return pa.ipc.open_stream(source, options=options)

    def _batches(self, reader: Any) -> Iterator[pa.RecordBatch]:
        if self._is_file:
            return (reader.get_batch(i) for i in range(reader.num_record_batches))
        return iter(reader)

    def _magic(self) -> bytes:
        with open(self.name, "rb") as file:
            start = file.read(6)
        if start.startswith(b"FEA1"):
            raise TableError(f"{self.name}: Feather V1 is not read; save it as V2")
        return start


def _unreadable(path: str, what: str, error: Exception) -> TableError:
    reason = " ".join(str(error).split())[:200]
    return TableError(
        f"{path}: can't be read as {what}: it is another kind of file, or cut off or "
        f"damaged ({reason})"
    )


def _require_cells(table: Table) -> None:
    if not table.columns:
        raise TableError(f"{table.name}: there are no columns")
    if table.n_rows == 0:
        raise TableError(f"{table.name}: there are no rows")
