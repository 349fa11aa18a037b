"""Rows in files larger than memory."""

from akkm.disk._open import open_rows
from akkm.disk._rows import DiskRows

__all__ = ["DiskRows", "open_rows"]
