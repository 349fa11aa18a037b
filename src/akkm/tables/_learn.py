"""Learn from all rows of a table how each of its columns is encoded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from akkm.rows.formats import TableError
from akkm.tables._blocks import Blocks, Selection
from akkm.tables._codes import FIRST_ROWS, find_codes
from akkm.tables._columns import (
    Encoding,
    NumberFacts,
    left_out,
    looks_like_codes,
    looks_like_id,
    looks_like_id_number,
    number_encoding,
    text_encoding,
)
from akkm.tables._distribution import (
    HEAVY,
    Sentinels,
    UniformSample,
    center_and_width,
    find_sentinels,
    part_angles,
    relevant_parts,
    tail_share,
    zeros_apart,
)
from akkm.tables._prose import words_encoding
from akkm.tables._summary import Counts, Moments
from akkm.tables._table import Column, Table, as_option, as_text, quoted_names
from akkm.tables._text_notes import text_notes
from akkm.tables._text_numbers import TextFormat, is_ambiguous_date, recognise
from akkm.typing import Array

# Distinct whole numbers of at least this size may be identifiers.
_LONG = 1e7


@dataclass(frozen=True)
class Settings:
    """The parameters of `TableEncoder` that determine the encodings."""

    columns: Sequence[str]  # columns that the user has chosen by name
    text: Sequence[str]
    words: Sequence[str]
    held_out: Sequence[str]
    scale: str
    missing: str
    sentinels: str
    weights: Mapping[str, float]
    most_values: int


@dataclass(frozen=True)
class Learned:
    """The encodings of the columns, notes for the user, and the number of rows."""

    columns: list[Encoding]
    notes: list[str]
    n_rows: int


@dataclass(frozen=True)
class _Plan:
    """How columns are read. A first pass over the rows may change the plan."""

    formats: Mapping[str, TextFormat]
    codes: Sequence[str] = ()  # columns of numbers that are codes, read as text
    empty: frozenset[str] = frozenset()  # columns without any values
    sentinels: Mapping[str, Sentinels] = field(default_factory=dict)
    # Values that look like sentinels, but occur in more than half of the rows.
    frequent: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    # Columns with zeros that may stand for "unknown".
    zeros: Sequence[str] = ()
    # Center and width of columns with the scaling "robust".
    robust: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    # Parts of dates that are used, such as "hour".
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class _Summary:
    """What one pass over the rows has found."""

    numbers: list[str]
    texts: dict[str, Counts]
    moments: Moments
    sample: UniformSample
    blocks: Blocks


def learn_columns(table: Table, used: list[Column], settings: Settings) -> Learned:
    """Read all rows, and read them again if the first pass changes the plan.

    The plan changes if columns are empty, or have sentinels or heavy tails.
    """
    as_chosen = [*settings.columns, *settings.text, *settings.words]
    codes = find_codes(table, used, as_chosen)
    as_text = [*settings.text, *settings.words, *settings.held_out]
    table.read_as_text([*as_text, *codes.categories])
    formats, notes = _recognise_formats(table, used, settings)
    notes += codes.notes
    plan = _Plan(formats | codes.dates, codes.categories)
    found = _read(table, used, settings, plan)
    if found.blocks.empty:
        plan = replace(plan, empty=frozenset(found.blocks.empty))
        found = _read(table, used, settings, plan)
    V = found.sample.values()
    revised = _examine(used, found, V, settings, plan)
    if (revised.sentinels, revised.robust) != (plan.sentinels, plan.robust):
        _require_fillable(table, revised, settings)
        found = _read(table, used, settings, revised)
    notes += _sentinel_notes(used, found, revised)
    return _finish(table, used, settings, revised, found, V, notes)


def _recognise_formats(
    table: Table, used: list[Column], settings: Settings
) -> tuple[dict[str, TextFormat], list[str]]:
    """Find columns of text that hold numbers or dates, from the first rows."""
    names = [
        c.name
        for c in used
        if c.kind == "text"
        and c.type != "bool"
        and c.name not in (*settings.text, *settings.words)
    ]
    values: dict[str, dict[str, None]] = {name: {} for name in names}
    left = FIRST_ROWS
    for batch in table.batches(names) if names else ():
        for i, name in enumerate(names):
            text = as_text(batch.column(i).slice(0, left)).drop_null()
            values[name] |= dict.fromkeys(text.unique().to_pylist())
        left -= batch.num_rows
        if left <= 0:
            break
    found, notes = {}, []
    for name in names:
        form = recognise(list(values[name]), table.decimal)
        if form is None:
            continue
        found[name] = form
        if form.decimal != table.decimal and form.places:
            notes.append(f"{name}: read with {form.decimal!r} as the decimal separator")
        if form.role == "date" and "%y" in form.pattern:
            notes.append(f"{name}: years of two digits are read as 1969 to 2068")
        if is_ambiguous_date(form, list(values[name])):
            notes.append(
                f"{name}: read as {_order(form)}, but the other order of day and month "
                "fits as well; write dates as 2024-12-31 to be sure"
            )
    return found, notes


def _order(form: TextFormat) -> str:
    """The order of day, month and year, such as "month/day/year"."""
    names = {"%m": "month", "%d": "day", "%Y": "year", "%y": "year"}
    pattern = form.pattern.partition(" ")[0]
    for code, word in names.items():
        pattern = pattern.replace(code, word)
    return pattern


def _read(
    table: Table, used: list[Column], settings: Settings, plan: _Plan
) -> _Summary:
    """Read all rows once, without the columns that are empty."""
    filled = [c for c in used if c.name not in plan.empty]
    is_text = {
        c.name: c.name in (*settings.text, *settings.words, *plan.codes)
        or (c.kind == "text" and c.name not in plan.formats)
        for c in filled
    }
    texts = {name: Counts() for name, text in is_text.items() if text}
    numbers = [name for name, text in is_text.items() if not text]
    selection = Selection(
        numbers,
        list(texts),
        list(settings.held_out),
        plan.formats,
        {name: found.values for name, found in plan.sentinels.items()},
    )
    blocks = Blocks(table, selection, settings.missing, keep_empty=False)
    robust = [(i, *plan.robust[n]) for i, n in enumerate(numbers) if n in plan.robust]
    moments, sample = Moments(len(numbers)), UniformSample(len(numbers))
    for block in blocks:
        sample.add(block.V)
        for i, center, width in robust:
            block.V[i] = np.arcsinh((block.V[i] - center) / width)
        moments.add(block.V)
        for counts, text in zip(texts.values(), block.texts, strict=True):
            counts.add(text)
    moments.finish()
    return _Summary(numbers, texts, moments, sample, blocks)


def _examine(
    used: list[Column], found: _Summary, V: Array, settings: Settings, plan: _Plan
) -> _Plan:
    """Look for sentinels, heavy tails and relevant parts of dates in a sample."""
    columns = {column.name: column for column in used}
    sentinels, frequent, robust, parts = {}, {}, {}, {}
    zeros = []
    for i, name in enumerate(found.numbers):
        x, role = V[i], _role(columns[name], plan)
        if settings.sentinels == "missing" and role != "time":
            odd = find_sentinels(x, is_date=role == "date")
            if odd.frequent and role == "number" and name not in plan.formats:
                frequent[name] = odd.frequent
            if odd.values:
                sentinels[name] = odd
                x = x[~np.isin(x, odd.values)]
            if role in ("number", "money") and zeros_apart(x):
                zeros.append(name)
        heavy = settings.scale == "auto" and tail_share(x) >= HEAVY
        if role != "date" and (heavy or settings.scale == "robust"):
            robust[name] = center_and_width(x)
        if role == "date" and (relevant := relevant_parts(x)):
            parts[name] = tuple(relevant)
    return replace(
        plan,
        sentinels=sentinels,
        frequent=frequent,
        zeros=zeros,
        robust=robust,
        parts=parts,
    )


def _role(column: Column, plan: _Plan) -> str:
    if column.name in plan.formats:
        return plan.formats[column.name].role
    return column.time_role or "number"


def _require_fillable(table: Table, plan: _Plan, settings: Settings) -> None:
    """Raise TableError if there are sentinels and `missing` is "error"."""
    if settings.missing == "error" and plan.sentinels:
        name, odd = next(iter(plan.sentinels.items()))
        raise TableError(
            f"{table.name}: column {name!r} has the value {_shown(odd.values[0])}, "
            "which seems to mean a missing value; add --missing mean to fill such "
            "values, --missing drop to leave these rows out, or --sentinels keep to "
            "use them as they are"
        )


def _sentinel_notes(used: list[Column], found: _Summary, plan: _Plan) -> list[str]:
    columns, counts = {c.name: c for c in used}, found.blocks.sentinels
    notes = []
    for name, odd in plan.sentinels.items():
        is_date = _role(columns[name], plan) == "date"
        values = [
            f"{_shown(value, is_date)} in {counts[name, value]:,} rows"
            for value in odd.values
        ]
        low, high = _shown(odd.low, is_date), _shown(odd.high, is_date)
        count = "counts" if len(values) == 1 else "count"
        notes.append(
            f"{name}: {' and '.join(values)} {count} as missing, because all other "
            f"values are far away ({low} to {high}); --sentinels keep uses all values "
            "as they are"
        )
    for name, frequent in plan.frequent.items():
        texts = " or ".join(f"{value:.10g}" for value in frequent)
        options = " ".join(f"--na {value:.10g}" for value in frequent)
        notes.append(
            f"{name}: most rows have the value {texts}, which is used like any other "
            f"number; if this value means a missing value, add {options}"
        )
    notes += [
        f"{name}: some values are 0, far below all others; if 0 means a missing value, "
        "leave these cells empty"
        for name in plan.zeros
    ]
    return notes


def _shown(value: float, is_date: bool = False) -> str:
    if is_date:
        return str(np.datetime64(int(value), "s").astype("M8[D]"))
    return f"{value:,.10g}"


def _finish(
    table: Table,
    used: list[Column],
    settings: Settings,
    plan: _Plan,
    found: _Summary,
    V: Array,
    notes: list[str],
) -> Learned:
    """Return the encodings of all columns."""
    columns = {column.name: column for column in used}
    encodings = {
        name: left_out(columns[name], columns[name].kind, "empty")
        for name in plan.empty
    }
    for i, name in enumerate(found.numbers):
        column, moments = columns[name], found.moments
        facts = _facts(name, V[i], settings, plan)
        encoding = number_encoding(column, moments, i, facts, table)
        plain = not column.is_time and name not in plan.formats
        if plain and name not in settings.columns:
            rows = name not in plan.robust and moments.has_row_numbers(i)
            distinct = facts.whole and _all_distinct(V[i])
            if rows or (
                distinct and (looks_like_id(name) or looks_like_id_number(name))
            ):
                encoding = left_out(column, "number", "id")
            elif distinct and np.nanmin(V[i]) >= _LONG:
                notes.append(
                    f"{name}: used as numbers; if these are identifiers, add "
                    f"{as_option('--drop', name)}"
                )
            elif facts.whole and looks_like_codes(name):
                notes.append(
                    f"{name}: used as numbers; if these are codes, add "
                    f"{as_option('--text', name)}"
                )
        encodings[name] = encoding
    for name, counts in found.texts.items():
        weight = settings.weights.get(name, 1.0)
        if name in settings.words:
            encodings[name] = words_encoding(columns[name], counts, weight, table)
            continue
        if settings.missing == "mean" and counts.missing:
            counts.values["missing"] += counts.missing
        chosen = name in settings.text
        as_text = chosen or name in plan.codes
        encodings[name] = encoding = text_encoding(
            columns[name], counts, settings.most_values, weight, as_text, chosen, table
        )
        if not chosen and encoding["how"] != "left out":
            notes += text_notes(name, counts, table, is_code=name in plan.codes)
    notes += found.blocks.notes
    ordered = [encodings[column.name] for column in used]
    unused = {e["name"] for e in ordered if e["how"] == "left out"}
    if idle := [name for name in settings.weights if name in unused]:
        notes.append(
            "these columns are left out, so their weights have no effect: "
            f"{quoted_names(idle)}"
        )
    return Learned(ordered, notes, found.blocks.n_rows)


def _facts(name: str, x: Array, settings: Settings, plan: _Plan) -> NumberFacts:
    """Facts about a column of numbers, of which x (s,) is a sample."""
    odd = plan.sentinels.get(name, Sentinels()).values
    x = x[np.isfinite(x) & ~np.isin(x, odd)]
    how = "standard" if settings.scale == "auto" else settings.scale
    center, width = plan.robust.get(name, (0.0, 1.0))
    parts = plan.parts.get(name, ())
    angles = [a for part in parts for a in part_angles(x, part)]
    if name in plan.robust:
        how = "robust"
    elif how == "robust":  # dates have no robust scaling
        how = "standard"
    return NumberFacts(
        how,
        settings.weights.get(name, 1.0),
        plan.formats.get(name),
        odd,
        center,
        width,
        parts,
        tuple(float(a.mean()) for a in angles),
        bool(len(x) and (x == np.floor(x)).all()),
    )


def _all_distinct(x: Array) -> bool:
    x = x[np.isfinite(x)]
    return len(x) >= 20 and len(np.unique(x)) == len(x)
