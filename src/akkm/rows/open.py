"""Open rows that are stored in files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from akkm.extras import import_extra
from akkm.rows.batches import DiskRows
from akkm.rows.formats import NpyBatches, TableError

if TYPE_CHECKING:
    from akkm.rows.column_files import ColumnFiles

_PARQUET, _ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")


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
        files. The files of a folder are read in the order of their names. Row groups of
        Parquet and record batches of Arrow are read as a whole, and only a few are in
        memory at a time. A good size is about 100,000 rows per row group or record
        batch.
    columns : list of str, optional
        The columns to use, all by default. They must be numeric.
    dtype : float32 or float64, optional
        The type of the rows. The default is float32 if it can represent all values of
        the columns' types, else float64.

    Returns
    -------
    DiskRows
        Behaves like an array of shape (n, d): `rows.shape`, `rows[10:20]`.

    Raises
    ------
    FileNotFoundError
        If there is no such file or folder.
    ValueError
        If the file is damaged or has no rows, or if a column is not numeric.

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
    if path.suffix == ".npy":
        if columns is not None:
            raise ValueError(f"{path}: a .npy file has no column names; omit columns.")
        return DiskRows(NpyBatches(path, dtype))
    files = open_column_files(path, columns)
    from akkm.rows.column_files import NumberBatches

    return DiskRows(NumberBatches(files, columns, dtype))


def open_column_files(path: Path, columns: Sequence[str] | None = None) -> ColumnFiles:
    """Open a Parquet or Arrow file, or a folder of such files.

    The files of a folder are read in the order of their names. All files must have the
    same columns. If `columns` is given, only these columns must be the same.
    """
    purpose = "Parquet and Arrow files need pyarrow"
    files = import_extra("akkm.rows.column_files", purpose, "files")
    paths = sorted(path.iterdir()) if path.is_dir() else [path]
    parquet, arrow = (
        [p for p in paths if p.suffix.lower() in known] for known in (_PARQUET, _ARROW)
    )
    if parquet and arrow:
        raise TableError(
            f"{path}: contains files of several formats ({parquet[0].name}, "
            f"{arrow[0].name}, ...); expected one format"
        )
    if not parquet and not arrow:
        raise TableError(
            f"{path}: expected a .parquet, .arrow, .feather or .npy file, or a folder "
            "of Parquet or Arrow files"
        )
    if parquet:
        return files.ParquetFiles(parquet, columns)
    return files.ArrowFiles(arrow, columns)
