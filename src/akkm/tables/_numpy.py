"""NumPy arrays: .npy through a memory map, .npz as a stream."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from akkm.tables._sparse import open_sparse
from akkm.tables._table import Column, Table, TableError, batch_rows

Array = NDArray[Any]

_FAILURES = (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, KeyError)


class NumpyTable(Table):
    """A 2-D array; its columns are called "0", "1", ..."""

    def __init__(
        self,
        path: str,
        shape: tuple[int, ...],
        dtype: Any,
        blocks: Callable[[int], Iterator[Array]],  # rows per block -> blocks
    ):
        self.name = path
        _require_matrix(path, shape, dtype)
        self.n_rows = shape[0]
        self.columns = tuple(
            Column(str(i), "number", str(dtype)) for i in range(shape[1])
        )
        self._blocks = blocks

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, some at a time."""
        wanted = [int(name) for name in names]
        everything = wanted == list(range(len(self.columns)))
        try:
            for block in self._blocks(batch_rows(len(self.columns))):
                if block.dtype.itemsize > 8:
                    block = block.astype(np.float64)
                block = block.astype(block.dtype.newbyteorder("="), copy=False)
                chosen = block.T if everything else block.T[wanted]
                arrays = [pa.array(column) for column in np.ascontiguousarray(chosen)]
                yield pa.RecordBatch.from_arrays(arrays, names=names)
        except _FAILURES as error:
            raise _unreadable(self.name, error) from None


def open_npy(path: str) -> Table:
    """A .npy file."""

    def blocks(rows: int) -> Iterator[Array]:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
        for start in range(0, len(X), rows):
            yield X[start : start + rows]

    try:
        with open(path, "rb") as file:
            shape, _, dtype = _header(file)
        if dtype.hasobject or 0 in shape or not shape:
            _require_matrix(path, shape, dtype)
        np.load(path, mmap_mode="r", allow_pickle=False)
    except _FAILURES as error:
        raise _unreadable(path, error) from None
    return NumpyTable(path, shape, dtype, blocks)


def open_npz(path: str) -> Table:
    """A .npz file: one 2-D array, or a sparse matrix as SciPy saves it."""
    try:
        with zipfile.ZipFile(path) as archive:
            inside = archive.namelist()
            if "format.npy" in inside and "shape.npy" in inside:
                return open_sparse(path)
            if len(inside) != 1:
                names = ", ".join(name.removesuffix(".npy") for name in inside[:5])
                raise TableError(
                    f"{path}: expected one array inside, found {len(inside)} "
                    f"({names or 'none'}); save the one you want as .npy"
                )
            with archive.open(inside[0]) as file:
                shape, by_column, dtype = _header(file)
    except _FAILURES as error:
        raise _unreadable(path, error) from None

    def blocks(rows: int) -> Iterator[Array]:
        if by_column:  # rows are not together: all of it is needed
            with np.load(path, allow_pickle=False) as arrays:
                X = arrays[arrays.files[0]]
            yield from (X[start : start + rows] for start in range(0, len(X), rows))
            return
        with zipfile.ZipFile(path) as archive, archive.open(inside[0]) as file:
            _header(file)
            for start in range(0, shape[0], rows):
                count = min(rows, shape[0] - start)
                data = file.read(count * shape[1] * dtype.itemsize)
                yield np.frombuffer(data, dtype).reshape(count, shape[1])

    return NumpyTable(path, shape, dtype, blocks)


def _header(file: Any) -> tuple[tuple[int, ...], bool, Any]:
    """Shape, whether columns are contiguous, and dtype."""
    version = npy.read_magic(file)
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in read:
        raise ValueError(f"version {version} of the format")
    return read[version](file)


def _require_matrix(path: str, shape: tuple[int, ...], dtype: Any) -> None:
    if dtype.names is not None:
        found = f"a structured array with fields {', '.join(dtype.names[:5])}"
    elif dtype.hasobject:
        found = "Python objects"
    elif dtype.kind not in "biuf":
        found = f"values of type {dtype}"
    elif len(shape) != 2:
        found = f"an array of {len(shape)} dimensions {shape}"
    elif 0 in shape:
        found = f"an array without values {shape}"
    else:
        return
    raise TableError(f"{path}: expected a 2-D array of numbers, found {found}")


def _unreadable(path: str, error: Exception) -> TableError:
    if isinstance(error, TableError):
        return error
    reason = " ".join(str(error).split())[:200]
    return TableError(
        f"{path}: not a NumPy file, or cut off or damaged ({reason or 'it ends early'})"
    )
