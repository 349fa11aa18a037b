"""A table as encoded rows, in memory or on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from akkm.rows.batches import Batches, DiskRows
from akkm.rows.contract import by_batch
from akkm.rows.formats import Pieces
from akkm.tables._blocks import Blocks, Selection
from akkm.tables._columns import Encoding
from akkm.tables._encode import RowEncoder
from akkm.tables._files import Spool
from akkm.tables._table import Table

Array = NDArray[Any]

# Pieces of a file that are in memory at the same time, at most.
_PIECES = 8
# Rows per piece of a temporary file: at least, at most.
_FEWEST, _MOST = 1 << 10, 1 << 17
# Bytes that a string array of Arrow can hold.
_STRINGS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Encoded:
    """A table as rows of numbers.

    Attributes
    ----------
    X : float32 array, CSR array or DiskRows of shape (n, d)
        The encoded rows; DiskRows if they stay on disk.
    ids, labels : pyarrow.Array of length n, or None
        The columns that were held out, in their own types. Ids of rows on disk are
        read when they are sliced (a `DiskColumn`).
    rows : int array of shape (n,)
        The numbers of the rows in the file, from 0. Rows with missing values may have
        been left out.
    notes : tuple of str
        What was done about missing values, and about values that `fit` did not see.
    """

    X: Any
    ids: Any
    labels: pa.Array | None
    rows: Any
    notes: tuple[str, ...] = ()

    @property
    def on_disk(self) -> bool:
        """Whether the rows stay on disk."""
        return isinstance(self.X, DiskRows)

    def take(self, rows: Array) -> Encoded:
        """Read some of the rows.

        Parameters
        ----------
        rows : int array of shape (b,)
            Which rows of X.

        Returns
        -------
        Encoded
            These rows, in memory.
        """
        ids, labels = (
            None if column is None else column.take(rows)
            for column in (self.ids, self.labels)
        )
        return Encoded(self.X[rows], ids, labels, self.rows.take(rows), self.notes)


class EncodedBatches(Batches):
    """Pieces of a file, each encoded when it is read.

    Parameters
    ----------
    pieces : Pieces
        The file.
    selection : Selection
        The columns to read.
    encodings : list of dict
        How columns are encoded, in the order of X.
    used : bool array of shape (n,) or None
        Which rows are used; None: all of them.
    """

    names = None
    dtype = np.dtype(np.float32)

    def __init__(
        self,
        pieces: Pieces,
        selection: Selection,
        encodings: list[Encoding],
        used: Array | None,
    ) -> None:
        self._pieces, self._used = pieces, used
        self._selection = Selection(selection.numbers, selection.texts, [])
        self._encoder = RowEncoder(encodings)
        self.width = self._encoder.width
        counts = np.diff(pieces.starts)
        if used is not None:
            cuts = pairwise(pieces.starts.tolist())
            counts = np.array([np.count_nonzero(used[a:b]) for a, b in cuts])
        self._with_rows = np.flatnonzero(counts)
        self.starts = np.append(0, np.cumsum(counts[self._with_rows]))

    def read(self, batch: int) -> Array:
        return self._encode(self.columns(batch, self._selection.names))

    def some(self, batch: int, rows: Array) -> Array:
        return self._encode(self.columns(batch, self._selection.names).take(rows))

    def where(self, batch: int) -> str:
        return self._pieces.where(int(self._with_rows[batch]))

    def columns(self, batch: int, names: Sequence[str]) -> pa.RecordBatch:
        """Columns of the used rows of a batch, as they are in the file."""
        piece = int(self._with_rows[batch])
        found = self._pieces.read(piece, names)
        if self._used is None:
            return found
        return found.filter(pa.array(self._used[slice(*self._cut(piece))]))

    def row_numbers(self, batch: int) -> pa.Array:
        """The numbers of the used rows of a batch in the file."""
        start, stop = self._cut(int(self._with_rows[batch]))
        if self._used is None:
            return pa.array(np.arange(start, stop))
        return pa.array(start + np.flatnonzero(self._used[start:stop]))

    def _cut(self, piece: int) -> tuple[int, int]:
        start, stop = self._pieces.starts[piece : piece + 2].tolist()
        return start, stop

    def _encode(self, batch: pa.RecordBatch) -> Array:
        V, texts, _ = self._selection.split(batch)
        X = np.zeros((batch.num_rows, self.width), dtype=np.float32)
        self._encoder.encode(V, texts, X)
        return X


class DiskColumn:
    """A column of rows on disk, or their numbers, read when it is sliced.

    Parameters
    ----------
    batches : EncodedBatches
        The rows.
    name : str or None
        The column; None: the numbers of the rows in the file.
    as_integers : bool
        Whether the column is text that is to be read as integers.
    """

    def __init__(
        self, batches: EncodedBatches, name: str | None, as_integers: bool = False
    ) -> None:
        self._batches, self._name, self._as_integers = batches, name, as_integers

    def __len__(self) -> int:
        return int(self._batches.starts[-1])

    def __getitem__(self, rows: slice) -> pa.Array:
        return self.take(np.arange(*rows.indices(len(self))))

    @property
    def type(self) -> pa.DataType:
        """The type of the values."""
        return self[:1].type

    def take(self, rows: Array) -> pa.Array:
        """The values of some rows (b,)."""
        places, parts = [], []
        for batch, at, local in by_batch(rows, self._batches.starts):
            places.append(at)
            parts.append(self._read(batch).take(pa.array(local)))
        order = np.argsort(np.concatenate(places), kind="stable")
        return join_column(parts, self._as_integers).take(pa.array(order))

    def _read(self, batch: int) -> pa.Array:
        if self._name is None:
            return self._batches.row_numbers(batch)
        return self._batches.columns(batch, [self._name]).column(0)


def encode_in_memory(
    table: Table, blocks: Blocks, encoder: RowEncoder, most_rows: float
) -> tuple[Any, Any, dict[str | None, Any]] | None:
    """X (n, d), numbers of the rows (n,), other columns; None if n > most_rows."""
    X = np.zeros((table.n_rows or 0, encoder.width), dtype=np.float32)
    used: list[Array] = []
    parts: list[list[pa.Array]] = []
    n = 0
    for block in blocks:
        start, n = n, blocks.n_used
        if n > most_rows:
            return None
        if n > len(X):
            # realloc often extends in place; an eighth more keeps it rare.
            X.resize((max(n, len(X) * 9 // 8), encoder.width), refcheck=False)
        encoder.encode(block.V, block.texts, X[start:n])
        used.append(block.used)
        parts.append(block.others)
    encoder.require_single_precision(table)
    X.resize((n, encoder.width), refcheck=False)
    columns: dict[str | None, Any] = {
        name: join_column([others[i] for others in parts], not table.typed)
        for i, name in enumerate(blocks.selection.others)
    }
    return X, np.flatnonzero(np.concatenate(used)), columns


def encode_on_disk(
    table: Table,
    blocks: Blocks,
    encoder: RowEncoder,
    *,
    memory: float,
    label: str | None,
) -> tuple[Any, Any, dict[str | None, Any]]:
    """As `encode_in_memory`, but rows are checked now and encoded when they are read.

    Labels are in memory, as codes. A file that can't be read in any order, or whose
    pieces are too large, is copied to a temporary file.
    """
    rows = int(memory / (_PIECES * 4 * encoder.width))
    others = blocks.selection.others
    pieces, spool = table.pieces, None
    if pieces is None or np.diff(pieces.starts).max() > max(rows, _FEWEST):
        spool = Spool(min(max(rows, _FEWEST), _MOST))
    used: list[Array] = []
    labels: list[pa.Array] = []
    integers = dict.fromkeys(others, not table.typed)
    for block in blocks:
        X = np.zeros((block.V.shape[1], encoder.width), dtype=np.float32)
        encoder.encode(block.V, block.texts, X)
        used.append(block.used)
        for name, column in zip(others, block.others, strict=True):
            integers[name] = integers[name] and _all_integers(column)
            if name == label:
                labels.append(_plain(column).dictionary_encode())
        if spool is not None:
            spool.add(block.batch)
    encoder.require_single_precision(table)
    if spool is not None:
        pieces = spool.finish(table.name)
    assert pieces is not None
    mask = None if blocks.n_used == blocks.n_rows else np.concatenate(used)
    batches = EncodedBatches(pieces, blocks.selection, encoder.encodings, mask)
    columns: dict[str | None, Any] = {
        name: DiskColumn(batches, name, integers[name]) for name in others
    }
    if labels:
        whole = pa.chunked_array(labels).unify_dictionaries()
        columns[label] = whole.combine_chunks()
    return DiskRows(batches), DiskColumn(batches, None), columns


def join_column(parts: list[pa.Array], try_integers: bool) -> pa.Array:
    """One array of all parts; text becomes integers if nothing is lost by it."""
    parts = [_plain(part) for part in parts]
    size, kind = sum(part.nbytes for part in parts), parts[0].type
    # Views can't be written as CSV.
    if pa.types.is_string_view(kind) or (pa.types.is_string(kind) and size > _STRINGS):
        parts = [part.cast(pa.large_string()) for part in parts]
    column = pa.concat_arrays(parts)
    if try_integers and _all_integers(column):
        return column.cast(pa.int64())
    return column


def _plain(column: pa.Array) -> pa.Array:
    is_dictionary = pa.types.is_dictionary(column.type)
    return column.dictionary_decode() if is_dictionary else column


def _all_integers(column: pa.Array) -> bool:
    """Whether text is integers as Python writes them: "7" is one, "007" is not."""
    column = _plain(column)
    try:
        whole = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return pc.all(pc.equal(whole.cast(column.type), column)).as_py() is not False
