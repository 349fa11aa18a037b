"""Which columns of a table are used for what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from akkm.tables._table import Column, Table, TableError, advised, brief, near


def require_known(table: Table, names: Iterable[str], option: str) -> None:
    """A `TableError` for names that the table does not have."""
    known = [column.name for column in table.columns]
    there = set(known)
    for name in names:
        if name not in there:
            raise TableError(
                f"{table.name}: {option} {name!r}: there is no such column"
                f"{near(name, known) or f'; there are {brief(known, 8)}'}"
            )


def require_values(table: Table, names: Iterable[str], option: str) -> None:
    """A `TableError` for held-out columns whose cells are lists and the like."""
    for column in table.columns:
        if column.name in set(names) and not column.is_value:
            raise TableError(
                f"{table.name}: {option} {column.name!r} is of type "
                f"{column.type[:60]}, expected numbers or text; name another column, "
                f"or leave out {option}"
            )


def features(
    table: Table,
    columns: Sequence[str] | None,
    drop: Sequence[str],
    held_out: Sequence[str],
) -> list[Column]:
    """The columns to cluster by, in the order of the file."""
    wanted = {c.name for c in table.columns} if columns is None else set(columns)
    wanted -= {*drop, *held_out}
    used = [column for column in table.columns if column.name in wanted]
    if not used:
        raise TableError(f"{table.name}: no columns are left to cluster by")
    for column in used:
        require_usable(table, column)
    return used


def require_usable(table: Table, column: Column) -> None:
    """A `TableError` for a column that is neither numbers nor text."""
    if column.kind == "other":
        raise TableError(
            f"{table.name}: column {column.name!r} is of type {column.type[:60]}, "
            "expected numbers or text; convert it or leave it out "
            f"({advised('--drop', column.name)})"
        )


def require_same(
    table: Table, fitted: list[dict[str, object]], ignored: set[str]
) -> None:
    """A `TableError` if the table does not have the columns of a model.

    Those that were left out as constant may be absent, and so may `ignored` ones.
    """
    there = {column.name: column for column in table.columns}
    known = {str(entry["name"]) for entry in fitted}
    missing = [
        str(entry["name"])
        for entry in fitted
        if entry["name"] not in there and entry["how"] != "left out"
    ]
    extra = [name for name in there if name not in known and name not in ignored]
    if missing or extra:
        parts = [f"missing are {brief(missing)} (add them)"] if missing else []
        if extra:
            leave = " ".join(advised("--drop", name) for name in extra[:5])
            parts.append(f"unknown are {brief(extra)} (leave them out: {leave})")
        raise TableError(
            f"{table.name}: not the columns of the model: {'; '.join(parts)}"
        )
    for entry in fitted:
        if entry["name"] in there and entry["how"] != "left out":
            _require_kind(table, there[str(entry["name"])], entry)


def _require_kind(table: Table, column: Column, entry: dict[str, object]) -> None:
    require_usable(table, column)
    expected = str(entry["kind"])
    # All of CSV is text, if it has to be.
    empty = column.type == "null"
    readable = expected == "text" and (not table.typed or entry["as_text"] or empty)
    if column.kind != expected and not readable:
        kinds = {"number": "numbers", "text": "text"}
        raise TableError(
            f"{table.name}: column {column.name!r} holds {kinds[column.kind]}, but "
            f"{kinds[expected]} in the model"
        )
    if expected == "number" and column.is_time != entry["time"]:
        here, there = ("dates", "numbers") if column.is_time else ("numbers", "dates")
        raise TableError(
            f"{table.name}: column {column.name!r} holds {here}, but {there} in the "
            "model"
        )
