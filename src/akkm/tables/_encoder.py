"""Encode: from the columns of a table to rows of numbers, the same way every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from akkm.tables import _matrix as sparse_rows
from akkm.tables._blocks import Blocks, missing_notes
from akkm.tables._described import (
    described,
    entries_as_in_file,
    is_flag,
    rows_as_in_file,
)
from akkm.tables._entries import (
    Entry,
    feature_names,
    identifier,
    number_entry,
    text_entry,
)
from akkm.tables._select import (
    features,
    require_known,
    require_same,
    require_values,
)
from akkm.tables._sheet import Sheet, joined
from akkm.tables._summary import Counts, Moments
from akkm.tables._table import Column, Table, TableError
from akkm.validation import require_count

__all__ = ["Encoded", "TableEncoder"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Encoded:
    """A table as rows of numbers.

    Attributes
    ----------
    X : float32 array or CSR array of shape (n, d)
    ids, labels : pyarrow.Array of length n, or None
        The columns that were held out, in their own types.
    rows : int array of shape (n,)
        The numbers of the rows in the file, from 0; missing values may have left some
        out.
    notes : tuple of str
        What is to be said of missing values, and of those that `fit` did not see.
    """

    X: Any
    ids: pa.Array | None
    labels: pa.Array | None
    rows: Array
    notes: tuple[str, ...] = ()


class TableEncoder(TransformerMixin, BaseEstimator):
    r"""Scaled numbers and one-hot encoded text.

    Parameters
    ----------
    columns : list of str, optional
        The columns to use; all by default.
    drop : list of str
        Columns to leave out.
    id, label : str, optional
        Columns that are held out: what names the rows, and what they are.
    text : list of str
        Columns to take as text even where they hold numbers: codes, for instance.
    scale : {"standard", "minmax", "none"}, default="standard"
        Numbers get mean 0 and standard deviation 1, or are moved to [0, 1], or are left
        as they are. Sparse tables keep their zeros: their columns are divided by their
        largest absolute value, unless scale="none".
    missing : {"error", "drop", "mean"}, default="error"
        Missing values are an error, or their rows are left out, or numbers are filled
        with the mean of their column and text with the category "missing".
    most_values : int, default=100
        A text column with more values than these keeps the most frequent ones; the
        others are pooled as "other".

    Attributes
    ----------
    columns_ : list of dict
        The name, the kind and the encoding of each column that was used.
    feature_names_ : list of str
        The columns of X: a name for numbers, "name=value" for text.
    notes_ : list of str
        What was filled or left out, or looks wrong, in sentences; `describe` tells how
        columns are encoded.
    n_rows_ : int
        The number of rows of the table.

    Notes
    -----
    Dates and times count as numbers of seconds, booleans as text ("true" or "false").
    Columns that never change are left out.
    Text that was not seen in `fit` is "other" where values were pooled, and zeros where
    not.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from akkm.tables._encoder import TableEncoder
    >>> from akkm.tables import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("name,age,town\nEva,31,Ulm\nIda,35,Bonn\n")
    ...     table = open_table(str(path))
    ...     encoder = TableEncoder(id="name", scale="minmax").fit(table)
    ...     encoded = encoder.transform(table)
    >>> encoder.feature_names_
    ['age', 'town=Bonn', 'town=Ulm']
    >>> encoded.X
    array([[0., 0., 1.],
           [1., 1., 0.]], dtype=float32)
    >>> encoded.ids.to_pylist()
    ['Eva', 'Ida']
    >>> encoder.original(encoded.X)
    [{'age': 31.0, 'town': 'Ulm'}, {'age': 35.0, 'town': 'Bonn'}]
    >>> for line in encoder.describe():
    ...     print(line)
    age: numbers, scaled to lie between 0 and 1
    town: text, 2 values one-hot encoded
    held out: name
    """

    def __init__(
        self,
        *,
        columns: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        id: str | None = None,
        label: str | None = None,
        text: Sequence[str] = (),
        scale: str = "standard",
        missing: str = "error",
        most_values: int = 100,
    ):
        self.columns = columns
        self.drop = drop
        self.id = id
        self.label = label
        self.text = text
        self.scale = scale
        self.missing = missing
        self.most_values = most_values

    def fit(self, table: Table, y: Any = None) -> TableEncoder:
        """Look at all rows once and decide how each column is encoded.

        Parameters
        ----------
        table : Table
        y : ignored
        """
        self._require_settings()
        held_out = self._held_out()
        for option, names in (
            ("--columns", self.columns or ()),
            ("--drop", self.drop),
            ("--text", self.text),
            ("--id", held_out[:1] if self.id else ()),
            ("--label", held_out[-1:] if self.label else ()),
        ):
            require_known(table, names, option)
            if option in ("--id", "--label"):
                require_values(table, names, option)
        used = features(table, self.columns, self.drop, held_out)
        clustered = {column.name for column in used}
        self.ignored_ = [c.name for c in table.columns if c.name not in clustered]
        self.notes_ = list(table.notes)
        if table.matrix is not None:
            self._fit_matrix(table, used)
        else:
            self._fit_columns(table, used)
        if not self.feature_names_:
            raise TableError(
                f"{table.name}: nothing to cluster by: no column has two different "
                f"values in its {self.n_rows_:,} rows"
            )
        return self

    def transform(self, table: Table) -> Encoded:
        """The rows of a table with the same columns, in any order.

        Parameters
        ----------
        table : Table
            The columns that are held out, or were ignored in `fit`, may be absent.

        Returns
        -------
        Encoded
        """
        check_is_fitted(self)
        if (table.matrix is None) != (self.matrix_ is None):
            kinds = ("dense", "sparse") if table.matrix is None else ("sparse", "dense")
            raise TableError(
                f"{table.name}: a {kinds[0]} table, but the model was made from a "
                f"{kinds[1]} one"
            )
        if table.matrix is not None:
            return self._transform_matrix(table)
        return self._transform_columns(table)

    def describe(self) -> list[str]:
        """How columns are encoded, and which are not used, in sentences."""
        check_is_fitted(self)
        constant = [e["name"] for e in self.columns_ if _is_left_out(e)]
        if self.matrix_ is not None:
            constant = self.matrix_["constant"]
        held_out = self._held_out()
        unused = [name for name in self.ignored_ if name not in held_out]
        return described(self.columns_, held_out, constant, unused)

    def original(self, X: Any) -> list[dict[str, Any]]:
        """Encoded rows as they were in the file, as nearly as they can be told.

        Parameters
        ----------
        X : array or CSR array of shape (b, d)
            Some rows from `transform`.

        Returns
        -------
        list of b dict
            Values by the name of their column: numbers in their own units, dates as
            text, "(other)" for what was pooled, None for text that `fit` did not see.
            Columns that were left out are absent, and so are zeros of sparse rows.
        """
        check_is_fitted(self)
        if self.matrix_ is not None:
            scale = self.matrix_["scale"]
            return entries_as_in_file(X, self.feature_names_, scale)
        return rows_as_in_file(np.asarray(X), self.columns_)

    def _require_settings(self) -> None:
        for name, known in (
            ("scale", ("standard", "minmax", "none")),
            ("missing", ("error", "drop", "mean")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is not valid; expected one of "
                    f"{', '.join(map(repr, known))}."
                )
        require_count("most_values", self.most_values, 2)

    def _held_out(self) -> list[str]:
        return [name for name in (self.id, self.label) if name is not None]

    # Dense tables -----------------------------------------------------------------

    def _fit_columns(self, table: Table, used: list[Column]) -> None:
        forced = set(self.text)
        numbers = [c for c in used if c.kind == "number" and c.name not in forced]
        texts = [c for c in used if c.kind == "text" or c.name in forced]
        moments, counts = Moments(len(numbers)), [Counts() for _ in texts]
        blocks = self._blocks(table, numbers, texts, self._held_out(), forced)
        for block in blocks:
            moments.add(block.V)
            for column, count, text in zip(texts, counts, block.texts, strict=True):
                count.add(text)
                if count.hopeless:
                    raise identifier(column.name, count, table)
        moments.finish()
        self.n_rows_ = blocks.n_rows

        entries: dict[str, Entry] = {}
        for i, column in enumerate(numbers):
            entry = number_entry(column, moments, i, self.scale, table)
            entries[column.name] = entry
            if not column.is_time and moments.counts_rows(i):
                self.notes_.append(
                    f"{column.name}: seems to number the rows; if so, name it as --id "
                    "or --drop it"
                )
        for column, count in zip(texts, counts, strict=True):
            if self.missing == "mean" and count.missing:
                count.values["missing"] += count.missing
            entries[column.name] = text_entry(
                column, count, self.most_values, column.name in forced, table
            )
        self.matrix_: dict[str, Any] | None = None
        self.columns_ = [entries[column.name] for column in used]
        self.feature_names_ = [
            name for entry in self.columns_ for name in feature_names(entry)
        ]
        self.notes_ += self._missing_notes(blocks)

    def _transform_columns(self, table: Table) -> Encoded:
        held_out = [*self._held_out(), *self.ignored_]
        require_same(table, self.columns_, set(held_out))
        there = {column.name: column for column in table.columns}
        used = [entry for entry in self.columns_ if not _is_left_out(entry)]
        numbers = [entry for entry in used if entry["kind"] == "number"]
        texts = [entry for entry in used if entry["kind"] == "text"]
        others = [name for name in self._held_out() if name in there]
        # "True" is no boolean where other words were seen beside it.
        as_text = {e["name"] for e in texts if not is_flag(e)}
        booleans = {c.name for c in table.columns if c.type == "bool"}
        blocks = self._blocks(
            table,
            [there[entry["name"]] for entry in numbers],
            [there[entry["name"]] for entry in texts],
            others,
            {*self.text, *(as_text & booleans)},
        )
        sheet = Sheet(used, numbers, texts, table.n_rows or 0)
        rows: list[Array] = []
        held: list[list[pa.Array]] = []
        for block in blocks:
            sheet.add(block)
            if self.missing == "drop":
                rows.append(block.rows)
            held.append(block.others)
        found = {
            name: joined([parts[i] for parts in held], table.typed)
            for i, name in enumerate(dict.fromkeys(others))
        }
        # Two passes, fit and transform, are what is kept for.
        table.release()
        return Encoded(
            sheet.finished(table),
            found.get(self.id) if self.id else None,
            found.get(self.label) if self.label else None,
            np.concatenate(rows) if rows else np.arange(blocks.n_kept),
            (*self._missing_notes(blocks), *sheet.notes()),
        )

    def _blocks(
        self,
        table: Table,
        numbers: list[Column],
        texts: list[Column],
        others: Sequence[str],
        forced: set[str],
    ) -> Blocks:
        as_text = [c.name for c in texts if c.kind != "text" or c.name in forced]
        table.read_as_text([*as_text, *others])
        return Blocks(
            table,
            [column.name for column in numbers],
            [column.name for column in texts],
            others,
            missing=self.missing,
        )

    # Sparse tables ----------------------------------------------------------------

    def _fit_matrix(self, table: Table, used: list[Column]) -> None:
        if self.text:
            raise TableError(f"{table.name}: a sparse table has numbers only (--text)")
        names = [column.name for column in used]
        self.matrix_, notes = sparse_rows.learn(table, names, self.scale, self.missing)
        self.n_rows_ = table.matrix.shape[0]
        how = "none" if self.scale == "none" else "largest"
        span = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        self.columns_ = [{"name": span, "kind": "number", "how": how, "time": False}]
        self.feature_names_ = [str(i) for i in self.matrix_["columns"]]
        self.notes_ += notes

    def _transform_matrix(self, table: Table) -> Encoded:
        X, wide, kept, notes = sparse_rows.encode(
            table, self.matrix_ or {}, self.feature_names_, self.missing
        )
        held: dict[str | None, pa.Array] = {
            name: sparse_rows.whole(wide[:, [int(name)]].toarray().ravel()[kept])
            for name in self._held_out()
        }
        labels = held.get(self.label)
        if labels is None and table.target is not None and np.ptp(table.target) > 0:
            labels = sparse_rows.whole(table.target[kept])
        return Encoded(X, held.get(self.id), labels, kept, notes)

    def _missing_notes(self, blocks: Blocks) -> tuple[str, ...]:
        return missing_notes(self.missing, blocks.missing, blocks.n_rows, blocks.n_kept)


def _is_left_out(entry: Entry) -> bool:
    return bool(entry["how"] == "left out")
