"""Read tables from files, in batches, with one clear message for every bad file."""

from akkm.tables._csv import MISSING
from akkm.tables._encoder import TableEncoder
from akkm.tables._open import open_table
from akkm.tables._select import require_known
from akkm.tables._table import Column, Table, TableError

__all__ = [
    "MISSING",
    "Column",
    "Table",
    "TableEncoder",
    "TableError",
    "open_table",
    "require_known",
]
