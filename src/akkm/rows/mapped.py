"""Arrays in files: for what is as long as the data, when these are not in memory.

Files are written to their full length before they are mapped: a disk that is full is
an error then, and would end the process later.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from akkm.atomic_file import AtomicFile

Array = NDArray[Any]

# Numbers that are written at a time.
_STEP = 2**20


def full(
    n: int, value: float, dtype: Any, *, folder: str | os.PathLike[str] | None = None
) -> Array:
    """`np.full(n, value, dtype)` in a file without a name, which goes when it does.

    In that folder, or where temporary files are.

    Examples
    --------
    >>> from akkm.rows.mapped import full
    >>> full(3, -1, "int32").tolist()
    [-1, -1, -1]
    """
    folder = tempfile.gettempdir() if folder is None else folder
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            _write(file, n, value, dtype)
            array = np.memmap(file, dtype=dtype, mode="r+", shape=(n,))
    except OSError as error:
        raise OSError(
            error.errno,
            f"{folder}: what is remembered of {n:,} rows can't be written there: "
            f"{error.strerror}. Make room, or name another folder by TMPDIR",
        ) from None
    return np.asarray(array)


@contextmanager
def labels_file(path: Any, n: int) -> Iterator[Callable[[Any], Any]]:
    """A function that writes labels (n,) to a .npy file, and gives them from there.

    Room for them is taken at once. Without a path labels stay what they are.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from akkm.rows.mapped import labels_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with labels_file(folder + "/labels.npy", 3) as keep:
    ...         labels = keep(np.array([2, 0, 1], dtype=np.int32))
    ...     type(labels).__name__, np.load(folder + "/labels.npy").tolist()
    ('memmap', [2, 0, 1])
    """
    if path is None:
        yield lambda labels: labels
        return
    if Path(path).suffix != ".npy":
        raise ValueError(
            f"labels_file={str(path)!r}: expected a name that ends in .npy."
        )
    with _naming(path):
        whole = AtomicFile(path)
    try:
        with _naming(path):
            header = {"descr": "<i4", "fortran_order": False, "shape": (n,)}
            np.lib.format.write_array_header_1_0(whole.file, header)
            start = whole.file.tell()
            _write(whole.file, n, -1, "<i4")

        def keep(labels: Any) -> Array:
            with _naming(path):
                whole.file.seek(start)
                for part in _parts(labels):
                    whole.file.write(np.ascontiguousarray(part, dtype="<i4").data)
                whole.sync()
                whole.publish()
            return np.load(path, mmap_mode="r")

        yield keep
    finally:
        whole.discard()


def _write(file: BinaryIO, n: int, value: float, dtype: Any) -> None:
    for start in range(0, n, _STEP):
        file.write(np.full(min(_STEP, n - start), value, dtype).data)
    file.flush()


def _parts(labels: Any) -> Iterator[Any]:
    """Labels in memory as they are; those of a Dask array, a partition at a time."""
    if isinstance(labels, np.ndarray):
        yield labels
        return
    for number in range(labels.numblocks[0]):
        yield labels.blocks[number].compute()


@contextmanager
def _naming(path: Any) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(
            error.errno,
            f"{path}: labels can't be written: {error.strerror}. What was there is "
            "unchanged; make room, or give another labels_file",
        ) from None
