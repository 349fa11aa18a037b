"""Tables in Parquet, Arrow and NumPy files, and temporary copies of other tables."""

import os
import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from akkm.limits import MEMBERS, TYPED_COLUMNS, require_ratio
from akkm.rows.column_files import ArrowFiles, Pieces, validated
from akkm.rows.formats import TableError, map_npy, npy_starts, reading
from akkm.rows.open import open_column_files
from akkm.tables._sparse import open_sparse
from akkm.tables._table import Column, Table, kind_of

# Number of cells per batch, about 30 MB.
_CELLS = 1 << 22


class FileTable(Table):
    """A table in a file whose pieces can be read in any order."""

    def __init__(self, name: str, pieces: Pieces):
        TYPED_COLUMNS.require(len(pieces.schema), name, TableError)
        self.name, self.pieces = name, pieces
        self.n_rows = int(pieces.starts[-1])
        self.columns = tuple(
            Column(field.name, kind_of(field.type), str(field.type))
            for field in pieces.schema
        )

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        rows = min(max(_CELLS // max(len(names), 1), 256), 1 << 16)
        assert self.pieces is not None
        return self.pieces.stream(names, rows)


class NpyPieces(Pieces):
    """A .npy file cut into pieces; its columns are named "0", "1", ..."""

    def __init__(self, path: str, name: str) -> None:
        self._path, self._name = path, name
        X = map_npy(path, name)
        TYPED_COLUMNS.require(X.shape[1], name, TableError)
        self._dtype = X.dtype.newbyteorder("=")
        # Booleans are read as 0 and 1. Arrow has no floats of more than 8 bytes.
        if X.dtype.kind == "b" or X.dtype.itemsize > 8:
            self._dtype = np.dtype(np.uint8 if X.dtype.kind == "b" else np.float64)
        kind = pa.from_numpy_dtype(self._dtype)
        self.schema = pa.schema([(str(i), kind) for i in range(X.shape[1])])
        self.starts = npy_starts(X)

    def read(self, piece: int, names: Sequence[str]) -> Any:
        X = map_npy(self._path, self._name)[slice(*self.starts[piece : piece + 2])]
        if (chosen := [int(name) for name in names]) != list(range(X.shape[1])):
            X = X[:, chosen]
        columns = np.ascontiguousarray(X.T, dtype=self._dtype)
        return pa.RecordBatch.from_arrays(list(map(pa.array, columns)), list(names))

    def where(self, piece: int) -> str:
        return self._name


class Spool:
    """A temporary Arrow file with copied rows; its pieces can be read in any order.

    Parameters
    ----------
    rows : int
        The number of rows per piece.
    """

    def __init__(self, rows: int) -> None:
        self._rows, self._waiting = rows, list[pa.RecordBatch]()
        self._writer: Any = None
        self._path = TemporaryPath()

    def add(self, batch: pa.RecordBatch) -> None:
        """Append rows; dictionary-encoded columns are decoded."""
        for i, column in enumerate(batch.columns):
            if pa.types.is_dictionary(column.type):
                plain = column.dictionary_decode()
                batch = batch.set_column(i, batch.schema.names[i], plain)
        self._waiting.append(batch)
        if sum(map(len, self._waiting)) >= self._rows:
            self._write()

    def pieces(self, name: str) -> ArrowFiles:
        """Finish the file and return its pieces; `name` is for error messages."""
        return ArrowFiles([self._close(name)])

    def map(self, name: str) -> list[pa.ChunkedArray]:
        """Finish the file and return its columns, memory-mapped."""
        return pa.ipc.open_file(pa.memory_map(self._close(name))).read_all().columns

    def _close(self, name: str) -> str:
        self._write()
        if self._writer is None:
            raise TableError(f"{name}: there are no rows")
        self._writer.close()
        return self._path

    def _write(self) -> None:
        if not self._waiting:
            return
        table = pa.Table.from_batches(self._waiting).combine_chunks()
        self._waiting = []
        with writing_temporary_file():
            if self._writer is None:
                self._writer = pa.ipc.new_file(str(self._path), table.schema)
            self._writer.write_table(table, self._rows)


def open_arrow(path: str) -> Table:
    """Open an Arrow file (Feather V2 is the same format) or an Arrow stream."""
    with open(path, "rb") as file:
        magic = file.read(6)
    if magic.startswith(b"FEA1"):
        raise TableError(f"{path}: Feather V1 is not supported; save it as V2")
    if magic == b"ARROW1":
        return open_columns(path)
    spool = Spool(1 << 16)
    with reading(path, "Arrow"), pa.memory_map(os.fsencode(path)) as source:
        for batch in pa.ipc.open_stream(source):
            spool.add(validated(batch))
    return FileTable(path, spool.pieces(path))


def open_npz(path: str) -> Table:
    """Open a .npz file that contains one 2-D array, or a sparse matrix of SciPy."""
    with reading(path, ".npz"), zipfile.ZipFile(path) as archive:
        inside = archive.namelist()
        MEMBERS.require(len(inside), path, TableError)
        unpacked = sum(member.file_size for member in archive.infolist())
        require_ratio(unpacked, os.path.getsize(path), path, TableError)
        if {"format.npy", "shape.npy"} <= set(inside):
            return open_sparse(path)
        if len(inside) != 1:
            names = ", ".join(name.removesuffix(".npy") for name in inside[:5])
            raise TableError(
                f"{path}: expected one array inside, found {len(inside)} "
                f"({names or 'none'}); save the one you want as .npy"
            )
        with archive.open(inside[0]) as array:
            copy = temporary_copy(array)
    return FileTable(path, NpyPieces(copy, path))


def open_columns(path: str) -> Table:
    """Open a Parquet or Arrow file, or a folder of such files."""
    return FileTable(path, open_column_files(Path(path)))


# Functions that open a file, by its extension.
OPENERS: dict[str, Callable[[str], Table]] = {
    **dict.fromkeys((".parquet", ".pq"), open_columns),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), open_arrow),
    ".npy": lambda path: FileTable(path, NpyPieces(path, path)),
    ".npz": open_npz,
}


class TemporaryPath(str):
    """The path of a new empty file, which is deleted with this object or at exit."""

    def __new__(cls) -> Self:
        with writing_temporary_file():
            number, path = tempfile.mkstemp(prefix="akkm-")
        os.close(number)
        self = super().__new__(cls, path)
        weakref.finalize(self, os.unlink, path)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a plain string, so that copies don't delete the file."""
        return str, (str(self),)


def temporary_copy(source: Any) -> TemporaryPath:
    """Copy an open file to a temporary file, and return the path of the copy."""
    copy = TemporaryPath()
    with writing_temporary_file(), open(copy, "wb") as file:
        shutil.copyfileobj(source, file, 1 << 20)
    return copy


@contextmanager
def writing_temporary_file() -> Iterator[None]:
    """Convert OSError to a TableError that names the folder for temporary files."""
    try:
        yield
    except OSError as error:
        raise TableError(
            f"{tempfile.gettempdir()}: can't write a temporary copy of the rows "
            f"({error.strerror or error}); free space, or set TMPDIR to another folder"
        ) from None
