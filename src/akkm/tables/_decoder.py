"""`Decoder`: what a fitted encoder knows about its columns, and how it decodes rows."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from akkm.tables._columns import describe_columns, is_left_out
from akkm.tables._decoded import original_entries, original_rows, original_table
from akkm.tables._facts import ColumnFact, column_facts
from akkm.tables._frame import as_frame, as_table
from akkm.tables._prose import read_texts
from akkm.tables._validity import require_valid_encoder
from akkm.typing import Array


class Decoder:
    """The methods of `TableEncoder` that need only its fitted attributes."""

    id: str | None
    label: str | None
    missing: str
    columns_: list[dict[str, Any]]
    feature_names_: list[str]
    ignored_: list[str]
    matrix_: dict[str, Any] | None
    library_: str

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
        filled, rare categories that were pooled become "(other)", and text that `fit`
        did not see becomes null. Text that is encoded by its words can't be decoded, so
        these columns are absent.
        """
        check_is_fitted(self)
        if self.matrix_ is not None:
            return X.multiply(self.matrix_["scale"]).tocsr()
        table = original_table(_rows(X), self.columns_, as_text=True)
        return as_frame(table, self.library_, like=X)

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
        constant = self.matrix_["constant"] if self.matrix_ is not None else []
        return describe_columns(
            self.columns_, self._held_out(), self.ignored_, constant
        )

    def facts(self) -> list[ColumnFact]:
        """Return facts about the columns that are used, in the order of the table.

        Returns
        -------
        list of ColumnFact
            Role, unit, weight and encoded columns of each column; empty for a sparse
            table.
        """
        check_is_fitted(self)
        return column_facts(self.columns_) if self.matrix_ is None else []

    def original_table(self, X: Any, *, filled: bool = True) -> Any:
        """Decode rows to an Arrow table in original units.

        Parameters
        ----------
        X : array of shape (b, d)
            Rows from `transform` of a dense table.
        filled : bool, default=True
            Whether to keep the mean that replaced missing numbers. If not, all numbers
            that are equal to this mean become null. Columns of whole numbers or days
            whose mean is itself whole are not changed. Ignored unless `missing` is
            "mean".

        Returns
        -------
        pyarrow.Table
            Like the result of `inverse_transform`, but numbers, durations and dates
            that were read from text stay numbers and dates.
        """
        check_is_fitted(self)
        return original_table(
            _rows(X),
            self.columns_,
            as_text=False,
            filled=filled or self.missing != "mean",
        )

    def original(self, X: Any, *, filled: bool = True) -> list[dict[str, Any]]:
        """Decode rows to the values in the file, up to rounding.

        Parameters
        ----------
        X : array or CSR array of shape (b, d)
            Rows from `transform`.
        filled : bool, default=True
            Whether to keep the mean that replaced missing numbers, as in
            `original_table`. If not, it becomes None.

        Returns
        -------
        list of b dict
            One dict per row, from column name to value: numbers in their original
            units, dates as text, "(other)" for rare categories that were pooled, and
            None for text that `fit` did not see. Columns that were left out are absent,
            and so are zeros of sparse rows.
        """
        check_is_fitted(self)
        if self.matrix_ is not None:
            return original_entries(X, self.feature_names_, self.matrix_["scale"])
        filled = filled or self.missing != "mean"
        return original_rows(_rows(X), self.columns_, filled=filled)

    def free_text(self, table: Any, rows: Any) -> dict[str, Any]:
        """Read the columns of free text: those left out, and those in `words`.

        Parameters
        ----------
        table : Table or data frame
            The table, as in `encode`.
        rows : int array of shape (b,)
            The numbers of the rows to read, in ascending order.

        Returns
        -------
        dict
            Column name -> Arrow array of b texts. Long texts are cut after 1,000
            characters. A column that the table lacks is absent.

        Examples
        --------
        >>> import pandas as pd
        >>> from akkm.tables import TableEncoder
        >>> texts = [f"I like the number {i}" for i in range(30)]
        >>> frame = pd.DataFrame({"age": range(1, 60, 2), "answer": texts})
        >>> TableEncoder().fit(frame).free_text(frame, [2, 7])["answer"].to_pylist()
        ['I like the number 2', 'I like the number 7']
        """
        check_is_fitted(self)
        table = as_table(table)
        there = {column.name for column in table.columns}
        prose = [
            e["name"]
            for e in self.columns_
            if e["name"] in there
            and (e["how"] == "words" or (is_left_out(e) and e["reason"] == "prose"))
        ]
        return read_texts(table, prose, np.asarray(rows)) if prose else {}

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
        self._validate_params()  # type: ignore[attr-defined]
        require_valid_encoder(self, self._held_out())
        self.describe()

    def _roles(self) -> dict[str, str]:
        """Map the options --id and --label, if given, to the names of their columns."""
        given = {"--id": self.id, "--label": self.label}
        return {option: name for option, name in given.items() if name is not None}

    def _held_out(self) -> list[str]:
        return list(dict.fromkeys(self._roles().values()))


def _rows(X: Any) -> Array:
    """Return an array or a data frame as a float32 array."""
    return np.asarray(X, dtype=np.float32)
