"""CSV files, parsed in blocks; the first block determines the columns' types."""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from akkm.limits import CSV_COLUMNS
from akkm.rows.column_files import require_distinct
from akkm.rows.formats import TableError
from akkm.tables._compressed import Decompressed, compression_of
from akkm.tables._csv_errors import (
    count_fields,
    csv_error,
    is_number,
    require_delimiter,
)
from akkm.tables._table import Column, Table, kind_of

# Bytes of text that are parsed at a time.
BLOCK = 4 << 20
# Largest number of bytes of parsed rows that are kept for a second pass.
KEPT = 512 << 20

# Cells that count as missing, as in pandas.
MISSING = (
    "", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL",
    "null", "None",
)  # fmt: skip

_TEXT = pa.dictionary(pa.int32(), pa.string())
_FAILURES = (pa.ArrowException, OSError, UnicodeDecodeError)


@dataclass(eq=False, repr=False)
class CsvTable(Table):
    """A CSV file, compressed or not; see `open_table` for the parameters."""

    path: str
    name: str
    header: bool
    delimiter: str
    decimal: str
    blanks: tuple[str, ...]
    block: int = BLOCK
    kept: int = KEPT
    typed = False

    def __post_init__(self) -> None:
        self._size = os.path.getsize(self.path)
        self._blank_lines = 0  # empty lines before the header
        self._file: Any = None
        self._as_text: frozenset[str] = frozenset()
        # Parsed rows that are kept for the next pass, and the types of their columns.
        self._kept: tuple[list[pa.RecordBatch], dict[str, pa.DataType]] = ([], {})
        self._names: list[str] = []
        try:
            self._names = self._column_names()
            self._types = self._infer_types()
        except _FAILURES as error:
            raise self._explain(error) from None
        self.columns = tuple(
            Column(name, kind_of(kind), str(kind)) for name, kind in self._types.items()
        )

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        types = {
            n: pa.string() if n in self._as_text else self._types[n] for n in names
        }
        (batches, kept_types), self._kept = self._kept, ([], {})
        if types.items() <= kept_types.items():
            yield from (batch.select(names) for batch in batches)
            return
        batches, n_rows, n_bytes = [], 0, 0
        try:
            for batch in self._parse(types):
                n_rows += batch.num_rows
                n_bytes += batch.nbytes
                if n_bytes <= self.kept:
                    batches.append(batch)
                else:
                    batches.clear()
                yield batch
        except _FAILURES as error:
            raise self._explain(error, types) from None
        if n_rows == 0:
            raise TableError(f"{self.name}: there are no rows")
        self.n_rows = n_rows
        if batches:
            self._kept = batches, types

    def read_as_text(self, names: Collection[str]) -> None:
        self._as_text = frozenset(names)

    @property
    def share(self) -> float | None:
        with suppress(ValueError, OSError):  # the file is closed
            return min(1.0, self._file.tell() / self._size)
        return 1.0

    def _open(self) -> Any:
        """Open the file as a stream of decompressed bytes."""
        file = self._file = pa.OSFile(os.fsencode(self.path))
        if compression := compression_of(file):
            return Decompressed(file, compression, self.name)
        return file

    def _column_names(self) -> list[str]:
        with self._open() as file:
            start = file.read(self.block)
        if b"\0" in start:
            raise TableError(
                f"{self.name}: the file contains NUL bytes, so it is binary or "
                "UTF-16; expected CSV in UTF-8"
            )
        text = start.decode("utf-8-sig", errors="replace")
        body = text.lstrip("\r\n")
        self._blank_lines = len(text[: -len(body)].splitlines())
        # Check the number of columns before pyarrow parses the file: pyarrow would need
        # gigabytes for millions of columns.
        fields = count_fields(body, self.delimiter, CSV_COLUMNS.value + 1)
        CSV_COLUMNS.require(fields, self.name, TableError)
        require_delimiter(text.split("\n"), self.name, self.delimiter, fields)
        found = self._parse(None).schema.names
        positions = [str(i) for i in range(len(found))]
        if not self.header:
            return positions
        names = [name.strip() or str(i) for i, name in enumerate(found)]
        require_distinct(
            names, self.name, ", or add --no-header if the first line is data"
        )
        if all(map(is_number, names)) and names != positions:
            self.notes = (
                "the first line holds only numbers and was used as column names; if it "
                "is data, add --no-header",
            )
        return names

    def _infer_types(self) -> dict[str, pa.DataType]:
        """Return the type for reading each column, in the order of the file."""
        types = {field.name: field.type for field in self._parse(None).schema}
        empty = [name for name, kind in types.items() if pa.types.is_null(kind)]
        for name, kind in types.items():
            if pa.types.is_integer(kind) or pa.types.is_floating(kind):
                types[name] = pa.float64()  # later rows may have fractions
            elif not pa.types.is_boolean(kind) and not pa.types.is_temporal(kind):
                types[name] = _TEXT
        types |= dict.fromkeys(empty, pa.float64())
        # Later blocks determine the types of columns that are empty in the first block.
        for batch in self._parse(dict.fromkeys(empty, pa.string())) if empty else ():
            for name in list(empty):
                if texts := pc.unique(batch.column(name).drop_null()).to_pylist():
                    if not all(is_number(text, self.decimal) for text in texts):
                        types[name] = _TEXT
                    empty.remove(name)
            if not empty:
                break
        return types

    def _parse(self, types: dict[str, pa.DataType] | None, threads: bool = True) -> Any:
        return pa.csv.open_csv(
            self._open(),
            read_options=pa.csv.ReadOptions(
                block_size=self.block,
                use_threads=threads,
                column_names=self._names,
                autogenerate_column_names=not (self.header or self._names),
                skip_rows=self._blank_lines,
                skip_rows_after_names=int(self.header and bool(self._names)),
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=types,
                include_columns=None if types is None else list(types),
                null_values=self.blanks,
                strings_can_be_null=True,
                decimal_point=self.decimal,
            ),
        )

    def _explain(
        self, error: Exception, types: dict[str, pa.DataType] | None = None
    ) -> TableError:
        if isinstance(error, pa.ArrowInvalid):
            # pyarrow reports row numbers only if it uses one thread. So parse again.
            try:
                for _ in self._parse(types, threads=False):
                    pass
            except _FAILURES as again:
                error = again
        before = self._blank_lines + self.header
        return csv_error(str(error), self, self._names, self.block, before)
