"""Batches as numbers and texts, and what is missing or infinite in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from akkm.tables._table import Table, TableError, as_number, as_text, brief

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a table."""

    rows: Array  # (r,), their numbers in the file
    V: Array  # (d, r), float64, NaN where a number is missing
    texts: list[pa.DictionaryArray]  # each (r,)
    others: list[pa.Array]  # each (r,), of the types of the file


class Blocks:
    """The rows of a table in blocks, and a count of what is wrong with them.

    Parameters
    ----------
    table : Table
    numbers, texts, others : sequences of str
        The columns to read, by what they are read as.
    missing : {"error", "drop", "mean"}
        What to do with rows in which a number or a text is missing: say so after the
        last row, leave them out, or leave them to others.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from akkm.tables import open_table
    >>> from akkm.tables._blocks import Blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", [[1.0, 2.0], [3.0, np.nan]])
    ...     table = open_table(f"{folder}/x.npy")
    ...     blocks = Blocks(table, ["0", "1"], [], [], missing="drop")
    ...     print([block.V.tolist() for block in blocks], dict(blocks.missing))
    [[[1.0], [2.0]]] {'1': 1}
    """

    def __init__(
        self,
        table: Table,
        numbers: Sequence[str],
        texts: Sequence[str],
        others: Sequence[str],
        *,
        missing: str,
    ):
        self._table = table
        self._numbers, self._texts = list(numbers), list(texts)
        self._others = list(dict.fromkeys(others))
        self._policy = missing
        self.n_rows = 0
        self.n_kept = 0
        self.missing: Counter[str] = Counter()
        self._infinite: Counter[str] = Counter()
        self._first: dict[str, int] = {}  # row of a column's first infinity

    def __iter__(self) -> Iterator[Block]:
        for batch in self._table.batches([*self._numbers, *self._texts, *self._others]):
            block, complete = self._block(batch)
            self.n_rows += batch.num_rows
            if self._policy == "drop" and not complete.all():
                mask = pa.array(complete)
                block = Block(
                    block.rows[complete],
                    block.V[:, complete],
                    [text.filter(mask) for text in block.texts],
                    [other.filter(mask) for other in block.others],
                )
            self.n_kept += len(block.rows)
            yield block
        self._require_finite()
        if self._policy == "error" and self.missing.total():
            raise missing_error(self._table, self.missing, self.n_rows)
        if not self.n_kept:
            raise no_rows_error(self._table, self.missing, self.n_rows)

    def _block(self, batch: pa.RecordBatch) -> tuple[Block, Array]:
        """A batch as a block, and which of its rows are complete (r,)."""
        r, d = batch.num_rows, len(self._numbers)
        complete = np.ones(r, dtype=bool)
        V = np.empty((d, r))
        for i, name in enumerate(self._numbers):
            V[i] = as_number(batch.column(i)).to_numpy(zero_copy_only=False)
            # One sum tells whether there is anything to look for.
            with np.errstate(over="ignore", invalid="ignore"):
                total = V[i].sum()
            if not np.isfinite(total):
                missing = np.isnan(V[i])
                self.missing[name] += int(missing.sum())
                complete &= ~missing
                self._note_infinities(name, np.isinf(V[i]))
        texts = []
        for i, name in enumerate(self._texts, d):
            texts.append(as_text(batch.column(i)))
            if texts[-1].null_count:
                self.missing[name] += texts[-1].null_count
                complete &= texts[-1].is_valid().to_numpy(zero_copy_only=False)
        rows = np.arange(self.n_rows, self.n_rows + r)
        others = batch.columns[d + len(texts) :]
        return Block(rows, V, texts, others), complete

    def _note_infinities(self, name: str, there: Array) -> None:
        if there.any():
            self._infinite[name] += int(there.sum())
            self._first.setdefault(name, self.n_rows + int(there.argmax()))

    def _require_finite(self) -> None:
        """A `TableError` if a number was infinite."""
        if self._infinite:
            counts = [
                f"{count:,} in {brief([name])} (first in "
                f"{self._table.place(self._first[name])})"
                for name, count in self._infinite.items()
            ]
            raise TableError(
                f"{self._table.name}: infinite values: {listed(counts)}; replace them, "
                "or leave the cells empty and say --missing drop or --missing mean"
            )


def missing_error(table: Table, missing: Counter[str], n_rows: int) -> TableError:
    """What is said of missing values that were not asked for."""
    return TableError(
        f"{table.name}: missing values: {counted(missing)} (of {n_rows:,} rows"
        f"{_what_counts(table)}); say --missing drop to leave these rows out, or "
        "--missing mean to fill them"
    )


def _what_counts(table: Table) -> str:
    """What is taken for missing, in CSV."""
    words = [word for word in table.blanks if word]
    if not words:
        return ""
    return f"; empty cells, {', '.join(words[:3])}, ... count, see --na"


def missing_notes(
    policy: str, missing: Counter[str], n_rows: int, n_kept: int
) -> tuple[str, ...]:
    """What is said of missing values that were dealt with."""
    if not missing.total():
        return ()
    if policy == "drop":
        text = f"{n_rows - n_kept:,} of {n_rows:,} rows left out, as values are missing"
    else:
        text = "missing values filled (numbers with the mean, text as 'missing')"
    return (f"{text}: {counted(missing)}",)


def no_rows_error(table: Table, missing: Counter[str], n_rows: int) -> TableError:
    """What is said if no row is complete."""
    return TableError(
        f"{table.name}: no rows are left without those that lack values: "
        f"{counted(missing)} (of {n_rows:,} rows); leave columns that are mostly empty "
        "out (--drop)"
    )


def counted(counts: Counter[str]) -> str:
    """Counts of columns, in words, the largest first."""
    found = [f"{n:,} in {brief([name])}" for name, n in counts.most_common() if n]
    return listed(found)


def listed(items: list[str], most: int = 5) -> str:
    """The first few, and how many more."""
    more = f" and {len(items) - most:,} more columns" if len(items) > most else ""
    return ", ".join(items[:most]) + more
