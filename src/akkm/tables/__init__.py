"""Tables in files of any format, and their encoding as rows of numbers.

Code that depends on the format or the columns of a file belongs here. Clustering does
not. Files that contain nothing but numbers are read by `akkm.rows`.

`_open`, `_table`, `_csv`, `_csv_errors`, `_compressed`, `_files`, `_frame`, `_sparse`
    Tables in files of each format, and in data frames, behind one interface.
`_encoder`, `_learn`, `_select`
    `TableEncoder`, which decides how each column is encoded.
`_codes`, `_text_numbers`, `_distribution`, `_summary`, `_text_notes`
    What a column holds: codes, money, dates, values for "unknown", heavy tails.
`_columns`, `_prose`, `_blocks`, `_encode`, `_encoded`
    Encodings of columns; tables encoded in memory or on disk. Parts of a file without
    a requested row are not read.
`_decoder`, `_decoded`, `_facts`
    Encoded rows in original units; facts about columns for reports.
`_validity`
    Checks of an encoder that was read from a file.
"""

from akkm.rows.formats import TableError
from akkm.tables._csv import MISSING
from akkm.tables._encoded import Encoded
from akkm.tables._encoder import TableEncoder
from akkm.tables._facts import ColumnFact, balance
from akkm.tables._open import open_table
from akkm.tables._select import require_columns
from akkm.tables._table import Column, Table, quoted_names

__all__ = [
    "MISSING",
    "Column",
    "ColumnFact",
    "Encoded",
    "Table",
    "TableEncoder",
    "TableError",
    "balance",
    "open_table",
    "quoted_names",
    "require_columns",
]
