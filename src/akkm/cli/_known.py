"""`--known` and `--pairs`: files with answers about rows."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from akkm.cli._labels import without_dictionary
from akkm.tables import Table, TableError, open_table, quoted_names

# Words for pairs that belong together, and for pairs that belong apart.
_TOGETHER, _APART = ("must", "same"), ("cannot", "different")


def read_constraints(
    known: str | None, pairs: str | None, key: str, keys: Any
) -> dict[str, Any]:
    """Read the files of --known and --pairs; return arguments of `fit`.

    `keys` (n,) are the ids or numbers of the rows, and `key` is the name of their
    column.
    """
    found: dict[str, Any] = {}
    if known is not None:
        found["known"] = _answers(known, key, keys)
    if pairs is not None:
        found |= _pairs(pairs, key, keys)
    return found


def constraint_notes(found: dict[str, Any], n: int) -> list[str]:
    """Describe the constraints in a line or two."""
    notes = []
    if known := found.get("known"):
        classes = len(set(known.values()))
        of = "1 class" if classes == 1 else f"{classes} classes"
        notes.append(f"the classes of {len(known):,} rows are known: {of}")
        if len(known) == n:
            notes.append("all rows are known, so each cluster has rows of one class")
        elif classes == 1:
            notes.append("only one class is known; other clusters belong to no class")
    if "must_link" in found:
        together, apart = len(found["must_link"]), len(found["cannot_link"])
        notes.append(f"{together:,} pairs belong together, and {apart:,} apart")
    return notes


def _answers(path: str, key: str, keys: Any) -> dict[int, str]:
    """Read a file with the columns `key` and "label"; empty labels are unknown."""
    rows, labels = _columns(path, [key, "label"], "akkm suggest")
    answered = [(r, label) for r, label in zip(rows, labels, strict=True) if label]
    if not answered:
        raise TableError(
            f"{path} has no labels; expected a label in at least one row. Fill in the "
            "column 'label'."
        )
    places = _places(path, key, [row for row, _ in answered], keys)
    found: dict[int, str] = {}
    for (row, label), place in zip(answered, places, strict=True):
        if found.setdefault(place, label) != label:
            raise TableError(
                f"{path} has two labels of {key} {row}: {found[place]!r:.60} and "
                f"{label!r:.60}; keep one of them."
            )
    return found


def _pairs(path: str, key: str, keys: Any) -> dict[str, list[tuple[int, int]]]:
    """Read a file of pairs: two rows, and "must" or "cannot"."""
    first, second, links = _columns(path, ["first", "second", "link"], None)
    ends = zip(
        _places(path, key, first, keys), _places(path, key, second, keys), strict=True
    )
    found: dict[str, list[tuple[int, int]]] = {"must_link": [], "cannot_link": []}
    for pair, link in zip(ends, links, strict=True):
        if link.lower() in _TOGETHER:
            found["must_link"].append(pair)
        elif link.lower() in _APART:
            found["cannot_link"].append(pair)
        else:
            raise TableError(
                f"{path} has the link {link!r:.60}; expected 'must' or 'cannot'."
            )
    return found


def _columns(path: str, needed: Sequence[str], writer: str | None) -> list[list[str]]:
    """Read some columns of a table as texts without spaces at their ends."""
    table = _open(path, needed)
    names = [column.name for column in table.columns]
    if missing := [name for name in needed if name not in names]:
        if writer and missing == ["row"]:
            raise TableError(
                f"{path} begins with the column {quoted_names(names[:1])}; expected "
                f"'row'. If the column identifies the rows, add --id {names[0]}."
            )
        source = f", as {writer!r} writes them" if writer else ""
        raise TableError(
            f"{path} has the columns {quoted_names(names)}; expected "
            f"{quoted_names(needed)}{source}. {missing[0]!r} is missing."
        )
    table.read_as_text(needed)
    content = pa.Table.from_batches(list(table.batches(list(needed))))
    found = []
    for name in needed:
        column = without_dictionary(content.column(name).combine_chunks())
        try:
            texts = column.cast(pa.string()).fill_null("").to_pylist()
        except pa.ArrowException as error:
            raise TableError(
                f"{path}: column {name!r} is of type {column.type}; expected numbers "
                "or text."
            ) from error
        found.append([text.strip() for text in texts])
    return found


def _open(path: str, needed: Sequence[str]) -> Table:
    """Open a table; spreadsheets also put semicolons or tabs between the fields."""
    for delimiter in (";", "\t") if path != "-" else ():
        with suppress(TableError):
            table = open_table(path, delimiter=delimiter, missing=())
            if {column.name for column in table.columns}.issuperset(needed):
                return table
    return open_table(path, missing=())


def _places(path: str, key: str, rows: Sequence[str], keys: Any) -> list[int]:
    """The position of each row, given as text, among all keys (n,)."""
    keys = without_dictionary(pa.array(keys)).cast(pa.string())
    places = pc.index_in(pa.array(rows, pa.string()), value_set=keys)
    if places.null_count:
        unknown = rows[places.is_null().to_pylist().index(True)]
        example = keys[0].as_py()
        raise TableError(
            f"{path} contains the {key} {unknown!r:.60}, which the data do not have; "
            f"expected values of {key!r:.60} such as {example!r:.60}."
        )
    found: list[int] = places.to_pylist()
    return found
