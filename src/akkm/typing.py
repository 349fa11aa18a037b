"""Types for annotations: arrays, and rows in any form of storage."""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
RowsLike = Any  # dense array or CSR matrix of shape (n, d), or stored rows
