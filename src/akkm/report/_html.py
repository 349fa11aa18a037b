"""HTML in which everything is escaped that is not HTML already."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

# Names and ids are cut after so many characters.
_LONGEST = 80


class Markup(str):
    """Text that is HTML already."""


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element; children and attributes are escaped, unless they are Markup.

    Examples
    --------
    >>> from akkm.report._html import tag
    >>> tag("p", "a < b ", tag("b", "c"), class_="x")
    '<p class="x">a &lt; b <b>c</b></p>'
    """
    return Markup(f"{void(name, **attributes)}{join(children)}</{name}>")


def void(name: str, /, **attributes: Any) -> Markup:
    """An element that has no children and no end; attributes are escaped.

    Examples
    --------
    >>> from akkm.report._html import void
    >>> void("img", alt='a "b"')
    '<img alt="a &quot;b&quot;">'
    """
    parts = [
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    ]
    return Markup(f"<{name}{''.join(parts)}>")


def join(children: Iterable[Any]) -> Markup:
    """Children one after the other; None is nothing."""
    return Markup(
        "".join(
            child if isinstance(child, Markup) else html.escape(str(child))
            for child in children
            if child is not None
        )
    )


def short(value: Any) -> str:
    """Text of at most 80 characters on one line."""
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def number(value: float) -> str:
    """A number for people.

    Examples
    --------
    >>> from akkm.report._html import number
    >>> number(12345.0), number(303942.7), number(0.0123456), number(-2.5)
    ('12,345', '303,943', '0.01235', '−2.5')
    """
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−")
    large = 1000 <= abs(value) < 1e15
    return f"{value:{',.0f' if large else '.4g'}}".replace("-", "−")


def percent(share: float) -> str:
    """A share in percent, with a decimal where it is small.

    Examples
    --------
    >>> from akkm.report._html import percent
    >>> percent(0.5), percent(0.012), percent(0.00001), percent(0)
    ('50 %', '1.2 %', '< 0.01 %', '0 %')
    """
    if share == 0:
        return "0 %"
    if share < 0.0001:
        return "< 0.01 %"
    digits = 0 if share >= 0.0995 else 1 if share >= 0.00995 else 2
    return f"{100 * share:.{digits}f} %"


def table(
    caption: str, head: Sequence[Any], rows: Iterable[Sequence[Any]], **attributes: Any
) -> Markup:
    """A table in a box that scrolls; the first cell of each row is its heading."""
    first = tag("tr", *(tag("th", cell, scope="col") for cell in head))
    body = [
        tag("tr", heading(row[0]), *(_cell(cell) for cell in row[1:])) for row in rows
    ]
    whole = tag(
        "table",
        tag("caption", caption),
        tag("thead", first),
        tag("tbody", *body),
        **attributes,
    )
    return scrolling(caption, whole)


def heading(name: Any) -> Markup:
    """The first cell of a row: names that are long wrap, short ones take no room."""
    return tag("th", tag("span", name, class_="name"), scope="row")


def _cell(cell: Any) -> Markup:
    if isinstance(cell, Markup) and cell.startswith("<td"):
        return cell
    return tag("td", cell)


def scrolling(name: str, content: Markup) -> Markup:
    """A box that scrolls sideways on its own, by keyboard too."""
    sign = tag("p", "Scrolls sideways →", class_="sideways", aria_hidden="true")
    box = tag(
        "div", content, class_="scroll", role="region", aria_label=name, tabindex="0"
    )
    return join([sign, box])


def details(summary: str, *content: Any, again: bool = False) -> Markup:
    """Something that unfolds; `again`: what a picture shows too."""
    kind = "again" if again else None
    return tag("details", tag("summary", summary), *content, class_=kind)


def to_json(data: Any) -> Markup:
    """JSON that can stand inside of a script element."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def rounded(value: float) -> float | None:
    """Four digits, for JSON; None for what JSON has no number for."""
    number = float(f"{value:.4g}")
    return number if abs(number) < 1e300 else None
