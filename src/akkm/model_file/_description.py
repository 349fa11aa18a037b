"""The description of a model: plain values, some of which commands print."""

from collections.abc import Callable
from numbers import Real
from typing import Any


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_list_of(kind: type) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        is_list = isinstance(value, list | tuple)
        return is_list and all(isinstance(item, kind) for item in value)

    return check


def _is_dict(value: Any) -> bool:
    return value is None or isinstance(value, dict)


def _is_scores(value: Any) -> bool:
    return _is_dict(value) and all(map(_is_number, (value or {}).values()))


# Entries that commands use, with their checks. Users may add other entries.
_ENTRIES: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("akkm", "command", "data", "date"), _is_text),
    **dict.fromkeys(("delimiter", "decimal"), _is_text),
    **dict.fromkeys(
        ("header", "layers"), lambda value: value is None or isinstance(value, bool)
    ),
    "na": _is_list_of(str),
    **dict.fromkeys(("doubts", "notes"), _is_list_of(str)),
    "rows": _is_number,
    "seconds": _is_number,
    "settings": _is_dict,
    "scores": _is_scores,
    "sizes": _is_list_of(int),
}


def unprintable(about: dict[str, Any]) -> list[str]:
    """Return the names of entries that commands print but whose type is unexpected.

    Examples
    --------
    >>> from akkm.model_file._description import unprintable
    >>> unprintable({"rows": "many", "data": "iris.csv", "place": [1, {}]})
    ['rows']
    """
    return [
        name
        for name, is_valid in _ENTRIES.items()
        if name in about and not is_valid(about[name])
    ]
