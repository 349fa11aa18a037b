"""Records whose fields are filled by options of the command line."""

import csv
import functools
import re
from collections.abc import Callable
from dataclasses import field, fields
from typing import Any

import click

Command = Callable[..., Any]
Option = Callable[[Command], Command]

COUNT = click.IntRange(min=1)


class NumberOr(click.ParamType[Any]):
    """A positive number, or one of several words."""

    name = "number or word"

    def __init__(self, number: Callable[[str], float], words: tuple[str, ...]) -> None:
        self._number, self._words = number, words

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Convert the text of an option to a number, unless it is one of the words."""
        if not isinstance(value, str) or value in self._words:
            return value
        try:
            number = self._number(value)
        except ValueError:
            number = 0
        if not 0 < number < float("inf"):
            words = ", ".join(self._words)
            self.fail(f"{value!r} is neither a positive number nor {words}.")
        return number


class ClusterCount(click.ParamType[Any]):
    """A number of clusters, a range such as 2-12, or the word auto."""

    name = "number, range or auto"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Convert the text to an integer, a pair of integers, or "auto"."""
        if not isinstance(value, str) or value == "auto":
            return value
        found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", value)
        if found is None:
            self.fail(
                f"{value!r} is neither a positive number nor a range such as 2-12 nor "
                "auto."
            )
        least, most = int(found[1]), int(found[2] or found[1])
        if found[2] is not None and not 2 <= least < most:
            self.fail(
                f"{value!r} is not a valid range; expected LEAST-MOST with "
                "2 <= LEAST < MOST."
            )
        if least < 1:
            self.fail(f"{value!r} clusters; expected at least 1.")
        return least if found[2] is None else (least, most)


class Share(click.ParamType[Any]):
    """A share of the rows: a number above 0 and at most 1, or the word auto."""

    name = "share or auto"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Convert the text to a number, unless it is "auto"."""
        if not isinstance(value, str) or value == "auto":
            return value
        try:
            share = float(value)
        except ValueError:
            share = 0.0
        if not 0 < share <= 1:
            self.fail(
                f"{value!r} is neither auto nor a share of the rows, above 0 and at "
                "most 1, such as 0.95."
            )
        return share


def option(*names: str, **settings: Any) -> Any:
    """A field of a record that is filled by an option."""
    return field(metadata={"option": click.option(*names, **settings)})


def choice(name: str, values: tuple[str, ...], help: str) -> Any:
    """A field with one of several values; the first is the default."""
    return option(name, type=click.Choice(values), default=values[0], help=help)


def split_names(ctx: Any, param: Any, values: tuple[str, ...]) -> list[str]:
    """Split column names at commas; names that contain commas must be quoted."""
    split = []
    for value in values:
        names = next(csv.reader([value], skipinitialspace=True), [])
        if not names or not all(names):
            raise click.BadParameter(
                f"{value!r} has an empty name; expected names such as a,b,c."
            )
        split += names
    return split


def split_weights(ctx: Any, param: Any, values: tuple[str, ...]) -> dict[str, float]:
    """Split texts such as "age=2" into names and weights."""
    weights = {}
    for value in values:
        name, _, number = value.rpartition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            name = ""
        if not name:
            raise click.BadParameter(f"{value!r} is not of the form COLUMN=NUMBER.")
    return weights


def option_of(record: Any, name: str) -> Option:
    """The option that fills a field of a record, as a decorator."""
    option: Option = record.__dataclass_fields__[name].metadata["option"]
    return option


def options_of(argument: str, record: Any) -> Option:
    """Decorator: add a record's options to a command, and pass the record to it."""
    options = {f.name: f.metadata["option"] for f in fields(record) if f.metadata}

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def collecting(**given: Any) -> Any:
            values = {name: given.pop(name) for name in options}
            return command(**given, **{argument: record(**values)})

        decorated: Command = collecting
        for option in reversed(options.values()):  # click lists the last one first
            decorated = option(decorated)
        return decorated

    return decorate
