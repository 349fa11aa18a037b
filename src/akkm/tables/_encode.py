"""Encode the rows of a table in the way that an encoder has learned."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from akkm.rows.formats import TableError
from akkm.tables._blocks import Blocks, Selection
from akkm.tables._columns import Encoding, is_boolean, is_left_out
from akkm.tables._encoded import Encoded, RowEncoder, encode_in_memory, encode_on_disk
from akkm.tables._select import require_same_columns
from akkm.tables._sparse import as_integers, encode_sparse
from akkm.tables._table import Table
from akkm.tables._text_numbers import TextFormat


@dataclass(frozen=True)
class Fitted:
    """What `TableEncoder` has learned, and the parameters that encoding needs."""

    columns: list[Encoding]
    matrix: dict[str, Any] | None
    ignored: Sequence[str]
    id: str | None
    label: str | None
    text: Sequence[str]
    missing: str

    @property
    def held_out(self) -> list[str]:
        """The id and label columns."""
        names = (self.id, self.label)
        return list(dict.fromkeys(name for name in names if name is not None))


def encode_table(table: Table, fitted: Fitted, memory: float | None) -> Encoded:
    """Encode all rows; they stay on disk if they need more than `memory` bytes."""
    if (table.matrix is None) != (fitted.matrix is None):
        kinds = ("dense", "sparse") if table.matrix is None else ("sparse", "dense")
        raise TableError(
            f"{table.name}: the table is {kinds[0]}, but the model expects a "
            f"{kinds[1]} table"
        )
    if fitted.matrix is not None:
        return _encode_matrix(table, fitted, fitted.matrix)
    return _encode_columns(table, fitted, memory)


def _encode_columns(table: Table, fitted: Fitted, memory: float | None) -> Encoded:
    require_same_columns(table, fitted.columns, {*fitted.held_out, *fitted.ignored})
    there = {column.name: column for column in table.columns}
    encoder = RowEncoder([e for e in fitted.columns if not is_left_out(e)])
    numbers, texts = (
        [e["name"] for e in group] for group in (encoder.numbers, encoder.texts)
    )
    held_out = [name for name in fitted.held_out if name in there]
    # A column is read as text if it was text in `fit`, even if it now seems to hold
    # numbers, or only "true" and "false".
    forced = [
        name
        for name, encoding in zip(texts, encoder.texts, strict=True)
        if there[name].kind != "text"
        or (there[name].type == "bool" and not is_boolean(encoding))
    ]
    table.read_as_text([*fitted.text, *forced, *held_out])
    selection = Selection(
        numbers,
        texts,
        held_out,
        {e["name"]: TextFormat(**e["format"]) for e in encoder.numbers if e["format"]},
        {e["name"]: e["sentinels"] for e in encoder.numbers if e["sentinels"]},
    )
    blocks, n_rows = Blocks(table, selection, fitted.missing), table.n_rows
    # Count the rows of a CSV file. If they are few, the table keeps them in memory
    # and does not parse them again.
    if memory is not None and n_rows is None:
        n_rows = sum(batch.num_rows for batch in table.batches(selection.names))
    on_disk = memory is not None and 4 * (n_rows or 0) * encoder.width > memory
    if on_disk:
        X, rows, others = encode_on_disk(table, blocks, encoder, memory or 0)
    else:
        X, rows, others = encode_in_memory(table, blocks, encoder)
    held: dict[Any, Any] = dict(zip(selection.others, others, strict=True))
    notes = (*blocks.notes, *encoder.notes())
    ids, labels = held.get(fitted.id), held.get(fitted.label)
    return Encoded(X, ids, labels, rows, notes, on_disk)


def _encode_matrix(table: Table, fitted: Fitted, learned: dict[str, Any]) -> Encoded:
    X, matrix, rows, notes = encode_sparse(table, learned, fitted.missing)
    held: dict[str | None, pa.Array] = {
        name: as_integers(matrix[:, [int(name)]].toarray().ravel()[rows])
        for name in fitted.held_out
    }
    labels = held.get(fitted.label)
    if labels is None and table.target is not None and np.ptp(table.target) > 0:
        labels = as_integers(table.target[rows])
    return Encoded(X, held.get(fitted.id), labels, rows, notes)
