"""Free text, which is not clustered, but describes clusters in reports."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from akkm.tables._table import Table
from akkm.typing import Array

# Number of characters of a text that are read.
_LONGEST = 1_000


def read_texts(table: Table, names: Sequence[str], rows: Array) -> dict[str, Any]:
    """Return columns of text, of the given rows (b,) in ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from akkm.tables._frame import as_table
    >>> from akkm.tables._prose import read_texts
    >>> table = as_table(pd.DataFrame({"said": ["good", "bad"]}))
    >>> read_texts(table, ["said"], np.array([1]))["said"].to_pylist()
    ['bad']
    """
    table.read_as_text(names)
    parts: dict[str, list[pa.Array]] = {name: [] for name in names}
    start = 0
    for batch in table.batches(names):
        stop = start + batch.num_rows
        own = rows[slice(*np.searchsorted(rows, [start, stop]))] - start
        for name, column in zip(names, batch.columns, strict=True):
            texts = column.take(pa.array(own)).cast(pa.large_string())
            parts[name].append(pc.utf8_slice_codeunits(texts, 0, _LONGEST))
        start = stop
    return {
        name: pa.chunked_array(chunks, pa.large_string())
        for name, chunks in parts.items()
    }
