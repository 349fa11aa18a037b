"""Checks that a table has the columns that the user or a model requires."""

import math
from collections.abc import Iterable, Mapping, Sequence

from akkm.rows.formats import TableError
from akkm.tables._columns import Encoding, is_left_out
from akkm.tables._table import Column, Table, as_option, did_you_mean, quoted_names


def require_columns(table: Table, names: Iterable[str], option: str) -> None:
    r"""Raise TableError for names that are not columns of a table.

    Parameters
    ----------
    table : Table
        The table.
    names : iterable of str
        The names to check.
    option : str
        The option that contains the names, for the message.

    Raises
    ------
    TableError
        If a name is not the name of a column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from akkm.tables import TableError, open_table, require_columns
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "t.csv").write_text("height,width\n1,2\n")
    ...     table = open_table(str(Path(folder, "t.csv")))
    ...     try:
    ...         require_columns(table, ["width", "hight"], "--columns")
    ...     except TableError as error:
    ...         print(str(error).partition(": ")[2])
    17
    --columns 'hight': there is no such column; did you mean 'height'?
    """
    known = [column.name for column in table.columns]
    for name in names:
        if name not in known:
            similar = did_you_mean(name, known)
            raise TableError(
                f"{table.name}: {option} {name!r}: there is no such column"
                f"{similar or f'; expected one of {quoted_names(known, 8)}'}"
            )


def _require_weights(table: Table, weights: Mapping[str, float]) -> None:
    """Raise TableError for weights of unknown columns, or weights that are not > 0."""
    require_columns(table, weights, "--weight")
    for name, weight in weights.items():
        if not 0 < weight < math.inf:
            raise TableError(
                f"{table.name}: --weight {name}={weight}: expected a number above 0; "
                f"to leave the column out, add {as_option('--drop', name)}"
            )


def _require_single_values(table: Table, name: str, option: str) -> None:
    """Raise TableError if an id or label column contains lists or other structures."""
    require_columns(table, [name], option)
    (column,) = (column for column in table.columns if column.name == name)
    if not column.is_value:
        raise TableError(
            f"{table.name}: {option} {name!r} is of type {column.type[:60]}, expected "
            f"numbers or text; name another column, or leave out {option}"
        )


def feature_columns(
    table: Table,
    columns: Sequence[str] | None,
    drop: Sequence[str],
    text: Sequence[str],
    words: Sequence[str],
    weights: Mapping[str, float],
    roles: Mapping[str, str],
) -> list[Column]:
    """Return the columns to cluster by, in the order of the file.

    `roles` maps the options --id and --label to columns. Raise TableError if a name is
    not the name of a column.
    """
    require_columns(table, columns or (), "--columns")
    require_columns(table, drop, "--drop")
    require_columns(table, text, "--text")
    require_columns(table, words, "--words")
    if both := [name for name in words if name in text]:
        raise TableError(
            f"{table.name}: --text {both[0]!r} and --words {both[0]!r}: a column can't "
            "be both; leave out one"
        )
    _require_weights(table, weights)
    for option, name in roles.items():
        _require_single_values(table, name, option)
    held_out = roles.values()
    chosen = {c.name for c in table.columns} if columns is None else set(columns)
    chosen -= {*drop, *held_out}
    used = [column for column in table.columns if column.name in chosen]
    if not used:
        raise TableError(f"{table.name}: no columns are left to cluster by")
    for column in used:
        _require_usable(table, column)
    return used


def require_same_columns(
    table: Table, encodings: list[Encoding], ignored: set[str]
) -> None:
    """Raise TableError if a table does not have the columns of a model.

    Columns that `fit` left out, and columns in `ignored`, may be absent.
    """
    there = {column.name: column for column in table.columns}
    needed = [e for e in encodings if not is_left_out(e)]
    missing = [e["name"] for e in needed if e["name"] not in there]
    known = {e["name"] for e in encodings} | ignored
    extra = [name for name in there if name not in known]
    parts = [f"missing: {quoted_names(missing)} (add them)"] if missing else []
    if extra:
        options = " ".join(as_option("--drop", name) for name in extra[:5])
        parts.append(f"unknown: {quoted_names(extra)} (leave them out: {options})")
    if parts:
        raise TableError(
            f"{table.name}: the columns are not those of the model; {'; '.join(parts)}"
        )
    for encoding in needed:
        _require_same_kind(table, there[encoding["name"]], encoding)


def _require_usable(table: Table, column: Column) -> None:
    if column.kind == "other":
        raise TableError(
            f"{table.name}: column {column.name!r} is of type {column.type[:60]}, "
            "expected numbers or text; convert it or leave it out "
            f"({as_option('--drop', column.name)})"
        )


def _require_same_kind(table: Table, column: Column, encoding: Encoding) -> None:
    _require_usable(table, column)
    # Any CSV column can be read as text. A column of type null has no values, so it can
    # also be read as text.
    as_text = not table.typed or encoding["as_text"] or column.type == "null"
    if encoding["kind"] == "text" and as_text:
        return
    # If `fit` read texts such as $5 as numbers, the column may hold texts or numbers.
    if encoding["format"] and (column.kind == "text" or not column.is_time):
        return
    plural = {"number": "numbers", "text": "text"}
    found = "dates" if column.is_time else plural[column.kind]
    expected = "dates" if encoding["time"] else plural[encoding["kind"]]
    if found != expected:
        raise TableError(
            f"{table.name}: column {column.name!r} holds {found}, but the model "
            f"expects {expected}"
        )
