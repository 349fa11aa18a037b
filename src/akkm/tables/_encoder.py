"""`TableEncoder`, which turns tables into rows of numbers."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from akkm.rows.formats import TableError
from akkm.tables._columns import describe_columns, feature_names, is_empty, is_left_out
from akkm.tables._decoded import original_entries, original_rows, original_table
from akkm.tables._encode import Fitted, encode_table
from akkm.tables._encoded import Encoded
from akkm.tables._frame import as_frame, as_table, library_of
from akkm.tables._learn import Settings, learn_columns
from akkm.tables._select import feature_columns, require_columns, require_single_values
from akkm.tables._sparse import learn_sparse
from akkm.tables._table import Column, Table
from akkm.tables._validity import require_valid_encoder
from akkm.typing import Array

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
    library_ : str
        The library of the data frame that was fitted: "pandas", "polars" or "pyarrow".
        Files are read as Arrow tables.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : array of str
        The names of all columns of the table.

    Notes
    -----
    Dates and times are encoded as numbers of seconds. Booleans are encoded as text,
    "true" or "false". Constant and empty columns are left out. Text that `fit` did not
    see is encoded as "other" if the column has pooled values, else as zeros.

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
            If the table can't be encoded. With ``missing="drop"``, also if a value is
            missing, because `transform` returns one row per row of the table.
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
        """Encode the rows of a table; return ids, classes and row numbers, too.

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

    def inverse_transform(self, X: Any) -> Any:
        """Decode rows to a data frame, of the same library as the frame of `fit`.

        Parameters
        ----------
        X : array, data frame or CSR array of shape (b, d)
            Rows from `transform`.

        Returns
        -------
        data frame, or CSR array of shape (b, d)
            The columns that are used, in original units and with the types of the
            table. If a file was fitted, the frame is an Arrow table. If a sparse table
            was fitted, the result is a CSR array of the original values.

        Notes
        -----
        Numbers are rounded to the digits that single precision preserves. Dates, and
        whole numbers up to a few million, are decoded exactly. Missing values stay
        filled, pooled values become "(other)", and text that `fit` did not see becomes
        null.
        """
        check_is_fitted(self)
        if self.matrix_ is not None:
            return X.multiply(self.matrix_["scale"]).tocsr()
        return as_frame(original_table(_rows(X), self.columns_), self.library_, like=X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns of X.

        Parameters
        ----------
        input_features : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        array of d str
            The names, as in `feature_names_`.
        """
        check_is_fitted(self)
        return np.array(self.feature_names_, dtype=object)

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
        return original_rows(_rows(X), self.columns_)

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
        require_valid_encoder(self, self._held_out())
        self.describe()

    def _held_out(self) -> list[str]:
        names = (self.id, self.label)
        return list(dict.fromkeys(name for name in names if name is not None))

    def _fit_dense(self, table: Table, used: list[Column]) -> None:
        settings = Settings(
            self.text, self._held_out(), self.scale, self.missing, self.most_values
        )
        learned = learn_columns(table, used, settings)
        self.matrix_: dict[str, Any] | None = None
        self.columns_, self.n_rows_ = learned.columns, learned.n_rows
        self.feature_names_ = [
            name for encoding in self.columns_ for name in feature_names(encoding)
        ]
        self.notes_ += learned.notes

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


def _rows(X: Any) -> Array:
    """Return rows as an array, also if they are in a data frame."""
    return np.asarray(X, dtype=np.float32)
