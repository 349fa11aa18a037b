"""Plain sentences about clusters: values in original units, compared with all rows.

This is the only place where findings about columns are put into words.
"""

import datetime
import math
from dataclasses import dataclass
from typing import Any

from akkm.inspect import ColumnProfile, is_yes
from akkm.report._format import MISSING, plain_percent, short

_CURRENCIES = ("$", "€", "£", "¥")
_YEAR, _DAY = 365.25 * 86400, 86400.0
# Maximum number of categories, and of words, that a line names.
_NAMED, _WORDS = 3, 6
# A number with more digits than this before the decimal point is written in scientific
# notation. So is a number that needs more decimals than this.
_PLAIN = 12
# Dates of a column that spans more than this many years are shown as month and year.
_LONG = 2


@dataclass(frozen=True)
class Bar:
    """A bar from `start` to `stop`, and a line at `overall`; all are from 0 to 100."""

    start: float
    stop: float
    overall: float


@dataclass(frozen=True)
class Line:
    """What distinguishes a cluster in one column."""

    name: str
    value: str
    comparison: str
    bar: Bar | None


def line(column: ColumnProfile, cluster: int) -> Line:
    """Describe a cluster in one column, and compare it with all rows."""
    describe = {"boolean": _boolean, "category": _category, "text": _text}.get(
        column.kind, _number
    )
    value, comparison, bar = describe(column, cluster)
    title = f"words in {column.title}" if column.kind == "text" else column.title
    return Line(short(title), value, comparison, bar)


def value_of(column: ColumnProfile, cluster: int) -> str:
    """The value of a cluster in one column, as short text."""
    if column.kind == "text":
        return ", ".join(column.values[j] for j in column.top_values(cluster, _WORDS))
    if column.kind == "boolean":
        return f"{plain_percent(column.centers[cluster])} yes"
    half = _middle_half(column, cluster)
    average = amount(column.centers[cluster], column)
    return f"{average} ({'median; ' if column.average == 'median' else ''}{half})"


def amount(value: float, column: ColumnProfile) -> str:
    """A number, date, time or duration in the units of its column.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect import ColumnProfile
    >>> from akkm.report._sentences import amount
    >>> spend = ColumnProfile("spend", "number", "$", np.zeros(1))
    >>> amount(17412.3, spend), amount(-0.01234, spend)
    ('$17,400', '−$0.0123')
    """
    if column.kind == "date":
        return _date(value, column)
    if column.kind == "time":
        return f"{int(value // 3600) % 24:02d}:{int(value % 3600 // 60):02d}"
    if column.kind == "duration":
        return _span(value)
    if _is_year(column):
        return f"{value:.0f}"
    return _with_unit(_digits(value, _decimals(column)), column.unit)


def _middle_half(column: ColumnProfile, cluster: int) -> str:
    """The middle half of a cluster's values, such as "5 to 12" or "mostly 0"."""
    return _range(column, *column.quartiles[cluster])


def _range(column: ColumnProfile, start: float, stop: float) -> str:
    low, high = amount(start, column), amount(stop, column)
    if low == high:
        return f"mostly {low}"
    first, _, unit = low.rpartition(" ")
    if column.kind == "duration" and high.endswith(f" {unit}"):
        low = first
    return f"{low} to {high}"


def single(value: Any, column: ColumnProfile) -> str:
    """The value of one row, as text, in the units of its column."""
    if value is None or value != value:
        return MISSING
    if column.kind == "boolean":
        return {True: "yes", False: "no", None: str(value)}[is_yes(value)]
    if column.kind == "date" and len(str(value)) >= len("2026-01-31"):
        moment = _moment(value)
        clock = f" {moment:%H:%M}" if len(str(value)) > len("2026-01-31") else ""
        return f"{moment.day} {moment:%b %Y}{clock}"
    if not isinstance(value, int | float):
        return str(value)
    if column.kind == "duration":
        return _span(value)
    if column.whole:
        value = round(value)
    if _is_year(column):
        return str(value)
    decimals = _decimals(column)
    scientific = decimals > _PLAIN or abs(value) >= 10**_PLAIN
    text = _digits(value, decimals) if scientific else _plain(value, decimals)
    return _with_unit(text, column.unit)


def _moment(value: Any) -> datetime.datetime:
    """The time of a date, or of its text."""
    return datetime.datetime.fromisoformat(str(value)[:19])


def is_usual(value: Any, column: ColumnProfile, cluster: int) -> bool:
    """Whether a value agrees with what `line` says about the cluster.

    Numbers and dates are usual if they are in the middle half of the cluster's values.
    Texts are never usual.
    """
    if value is None or value != value:
        return False
    if column.kind == "category":
        rare = column.avoided_value(cluster)
        if rare is not None:
            return str(value) != column.values[rare]
        return str(value) in {column.values[j] for j in _frequent(column, cluster)}
    if column.kind == "boolean":
        return (single(value, column) == "yes") == (column.centers[cluster] >= 0.5)
    if column.kind == "date" and len(str(value)) >= len("2026-01-31"):
        value = (_moment(value) - datetime.datetime(1970, 1, 1)).total_seconds()
    if not isinstance(value, int | float):
        return False
    low, high = column.quartiles[cluster]
    return bool(low <= value <= high)


def _number(column: ColumnProfile, cluster: int) -> tuple[str, str, Bar]:
    low, high = column.quartiles[cluster]
    value = amount(column.centers[cluster], column)
    comparison = _compared(column, column.centers[cluster])
    usual = amount(low, column)
    if column.average == "median":
        value = f"{value} (median)"
    if column.folded[cluster]:
        apart = "farther apart" if column.effects[cluster] > 0 else "closer together"
        others = _range(column, *column.limits[1:3])
        comparison = (
            f"values are {apart} than elsewhere: the middle half is "
            f"{_middle_half(column, cluster)} (all rows: {others})"
        )
    elif column.average != "median" and low == high and usual != value:
        comparison = f"on average {value}, {comparison}"
        value = f"mostly {usual}"
    start = min(column.limits[0], low)
    width = (max(column.limits[3], high) - start) or 1.0
    places = (100 * (v - start) / width for v in (low, high, column.overall))
    return value, comparison, Bar(*(min(max(p, 0.0), 100.0) for p in places))


def _compared(column: ColumnProfile, value: float) -> str:
    """How a cluster's average compares with the average of all rows."""
    overall = column.overall
    average = f"the {'median' if column.average == 'median' else 'average'}"
    of = f"{average} of {amount(overall, column)}"
    if column.kind in ("date", "time"):
        span = _span(abs(value - overall), year=column.kind == "date")
        return f"{span} {'after' if value > overall else 'before'} {of}"
    if not column.positive or overall <= 0 or _is_year(column):
        apart = _with_unit(
            _digits(abs(value - overall), _decimals(column)), column.unit
        )
        return f"{apart} {'above' if value > overall else 'below'} {of}"
    ratio = value / overall
    if column.unit == "%":  # "20 % more than 15 %" could mean 18 % or 35 %
        apart = _digits(abs(value - overall), _decimals(column))
        more = "more" if ratio > 1 else "less"
        return f"{apart} percentage points {more} than {of}"
    if ratio >= 1.5:
        times = f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"
        return f"{times} times {of}"
    if abs(ratio - 1) < 0.02:
        return f"about {of}"
    return (
        f"{plain_percent(abs(ratio - 1))} {'more' if ratio > 1 else 'less'} than {of}"
    )


def _boolean(column: ColumnProfile, cluster: int) -> tuple[str, str, Bar]:
    share, overall = float(column.centers[cluster]), column.overall
    bar = Bar(0, 100 * share, 100 * overall)
    return f"{plain_percent(share)} yes", f"all rows: {plain_percent(overall)}", bar


def _category(column: ColumnProfile, cluster: int) -> tuple[str, str, Bar]:
    shares, overall = column.shares[cluster], column.overall_shares
    rare = column.avoided_value(cluster)
    top = _frequent(column, cluster) if rare is None else [rare]
    value = ", ".join(
        f"{plain_percent(shares[j])} {_named(column.values[j])}" for j in top
    )
    others = ", ".join(plain_percent(overall[j]) for j in top)
    bar = Bar(0, 100 * float(shares[top[0]]), 100 * float(overall[top[0]]))
    return value, f"all rows: {others}", bar


def _named(category: str) -> str:
    """A category after a share; "40 % 18-24" would be hard to read without quotes."""
    text = short(category)
    return f"“{text}”" if text[:1].isdigit() or text[:1] in tuple("+-<>.") else text


def _frequent(column: ColumnProfile, cluster: int) -> list[int]:
    """The categories that are clearly more frequent in a cluster than in all rows.

    After the first, a category is named only if its share in the cluster is at least 5
    percentage points above its share in all rows.
    """
    top = column.top_values(cluster, _NAMED)
    more = column.shares[cluster] - column.overall_shares
    return [j for j in top if j == top[0] or more[j] >= 0.05]


def _text(column: ColumnProfile, cluster: int) -> tuple[str, str, Bar]:
    top = column.top_values(cluster, _WORDS)
    share, overall = column.shares[cluster][top[0]], column.overall_shares[top[0]]
    first = short(column.values[top[0]])
    value = ", ".join(short(column.values[j]) for j in top)
    shares = f"{plain_percent(share)} of the texts; all rows: {plain_percent(overall)}"
    comparison = f"“{first}” is in {shares}"
    return value, comparison, Bar(0, 100 * float(share), 100 * float(overall))


def _is_year(column: ColumnProfile) -> bool:
    """Whether a column of whole numbers seems to hold years."""
    if column.kind != "number" or not column.whole or column.unit:
        return False
    return bool(column.limits[0] > 1500 and column.limits[3] < 2200)


def _decimals(column: ColumnProfile) -> int:
    """The number of decimals that the spread of a column needs."""
    width = column.limits[3] - column.limits[0] if len(column.limits) else 0
    return max(0, 2 - math.floor(math.log10(width))) if width > 0 else _PLAIN


def _digits(value: float, decimals: int = _PLAIN) -> str:
    """A number with three significant digits, and at most `decimals` decimals."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    size = math.floor(math.log10(abs(value)))
    if size >= _PLAIN or decimals > _PLAIN:
        return f"{value:.3g}".replace("-", "−")
    return _plain(round(value, 2 - size), min(max(0, 2 - size), decimals))


def _plain(value: float, decimals: int) -> str:
    """A number with at most `decimals` decimals, without trailing zeros."""
    text = f"{round(value, decimals) + 0.0:,.{decimals}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def _with_unit(text: str, unit: str) -> str:
    if unit not in _CURRENCIES:
        return f"{text} {unit}" if unit else text
    return f"−{unit}{text[1:]}" if text.startswith("−") else f"{unit}{text}"


def _date(value: float, column: ColumnProfile) -> str:
    try:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value)
    except OverflowError:
        return "–"
    span = column.limits[3] - column.limits[0]
    if span > _LONG * _YEAR:
        return f"{moment:%b %Y}"
    return (
        f"{moment.day} {moment:%b %Y}" if span > 3 * _DAY else f"{moment:%d %b %H:%M}"
    )


def _span(seconds: float, *, year: bool = True) -> str:
    """A duration, such as "5.2 years", in the largest unit that gives at least 2.

    If `year` is False, no unit is larger than the hour.
    """
    units = (("years", _YEAR), ("months", _YEAR / 12), ("days", _DAY))
    for name, unit in (*(units if year else ()), ("hours", 3600.0), ("minutes", 60.0)):
        if abs(seconds) >= 2 * unit:
            return f"{_digits(round(seconds / unit, 1))} {name}"
    return f"{_digits(seconds)} seconds"
