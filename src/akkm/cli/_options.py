"""Options that several commands share, collected in records."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from akkm.cli._records import (
    COUNT,
    ClusterCount,
    NumberOr,
    Share,
    choice,
    option,
    split_names,
    split_weights,
)
from akkm.clustering import default_method
from akkm.kernels import KERNEL_NAMES
from akkm.landmarks import STRATEGIES

# "precomputed" needs a matrix, and "polynomial" is another name of "poly". The first
# kernel is the default.
KERNELS = tuple(n for n in KERNEL_NAMES if n not in ("precomputed", "polynomial"))
METHODS = ("approx", "exact", "two-step", "spectral", "leaders", "sparse", "diffusion")
# Methods that define their own kernel.
OWN_KERNEL = ("sparse", "diffusion")
GAMMA_RULES = ("scale", "median", "neighbors", "none")


_file = functools.partial(option, metavar="FILE")


def _field(decorator: Any) -> Any:
    """A field of a record, filled from the options that the decorator adds."""
    return field(metadata={"option": decorator})


# Settings of options that take column names and may be given several times.
_NAMES: dict[str, Any] = {"metavar": "NAMES", "multiple": True, "callback": split_names}


@dataclass(frozen=True)
class Source:
    """The data file and how to read it.

    None means the model's setting, or the default if there is no model.
    """

    data: str = _field(click.argument("data", metavar="DATA"))
    header: bool | None = option(
        "--header/--no-header",
        default=None,
        help="Whether the first line of a CSV file contains the column names; "
        "otherwise columns are called 0, 1, ... [default: header]",
    )
    delimiter: str | None = option(
        "--delimiter",
        metavar="CHARACTER",
        help="Separates the fields of a CSV file: one character, or 'tab'. "
        "[default: ,]",
    )
    decimal: str | None = option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="Decimal separator of a CSV file. [default: .]",
    )
    na: tuple[str, ...] = option(
        "--na",
        metavar="TEXT",
        multiple=True,
        help="A further text that means a missing value in a CSV file, besides an "
        "empty cell, NA, n/a, NaN, None and null; may be given several times.",
    )


def _scale_options(command: Any) -> Any:
    """Add the option --scale, and --robust, which is short for --scale robust."""
    scale = click.option(
        "--scale",
        type=click.Choice(["auto", "standard", "robust", "minmax", "none"]),
        default="auto",
        help="Scaling of numeric columns; auto means robust for columns with heavy "
        "tails, and standard for the others.",
    )
    robust = click.option(
        "--robust",
        "scale",
        flag_value="robust",
        default="auto",
        show_default=False,
        help="The same as --scale robust: compress large values in numeric columns.",
    )
    return scale(robust(command))


@dataclass(frozen=True)
class Encoding:
    """Which columns are clustered, and how they are encoded as numbers."""

    columns: Sequence[str] = option(
        "--columns", help="Use only these columns: a,b,c. [default: all]", **_NAMES
    )
    drop: Sequence[str] = option(
        "--drop", help="Ignore these columns: a,b,c.", **_NAMES
    )
    id: str | None = option(
        "--id", metavar="COLUMN", help="Column that identifies rows; not clustered."
    )
    label: str | None = option(
        "--label",
        metavar="COLUMN",
        help="Column of known classes; not clustered, but compared with the clusters.",
    )
    text: Sequence[str] = option(
        "--text",
        help="Treat these columns as categories even if they hold numbers: a,b,c.",
        **_NAMES,
    )
    words: Sequence[str] = option(
        "--words",
        help="Encode these columns of free text by their words (TF-IDF): a,b,c.",
        **_NAMES,
    )
    scale: str = _field(_scale_options)
    missing: str = choice(
        "--missing",
        ("mean", "drop", "error"),
        "If values are missing: fill in a value, drop the row, or stop.",
    )
    sentinels: str = choice(
        "--sentinels",
        ("missing", "keep"),
        "Values that seem to mean 'unknown', such as 9999999 or 1900-01-01: treat them "
        "like missing values, or use them.",
    )
    weights: Mapping[str, float] = option(
        "--weight",
        "weights",
        metavar="COLUMN=NUMBER",
        multiple=True,
        callback=split_weights,
        help="Weight of a column in squared distances, 1 by default; may be given "
        "several times.",
    )


@dataclass(frozen=True)
class Method:
    """The clustering method; None means the estimator's default."""

    k: int | str | tuple[int, int] = option(
        "-k",
        type=ClusterCount(),
        metavar="NUMBER|RANGE|auto",
        default="auto",
        help="Number of clusters; auto estimates it, and a range such as 2-12 limits "
        "the estimate.",
    )
    method: str = option(
        "--method",
        type=click.Choice(METHODS),
        help="approx is approximate kernel k-means; sparse (for many rows) and "
        "diffusion find clusters of any shape; the others are for comparison. "
        "[default: approx if the number of clusters is given or DATA has columns of "
        "categories, else sparse]",
    )
    kernel: str = choice("--kernel", KERNELS, "Kernel function.")
    gamma: float | str | None = option(
        "--gamma",
        type=NumberOr(float, GAMMA_RULES),
        metavar="|".join(["NUMBER", *GAMMA_RULES]),
        default="scale",
        help="Width of the kernel: a number, or the name of a rule.",
    )
    degree: float | None = option(
        "--degree", type=float, help="Degree of the polynomial kernel. [default: 3]"
    )
    coef0: float | None = option(
        "--coef0",
        type=float,
        help="Constant of the polynomial and sigmoid kernels. [default: 1]",
    )
    landmarks: int | str | None = option(
        "--landmarks",
        type=NumberOr(int, ("auto",)),
        metavar="NUMBER|auto",
        help="Number of landmarks, or of leaders. [default: auto]",
    )
    sampling: str | None = option(
        "--sampling",
        type=click.Choice(STRATEGIES),
        help="How landmarks are selected. [default: uniform, or k-means for "
        "methods without a kernel]",
    )
    ensemble: int | None = option(
        "--ensemble",
        type=COUNT,
        help="Combine this many runs with different landmarks.",
    )
    seed: int = option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        help="Seed of the random numbers; the same seed gives the same clusters.",
    )
    threads: int | None = option(
        "--threads", type=COUNT, help="Number of threads. [default: all]"
    )
    layers: bool = option(
        "--layers",
        is_flag=True,
        help="Also find coarser layers, in which clusters are merged. The label file "
        "has a column for each layer.",
    )
    coverage: float | str = option(
        "--coverage",
        type=Share(),
        metavar="SHARE|auto",
        default=1.0,
        help="Share of the rows that get a cluster, such as 0.95. The least certain "
        "rows get -1. auto leaves out rows with less than a third of the median "
        "certainty.",
    )
    tol: float | None = option(
        "--tol",
        type=click.FloatRange(min=0),
        metavar="SHARE",
        help="Stop if an iteration decreases the clustering error by less than this "
        "share, such as 1e-4. [default: stop when no label changes]",
    )
    method_given: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "method_given", self.method is not None)
        if self.method is None:
            object.__setattr__(self, "method", default_method(self.k))


@dataclass(frozen=True, kw_only=True)
class PyramidMethod(Method):
    """The clustering method for images; the kernel can't be chosen."""

    k: int | str | tuple[int, int] = option(
        "-k", type=COUNT, required=True, help="Number of clusters."
    )
    method: str = choice(
        "--method",
        tuple(name for name in METHODS if name not in OWN_KERNEL),
        "approx is approximate kernel k-means; the others are for comparison.",
    )
    kernel: str = "intersection"
    gamma: float | str | None = None
    degree: float | None = None
    coef0: float | None = None


@dataclass(frozen=True)
class Output:
    """The files to write (None if not requested), and whether to print nothing."""

    labels: str | None = _file("--labels", help="Write clusters: .parquet or .csv.")
    model: str | None = _file("--model", help="Write the model: .skops.")
    report: str | None = _file("--report", help="Write a report: .html.")
    quiet: bool = option("--quiet", is_flag=True, help="Print nothing but errors.")

    @property
    def paths(self) -> dict[str, str | None]:
        """The file of each option, by option name."""
        names = ("labels", "model", "report")
        return {f"--{name}": getattr(self, name) for name in names}


@dataclass(frozen=True, kw_only=True)
class TableOutput(Output):
    """The files to write; `--write` copies the table and adds the clusters."""

    write: str | None = _file(
        "--write",
        help="Write the table with cluster, certainty and cluster name: .parquet or "
        ".csv.",
    )

    @property
    def paths(self) -> dict[str, str | None]:
        """The file of each option, by option name."""
        return {**super().paths, "--write": self.write}


checkpoint_option = click.option(
    "--checkpoint",
    metavar="FOLDER",
    help="Save the state of the fit in this folder, and resume from it if the command "
    "is run again (--method approx).",
)

known_option = click.option(
    "--known",
    metavar="FILE",
    help="Known classes: a table with the columns 'row' (or that of --id) and 'label', "
    "as 'akkm suggest' writes it. An empty label means an unknown class.",
)

pairs_option = click.option(
    "--pairs",
    metavar="FILE",
    help="Pairs of rows: a table with the columns 'first', 'second' and 'link' ('must' "
    "or 'cannot').",
)

strength_option = click.option(
    "--strength",
    type=click.FloatRange(min=0),
    metavar="NUMBER",
    help="Cost of violating --known or --pairs, relative to the mean squared distance "
    "of rows to their mean. [default: never violate them]",
)

memory_option = click.option(
    "--memory",
    type=click.FloatRange(min=0),
    default=1024,
    metavar="MB",
    help="Maximum memory for all encoded rows together. If they need more, they stay "
    "on disk.",
)

sample_option = click.option(
    "--sample",
    type=COUNT,
    metavar="N",
    help="Cluster N random rows, then assign all other rows to these clusters.",
)
