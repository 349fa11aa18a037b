"""One interface for rows in arrays, in files read in batches, and in Dask partitions.

Reading, prefetching, gathering and cutting rows into units of work belong here.
Kernels, clusters and anything computed from the values of rows do not.

`contract`
    The interface `Rows` with its laws, and its implementation for arrays. `by_batch`
    groups requested rows by batch, so that other batches are not read.
`batches`
    Rows of files of any format, read in batches. A batch without requested rows is
    skipped. The next batches are read ahead, and a few are kept in memory.
`open`
    Opens a path in any format.
`formats`, `column_files`
    How .npy files, and Parquet and Arrow files, are cut into batches and read.
`dask_rows`, `remote`
    Dask arrays and data frames; rows that stay on Dask workers.
`dask_cluster`
    Tasks on Dask workers, and what happens if workers die.
`mapped`
    Arrays of length n stored in files: the state of a fit, and labels.
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
from akkm.rows.dask_rows import apply_lazily, columns_of_dask, is_dask, rows_of_dask
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
    "columns_of_dask",
    "is_dask",
    "is_rows",
    "open_rows",
    "pieces",
    "rows_of_dask",
]
