"""Sentences on how columns are encoded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from akkm.tables._columns import Encoding, is_boolean, is_left_out
from akkm.tables._table import quoted_names

# The number of names listed in a line, and of text columns with a line of their own.
_NAMES, _LINES = 8, 8
_SCALES = {
    "standard": "scaled to mean 0 and standard deviation 1",
    "minmax": "scaled to lie between 0 and 1",
    "none": "as they are",
    "largest": "divided by their largest absolute value, so that zeros stay zeros",
}


def describe_columns(
    encodings: Sequence[Encoding],
    held_out: Sequence[str],
    constant: Sequence[str],
    dropped: Sequence[str],
) -> list[str]:
    """One line per group of columns that are treated alike."""
    used = [e for e in encodings if not is_left_out(e)]
    numbers = [e for e in used if e["kind"] == "number"]
    texts = [e for e in used if e["kind"] == "text" and not is_boolean(e)]
    how = _SCALES[numbers[0]["how"]] if numbers else ""
    shown = texts if len(texts) <= _LINES + 1 else texts[:_LINES]
    rest = texts[len(shown) :]
    values = sum(len(e["values"]) for e in rest)
    groups = [
        (_names(e for e in numbers if not e["time"]), f"numbers, {how}"),
        (_names(e for e in numbers if e["time"]), f"times in seconds, {how}"),
        (
            _names(e for e in used if is_boolean(e)),
            "true or false, encoded as text: one 0/1 column each",
        ),
        *(([e["name"]], _describe_text(e)) for e in shown),
    ]
    lines = [f"{_listed(names)}: {text}" for names, text in groups if names]
    if rest:
        text = f"text, {values:,} values one-hot encoded"
        lines.append(f"and {len(rest):,} more columns: {text}")
    for text, names in (
        ("held out", held_out),
        ("left out, as all values are equal", constant),
        ("left out, as requested", dropped),
    ):
        if names:
            lines.append(f"{text}: {_listed(names)}")
    return lines


def _describe_text(encoding: Encoding) -> str:
    if not encoding["pooled"]:
        return f"text, {len(encoding['values']):,} values one-hot encoded"
    return (
        f"text, {encoding['distinct']:,} values, the {encoding['kept']:,} most "
        f"frequent one-hot encoded, {100 * encoding['share']:.2g} % of rows pooled as "
        "'other'"
    )


def _names(encodings: Iterable[Encoding]) -> list[str]:
    return [encoding["name"] for encoding in encodings]


def _listed(names: Sequence[str]) -> str:
    """The first few names, in quotes if they need them, and the number of others."""
    most = len(names) if len(names) <= _NAMES + 1 else _NAMES
    shown = ", ".join(
        quoted_names([name]) if "," in name or not name.isprintable() else name
        for name in names[:most]
    )
    return shown if most == len(names) else f"{shown} and {len(names) - most:,} more"
