"""Storage of rows: arrays, files read in batches and Dask partitions, as one contract.

Reading, prefetching, gathering and cutting rows into units of work belong here.
Kernels, clusters and anything computed from the values of rows do not.

`contract`
    What rows must provide, with the laws; arrays as rows.
`batches`
    Rows read in batches: which are read ahead, kept in memory or skipped.
`open`, `formats`, `column_files`
    Which format a path has; .npy; Parquet and Arrow.
`dask_rows`, `remote`, `cluster`
    Dask collections; rows on workers; tasks on workers and the loss of workers.
`mapped`
    Arrays of length n in files: the state of many rows, and labels.
"""

from akkm.rows.batches import Batches, DiskRows
from akkm.rows.contract import (
    ArrayRows,
    Partitions,
    Rows,
    as_rows,
    chunks,
    is_rows,
    pieces,
)
from akkm.rows.dask_rows import apply_lazily, is_dask, rows_of_dask
from akkm.rows.open import open_rows

__all__ = [
    "ArrayRows",
    "Batches",
    "DiskRows",
    "Partitions",
    "Rows",
    "apply_lazily",
    "as_rows",
    "chunks",
    "is_dask",
    "is_rows",
    "open_rows",
    "pieces",
    "rows_of_dask",
]
