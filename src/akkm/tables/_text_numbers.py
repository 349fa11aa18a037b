"""Numbers and dates written as text: money, percentages, durations, other units."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from akkm.typing import Array

_MONEY = (
    r"(?:US|R|A|AU|C|CA|HK|NZ|S|MX)?\$|[€£¥₹₽₺₩₪₫฿₴]|AED|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR"
    r"|GBP|HKD|HUF|IDR|ILS|INR|JPY|KRW|MXN|NOK|NZD|PHP|PLN|RON|RUB|SAR|SEK|SGD|THB|TRY"
    r"|TWD|UAH|USD|VND|ZAR|kr\.?|zł|Kč|Ft|Fr\.|Rs\.?|lei|лв"
)
_UNITS = r"kg|g|mg|lbs?|oz|km|m|cm|mm|mi|ft|l|ml|kWh?|hp|mph|km/h|°C|°F|m²|sqft|sqm"
# Seconds per unit of time.
_SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3_600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
    **dict.fromkeys(("week", "weeks"), 604_800.0),
}
_DIGITS = r"\d[\d.,'’ \u00a0\u202f]*"
_NUMBER = re.compile(
    rf"(?P<open>\()?(?P<sign>[+-]?)\s?(?P<prefix>{_MONEY})?(?P<gap1>\s?)"
    rf"(?P<sign2>-?)(?P<digits>{_DIGITS}(?<=\d)|\.\d+)(?P<gap2>\s?)"
    rf"(?P<suffix>%|{_MONEY}|{_UNITS}|{'|'.join(_SECONDS)})?(?P<close>\))?"
    r"(?P<sign3>(?<=\d)-)?"
)
# Numbers with a letter for thousands, millions or billions, such as $1.2M.
_MAGNITUDES = {"k": 1e3, "m": 1e6, "b": 1e9}
_MAGNITUDE = re.compile(
    rf"(?P<sign>[+-]?)(?P<prefix>(?:{_MONEY})?)\s?"
    r"(?P<digits>(?:[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+|0)(?:\.\d+)?)\s?"
    r"(?P<letter>[kKmMbB]?)"
)
_CLOCK = re.compile(r"(\d+)[:h]([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?")
_WORDS = re.compile(
    rf"(\d+(?:\.\d+)?)\s?({'|'.join(_SECONDS)}|(?<=\d)m|(?<=\d )m)(?![a-z])\s*,?\s*"
)
_DATES = (
    *("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"),
    *("%Y/%m/%d", "%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S"),
    *("%m/%d/%Y", "%d/%m/%Y", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M"),
    *("%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%d-%m-%Y"),
    *("%m/%d/%Y %I:%M %p", "%d/%m/%Y %I:%M %p", "%Y-%m-%d %I:%M %p", "%m-%d-%Y"),
    *("%m/%d/%Y %I:%M:%S %p", "%d/%m/%Y %I:%M:%S %p"),
    *("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y"),
    *("%Y-%m", "%Y/%m", "%m/%Y", "%b %Y", "%B %Y", "%b-%Y"),
)
# Dates with years of two digits; the pattern on the left avoids version numbers.
_SHORT_DATES = {
    r"\d{1,2}/\d{1,2}/\d\d": ("%m/%d/%y", "%d/%m/%y", "%y/%m/%d"),
    r"\d\d\.\d\d\.\d\d": ("%d.%m.%y",),
    r"(\d{1,2}[- ])?[A-Za-z]{3}[- ]\d\d": ("%d-%b-%y", "%d %b %y", "%b-%y", "%b %y"),
}
# Dates that are written as numbers.
DIGITS = ("%Y%m%d", "%Y%m")
# Maximum number of distinct values from which the format is recognised.
_EXAMINED = 2_000


@dataclass(frozen=True)
class TextFormat:
    """How numbers or dates are written in a column of text.

    Parameters
    ----------
    role : {"number", "money", "percentage", "duration", "date"}
        What the values are. Durations and dates are read as seconds.
    prefix, suffix : str
        Text before and after each number, including a space next to the number.
    decimal : {".", ","}
        The decimal separator.
    group : str
        The thousands separator; "" if there is none.
    places : int
        The number of decimal places.
    factor : float
        The number of seconds in a unit; 1 if values are not durations.
    pattern : str
        The format of dates for `strptime`, "clock" for H:MM:SS, "words" for texts like
        "2 h 5 min", "letters" for texts like "1.2M", or "" for a single number.
    """

    role: str
    prefix: str = ""
    suffix: str = ""
    decimal: str = "."
    group: str = ""
    places: int = 0
    factor: float = 1.0
    pattern: str = ""

    @property
    def unit(self) -> str:
        """The unit of decoded numbers, such as "$", "%", "s" or "kg"."""
        if self.role == "duration":
            return "s"
        if self.pattern == "letters":
            return self.prefix
        return (self.prefix or self.suffix).strip()

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dict, to be stored in the encoding of the column."""
        return asdict(self)


def recognise(values: Sequence[str], decimal: str = ".") -> TextFormat | None:
    """Return the format of a column, given distinct values; None for ordinary text.

    `decimal` is the decimal separator that the user has given for the file. It is used
    only for ambiguous values, such as 1,065.

    Examples
    --------
    >>> from akkm.tables._text_numbers import recognise
    >>> recognise(["$1,234.50", "$7.00"])
    TextFormat(role='money', prefix='$', suffix='', decimal='.', group=',', places=2,
    factor=1.0, pattern='')
    >>> recognise(["31.12.2024", "1.2.2025"]).pattern, recognise(["red", "blue"])
    ('%d.%m.%Y', None)
    """
    values = [text for v in values[:_EXAMINED] if (text := v.strip())]
    if len(values) < 2:
        return None
    return (
        _recognise_number(values, decimal)
        or _recognise_time(values)
        or _recognise_letters(values)
    )


def parse(values: Iterable[str], form: TextFormat) -> Array:
    """Return the values as numbers, NaN for those that are not in this format.

    Examples
    --------
    >>> from akkm.tables._text_numbers import parse, recognise
    >>> form = recognise(["1.234,50 €", "7,00 €"])
    >>> parse(["-1.234,50 €", "free"], form)
    array([-1234.5,     nan])
    """
    values = [value.strip() for value in values]
    if "%" in form.pattern:
        moments = pc.strptime(pa.array(values, pa.string()), form.pattern, "s", True)
        seconds = moments.cast(pa.int64()).cast(pa.float64())
        return seconds.to_numpy(zero_copy_only=False)
    read = {"clock": _clock, "words": _words}.get(form.pattern)
    if form.pattern == "letters":
        return np.array([_with_letter(value, form.prefix) for value in values])
    if read is None:
        return np.array([_number(value, form) for value in values])
    return np.array([read(value) for value in values])


def write(values: Array, form: TextFormat) -> list[str]:
    """Return numbers as texts in this format.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.tables._text_numbers import recognise, write
    >>> write(np.array([1234.5, -7]), recognise(["$1,234.50", "$8.00"]))
    ['$1,234.50', '-$7.00']
    """
    if "%" in form.pattern:
        moments = pa.array(np.rint(values).astype(np.int64)).cast(pa.timestamp("s"))
        return list(pc.strftime(moments, form.pattern).to_pylist())
    if form.pattern == "words":
        return [_in_words(round(value)) for value in values.tolist()]
    if form.pattern == "letters":
        return [_write_with_letter(value, form) for value in values.tolist()]
    if form.pattern:
        whole = [divmod(round(v), 3_600) for v in values.tolist()]
        return [f"{h}:{rest // 60:02}:{rest % 60:02}" for h, rest in whole]
    swap = str.maketrans({",": form.group, ".": form.decimal})
    return [
        f"{'-' if v < 0 else ''}{form.prefix}"
        f"{f'{abs(v):,.{form.places}f}'.translate(swap)}{form.suffix}"
        for v in (values / form.factor).tolist()
    ]


def is_ambiguous_date(form: TextFormat, values: Sequence[str]) -> bool:
    """Return whether all dates stay valid if day and month are exchanged."""
    other = {"%m/%d": "%d/%m", "%d-%m": "%m-%d"}.get(form.pattern[:5])
    if other is None:
        return False
    swapped = replace(form, pattern=other + form.pattern[5:])
    return not np.isnan(parse(values[:_EXAMINED], swapped)).any()


def _recognise_number(values: list[str], decimal: str) -> TextFormat | None:
    matches = [_NUMBER.fullmatch(value) for value in values]
    found = [match for match in matches if match is not None]
    if len(found) < len(values) or any(
        bool(m["open"]) != bool(m["close"]) for m in found
    ):
        return None
    prefixes = {(m["prefix"] or "") + m["gap1"] for m in found if m["prefix"]}
    suffixes = {m["gap2"] + (m["suffix"] or "") for m in found if m["suffix"]}
    kinds = {(m["prefix"] or "", m["suffix"] or "") for m in found}
    if len(kinds) > 1 or len(prefixes) > 1 or len(suffixes) > 1:
        return None
    ((prefix, suffix),) = kinds
    if prefix and suffix:
        return None
    role, factor = "number", 1.0
    if re.fullmatch(_MONEY, prefix or suffix):
        role = "money"
    elif suffix == "%":
        role = "percentage"
    elif suffix in _SECONDS:
        role, factor = "duration", _SECONDS[suffix]
    digits = [m["digits"] for m in found]
    if any(re.match(r"0\d", text) for text in digits):  # codes such as 007
        return None
    if role == "number" and not suffix and all(map(str.isdigit, digits)):
        return None
    separators = _separators(digits, decimal, role)
    if separators is None:
        return None
    point, group = separators
    places = max(
        len(text.rpartition(point)[2]) if point in text else 0 for text in digits
    )
    form = TextFormat(
        role,
        next(iter(prefixes), ""),
        next(iter(suffixes), ""),
        point,
        group,
        places,
        factor,
    )
    return form if not np.isnan(parse(values, form)).any() else None


def _separators(digits: list[str], decimal: str, role: str) -> tuple[str, str] | None:
    """Return the decimal and the thousands separator; None if they are not clear."""
    points, groups = set[str](), set[str]()
    unclear = set[str]()
    for text in digits:
        groups |= set(re.findall(r"['’ \u00a0\u202f]", text))
        marks = re.findall(r"[.,]", text)
        if len(set(marks)) == 2:
            points.add(marks[-1])
            groups.add(marks[0])
        elif len(marks) > 1:
            groups.add(marks[0])
        elif marks:
            three = re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", text)
            (unclear if three else points).add(marks[0])
    if unclear - points - groups:
        mark = (unclear - points - groups).pop()
        if role == "money" and not points:
            groups.add(mark)
        elif role == "number":
            if mark != decimal:
                return None
            points.add(mark)
        else:
            (points if mark == decimal else groups).add(mark)
    if len(points) > 1 or len(groups) > 1 or points & groups:
        return None
    group = next(iter(groups), "")
    point = next(iter(points), "," if group == "." else ".")
    return point, group


def _recognise_time(values: list[str]) -> TextFormat | None:
    if all(map(_CLOCK.fullmatch, values)):
        return TextFormat("duration", pattern="clock")
    if all(not np.isnan(_words(value)) for value in values):
        return TextFormat("duration", pattern="words")
    patterns: Sequence[str] = ()
    if all(re.search(r"\d{4}", value) for value in values):
        patterns = _DATES
    for short, fitting_short in _SHORT_DATES.items():
        if all(re.fullmatch(short, value) for value in values):
            patterns = fitting_short
    forms = [TextFormat("date", pattern=pattern) for pattern in patterns]
    fitting = [form for form in forms if not np.isnan(parse(values, form)).any()]
    # Prefer a pattern that writes the first date as it was given. %b also reads
    # "December", but writes "Dec".
    first = values[:1]
    exact = [form for form in fitting if write(parse(first, form), form) == first]
    return next(iter([*exact, *fitting]), None)


def _number(value: str, form: TextFormat) -> float:
    match = _NUMBER.fullmatch(value)
    if match is None:
        return np.nan
    before = (match["prefix"] or "") == form.prefix.strip()
    if not before or (match["suffix"] or "") != form.suffix.strip():
        return np.nan
    digits = match["digits"]
    if form.group and form.group in digits:
        here, point = re.escape(form.group), re.escape(form.decimal)
        if not re.fullmatch(rf"\d{{1,3}}(?:{here}\d{{3}})+(?:{point}\d+)?", digits):
            return np.nan
        digits = digits.replace(form.group, "")
    try:
        number = float(
            digits.replace(form.decimal, ".") if form.decimal != "." else digits
        )
    except ValueError:
        return np.nan
    minus = match["open"] or "-" in match["sign"] + match["sign2"] or match["sign3"]
    return (-number if minus else number) * form.factor


def _clock(value: str) -> float:
    match = _CLOCK.fullmatch(value)
    if match is None:
        return np.nan
    return 3_600 * int(match[1]) + 60 * int(match[2]) + float(match[3] or 0)


def _words(value: str) -> float:
    parts = list(_WORDS.finditer(value))
    if not parts or "".join(part[0] for part in parts) != value:
        return np.nan
    units = [part[2] for part in parts]
    if "m" in units and len(units) == 1:  # 5m may be metres
        return np.nan
    return sum(float(part[1]) * _SECONDS.get(part[2], 60.0) for part in parts)


def _recognise_letters(values: list[str]) -> TextFormat | None:
    """Recognise numbers like 900, 1.2K and 3M; codes such as 12B have no decimals."""
    matches = [_MAGNITUDE.fullmatch(value) for value in values]
    found = [match for match in matches if match is not None]
    letters = {match["letter"] for match in found}
    prefixes = {match["prefix"] for match in found}
    clear = {"k", "K"} & letters or any("." in match["digits"] for match in found)
    if len(found) < len(values) or letters == {""} or len(prefixes) > 1 or not clear:
        return None
    (prefix,) = prefixes
    case = "K" if any(map(str.isupper, letters)) else "k"
    return TextFormat(
        "money" if prefix else "number", prefix, case, places=3, pattern="letters"
    )


def _with_letter(value: str, prefix: str) -> float:
    match = _MAGNITUDE.fullmatch(value)
    if match is None or match["prefix"] != prefix:
        return np.nan
    number = float(match["digits"].replace(",", ""))
    sign = -1.0 if match["sign"] == "-" else 1.0
    return sign * number * _MAGNITUDES.get(match["letter"].lower(), 1.0)


def _write_with_letter(value: float, form: TextFormat) -> str:
    letter, size = "", abs(value)
    for name, magnitude in _MAGNITUDES.items():
        if abs(value) >= magnitude:
            letter, size = name, abs(value) / magnitude
    letter = letter.upper() if form.suffix.isupper() else letter
    return f"{'-' if value < 0 else ''}{form.prefix}{round(size, 6):g}{letter}"


def _in_words(seconds: int) -> str:
    hours, rest = divmod(seconds, 3_600)
    parts = {"h": hours, "min": rest // 60, "s": rest % 60}
    words = [f"{number} {unit}" for unit, number in parts.items() if number]
    return " ".join(words) or "0 s"
