"""Split batches into number and text columns; count missing and infinite values."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from akkm.rows.formats import TableError
from akkm.tables._table import (
    Table,
    as_number,
    as_option,
    as_text,
    first_few,
    kind_of,
    quoted_names,
    row_text,
)
from akkm.tables._text_numbers import DIGITS, TextFormat, parse
from akkm.typing import Array


@dataclass(frozen=True)
class Selection:
    """The columns to read, grouped by use."""

    numbers: list[str]
    texts: list[str]
    others: list[str]  # ids and labels, with the types of the file
    formats: Mapping[str, TextFormat] = field(default_factory=dict)  # of number columns
    sentinels: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """All columns, in the order in which they are read."""
        return [*self.numbers, *self.texts, *self.others]

    def split(
        self, batch: pa.RecordBatch, found: Counter[tuple[str, float]] | None = None
    ) -> tuple[Array, list[pa.DictionaryArray], list[pa.Array]]:
        """Return numbers (d, r), text columns and other columns, each of length r.

        Sentinels, numbers that stand for missing values, become NaN. `found` counts
        them.
        """
        d, stop = len(self.numbers), len(self.numbers) + len(self.texts)
        V = np.empty((d, batch.num_rows))
        for i, name in enumerate(self.numbers):
            column = batch.column(i)
            form = self.formats.get(name)
            if form is not None and kind_of(column.type) == "text":
                V[i] = _parsed(column, form, name)
            elif form is not None and form.pattern in DIGITS:
                digits = pa.array(as_number(column)).cast(pa.int64(), safe=False)
                V[i] = _parsed(digits.cast(pa.string()), form, name)
            else:
                V[i] = as_number(column).to_numpy(zero_copy_only=False)
            for value in self.sentinels.get(name, ()):
                same = V[i] == value
                V[i][same] = np.nan
                if found is not None:
                    found[name, value] += int(same.sum())
        texts = [as_text(batch.column(i)) for i in range(d, stop)]
        return V, texts, batch.columns[stop:]


class UnreadableValue(Exception):
    """A text that does not fit the number or date format of its column."""

    def __init__(self, name: str, value: str, row: int, form: TextFormat) -> None:
        super().__init__(f"{name}: {value}")
        self.name, self.value, self.row, self.form = name, value, row, form


def _parsed(column: pa.Array, form: TextFormat, name: str) -> Array:
    """Return the numbers (r,) in a text column, NaN for missing and blank values."""
    text = as_text(column)
    distinct = text.dictionary.to_pylist()
    values = np.append(parse(distinct, form), np.nan)
    blank = np.array([not value.strip() for value in distinct] + [True])
    indices = text.indices.fill_null(len(distinct)).to_numpy()
    unreadable = np.isnan(values[indices]) & ~blank[indices]
    if unreadable.any():
        row = int(unreadable.argmax())
        raise UnreadableValue(name, text[row].as_py(), row, form)
    return values[indices]


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows of a table; `V`, `texts` and `others` contain only used rows."""

    batch: pa.RecordBatch
    used: Array  # (r,) bool, False for rows that missing="drop" leaves out
    V: Array  # (d, u) float64, NaN for missing numbers
    texts: list[pa.DictionaryArray]  # each (u,)
    others: list[pa.Array]  # each (u,)


class Blocks:
    """The rows of a table in blocks, checked for missing and infinite values.

    Parameters
    ----------
    table : Table
        The table to read.
    selection : Selection
        The columns to read.
    missing : {"error", "drop", "mean"}
        What to do with rows that have missing values: raise an error after the last
        row, leave these rows out, or pass them on unchanged.
    keep_empty : bool, default=True
        If False and a column has no values at all, the checks after the last row are
        skipped. The caller must then read the table again without the columns in
        `empty`.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from akkm.tables import open_table
    >>> from akkm.tables._blocks import Blocks, Selection
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", [[1.0, 2.0], [3.0, np.nan]])
    ...     table = open_table(f"{folder}/x.npy")
    ...     blocks = Blocks(table, Selection(["0", "1"], [], []), "drop")
    ...     print([block.V.tolist() for block in blocks], dict(blocks.missing))
    [[[1.0], [2.0]]] {'1': 1}
    """

    def __init__(
        self,
        table: Table,
        selection: Selection,
        missing: str,
        *,
        keep_empty: bool = True,
    ):
        self._table, self.selection, self._policy = table, selection, missing
        self._keep_empty = keep_empty
        self.n_rows = self.n_used = self._n_complete = 0
        self.notes: tuple[str, ...] = ()  # about missing values; set after the last row
        self.missing: Counter[str] = Counter()
        self.sentinels: Counter[tuple[str, float]] = Counter()
        self._infinite: Counter[str] = Counter()
        self._first: dict[str, int] = {}  # column -> row of its first infinity

    def __iter__(self) -> Iterator[Block]:
        for batch in self._table.batches(self.selection.names):
            try:
                V, texts, others = self.selection.split(batch, self.sentinels)
            except UnreadableValue as error:
                raise self._unreadable(error) from None
            used = self._complete(V, texts)
            self.n_rows += len(used)
            self._n_complete += int(used.sum())
            if self._policy != "drop":
                used[:] = True
            elif not used.all():
                V, texts, others = self.selection.split(batch.filter(pa.array(used)))
            self.n_used += V.shape[1]
            yield Block(batch, used, V, texts, others)
        if self.empty and not self._keep_empty:
            return
        self._require_finite()
        self.notes = missing_notes(
            self._table, self._policy, self.missing, self.n_rows, self._n_complete
        )

    @property
    def empty(self) -> list[str]:
        """The columns without any values; this is known only after the last row."""
        return [name for name, n in self.missing.items() if n and n == self.n_rows]

    def _complete(self, V: Array, texts: list[pa.DictionaryArray]) -> Array:
        """Count missing and infinite values; return a mask (r,) of complete rows."""
        complete = np.ones(V.shape[1], dtype=bool)
        for name, values in zip(self.selection.numbers, V, strict=True):
            # A finite sum proves that no number is missing or infinite.
            with np.errstate(over="ignore", invalid="ignore"):
                if np.isfinite(values.sum()):
                    continue
            missing, infinite = np.isnan(values), np.isinf(values)
            self.missing[name] += int(missing.sum())
            complete &= ~missing
            if infinite.any():
                self._infinite[name] += int(infinite.sum())
                self._first.setdefault(name, self.n_rows + int(infinite.argmax()))
        for name, text in zip(self.selection.texts, texts, strict=True):
            if text.null_count:
                self.missing[name] += text.null_count
                complete &= text.is_valid().to_numpy(zero_copy_only=False)
        return complete

    def _unreadable(self, error: UnreadableValue) -> TableError:
        name, value = error.name, error.value
        what = {
            "money": "amounts of money",
            "percentage": "percentages",
            "duration": "durations",
            "date": f"dates of the form {error.form.pattern}",
        }.get(error.form.role, "numbers")
        missing = (
            f"if it means a missing value, add {as_option('--na', value[:60])}, or "
        )
        return TableError(
            f"{self._table.name}: column {name!r} holds {what}, but "
            f"{row_text(self.n_rows + error.row)} has {quoted_names([value])}; "
            f"{'' if self._table.typed else missing}read the column as text "
            f"({as_option('--text', name)}) or leave it out "
            f"({as_option('--drop', name)})"
        )

    def _require_finite(self) -> None:
        counts = [
            f"{n:,} in {quoted_names([name])} (first in {row_text(self._first[name])})"
            for name, n in self._infinite.items()
        ]
        if counts:
            raise TableError(
                f"{self._table.name}: infinite values: {first_few(counts)}; replace "
                "them, or leave the cells empty and add --missing drop or --missing "
                "mean"
            )


def missing_notes(
    table: Table, policy: str, missing: Counter[str], n_rows: int, n_complete: int
) -> tuple[str, ...]:
    """Return notes on missing values; raise TableError if `policy` forbids them."""
    counts = counts_by_column(missing)
    cure = "--missing mean to fill them"
    if policy == "drop" and not n_complete:
        raise TableError(
            f"{table.name}: every row has a missing value: {counts} (of {n_rows:,} "
            f"rows); add {cure}"
        )
    if policy == "error" and counts:
        words = ", ".join([word for word in table.blanks if word][:3])
        if words:
            words = f"; empty cells, {words}, ... count as missing, see --na"
        if n_complete:
            cure = f"--missing drop to leave these rows out, or {cure}"
        raise TableError(
            f"{table.name}: missing values: {counts} (of {n_rows:,} rows{words}); add "
            f"{cure}"
        )
    text = "missing values filled (numbers with the mean, text as 'missing')"
    if policy == "drop":
        n_left_out = n_rows - n_complete
        text = f"{n_left_out:,} of {n_rows:,} rows with missing values left out"
    return (f"{text}: {counts}",) if counts else ()


def counts_by_column(counts: Counter[str]) -> str:
    """List counts with the names of their columns, the largest count first."""
    return first_few(
        [f"{n:,} in {quoted_names([name])}" for name, n in counts.most_common() if n]
    )
