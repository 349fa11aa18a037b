"""Options that several commands share, collected in records."""

import csv
import functools
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import click

from akkm.kernels import KERNEL_NAMES
from akkm.landmarks import STRATEGIES

Command = Callable[..., Any]
Option = Callable[[Command], Command]

# "precomputed" needs a matrix, and "polynomial" is another name of "poly". The first
# one is the default.
KERNELS = tuple(n for n in KERNEL_NAMES if n not in ("precomputed", "polynomial"))
METHODS = ("approx", "exact", "two-step", "spectral", "leaders", "sparse", "diffusion")
GAMMA_RULES = ("scale", "median", "neighbors", "none")


@dataclass(frozen=True)
class Run:
    """One run of `akkm`: its arguments, and the files that it has written."""

    args: list[str]
    written: list[str] = field(default_factory=list)

    @property
    def command(self) -> str:
        """The command as one would type it again."""
        return shlex.join(["akkm", *self.args])

    @property
    def outcome(self) -> str:
        """The files written so far, in words."""
        if not self.written:
            return "no file was written"
        return f"written: {', '.join(self.written)}"


@dataclass(frozen=True)
class Source:
    """The data file and how to read it; None stands for the model's setting."""

    data: str
    header: bool | None
    delimiter: str | None
    decimal: str | None
    na: tuple[str, ...]


@dataclass(frozen=True)
class Encoding:
    """Which columns are clustered, and how they become numbers."""

    columns: tuple[str, ...]
    drop: tuple[str, ...]
    id: str | None
    label: str | None
    text: tuple[str, ...]
    scale: str
    missing: str


@dataclass(frozen=True)
class Method:
    """The clustering method; None stands for the estimator's default."""

    k: int | str  # a number or "auto"
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
    """A positive number, or one of several words."""

    name = "number or word"

    def __init__(self, number: Callable[[str], float], words: tuple[str, ...]) -> None:
        self._number, self._words = number, words

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Convert the text of an option."""
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
    """Column names separated by commas; names that contain commas are quoted."""

    name = "names"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[str]:
        """Split the text of an option."""
        if not isinstance(value, str):
            return list(value)
        names = next(csv.reader([value], skipinitialspace=True), [])
        if not names or not all(names):
            self.fail(f"{value!r} has an empty name; expected names such as a,b,c.")
        return names


def _names(name: str, help: str) -> Option:
    """An option with column names that may be given several times."""

    def flatten(ctx: Any, param: Any, value: tuple[list[str], ...]) -> tuple[str, ...]:
        return tuple(name for names in value for name in names)

    return click.option(name, type=Names(), multiple=True, callback=flatten, help=help)


def choice(name: str, values: tuple[str, ...], help: str) -> Option:
    """An option with one of several values; the first is the default."""
    kind, default = click.Choice(values), values[0]
    return click.option(name, type=kind, default=default, show_default=True, help=help)


def count(name: str, default: int | None, help: str, most: int | None = None) -> Option:
    """An option with a positive integer."""
    kind = click.IntRange(1, most)
    return click.option(name, type=kind, default=default, show_default=True, help=help)


def _collected(record: Any, name: str, **fixed: Any) -> Option:
    """Pass a command one record instead of an argument for each of its fields.

    `fixed` gives the values of fields that are not options.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def collecting(**given: Any) -> Any:
            names = [f.name for f in fields(record) if f.name not in fixed]
            values = {name: given.pop(name) for name in names}
            return command(**given, **{name: record(**values, **fixed)})

        return collecting

    return decorate


def _all(*options: Option) -> Option:
    """One decorator for several options, shown in the given order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


source_options = _all(
    click.argument("data", metavar="DATA"),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line of a CSV file contains the column names; "
        "otherwise columns are called 0, 1, ... [default: header]",
    ),
    click.option(
        "--delimiter",
        metavar="CHARACTER",
        help="Separates the fields of a CSV file: one character, or 'tab'. "
        "[default: ,]",
    ),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="Decimal separator of a CSV file. [default: .]",
    ),
    click.option(
        "--na",
        metavar="TEXT",
        multiple=True,
        help="A further text that stands for a missing value in a CSV file, besides an "
        "empty cell, NA, n/a, NaN, None and null; may be given several times.",
    ),
    _collected(Source, "source"),
)

drop_option = _names("--drop", "Ignore these columns: a,b,c.")

encoding_options = _all(
    _names("--columns", "Use only these columns: a,b,c. [default: all]"),
    drop_option,
    click.option(
        "--id", metavar="COLUMN", help="Column that identifies rows; not clustered."
    ),
    click.option(
        "--label",
        metavar="COLUMN",
        help="Column of known classes; not clustered, but compared with the clusters.",
    ),
    _names("--text", "Treat these columns as text even if they hold numbers: a,b,c."),
    choice("--scale", ("standard", "minmax", "none"), "Scaling of numeric columns."),
    choice(
        "--missing",
        ("error", "drop", "mean"),
        "Missing values: stop, drop the row, or fill in.",
    ),
    _collected(Encoding, "encoding"),
)

_K = click.option(
    "-k", "k", type=click.IntRange(min=1), required=True, help="Number of clusters."
)
_K_OR_AUTO = click.option(
    "-k",
    "k",
    type=NumberOr(int, ("auto",)),
    metavar="NUMBER|auto",
    required=True,
    help="Number of clusters; auto estimates it (--method sparse or diffusion).",
)
_METHOD = choice(
    "--method",
    METHODS,
    "Approximate kernel k-means, methods to compare it with, or clusters of any shape "
    "(sparse for many rows, diffusion).",
)
_KERNEL = (
    choice("--kernel", KERNELS, "Kernel function."),
    click.option(
        "--gamma",
        type=NumberOr(float, GAMMA_RULES),
        metavar="|".join(["NUMBER", *GAMMA_RULES]),
        default="scale",
        show_default=True,
        help="Width of the kernel: a number, or a rule.",
    ),
    click.option(
        "--degree", type=float, help="Degree of the polynomial kernel. [default: 3]"
    ),
    click.option(
        "--coef0",
        type=float,
        help="Constant of the polynomial and sigmoid kernels. [default: 1]",
    ),
)
_RUN = (
    click.option(
        "--landmarks",
        type=NumberOr(int, ("auto",)),
        metavar="NUMBER|auto",
        help="Number of landmarks, or of leaders. [default: auto]",
    ),
    click.option(
        "--sampling",
        type=click.Choice(STRATEGIES),
        help="How landmarks are selected. [default: uniform]",
    ),
    count("--ensemble", None, "Combine this many runs with different landmarks."),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        show_default=True,
        help="Seed of the random numbers; the same seed gives the same clusters.",
    ),
)
threads_option = count("--threads", None, "Number of threads. [default: all]")
method_options = _all(
    _K_OR_AUTO, _METHOD, *_KERNEL, *_RUN, threads_option, _collected(Method, "method")
)
# Spatial pyramids have one kernel.
_PYRAMID = {"kernel": "intersection", "gamma": None, "degree": None, "coef0": None}
pyramid_method_options = _all(
    _K, _METHOD, *_RUN, threads_option, _collected(Method, "method", **_PYRAMID)
)

output_options = _all(
    click.option("--labels", metavar="FILE", help="Write clusters: .parquet or .csv."),
    click.option("--model", metavar="FILE", help="Write the model: .skops."),
    click.option("--report", metavar="FILE", help="Write a report: .html."),
)
quiet_option = click.option("--quiet", is_flag=True, help="Print nothing but errors.")

memory_option = click.option(
    "--memory",
    type=click.FloatRange(min=0),
    default=1024,
    show_default=True,
    metavar="MB",
    help="Rows that need more once they are encoded stay on disk.",
)
