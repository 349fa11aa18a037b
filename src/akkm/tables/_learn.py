"""Learn from all rows of a table how each of its columns is encoded."""

from collections.abc import Sequence
from dataclasses import dataclass

from akkm.tables._blocks import Blocks, Selection
from akkm.tables._columns import (
    Encoding,
    empty_encoding,
    identifier_error,
    number_encoding,
    text_encoding,
)
from akkm.tables._summary import Counts, Moments
from akkm.tables._table import Column, Table


@dataclass(frozen=True)
class Settings:
    """The parameters of `TableEncoder` that determine the encodings."""

    text: Sequence[str]
    held_out: Sequence[str]
    scale: str
    missing: str
    most_values: int


@dataclass(frozen=True)
class Learned:
    """The encodings of the columns, notes for the user, and the number of rows."""

    columns: list[Encoding]
    notes: list[str]
    n_rows: int


def learn_columns(
    table: Table, used: list[Column], settings: Settings, empty: Sequence[str] = ()
) -> Learned:
    """Read all rows and determine the encodings of the columns `used`.

    Columns in `empty` are known to have no values, and are not read. If columns turn
    out to be empty, the table is read once more without them.
    """
    table.read_as_text([*settings.text, *settings.held_out])
    filled = [c for c in used if c.name not in empty]
    is_text = {c.name: c.kind == "text" or c.name in settings.text for c in filled}
    texts = {name: Counts() for name, text in is_text.items() if text}
    numbers = [name for name, text in is_text.items() if not text]
    moments = Moments(len(numbers))
    selection = Selection(numbers, list(texts), list(settings.held_out))
    blocks = Blocks(table, selection, settings.missing, keep_empty=False)
    for block in blocks:
        moments.add(block.V)
        for (name, counts), text in zip(texts.items(), block.texts, strict=True):
            counts.add(text)
            if counts.is_hopeless:
                raise identifier_error(name, counts, table)
    if blocks.empty and not empty:
        return learn_columns(table, used, settings, blocks.empty)
    moments.finish()

    notes = []
    columns = {column.name: column for column in used}
    found = {name: empty_encoding(columns[name]) for name in empty}
    for i, name in enumerate(numbers):
        column = columns[name]
        found[name] = number_encoding(column, moments, i, settings.scale, table)
        if not column.is_time and moments.numbers_rows(i):
            notes.append(
                f"{name}: seems to contain row numbers; if so, use it as --id "
                "or leave it out (--drop)"
            )
    for name, counts in texts.items():
        if settings.missing == "mean" and counts.missing:
            counts.values["missing"] += counts.missing
        column, as_text = columns[name], name in settings.text
        most = settings.most_values
        found[name] = text_encoding(column, counts, most, as_text, table)
    notes += blocks.notes
    return Learned([found[column.name] for column in used], notes, blocks.n_rows)
