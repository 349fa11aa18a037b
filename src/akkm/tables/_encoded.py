"""A table as encoded rows, in memory or on disk."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from akkm.rows.batches import Batches, DiskRows
from akkm.rows.column_files import Pieces
from akkm.rows.formats import TableError
from akkm.tables._blocks import Blocks, Selection
from akkm.tables._columns import LARGEST, Encoding, feature_names
from akkm.tables._distribution import part_angles
from akkm.tables._files import Spool
from akkm.tables._prose import WordEncoder
from akkm.tables._table import Table, as_option, quoted_names
from akkm.typing import Array

# Largest number of pieces of a file that are in memory at the same time.
_PIECES = 8
# Smallest number of rows in a piece of a temporary file.
_FEWEST = 1 << 10
# Largest number of rows in a piece of a temporary file.
_MOST = 1 << 17


@dataclass(frozen=True, eq=False)
class Encoded:
    """A table as rows of numbers.

    Parameters
    ----------
    X : float32 array, CSR array or DiskRows of shape (n, d)
        The encoded rows; DiskRows if they stay on disk.
    ids : pyarrow.Array or ChunkedArray of length n, or None
        The column that identifies the rows, with its type in the file. It is
        memory-mapped if X is on disk.
    labels : pyarrow.Array or ChunkedArray of length n, or None
        The column with known classes, stored like `ids`.
    rows : int array of shape (n,)
        The numbers of the rows in the file, from 0. Rows with missing values may have
        been left out.
    notes : tuple of str
        What was done about missing values and about values that `fit` did not see.
    on_disk : bool
        Whether the rows stay on disk.
    """

    X: Any
    ids: Any
    labels: Any
    rows: Any
    notes: tuple[str, ...] = ()
    on_disk: bool = False

    def take(self, rows: Array) -> "Encoded":
        """Return the given rows, read into memory.

        Parameters
        ----------
        rows : int array of shape (b,)
            Row numbers of X.

        Returns
        -------
        Encoded
            These rows, in memory.
        """
        ids, labels, numbers = (
            None if column is None else column.take(rows)
            for column in (self.ids, self.labels, self.rows)
        )
        return Encoded(self.X[rows], ids, labels, numbers, self.notes)


class RowEncoder:
    """Encodes rows by the encodings of their columns.

    Parameters
    ----------
    encodings : list of dict
        The encodings of the columns, in the order of the columns of X.
    """

    def __init__(self, encodings: list[Encoding]):
        self.numbers = [e for e in encodings if e["kind"] == "number"]
        self.texts = [e for e in encodings if e["kind"] == "text"]
        self._starts, self.width = dict[str, int](), 0
        for encoding in encodings:
            self._starts[encoding["name"]] = self.width
            self.width += len(feature_names(encoding))
        self._at: Any = [self._starts[e["name"]] for e in self.numbers]
        if self._at and self._at[-1] - self._at[0] == len(self._at) - 1:
            # Assigning to a slice is faster than assigning to a list of columns.
            self._at = slice(self._at[0], self._at[-1] + 1)
        self._shift, self._scale, self._mean = (
            np.array([[e[key]] for e in self.numbers])
            for key in ("shift", "scale", "mean")
        )
        self._robust = [
            (i, e["center"], e["width"])
            for i, e in enumerate(self.numbers)
            if e["how"] == "robust"
        ]
        self._dates = [(i, e) for i, e in enumerate(self.numbers) if e["parts"]]
        self._words = {
            e["name"]: WordEncoder(e) for e in self.texts if e["how"] == "words"
        }
        self._unseen: dict[str, Counter[str]] = {}
        self._peaks = np.zeros(len(self.numbers))  # largest absolute values

    def encode(self, V: Array, texts: list[pa.DictionaryArray], X: Array) -> None:
        """Write encoded rows to X (b, width), which must contain only zeros.

        V (d, b) contains the numbers, and is overwritten. Each of `texts` has length b.
        """
        if V.size:
            self._encode_numbers(V, X)
        for encoding, text in zip(self.texts, texts, strict=True):
            start = self._starts[encoding["name"]]
            if encoding["how"] == "words":
                stop = start + len(encoding["axes"])
                self._words[encoding["name"]].encode(text, X[:, start:stop])
                continue
            codes = self._codes(encoding, text)
            rows = np.flatnonzero(codes >= 0)
            X[rows, start + codes[rows]] = encoding["weight"] ** 0.5

    def require_single_precision(self, table: Table) -> None:
        """Raise TableError if a number was too large for float32."""
        if (self._peaks > LARGEST).any():
            name = self.numbers[int(self._peaks.argmax())]["name"]
            raise TableError(
                f"{table.name}: column {name!r} has numbers too large for single "
                f"precision ({self._peaks.max():.3g} after scaling); rescale it or "
                f"leave it out ({as_option('--drop', name)})"
            )

    def notes(self) -> tuple[str, ...]:
        """Return a sentence per column with values that `fit` did not see."""
        return tuple(
            f"{name}: {unseen.total():,} rows with values that did not occur in "
            f"training ({quoted_names(sorted(unseen))}), encoded as zeros"
            for name, unseen in self._unseen.items()
        )

    def _encode_numbers(self, V: Array, X: Array) -> None:
        for i, encoding in self._dates:
            self._encode_parts(V[i], encoding, X)
        for i, center, width in self._robust:
            V[i] = np.arcsinh((V[i] - center) / width)
        if np.isnan(V.max(axis=1)).any():
            V = np.where(np.isnan(V), self._mean, V)
        with np.errstate(over="ignore", invalid="ignore"):
            V -= self._shift
            V /= self._scale
            self._peaks = np.fmax(self._peaks, np.fmax(V.max(axis=1), -V.min(axis=1)))
            X[:, self._at] = V.T

    def _encode_parts(self, seconds: Array, encoding: Encoding, X: Array) -> None:
        """Write the parts of dates (b,) to X; missing dates get the part's mean."""
        angles = [a for part in encoding["parts"] for a in part_angles(seconds, part)]
        start, size = self._starts[encoding["name"]] + 1, encoding["weight"] ** 0.5
        means = encoding["part_means"]
        for j, (angle, mean) in enumerate(zip(angles, means, strict=True)):
            X[:, start + j] = size * np.where(np.isnan(angle), mean, angle)

    def _codes(self, encoding: Encoding, text: pa.DictionaryArray) -> Array:
        """Return the category of each row (b,), or -1 for values not seen in `fit`."""
        known = {value: i for i, value in enumerate(encoding["values"])}
        other = known["other"] if encoding["pooled"] else -1
        # The last entry stands for missing values.
        values = [*text.dictionary.to_pylist(), "missing"]
        code_of = np.array([known.get(value, other) for value in values])
        indices = text.indices.fill_null(len(values) - 1).to_numpy()
        codes = code_of[indices]
        if (codes < 0).any():
            unseen = self._unseen.setdefault(encoding["name"], Counter())
            unseen.update(np.array(values, dtype=object)[indices[codes < 0]])
        return codes


class EncodedBatches(Batches):
    """Batches of encoded rows: a piece of a file is encoded when it is read.

    Parameters
    ----------
    pieces : Pieces
        The pieces of the file.
    selection : Selection
        The columns to read.
    encoder : RowEncoder
        The encoder of these columns.
    used : bool array of shape (n,)
        Which rows are used.
    """

    names = None
    dtype = np.dtype(np.float32)

    def __init__(
        self, pieces: Pieces, selection: Selection, encoder: RowEncoder, used: Array
    ) -> None:
        self._pieces, self._encoder, self._used = pieces, encoder, used
        self._selection = replace(selection, others=[])
        self.width = encoder.width
        counts = np.add.reduceat(used, pieces.starts[:-1], dtype=np.int64)
        self._with_rows = np.flatnonzero(counts).tolist()
        self.starts = np.append(0, np.cumsum(counts[self._with_rows]))

    def read(self, batch: int) -> Array:
        return self._encode(self._columns(batch))

    def some(self, batch: int, rows: Array) -> Array:
        return self._encode(self._columns(batch).take(rows))

    def where(self, batch: int) -> str:
        return self._pieces.where(self._with_rows[batch])

    def _columns(self, batch: int) -> pa.RecordBatch:
        piece = self._with_rows[batch]
        columns = self._pieces.read(piece, self._selection.names)
        used = self._used[slice(*self._pieces.starts[piece : piece + 2])]
        return columns if used.all() else columns.filter(pa.array(used))

    def _encode(self, batch: pa.RecordBatch) -> Array:
        V, texts, _ = self._selection.split(batch)
        X = np.zeros((batch.num_rows, self.width), dtype=np.float32)
        self._encoder.encode(V, texts, X)
        return X


def encode_in_memory(
    table: Table, blocks: Blocks, encoder: RowEncoder
) -> tuple[Any, Any, list[Any]]:
    """Return X (n, d), row numbers in the file (n,), and the id and label columns."""
    X = np.zeros((table.n_rows or 0, encoder.width), dtype=np.float32)
    used: list[Array] = []
    parts: list[list[pa.Array]] = []
    n = 0
    for block in blocks:
        start, n = n, blocks.n_used
        if n > len(X):
            # Growing X by an eighth keeps resizing rare. Most resizing needs no copy.
            X.resize((max(n, len(X) * 9 // 8), encoder.width), refcheck=False)
        encoder.encode(block.V, block.texts, X[start:n])
        used.append(block.used)
        parts.append(block.others)
    encoder.require_single_precision(table)
    X.resize((n, encoder.width), refcheck=False)
    columns = [
        _readable(pa.chunked_array(part), table.typed).combine_chunks()
        for part in zip(*parts, strict=True)
    ]
    return X, np.flatnonzero(np.concatenate(used)), columns


def encode_on_disk(
    table: Table, blocks: Blocks, encoder: RowEncoder, memory: float
) -> tuple[Any, Any, list[Any]]:
    """Return the same as `encode_in_memory`, but keep all of it on disk.

    Rows are encoded once to check them, and again whenever they are read. The row
    numbers and the id and label columns are copied to a temporary file and
    memory-mapped. All columns are copied to a temporary file if the table can only be
    read from start to end, or if its pieces are too large for `memory` bytes.
    """
    rows = max(int(memory / (_PIECES * 4 * encoder.width)), _FEWEST)
    pieces, copy, held_out = table.pieces, None, Spool(_MOST)
    if pieces is None or np.diff(pieces.starts).max() > rows:
        copy = Spool(min(rows, _MOST))
    used: list[Array] = []
    for block in blocks:
        X = np.zeros((block.V.shape[1], encoder.width), dtype=np.float32)
        encoder.encode(block.V, block.texts, X)
        numbers = np.flatnonzero(block.used) + (blocks.n_rows - len(block.used))
        columns = [pa.array(numbers), *block.others]
        names = [str(i) for i in range(len(columns))]
        held_out.add(pa.RecordBatch.from_arrays(columns, names))
        used.append(block.used)
        if copy is not None:
            copy.add(block.batch)
    encoder.require_single_precision(table)
    if copy is not None:
        pieces = copy.pieces(table.name)
    assert pieces is not None
    numbers, *others = held_out.map(table.name)
    batches = EncodedBatches(pieces, blocks.selection, encoder, np.concatenate(used))
    return DiskRows(batches), numbers, [_readable(c, table.typed) for c in others]


def _readable(column: pa.ChunkedArray, typed: bool) -> pa.ChunkedArray:
    """Return a column as plain values.

    Text of CSV is converted to integers if this is lossless ("7", but not "007").
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    # String views can't be written as CSV, and a string array is limited to 2 GB.
    is_long = pa.types.is_string(column.type) and column.nbytes >= 2**31
    if is_long or pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if typed:
        return column
    try:
        whole = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column
    same = pc.all(pc.equal(whole.cast(column.type), column)).as_py()
    return column if same is False else whole
