"""Tables in files of any format, and their encoding as rows of numbers.

Code that depends on the format or the columns of a file belongs here. Clustering does
not. Files that contain nothing but numbers are read by `akkm.rows`.
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
