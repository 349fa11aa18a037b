"""Arrays of length n stored in files, for rows that do not fit in memory.

Files are written to their full length before they are mapped. So a full disk raises an
error at once. Otherwise, the disk could become full while a mapped array is written,
and the operating system would kill the process.
"""

import math
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from akkm.atomic_file import AtomicFile
from akkm.typing import Array

# Number of values that are written at a time.
_STEP = 2**20


def full(
    shape: int | tuple[int, int],
    value: float,
    dtype: Any,
    *,
    folder: str | os.PathLike[str] | None = None,
) -> Array:
    """Return `np.full(shape, value, dtype)` in an anonymous temporary file.

    The file is in `folder`, by default the folder for temporary files. The file is
    deleted with the array.

    Examples
    --------
    >>> from akkm.rows.mapped import full
    >>> full(3, -1, "int32").tolist()
    [-1, -1, -1]
    """
    folder = tempfile.gettempdir() if folder is None else folder
    n, *row = (shape,) if isinstance(shape, int) else shape
    failure = f"{folder}: the state of {n:,} rows can't be written there"
    with (
        explain_errors(failure, "Free some space, or set TMPDIR to another folder"),
        tempfile.TemporaryFile(dir=folder) as file,
    ):
        _write(file, math.prod([n, *row]), value, dtype)
        array = np.memmap(file, dtype=dtype, mode="r+", shape=(n, *row))
    return np.asarray(array)


@contextmanager
def labels_file(path: Any, n: int) -> Iterator[Callable[[Any], Any]]:
    """Reserve a .npy file for n labels, and yield a function that writes them.

    The function returns the labels as a memory-mapped array. The file appears at `path`
    once it is complete. If `path` is None, no file is written and the function returns
    its argument.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from akkm.rows.mapped import labels_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with labels_file(folder + "/labels.npy", 3) as store:
    ...         labels = store(np.array([2, 0, 1], dtype=np.int32))
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
    messages = (
        f"{path}: labels can't be written",
        "An existing file is unchanged; free some space, or give another labels_file",
    )
    with ExitStack() as stack:
        with explain_errors(*messages):
            file = AtomicFile(path)
            stack.callback(file.discard)
            header = {"descr": "<i4", "fortran_order": False, "shape": (n,)}
            np.lib.format.write_array_header_1_0(file.file, header)
            start = file.file.tell()
            _write(file.file, n, -1, "<i4")

        def store(labels: Any) -> Array:
            with explain_errors(*messages):
                file.file.seek(start)
                # A Dask array is computed one partition at a time.
                dask = not isinstance(labels, np.ndarray)
                for i in range(labels.numblocks[0] if dask else 1):
                    block = labels.blocks[i].compute() if dask else labels
                    file.file.write(np.ascontiguousarray(block, dtype="<i4").data)
                file.sync()
                file.publish()
            return np.load(path, mmap_mode="r")

        yield store


def _write(file: BinaryIO, n: int, value: float, dtype: Any) -> None:
    for start in range(0, n, _STEP):
        file.write(np.full(min(_STEP, n - start), value, dtype).data)
    file.flush()


@contextmanager
def explain_errors(failure: str, advice: str) -> Iterator[None]:
    """Add to the message of an OSError what could not be written, and what to do."""
    try:
        yield
    except OSError as error:
        text = f"{failure}: {error.strerror}. {advice}"
        raise OSError(error.errno, text) from None
