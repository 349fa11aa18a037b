"""Decode rows: values in original units, as Arrow columns or as one dict per row."""

import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from akkm.tables._columns import Encoding, feature_names, is_boolean
from akkm.tables._table import PER_SECOND
from akkm.tables._text_numbers import DIGITS, TextFormat, write
from akkm.typing import Array

_EPSILON = float(np.finfo(np.float32).eps)
# Rare categories, which the encoder pools, are decoded as this text.
_OTHER = "(other)"
_TEXTS = ("string", "large_string", "string_view")


def original_table(
    X: Array, encodings: Iterable[Encoding], *, as_text: bool, filled: bool = True
) -> pa.Table:
    """Decode rows X (b, d) to a table whose columns have the types of the file.

    With `as_text`, numbers that were read from text become text of the same format.
    Without `filled`, numbers that seem to be filled in become null.
    """
    columns = {}
    for encoding, part in _parts(X, encodings):
        if encoding["kind"] == "number":
            numbers = _numbers(part[:, 0], encoding)
            if encoding["format"] and as_text:
                form = TextFormat(**encoding["format"])
                column = pa.array(write(numbers, form))
                if form.pattern in DIGITS:
                    column = column.cast(pa.int64())
            else:
                kind = "double" if encoding["type"] in _TEXTS else encoding["type"]
                column = _as_type(numbers, kind)
            if not filled:
                missing = pa.array(_seem_filled(part[:, 0], encoding))
                column = pc.if_else(missing, pa.scalar(None, column.type), column)
        else:
            column = _texts(part, encoding)
            if as_text and not encoding["pooled"] and "int" in encoding["type"]:
                with suppress(
                    pa.ArrowException, ValueError
                ):  # such as the category "missing"
                    column = column.cast(_arrow_type(encoding["type"]))
            if is_boolean(encoding) and set(encoding["values"]) <= {"true", "false"}:
                column = pc.equal(column, "true")
        columns[encoding["name"]] = column
    return pa.table(columns)


def _seem_filled(x: Array, encoding: Encoding) -> Array:
    """Whether encoded numbers (b,) are equal to the mean that replaces missing values.

    If the mean of whole numbers or days is itself whole, it may be a value of the file.
    Then no number counts as filled in.
    """
    mean = float(encoding["mean"])
    day = 86_400 if encoding["type"].startswith("date") else 1
    if encoding["whole"] and (mean / day).is_integer():
        return np.zeros(len(x), dtype=bool)
    return np.asarray(x == np.float32((mean - encoding["shift"]) / encoding["scale"]))


def original_rows(
    X: Array, encodings: Iterable[Encoding], *, filled: bool = True
) -> list[dict[str, Any]]:
    """Decode rows X (b, d): one dict per row, from column name to original value.

    Without `filled`, numbers that seem to be filled in become None.
    """
    rows: list[dict[str, Any]] = [{} for _ in range(len(X))]
    for encoding, part in _parts(X, encodings):
        if encoding["kind"] == "number":
            values = _numbers(part[:, 0], encoding).tolist()
            if encoding["time"]:
                exact = np.abs(part[:, 0]) * encoding["scale"] * _EPSILON < 0.5
                values = list(map(_moment, values, exact, [encoding["type"]] * len(X)))
            if not filled:
                missing = _seem_filled(part[:, 0], encoding)
                values = [
                    None if m else v for m, v in zip(missing, values, strict=True)
                ]
        else:
            values = _texts(part, encoding).to_pylist()
        for row, value in zip(rows, values, strict=True):
            row[encoding["name"]] = value
    return rows


def original_entries(
    X: Any, names: Sequence[str], scale: Array
) -> list[dict[str, Any]]:
    """Decode rows of a sparse X (b, d): one dict of nonzero values per row."""
    rows: list[dict[str, Any]] = [{} for _ in range(X.shape[0])]
    X = X.tocoo()
    values = _rounded(X.data, 0.0, scale[X.col]).tolist()
    for i, j, value in zip(X.row, X.col, values, strict=True):
        rows[i][names[j]] = value
    return rows


def _parts(X: Array, encodings: Iterable[Encoding]) -> Iterator[tuple[Encoding, Array]]:
    """Yield each used column with its part of X, except text encoded by its words."""
    start = 0
    for encoding in encodings:
        if width := len(feature_names(encoding)):
            if encoding["how"] != "words":
                yield encoding, X[:, start : start + width]
            start += width


def _numbers(x: Array, encoding: Encoding) -> Array:
    """Decode numbers x (b,)."""
    shift, scale = encoding["shift"], encoding["scale"]
    if encoding["how"] != "robust":
        return _rounded(x, shift, scale)
    x = np.asarray(x, dtype=np.float64)
    y = np.clip(x * scale + shift, -700, 700)
    value = np.sinh(y) * encoding["width"] + encoding["center"]
    lost = np.cosh(y) * encoding["width"] * np.abs(x) * scale
    return _round(value, 4 * _EPSILON * np.maximum(lost, np.abs(value) * 1e-9))


def _rounded(x: Array, shift: float, scale: Any) -> Array:
    """Return x * scale + shift (b,), rounded to the digits that float32 preserves."""
    x = np.asarray(x, dtype=np.float64)
    value = x * scale + shift
    lost = np.maximum(np.abs(x) * scale, np.abs(value) * 1e-9)
    return _round(value, 4 * _EPSILON * lost)


def _round(value: Array, lost: Array) -> Array:
    """Round values (b,) to the digits that their errors `lost` (b,) don't affect."""
    with np.errstate(divide="ignore"):
        digits = -np.ceil(np.log10(lost))
    unit = 10.0 ** np.abs(np.where(lost > 0, np.clip(digits, -290, 290), 0))
    fine = np.where(digits > 0, np.rint(value * unit) / unit, value)
    coarse = np.where(digits < 0, np.rint(value / unit) * unit, np.rint(value))
    # Adding 0 turns -0 into 0.
    return np.where(lost > 0, np.where(digits > 0, fine, coarse), value) + 0.0


def _texts(part: Array, encoding: Encoding) -> pa.Array:
    """Return the category (b,) of each row, as text.

    The rows `part` (b, v) have one column per category: 1 for the category of the row,
    and 0 otherwise (times a weight). Rows of zeros become null: `fit` has not seen
    their text.
    """
    values = list(encoding["values"])
    if encoding["pooled"]:
        values[-1] = _OTHER
    codes = part.argmax(axis=1)
    seen = part[np.arange(len(part)), codes] >= 0.5 * encoding["weight"] ** 0.5
    return pa.array(values, pa.string()).take(pa.array(codes, mask=~seen))


def _as_type(values: Array, kind: str) -> pa.Array:
    """Return numbers (b,) as the Arrow type `kind`, or as floats if they don't fit."""
    try:
        target = _arrow_type(kind)
        if pa.types.is_temporal(target):
            return _as_time(values, target)
        if pa.types.is_integer(target):
            values = np.rint(values)
        return pa.array(values).cast(target)
    except (ValueError, pa.ArrowException):  # such as decimal256(9, 2)
        return pa.array(values)


def _arrow_type(kind: str) -> Any:
    """Return the Arrow type whose name is `kind`; raise ValueError if it is unknown."""
    if zoned := re.fullmatch(r"timestamp\[(\w+), tz=(.+)\]", kind):
        return pa.timestamp(zoned[1], tz=zoned[2])
    if exact := re.fullmatch(r"decimal128\((\d+), (\d+)\)", kind):
        return pa.decimal128(int(exact[1]), int(exact[2]))
    return pa.type_for_alias("date32[day]" if kind == "date32" else kind)


def _as_time(values: Array, target: Any) -> pa.Array:
    """Return numbers of seconds (b,) as dates, times or durations."""
    if pa.types.is_date(target):
        days = np.floor(values / 86_400 + 0.5).astype(np.int32)
        return pa.array(days, pa.int32()).cast(pa.date32()).cast(target)
    whole = np.rint(values * PER_SECOND[target.unit])
    whole = whole.astype(np.int32 if pa.types.is_time32(target) else np.int64)
    return pa.array(whole).cast(target)


def _moment(value: float, exact: bool, kind: str) -> Any:
    """Return seconds as the text of a date or time; durations stay numbers.

    Times have no seconds unless `exact`.
    """
    if kind.startswith("duration"):
        return value
    try:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value)
        if kind.startswith("date"):
            return (moment + datetime.timedelta(hours=12)).date().isoformat()
        precision = "seconds" if exact else "minutes"
        if kind.startswith("timestamp"):
            return moment.isoformat(" ", precision) + ("Z" if "tz=" in kind else "")
        return moment.time().isoformat(precision)
    except OverflowError:
        return value
