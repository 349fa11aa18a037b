"""Which format a path is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from akkm.rows.batches import Batches, DiskRows
from akkm.rows.formats import Arrow, Npy, Parquet

_FORMATS: dict[str, type[Parquet] | type[Arrow]] = {
    ".parquet": Parquet,
    ".pq": Parquet,
    ".arrow": Arrow,
    ".feather": Arrow,
    ".ipc": Arrow,
}


def open_rows(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    dtype: Any = None,
) -> DiskRows:
    """Rows of a file that need not fit in memory, for `fit` and `predict`.

    Parameters
    ----------
    path : str or path
        A Parquet, Arrow (Feather) or .npy file, or a folder of Parquet or of Arrow
        files, which are taken in the order of their names. A row group of Parquet or a
        record batch of Arrow is read at once, and a few of them are in memory at a
        time: some 100,000 rows are a good size.
    columns : list of str, optional
        The columns to use, all by default. They must be numbers.
    dtype : float32 or float64, optional
        float32 if that holds every number of the file's types, else float64.

    Returns
    -------
    rows : DiskRows
        Like an array of shape (n, d): `rows.shape`, `rows[10:20]`.

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
    where = Path(path)
    if not where.exists():
        raise FileNotFoundError(f"{where}: there is no such file or folder.")
    paths = [where]
    if where.is_dir():
        paths = sorted(p for p in where.iterdir() if p.suffix in _FORMATS) or paths
    kinds = {p.suffix for p in paths}
    if len({_FORMATS.get(kind) for kind in kinds}) > 1:
        raise ValueError(
            f"{where}: holds files of several formats ({', '.join(sorted(kinds))}); "
            "expected one."
        )
    kind = paths[0].suffix
    batches: Batches
    if kind in _FORMATS:
        batches = _FORMATS[kind](paths, columns, dtype)
    elif kind == ".npy" and columns is None:
        batches = Npy(where, dtype)
    elif kind == ".npy":
        raise ValueError(f"{where}: the columns of a .npy file have no names.")
    else:
        raise ValueError(
            f"{where}: expected a .parquet, .arrow, .feather or .npy file, or a folder "
            "of Parquet or Arrow files."
        )
    if not batches.starts[-1]:
        raise ValueError(f"{where}: there are no rows.")
    return DiskRows(batches)
