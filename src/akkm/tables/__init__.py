"""Read tables from files, in batches, with one clear message for every bad file."""

from akkm.tables._open import open_table
from akkm.tables._table import Column, Table, TableError

__all__ = ["Column", "Table", "TableError", "open_table"]
