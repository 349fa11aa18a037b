"""Open rows that are stored in files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from akkm.rows.batches import Batches, DiskRows
from akkm.rows.formats import (
    ArrowFiles,
    ColumnFiles,
    NpyBatches,
    NumberBatches,
    ParquetFiles,
    TableError,
)

_FORMATS: dict[str, type[ParquetFiles | ArrowFiles]] = {
    ".parquet": ParquetFiles,
    ".pq": ParquetFiles,
    ".arrow": ArrowFiles,
    ".feather": ArrowFiles,
    ".ipc": ArrowFiles,
}


def open_rows(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    dtype: Any = None,
) -> DiskRows:
    """Open rows that need not fit in memory, for `fit` and `predict`.

    Parameters
    ----------
    path : str or path
        A Parquet, Arrow (Feather) or .npy file, or a folder of Parquet or of Arrow
        files, which are read in the order of their names. A row group of Parquet or a
        record batch of Arrow is read as a whole, and a few of them are in memory at a
        time: about 100,000 rows each is a good size.
    columns : list of str, optional
        The columns to use, all by default. They must be numeric.
    dtype : float32 or float64, optional
        By default float32 if it holds every number of the file's types, else float64.

    Returns
    -------
    DiskRows
        Behaves like an array of shape (n, d): `rows.shape`, `rows[10:20]`.

    Raises
    ------
    FileNotFoundError
        If there is no such file or folder.
    ValueError
        If the file is damaged, has no rows, or a column is not numeric.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> import akkm
    >>> X = np.random.default_rng(0).normal(size=(1000, 2)).astype(np.float32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(folder + "/x.npy", X)
    ...     rows = akkm.open_rows(folder + "/x.npy")
    ...     model = akkm.ApproxKernelKMeans(3, gamma=0.5, random_state=0).fit(rows)
    >>> model.labels_.shape
    (1000,)
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file or folder.")
    batches: Batches
    if path.suffix == ".npy":
        if columns is not None:
            raise ValueError(f"{path}: the columns of a .npy file have no names.")
        batches = NpyBatches(path, dtype)
    else:
        batches = NumberBatches(open_column_files(path, columns), columns, dtype)
    return DiskRows(batches)


def open_column_files(path: Path, columns: Sequence[str] | None = None) -> ColumnFiles:
    """A Parquet or Arrow file, or a folder of such files in the order of their names.

    All files need the same columns, or those of `columns`.
    """
    paths = [path]
    if path.is_dir():
        paths = sorted(p for p in path.iterdir() if p.suffix.lower() in _FORMATS)
    formats = {_FORMATS.get(p.suffix.lower()) for p in paths}
    if len(formats) > 1:
        raise TableError(
            f"{path}: holds files of several formats "
            f"({', '.join(sorted({p.suffix for p in paths}))}); expected one"
        )
    if formats in (set(), {None}):
        raise TableError(
            f"{path}: expected a .parquet, .arrow, .feather or .npy file, or a folder "
            "of Parquet or Arrow files"
        )
    return _FORMATS[paths[0].suffix.lower()](paths, columns)
