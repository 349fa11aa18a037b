"""`TableEncoder`, which turns tables into rows of numbers."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from akkm.documentation import DocumentationLink
from akkm.rows.formats import TableError
from akkm.tables._columns import feature_names, sparse_encoding
from akkm.tables._decoder import Decoder
from akkm.tables._encode import Fitted, encode_table
from akkm.tables._encoded import Encoded
from akkm.tables._frame import as_table, library_of
from akkm.tables._learn import Settings, learn_columns
from akkm.tables._select import feature_columns
from akkm.tables._sparse import learn_sparse
from akkm.tables._table import Column, Table

__all__ = ["TableEncoder"]


class TableEncoder(DocumentationLink, Decoder, TransformerMixin, BaseEstimator):
    r"""Scale numbers and one-hot encode text.

    Text columns with amounts of money, percentages, durations or dates are recognised
    and read as numbers. Identifiers and free text are left out.

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
        Columns to treat as categories even if they hold numbers, such as codes, or
        seem to hold identifiers.
    words : list of str, optional
        Columns of free text to encode by their words: the TF-IDF weights of up to 1,000
        words, projected onto 20 principal components. Words are learned from the first
        20,000 distinct texts. By default, free text is left out.
    scale : {"auto", "standard", "robust", "minmax", "none"}, default="auto"
        How to scale numbers. "standard": to mean 0 and standard deviation 1. "robust":
        first replace x by asinh((x - median) / width), to compress large values, then
        scale like "standard". The width is the median distance of a value to the median
        of the column; values equal to this median are left out. "auto": "robust" for
        columns with heavy tails, "standard" for the others. "minmax": to [0, 1].
        "none": no scaling. In sparse tables, all settings except "none" divide each
        column by its largest absolute value, so that zeros stay zeros.
    missing : {"mean", "drop", "error"}, default="mean"
        What to do with missing values: fill them in, leave out their rows, or raise an
        error. Numbers are filled with the mean of their column, and text with the
        category "missing".
    sentinels : {"missing", "keep"}, default="missing"
        What to do with values that seem to stand for "unknown", such as the income
        9999999, the age -1 or the date 1900-01-01: treat them like missing values, or
        use them like any other value. Such a value is the smallest or largest of its
        column, occurs several times, and is far from all other values.
    weights : dict, optional
        Column name -> weight, 1 by default. A column of weight 2 counts twice in
        squared distances.
    most_values : int, default=100
        Largest number of 0/1 columns for a text column. If the text column has more
        distinct values, the most frequent ones are kept and the rest are pooled as
        "other".

    Attributes
    ----------
    columns_ : list of dict
        The name, kind and encoding of each column, including constant columns and
        others that are left out automatically.
    feature_names_ : list of str
        The names of the columns of X: the column's name for numbers, "name=value" for
        text, and names such as "name (hour, sin)" for parts of dates.
    ignored_ : list of str
        The columns that the user did not choose, or that are ids or labels.
    matrix_ : dict or None
        The encoding of a sparse table.
    notes_ : list of str
        Sentences about values that were filled, rows that were left out, and columns
        that look wrong. `describe` returns how columns are encoded.
    n_rows_ : int
        The number of rows of the table.
    library_ : str
        The library of the data frame that was fitted: "pandas", "polars" or "pyarrow".
        Files are read as Arrow tables.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : array of str
        The names of all columns of the table.

    Notes
    -----
    Dates are encoded as numbers of seconds, and also by the sine and cosine of the
    month, the weekday or the hour if these are distributed unevenly. Booleans are
    encoded as text, "true" or "false". Constant and empty columns are left out, and so
    are identifiers and free text. Text that `fit` did not see is encoded as "other" if
    rare categories of the column are pooled, else as zeros.

    `fit` and `encode` read a table in batches, so the file need not fit in memory.

    Examples
    --------
    >>> import pandas as pd
    >>> from akkm.tables import TableEncoder
    >>> people = pd.DataFrame(
    ...     {"name": ["Eva", "Ida"], "age": [31, 35], "town": ["Ulm", "Bonn"]}
    ... )
    >>> encoder = TableEncoder(id="name", scale="minmax")
    >>> X = encoder.fit_transform(people)
    >>> X
    array([[0., 0., 1.],
           [1., 1., 0.]], dtype=float32)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'town=Bonn', 'town=Ulm']
    >>> encoder.inverse_transform(X)
       age  town
    0   31   Ulm
    1   35  Bonn
    >>> for line in encoder.describe():
    ...     print(line)
    age: numbers, scaled to lie between 0 and 1
    town: text, 2 values one-hot encoded
    held out: name

    Files are read in batches:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from akkm.tables import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     people.to_csv(path, index=False)
    ...     encoded = encoder.encode(open_table(str(path)))
    >>> encoded.X.shape, encoded.ids.to_pylist()
    ((2, 3), ['Eva', 'Ida'])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "scale": [StrOptions({"auto", "standard", "robust", "minmax", "none"})],
        "missing": [StrOptions({"error", "drop", "mean"})],
        "sentinels": [StrOptions({"missing", "keep"})],
        "weights": [dict, None],
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
        words: Sequence[str] = (),
        scale: str = "auto",
        missing: str = "mean",
        sentinels: str = "missing",
        weights: Mapping[str, float] | None = None,
        most_values: int = 100,
    ):
        self.columns = columns
        self.drop = drop
        self.id = id
        self.label = label
        self.text = text
        self.words = words
        self.scale = scale
        self.missing = missing
        self.sentinels = sentinels
        self.weights = weights
        self.most_values = most_values

    def fit(self, table: Any, y: Any = None) -> "TableEncoder":
        """Read all rows and decide how each column is encoded.

        Parameters
        ----------
        table : Table or data frame
            A table from `open_table`, or a data frame of pandas, polars, Arrow or
            another library that narwhals knows.
        y : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        TableEncoder
            The encoder itself.
        """
        self._validate_params()
        data, table = table, as_table(table)
        self.library_ = library_of(data)
        names = [column.name for column in table.columns]
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        used = feature_columns(
            table,
            self.columns,
            self.drop,
            self.text,
            self.words,
            self.weights or {},
            self._roles(),
        )
        clustered = {column.name for column in used}
        self.ignored_ = [c.name for c in table.columns if c.name not in clustered]
        self.notes_ = list(table.notes)
        if table.matrix is not None:
            self._fit_sparse(table, used)
        else:
            self._fit_dense(table, used)
        if not self.feature_names_:
            raise TableError(
                f"{table.name}: nothing to cluster by in {self.n_rows_:,} rows; "
                f"{'; '.join(self.describe())}"
            )
        return self

    def transform(self, table: Any) -> Any:
        """Encode all rows of a table that has the columns of `fit`, in any order.

        Parameters
        ----------
        table : Table or data frame
            As in `encode`.

        Returns
        -------
        float32 array or CSR array of shape (n, d)
            The encoded rows; a data frame if `set_output` asked for one.

        Raises
        ------
        TableError
            If the table can't be encoded, or if a value is missing and ``missing`` is
            "drop". The latter is an error because `transform` must return one row per
            row of the table.
        """
        encoded = self.encode(table)
        left_out = [note for note in encoded.notes if "left out" in note]
        if self.missing == "drop" and left_out:
            raise TableError(
                f"{left_out[0]}, but transform returns every row; choose "
                "missing='mean', or call encode, which may leave out rows"
            )
        return encoded.X

    def encode(self, table: Any, memory: float | None = None) -> Encoded:
        """Encode the rows of a table, and also return ids, classes and row numbers.

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
        fitted = Fitted(
            columns=self.columns_,
            matrix=self.matrix_,
            ignored=self.ignored_,
            id=self.id,
            label=self.label,
            text=self.text,
            missing=self.missing,
        )
        return encode_table(as_table(table), fitted, memory)

    def _fit_dense(self, table: Table, used: list[Column]) -> None:
        settings = Settings(
            columns=self.columns or (),
            text=self.text,
            words=self.words,
            held_out=self._held_out(),
            scale=self.scale,
            missing=self.missing,
            sentinels=self.sentinels,
            weights=self.weights or {},
            most_values=self.most_values,
        )
        learned = learn_columns(table, used, settings)
        self.matrix_: dict[str, Any] | None = None
        self.columns_, self.n_rows_ = learned.columns, learned.n_rows
        self.feature_names_ = [
            name for encoding in self.columns_ for name in feature_names(encoding)
        ]
        self.notes_ += learned.notes

    def _fit_sparse(self, table: Table, used: list[Column]) -> None:
        if self.text or self.words:
            option = "--text" if self.text else "--words"
            raise TableError(f"{table.name}: a sparse table has no text; omit {option}")
        names = [column.name for column in used]
        self.matrix_, notes = learn_sparse(table, names, self.scale, self.missing)
        self.n_rows_ = table.matrix.shape[0]
        how = "none" if self.scale == "none" else "largest"
        span = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        self.columns_ = [sparse_encoding(span, how)]
        self.feature_names_ = [str(i) for i in self.matrix_["columns"]]
        self.notes_ += notes
