"""CSV: types from the first block, rows in blocks, errors with their line."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from akkm.tables._csv_errors import (
    explain,
    place_of,
    require_delimiter,
    require_text,
)
from akkm.tables._disguises import is_number
from akkm.tables._table import Column, Table, TableError, kind_of, require_distinct

# Bytes of text that are parsed at a time; the first of them decide on types.
BLOCK = 4 << 20
# Parsed rows are kept for a second pass if they take no more bytes than this.
KEEP = 512 << 20

# What pandas takes for missing, too.
MISSING = (
    "", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL",
    "null", "None",
)  # fmt: skip

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_TEXT = pa.dictionary(pa.int32(), pa.string())
_FAILURES = (pa.ArrowException, OSError, UnicodeDecodeError)


class CsvTable(Table):
    """A CSV file, packed or not."""

    typed = False

    def __init__(
        self,
        path: str,
        name: str,
        *,
        header: bool,
        delimiter: str,
        decimal: str,
        missing: Sequence[str],
        owner: Any = None,
    ):
        self.name = name
        self.decimal = decimal
        self.blanks = tuple(missing)
        self._path = path
        self._owner = owner  # of a temporary file
        self._delimiter = delimiter
        self._header = header
        self._blank = 0
        self._file: Any = None
        self._size = os.path.getsize(path)
        self._as_text: frozenset[str] = frozenset()
        self._kept: list[pa.RecordBatch] = []
        self._kept_types: dict[str, pa.DataType] = {}
        try:
            self._names = self._column_names()
            self._types = self._infer()
        except _FAILURES as error:
            raise self._explained(error) from None
        self.columns = tuple(
            Column(name, kind_of(kind), str(kind)) for name, kind in self._types.items()
        )

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, some at a time."""
        types = {
            n: pa.string() if n in self._as_text else self._types[n] for n in names
        }
        if types.items() <= self._kept_types.items():
            yield from (batch.select(names) for batch in self._kept)
            return
        kept: list[pa.RecordBatch] | None = []
        n_rows = n_bytes = 0
        try:
            for batch in self._reader(types):
                n_rows += batch.num_rows
                n_bytes += batch.nbytes
                if n_bytes > KEEP:
                    kept = None
                if kept is not None:
                    kept.append(batch)
                yield batch
        except _FAILURES as error:
            raise self._explained(error, types) from None
        if n_rows == 0:
            raise TableError(f"{self.name}: there are no rows")
        self.n_rows = n_rows
        if kept is not None:
            self._kept, self._kept_types = kept, types

    def read_as_text(self, names: Collection[str]) -> None:
        """From now on, read just these columns as they are written."""
        self._as_text = frozenset(names)

    def place(self, row: int) -> str:
        """Where row 0, 1, ... is, as people say it."""
        return place_of(row + 1)

    @property
    def share(self) -> float | None:
        """How much of the file was read."""
        with suppress(ValueError, OSError):  # it is closed
            return min(1.0, self._file.tell() / self._size)
        return 1.0

    def release(self) -> None:
        """Let go of the parsed rows."""
        self._kept, self._kept_types = [], {}

    def _open(self) -> Any:
        """The text of the file, unpacked."""
        file = self._file = pa.OSFile(self._path)
        start = file.read(4)
        file.seek(0)
        for magic, compression in _MAGIC.items():
            if start.startswith(magic):
                return pa.CompressedInputStream(file, compression)
        return file

    def _column_names(self) -> list[str]:
        with self._open() as file:
            start = file.read(BLOCK)
        require_text(start, self.name)
        # Undecodable bytes are looked for in the names only; the rest is parsed later.
        text = start.decode("utf-8-sig", errors="surrogateescape")
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter)
        try:
            with _long_cells():
                rows = list(islice(filter(None, lines), 2))
        except csv.Error as error:
            raise TableError(f"{self.name}: not a CSV file ({error})") from None
        if not rows:
            raise TableError(f"{self.name}: the file is empty")
        self._blank = len(text[: len(text) - len(text.lstrip("\r\n"))].splitlines())
        first = [cell.strip() for cell in rows[0]]
        require_delimiter(rows, self.name, self._delimiter)
        if not self._header:
            return [str(i) for i in range(len(first))]
        if any("\udc80" <= c <= "\udcff" for cell in first for c in cell):
            raise self._explained(ValueError("invalid UTF8 data"))
        if len(rows) == 1 and len(start) < BLOCK:
            raise TableError(f"{self.name}: there is a header but no rows")
        names = [cell or str(i) for i, cell in enumerate(first)]
        require_distinct(
            names, self.name, ", or say --no-header if the first line is data"
        )
        if all(map(is_number, names)) and names != [str(i) for i in range(len(names))]:
            self.notes = (
                "the first line holds only numbers and was taken for the names of the "
                "columns; if it is data, say --no-header",
            )
        return names

    def _infer(self) -> dict[str, pa.DataType]:
        """The types with which columns are read, in the order of the file."""
        types = {field.name: field.type for field in self._reader(None).schema}
        for name, kind in types.items():
            if pa.types.is_integer(kind) or pa.types.is_floating(kind):
                types[name] = pa.float64()  # a whole number here, another further down
            elif not pa.types.is_boolean(kind) and not pa.types.is_temporal(kind):
                types[name] = pa.null() if pa.types.is_null(kind) else _TEXT
        empty = [name for name, kind in types.items() if pa.types.is_null(kind)]
        if empty:
            types |= self._look_further(empty)
        return types

    def _look_further(self, names: list[str]) -> dict[str, pa.DataType]:
        """Types of columns that are empty in the first block."""
        found: dict[str, pa.DataType] = dict.fromkeys(names, pa.float64())
        for batch in self._reader(dict.fromkeys(names, pa.string())):
            for name in list(names):
                values = batch.column(name).drop_null()
                if len(values):
                    texts = pc.unique(values).to_pylist()
                    numbers = all(is_number(text, self.decimal) for text in texts)
                    found[name] = pa.float64() if numbers else _TEXT
                    names.remove(name)
            if not names:
                break
        return found

    def _reader(
        self, types: dict[str, pa.DataType] | None, threads: bool = True
    ) -> Any:
        return pa.csv.open_csv(
            self._open(),
            read_options=pa.csv.ReadOptions(
                block_size=BLOCK,
                use_threads=threads,
                column_names=self._names,
                skip_rows=self._blank,
                skip_rows_after_names=int(self._header),
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=types,
                include_columns=None if types is None else list(types),
                null_values=self.blanks,
                strings_can_be_null=True,
                decimal_point=self.decimal,
            ),
        )

    def _explained(
        self, error: Exception, types: dict[str, pa.DataType] | None = None
    ) -> TableError:
        names = getattr(self, "_names", [])
        if names and isinstance(error, pa.ArrowInvalid):
            # Rows are counted on one thread only; so read up to the error again.
            try:
                for _ in self._reader(types, threads=False):
                    pass
            except _FAILURES as again:
                error = again
        before = self._blank + self._header
        return explain(str(error), self.name, names, BLOCK, before, self.decimal)


@contextmanager
def _long_cells() -> Iterator[None]:
    """Python's reader takes cells of up to 131,072 characters otherwise."""
    limit = csv.field_size_limit(BLOCK)
    try:
        yield
    finally:
        csv.field_size_limit(limit)
