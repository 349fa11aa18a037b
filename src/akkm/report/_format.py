"""Format numbers and values: as text for readers, as JSON for the page's script."""

import re
from typing import Any

import numpy as np

# Names and ids are cut after this many characters.
_MAX_LENGTH = 80
# Absolute values of cells at which the heat map changes colour. Cells are in standard
# deviations, or in doublings of the spread (see `doublings`).
HEAT_STEPS = (0.2, 0.5, 1.0, 1.5, 2.5)
# What is shown instead of a missing value.
MISSING = "missing"


def short(value: Any, longest: int = _MAX_LENGTH) -> str:
    """Shorten a text to at most `longest` characters, on one line."""
    text = " ".join(str(value).split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def count(value: float) -> str:
    """A whole number with thousands separators.

    Examples
    --------
    >>> from akkm.report._format import count
    >>> count(12345)
    '12,345'
    """
    return f"{round(value):,}"


def number(value: float) -> str:
    """A number with four significant digits.

    A number of at least 1,000 is rounded to a whole number instead.

    Examples
    --------
    >>> from akkm.report._format import number
    >>> number(12345.0), number(303942.7), number(0.0123456), number(-2.5)
    ('12,345', '303,943', '0.01235', '−2.5')
    """
    whole = float(value).is_integer() or abs(value) >= 1000
    text = f"{value:,.0f}" if whole and abs(value) < 1e15 else f"{value:.4g}"
    return text.replace("-", "−")


def percent(share: float) -> str:
    """A share in percent; shares near 0 or 1 have more decimals.

    Only a share of 1, except for rounding errors, is shown as "100 %".

    Examples
    --------
    >>> from akkm.report._format import percent
    >>> percent(0.5), percent(0.012), percent(0.00001), percent(0)
    ('50 %', '1.2 %', '< 0.01 %', '0 %')
    >>> percent(0.9972), percent(0.99999), percent(1)
    ('99.7 %', '> 99.9 %', '100 %')
    """
    if share == 0:
        return "0 %"
    if share < 0.0001:
        return "< 0.01 %"
    if 0.9995 <= share < 1 - 1e-9:
        return "> 99.9 %"
    if 0.995 <= share < 0.9995:
        return f"{100 * share:.1f} %"
    digits = 0 if share >= 0.0995 else 1 if share >= 0.00995 else 2
    return f"{100 * share:.{digits}f} %"


def plain_percent(share: float) -> str:
    """A share in percent, in words if it is near 0 or 1.

    Examples
    --------
    >>> from akkm.report._format import plain_percent
    >>> plain_percent(0.0007), plain_percent(0.5), plain_percent(0.9972)
    ('below 1 %', '50 %', 'over 99 %')
    """
    if 0 < share < 0.00995:
        return "below 1 %"
    return "over 99 %" if 0.99 < share < 1 - 1e-9 else percent(share)


def unbroken(text: str) -> str:
    """The text with no-break spaces before percent signs."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def breakable(text: str) -> str:
    """The text with places for line breaks inside names such as MinorAxisLength.

    Words of more than 18 characters can be broken, too.

    Examples
    --------
    >>> from akkm.report._format import breakable
    >>> len(breakable("AxisLength")) - len("AxisLength")
    1
    """
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "\N{ZERO WIDTH SPACE}", text)
    return re.sub(r"(\w{16})(?=\w{3})", "\\1\N{ZERO WIDTH SPACE}", text)


def number_range(values: tuple[int, ...]) -> str:
    """The smallest and the largest value, or the value itself if there is only one."""
    low, high = min(values), max(values)
    return count(low) if low == high else f"{count(low)} to {count(high)}"


def heat_cell(z: float) -> tuple[str, str]:
    """Text and CSS class of a heat map cell; z is in standard deviations.

    Examples
    --------
    >>> from akkm.report._format import heat_cell
    >>> heat_cell(-0.72), heat_cell(0.01)
    (('−0.7', 'low2'), ('0', 'zero'))
    """
    text = f"{z:+.1f}".replace("-", "−")
    return "0" if text in ("+0.0", "−0.0") else text, _heat_class(z)


def doublings(spread: Any) -> Any:
    """Base-2 logarithm, at least -10, of spreads that are relative to all rows."""
    return np.log2(np.maximum(spread, 2.0**-10))


def spread_cell(spread: float) -> tuple[str, str]:
    """Text and CSS class of a standard deviation that is relative to all rows.

    Examples
    --------
    >>> from akkm.report._format import spread_cell
    >>> spread_cell(0.17), spread_cell(1.0)
    (('0.17', 'low5'), ('1.00', 'zero'))
    """
    return f"{spread:.2f}", _heat_class(float(doublings(spread)))


def _heat_class(value: float) -> str:
    step = int(np.searchsorted(HEAT_STEPS, abs(value)))
    return f"{'low' if value < 0 else 'high'}{step}" if step else "zero"


def share_cell(part: int, total: int) -> tuple[str, str]:
    """Text and CSS class of a count, coloured by its share of the total."""
    step = int(np.ceil(5 * part / total)) if total else 0
    return count(part), f"high{step}" if step else "zero"


def parameter(value: Any) -> str:
    """Text of an estimator's parameter; for an array, only its shape."""
    if hasattr(value, "shape"):
        return f"array of shape {value.shape}"
    return short(value)


def kernel(text: str) -> str:
    """Text of a kernel with short numbers and without parameters that are None."""
    text = re.sub(r"(, )?\w+=None", "", text)
    long = r"\d+\.\d{5,}(e[-+]\d+)?"
    return short(re.sub(long, lambda found: f"{float(found[0]):.4g}", text))


def json_number(value: float) -> float | None:
    """A number with four significant digits for JSON; None if infinite or NaN."""
    rounded = float(f"{value:.4g}")
    return rounded if abs(rounded) < 1e300 else None


def json_value(value: Any, digits: int) -> Any:
    """A value of any type for JSON: a number, text, or None if it is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.report._format import json_value
    >>> json_value(np.float32(0.1), 6), json_value(20121224, 6), json_value("Ulm", 6)
    (0.1, 20121224, 'Ulm')
    >>> json_value(float("nan"), 6), json_value(True, 6)
    (None, 'True')
    """
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if not isinstance(value, float):
        return short(value)
    if not np.isfinite(value):
        return None
    if abs(value) >= 2**53:
        return value
    if value.is_integer():
        return int(value)
    # Large numbers keep all digits before the decimal point.
    return round(value, 1) if abs(value) >= 1e5 else float(f"{value:.{digits}g}")


def value_text(value: Any) -> str:
    """A result of `json_value` as text.

    Examples
    --------
    >>> from akkm.report._format import value_text
    >>> value_text(-0.25), value_text(2012), value_text(1234567.2), value_text("Ulm")
    ('−0.25', '2012', '1234567.2', 'Ulm')
    >>> value_text(None)
    'missing'
    """
    if value is None:
        return MISSING
    if isinstance(value, str):
        return value
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    return text.replace("-", "−")
