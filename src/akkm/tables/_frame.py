"""Convert data frames of pandas, polars, Arrow and other libraries, with narwhals."""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from narwhals.exceptions import NarwhalsError

from akkm.rows.column_files import Pieces, require_distinct
from akkm.rows.formats import TableError
from akkm.tables._files import FileTable
from akkm.tables._table import Table

_NAME = "the data frame"
# Libraries whose data frames `TableEncoder.inverse_transform` can return.
LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf")


class FramePieces(Pieces):
    """An Arrow table in memory; a piece is a record batch."""

    def __init__(self, table: pa.Table) -> None:
        self.schema = table.schema
        self._batches = [batch for batch in table.to_batches() if batch.num_rows]
        self.starts = np.cumsum([0, *(batch.num_rows for batch in self._batches)])

    def read(self, piece: int, names: Sequence[str]) -> Any:
        return self._batches[piece].select(list(names))

    def where(self, piece: int) -> str:
        return _NAME


def as_table(data: Any) -> Table:
    """Return a table unchanged, or convert a data frame to a table.

    Raise TypeError for other objects.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from akkm.tables._frame import as_table
    >>> as_table(pa.table({"age": [31, 35]})).columns[0].kind
    'number'
    """
    if hasattr(data, "read_as_text") and hasattr(data, "batches"):
        found: Table = data  # a table, or a wrapper of a table that reports progress
        return found
    try:
        frame = nw.from_native(data, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            table = nw.maybe_reset_index(frame).to_arrow()
        elif hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
            table = pa.table(data)
        else:
            raise TypeError(
                f"X is a {type(data).__name__}; expected a table from open_table, or a "
                "data frame of pandas, polars or Arrow."
            )
    except (pa.ArrowException, NarwhalsError, ValueError) as error:
        text = " ".join(", ".join(map(str, error.args)).split())[:200]
        raise TableError(f"{_NAME}: can't be converted to Arrow: {text}") from error
    require_distinct(table.column_names, _NAME)
    if not table.num_columns or not table.num_rows:
        missing = "rows" if table.num_columns else "columns"
        raise TableError(f"{_NAME}: there are no {missing}")
    return FileTable(_NAME, FramePieces(table))


def library_of(data: Any) -> str:
    """Return the name of a data frame's library.

    The result is "pyarrow" for tables, and for frames of libraries not in `LIBRARIES`.

    Examples
    --------
    >>> import pandas as pd
    >>> from akkm.tables._frame import library_of
    >>> library_of(pd.DataFrame({"age": [31, 35]}))
    'pandas'
    """
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    name = str(getattr(frame, "implementation", "pyarrow"))
    return name if name in LIBRARIES else "pyarrow"


def as_frame(table: pa.Table, library: str, like: Any = None) -> Any:
    """Convert an Arrow table to a data frame of a library.

    A pandas frame gets the index of the frame `like`, if there is one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from akkm.tables._frame import as_frame
    >>> as_frame(pa.table({"age": [31, 35]}), "pandas")
       age
    0   31
    1   35
    """
    frame: Any = nw.from_arrow(table, backend=library)  # type: ignore[arg-type]
    frame = frame.to_native()
    if library == "pandas" and hasattr(like, "index"):
        frame.index = like.index
    return frame
