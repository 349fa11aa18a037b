"""Options that several commands share, as records."""

from __future__ import annotations

import csv
import functools
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import click

from akkm.kernels import KERNEL_NAMES
from akkm.landmarks import STRATEGIES

Command = TypeVar("Command", bound=Callable[..., Any])

# Rows come from files, and one name per kernel is enough.
_NOT_HERE = ("precomputed", "polynomial")
KERNELS = tuple(name for name in KERNEL_NAMES if name not in _NOT_HERE)
METHODS = ("approx", "exact", "two-step", "spectral", "leaders", "sparse", "diffusion")
RULES = ("scale", "median", "neighbors", "none")


@dataclass(frozen=True)
class Run:
    """One run of the command: what was asked for, and which files came of it."""

    given: list[str]
    written: list[str] = field(default_factory=list)

    @property
    def command(self) -> str:
        """What does the same again."""
        return shlex.join(["akkm", *self.given])

    @property
    def outcome(self) -> str:
        """What there is now, in words."""
        if not self.written:
            return "no file was written"
        return f"written: {', '.join(self.written)}"


@dataclass(frozen=True)
class Source:
    """Which file, and how to read it; None: as the model's was."""

    data: str
    header: bool | None
    delimiter: str | None
    decimal: str | None
    na: tuple[str, ...]


@dataclass(frozen=True)
class Encoding:
    """Which columns, and how they become numbers."""

    columns: tuple[str, ...]
    drop: tuple[str, ...]
    id: str | None
    label: str | None
    text: tuple[str, ...]
    scale: str
    missing: str


@dataclass(frozen=True)
class Method:
    """What to cluster with; None: the estimator's own default."""

    k: int | str  # or "auto"
    method: str
    kernel: str
    gamma: float | str | None
    degree: float | None
    coef0: float | None
    landmarks: int | str | None
    sampling: str | None
    ensemble: int | None
    seed: int
    threads: int | None


class NumberOr(click.ParamType[Any]):
    """A number, or one of some words."""

    name = "number or word"

    def __init__(self, number: Callable[[str], float], words: tuple[str, ...]) -> None:
        self._number, self._words = number, words

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The word or the number that was written."""
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


class Names(click.ParamType[list[str]]):
    """Column names with commas between them, quoted where they have commas inside."""

    name = "names"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[str]:
        """The names; none is empty."""
        if not isinstance(value, str):
            return list(value)
        names = next(csv.reader([value], skipinitialspace=True), [])
        if not names or not all(names):
            self.fail(f"{value!r} has an empty name; expected names such as a,b,c.")
        return names


def _flat(ctx: Any, param: Any, value: tuple[list[str], ...]) -> tuple[str, ...]:
    return tuple(name for names in value for name in names)


def _gathered(record: Any, name: str, **fixed: Any) -> Callable[[Command], Command]:
    """Let a command take one record in place of as many arguments as it has fields.

    Fields that are `fixed` are no arguments.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def gathering(**given: Any) -> Any:
            values = {
                field.name: given.pop(field.name)
                for field in fields(record)
                if field.name not in fixed
            }
            return command(**given, **{name: record(**values, **fixed)})

        return gathering  # type: ignore[return-value]

    return decorate


def _all(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


source_options = _all(
    click.argument("data", metavar="DATA"),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line of a CSV file names the columns (it does); "
        "without, columns are called 0, 1, ...",
    ),
    click.option(
        "--delimiter",
        metavar="CHARACTER",
        help="Between the fields of a CSV file: one character, or 'tab'. [default: ,]",
    ),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="Within the numbers of a CSV file. [default: .]",
    ),
    click.option(
        "--na",
        metavar="TEXT",
        multiple=True,
        help="Stands for a missing value in a CSV file, as an empty cell, NA, n/a, "
        "NaN, None and null do; may be given several times.",
    ),
    _gathered(Source, "source"),
)

drop_option = click.option(
    "--drop", type=Names(), multiple=True, callback=_flat, help="Not these: a,b,c."
)

encoding_options = _all(
    click.option(
        "--columns",
        type=Names(),
        multiple=True,
        callback=_flat,
        help="Only these columns: a,b,c. [default: all]",
    ),
    drop_option,
    click.option("--id", metavar="COLUMN", help="Names the rows; is not clustered."),
    click.option(
        "--label", metavar="COLUMN", help="Held out, and used to score the clusters."
    ),
    click.option(
        "--text",
        type=Names(),
        multiple=True,
        callback=_flat,
        help="Take these as text even if they hold numbers (codes): a,b,c.",
    ),
    click.option(
        "--scale",
        type=click.Choice(["standard", "minmax", "none"]),
        default="standard",
        show_default=True,
        help="How columns of numbers are scaled.",
    ),
    click.option(
        "--missing",
        type=click.Choice(["error", "drop", "mean"]),
        default="error",
        show_default=True,
        help="What to do with missing values: stop, leave the row out, or fill in.",
    ),
    _gathered(Encoding, "encoding"),
)

_NUMBER = click.option(
    "-k", "k", type=click.IntRange(min=1), required=True, help="How many clusters."
)
_NUMBER_OR_AUTO = click.option(
    "-k",
    "k",
    type=NumberOr(int, ("auto",)),
    metavar="NUMBER|auto",
    required=True,
    help="How many clusters; auto counts them (--method sparse or diffusion).",
)
_HOW = (
    click.option(
        "--method",
        type=click.Choice(METHODS),
        default="approx",
        show_default=True,
        help="Approximate kernel k-means, what it is compared with, or clusters of any "
        "shape: sparse (many rows), diffusion.",
    ),
)
_KERNEL = (
    click.option(
        "--kernel", type=click.Choice(KERNELS), default="rbf", show_default=True
    ),
    click.option(
        "--gamma",
        type=NumberOr(float, RULES),
        metavar="|".join(["NUMBER", *RULES]),
        default="scale",
        show_default=True,
        help="Width of the kernel: a number, or a rule.",
    ),
    click.option("--degree", type=float, help="Of the polynomial kernel. [default: 3]"),
    click.option(
        "--coef0",
        type=float,
        help="Of the polynomial and sigmoid kernels. [default: 1]",
    ),
)
_RUN = (
    click.option(
        "--landmarks",
        type=NumberOr(int, ("auto",)),
        metavar="NUMBER|auto",
        help="How many rows span the centers (or lead, for leaders). [default: auto]",
    ),
    click.option(
        "--sampling",
        type=click.Choice(STRATEGIES),
        help="How landmarks are chosen. [default: uniform]",
    ),
    click.option(
        "--ensemble",
        type=click.IntRange(min=1),
        metavar="N",
        help="Combine N runs with landmarks of their own.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        show_default=True,
        help="Same seed, same clusters.",
    ),
    click.option("--threads", type=click.IntRange(min=1), help="[default: all]"),
)
method_options = _all(
    _NUMBER_OR_AUTO, *_HOW, *_KERNEL, *_RUN, _gathered(Method, "method")
)
# The kernel of spatial pyramids is what it is.
_PYRAMID = {"kernel": "intersection", "gamma": None, "degree": None, "coef0": None}
pyramid_method_options = _all(
    _NUMBER, *_HOW, *_RUN, _gathered(Method, "method", **_PYRAMID)
)

quiet_option = click.option("--quiet", is_flag=True, help="Say nothing but errors.")

memory_option = click.option(
    "--memory",
    type=click.FloatRange(min=0),
    default=1024,
    show_default=True,
    metavar="MB",
    help="Rows that need more once they are encoded stay on disk.",
)
