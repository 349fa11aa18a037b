"""`TableEncoder`, which turns tables into rows of numbers."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from akkm.rows.formats import TableError
from akkm.tables._blocks import Blocks, Selection
from akkm.tables._columns import (
    describe_columns,
    empty_encoding,
    feature_names,
    identifier_error,
    is_boolean,
    is_empty,
    is_left_out,
    number_encoding,
    original_entries,
    original_rows,
    require_valid,
    text_encoding,
)
from akkm.tables._encoded import Encoded, RowEncoder, encode_in_memory, encode_on_disk
from akkm.tables._frame import as_table
from akkm.tables._select import (
    feature_columns,
    require_columns,
    require_same_columns,
    require_single_values,
)
from akkm.tables._sparse import (
    as_integers,
    encode_sparse,
    learn_sparse,
    require_valid_matrix,
)
from akkm.tables._summary import Counts, Moments
from akkm.tables._table import Column, Table

__all__ = ["TableEncoder"]


class TableEncoder(TransformerMixin, BaseEstimator):
    r"""Scale numbers and one-hot encode text.

    Parameters
    ----------
    columns : list of str, optional
        The columns to use; all by default.
    drop : list of str, optional
        Columns to leave out.
    id : str, optional
        The column that identifies the rows; it is not used for clustering.
    label : str, optional
        The column with known classes; it is not used for clustering.
    text : list of str, optional
        Columns to treat as text even if they hold numbers, such as codes.
    scale : {"standard", "minmax", "none"}, default="standard"
        How to scale numbers: to mean 0 and standard deviation 1, to [0, 1], or not at
        all. In sparse tables, "standard" and "minmax" both divide each column by its
        largest absolute value, so that zeros stay zeros.
    missing : {"error", "drop", "mean"}, default="error"
        What to do with missing values: raise an error, leave out their rows, or fill
        them in. Numbers are filled with the mean of their column, and text with the
        category "missing".
    most_values : int, default=100
        Largest number of 0/1 columns for a text column. If it has more distinct values,
        the most frequent ones are kept and the rest are pooled as "other".

    Attributes
    ----------
    columns_ : list of dict
        The name, kind and encoding of each column that is used.
    feature_names_ : list of str
        The names of the columns of X: the column's name for numbers, "name=value" for
        text.
    ignored_ : list of str
        The columns that are not used.
    matrix_ : dict or None
        The encoding of a sparse table.
    notes_ : list of str
        Sentences about values that were filled, rows that were left out, and columns
        that look wrong. `describe` returns how columns are encoded.
    n_rows_ : int
        The number of rows of the table.

    Notes
    -----
    Dates and times are encoded as numbers of seconds. Booleans are encoded as text,
    "true" or "false". Constant and empty columns are left out. Text that `fit` did not
    see is encoded as "other" if the column has pooled values, else as zeros.

    `fit` and `transform` read a table in batches, so the file need not fit in memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from akkm.tables import TableEncoder, open_table
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "scale": [StrOptions({"standard", "minmax", "none"})],
        "missing": [StrOptions({"error", "drop", "mean"})],
        "most_values": [Interval(Integral, 2, None, closed="left")],
    }

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

    def fit(self, table: Any, y: Any = None) -> "TableEncoder":
        """Read all rows once and decide how each column is encoded.

        Parameters
        ----------
        table : Table or data frame
            The table. Arrow converts data frames of pandas, polars and other libraries.
        y : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        TableEncoder
            The encoder itself.
        """
        self._validate_params()
        table = as_table(table)
        require_columns(table, self.columns or (), "--columns")
        require_columns(table, self.drop, "--drop")
        require_columns(table, self.text, "--text")
        for option, name in (("--id", self.id), ("--label", self.label)):
            if name is not None:
                require_single_values(table, name, option)
        used = feature_columns(table, self.columns, self.drop, self._held_out())
        clustered = {column.name for column in used}
        self.ignored_ = [c.name for c in table.columns if c.name not in clustered]
        self.notes_ = list(table.notes)
        if table.matrix is not None:
            self._fit_sparse(table, used)
        else:
            self._fit_dense(table, used)
        if not self.feature_names_:
            raise TableError(
                f"{table.name}: nothing to cluster by: no column has two different "
                f"values in its {self.n_rows_:,} rows"
            )
        return self

    def transform(self, table: Any, memory: float | None = None) -> Encoded:
        """Encode the rows of a table that has the columns of `fit`, in any order.

        Parameters
        ----------
        table : Table or data frame
            The table, as in `fit`. The `id` and `label` columns may be absent, and so
            may columns that `fit` ignored.
        memory : float, optional
            If the encoded rows need more bytes than this, they stay on disk and are
            encoded again whenever they are read. By default all rows are in memory.
            Rows of sparse tables are always in memory.

        Returns
        -------
        Encoded
            The encoded rows, and the `id` and `label` columns.
        """
        check_is_fitted(self)
        table = as_table(table)
        if (table.matrix is None) != (self.matrix_ is None):
            kinds = ("dense", "sparse") if table.matrix is None else ("sparse", "dense")
            raise TableError(
                f"{table.name}: the table is {kinds[0]}, but the model expects a "
                f"{kinds[1]} table"
            )
        if table.matrix is not None:
            return self._transform_sparse(table)
        return self._transform_dense(table, memory)

    def describe(self) -> list[str]:
        """Describe how columns are encoded, and which columns are not used.

        Returns
        -------
        list of str
            One sentence per group of columns.
        """
        check_is_fitted(self)
        left_out = [e for e in self.columns_ if is_left_out(e)]
        constant = [e["name"] for e in left_out if not is_empty(e)]
        if self.matrix_ is not None:
            constant = self.matrix_["constant"]
        held_out = self._held_out()
        unused = {
            "held out": held_out,
            "left out, as all values are equal": constant,
            "left out, as all values are missing": [
                e["name"] for e in left_out if is_empty(e)
            ],
            "left out, as requested": [n for n in self.ignored_ if n not in held_out],
        }
        return describe_columns(self.columns_, unused)

    def original(self, X: Any) -> list[dict[str, Any]]:
        """Decode rows to the values in the file, up to rounding.

        Parameters
        ----------
        X : array or CSR array of shape (b, d)
            Rows from `transform`.

        Returns
        -------
        list of b dict
            One dict per row, from column name to value: numbers in their original
            units, dates as text, "(other)" for pooled values, and None for text that
            `fit` did not see. Columns that were left out are absent, and so are zeros
            of sparse rows.
        """
        check_is_fitted(self)
        if self.matrix_ is not None:
            return original_entries(X, self.feature_names_, self.matrix_["scale"])
        return original_rows(np.asarray(X), self.columns_)

    def require_valid(self) -> None:
        """Raise an exception if the fitted attributes contradict each other.

        This may happen if the encoder was loaded from a damaged file.

        Raises
        ------
        ValueError
            If an attribute has a type or a value that `fit` never gives it. Attributes
            of unexpected types may also raise other exceptions.
        """
        check_is_fitted(self, ("columns_", "feature_names_", "ignored_", "notes_"))
        self._validate_params()
        names = (*self._held_out(), *self.ignored_, *self.notes_, *self.text)
        if not all(isinstance(n, str) for n in (*names, *self.drop)):
            raise ValueError("The names of columns are not text.")
        if self.matrix_ is not None:
            features = require_valid_matrix(self.matrix_, self._held_out())
        else:
            features = require_valid(self.columns_)
        if self.feature_names_ != features or not features:
            raise ValueError("The encodings of columns don't fit their names.")
        self.describe()

    def _held_out(self) -> list[str]:
        names = (self.id, self.label)
        return list(dict.fromkeys(name for name in names if name is not None))

    def _fit_dense(
        self, table: Table, used: list[Column], empty: Sequence[str] = ()
    ) -> None:
        """Fit the columns in `used`; those that are also in `empty` have no values."""
        held_out = self._held_out()
        table.read_as_text([*self.text, *held_out])
        filled = [c for c in used if c.name not in empty]
        is_text = {c.name: c.kind == "text" or c.name in self.text for c in filled}
        texts = {name: Counts() for name, text in is_text.items() if text}
        numbers = [name for name, text in is_text.items() if not text]
        moments = Moments(len(numbers))
        selection = Selection(numbers, list(texts), held_out)
        blocks = Blocks(table, selection, self.missing, keep_empty=False)
        for block in blocks:
            moments.add(block.V)
            for (name, counts), text in zip(texts.items(), block.texts, strict=True):
                counts.add(text)
                if counts.is_hopeless:
                    raise identifier_error(name, counts, table)
        if blocks.empty and not empty:
            return self._fit_dense(table, used, blocks.empty)
        moments.finish()
        self.n_rows_ = blocks.n_rows

        columns = {column.name: column for column in used}
        found = {name: empty_encoding(columns[name]) for name in empty}
        for i, name in enumerate(numbers):
            column = columns[name]
            found[name] = number_encoding(column, moments, i, self.scale, table)
            if not column.is_time and moments.numbers_rows(i):
                self.notes_.append(
                    f"{name}: seems to contain row numbers; if so, use it as --id "
                    "or leave it out (--drop)"
                )
        for name, counts in texts.items():
            if self.missing == "mean" and counts.missing:
                counts.values["missing"] += counts.missing
            column, as_text = columns[name], name in self.text
            found[name] = text_encoding(
                column, counts, self.most_values, as_text, table
            )
        self.matrix_: dict[str, Any] | None = None
        self.columns_ = [found[column.name] for column in used]
        self.feature_names_ = [
            name for encoding in self.columns_ for name in feature_names(encoding)
        ]
        self.notes_ += blocks.notes

    def _transform_dense(self, table: Table, memory: float | None) -> Encoded:
        ignored = {*self._held_out(), *self.ignored_}
        require_same_columns(table, self.columns_, ignored)
        there = {column.name: column for column in table.columns}
        encoder = RowEncoder([e for e in self.columns_ if not is_left_out(e)])
        numbers, texts = (
            [e["name"] for e in group] for group in (encoder.numbers, encoder.texts)
        )
        held_out = [name for name in self._held_out() if name in there]
        # "True" is text, not a boolean, if the column also had other words in `fit`.
        forced = [
            name
            for name, encoding in zip(texts, encoder.texts, strict=True)
            if there[name].kind != "text"
            or (there[name].type == "bool" and not is_boolean(encoding))
        ]
        table.read_as_text([*self.text, *forced, *held_out])
        selection = Selection(numbers, texts, held_out)
        blocks, n_rows = Blocks(table, selection, self.missing), table.n_rows
        # Count the rows of a CSV file. If they are few, the table keeps them in memory
        # and does not parse them again.
        if memory is not None and n_rows is None:
            n_rows = sum(batch.num_rows for batch in table.batches(selection.names))
        on_disk = memory is not None and 4 * (n_rows or 0) * encoder.width > memory
        if on_disk:
            X, rows, others = encode_on_disk(table, blocks, encoder, memory or 0)
        else:
            X, rows, others = encode_in_memory(table, blocks, encoder)
        held: dict[Any, Any] = dict(zip(selection.others, others, strict=True))
        notes = (*blocks.notes, *encoder.notes())
        ids, labels = held.get(self.id), held.get(self.label)
        return Encoded(X, ids, labels, rows, notes, on_disk)

    def _fit_sparse(self, table: Table, used: list[Column]) -> None:
        if self.text:
            raise TableError(f"{table.name}: a sparse table has no text; omit --text")
        names = [column.name for column in used]
        self.matrix_, notes = learn_sparse(table, names, self.scale, self.missing)
        self.n_rows_ = table.matrix.shape[0]
        how = "none" if self.scale == "none" else "largest"
        span = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        self.columns_ = [
            {"name": span, "kind": "number", "how": how, "time": False, "type": ""}
        ]
        self.feature_names_ = [str(i) for i in self.matrix_["columns"]]
        self.notes_ += notes

    def _transform_sparse(self, table: Table) -> Encoded:
        X, matrix, rows, notes = encode_sparse(table, self.matrix_ or {}, self.missing)
        held: dict[str | None, pa.Array] = {
            name: as_integers(matrix[:, [int(name)]].toarray().ravel()[rows])
            for name in self._held_out()
        }
        labels = held.get(self.label)
        if labels is None and table.target is not None and np.ptp(table.target) > 0:
            labels = as_integers(table.target[rows])
        return Encoded(X, held.get(self.id), labels, rows, notes)
