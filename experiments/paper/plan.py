"""The plan: cells to run, read from one small TOML file per table or figure."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from itertools import product
from typing import Any

# A tiny run uses tiny twins of the data and this number of seeds.
_TINY_SEEDS = 2
# Of the paper's numbers of landmarks, a tiny run uses only these. None stands for
# methods without landmarks.
_TINY_SIZES = (None, 100, 1000, 5000)
# A tiny run divides the paper's numbers of landmarks by this factor.
TINY_FACTOR = 20
# Settings that change the rows or the kernel, not the method.
_DATA_SETTINGS = ("rows", "gamma", "coef0")
# Data sets in the order in which they are run.
DATA = ("imagenet12", "mnist", "covtype", "kddcup99", "kddcup99-full")


@dataclass(frozen=True)
class Cell:
    """One run: a method on a data set, with m landmarks and a seed.

    Examples
    --------
    >>> from experiments.paper import Cell
    >>> print(Cell("mnist", "aKKm", 100, 0))
    mnist, aKKm, m = 100, seed 0
    """

    data: str
    method: str
    m: int | None  # number of landmarks; None for methods without landmarks
    seed: int
    settings: tuple[tuple[str, Any], ...] = ()  # only those that differ from defaults

    @property
    def key(self) -> str:
        """A string that is equal for equal cells."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Cell:
        """Rebuild a cell from fields that were read from JSON."""
        settings = tuple((name, value) for name, value in fields["settings"])
        return cls(**{**fields, "settings": settings})

    @property
    def variation(self) -> tuple[tuple[str, Any], ...]:
        """Those settings that change the rows or the kernel, not the method."""
        return tuple((k, v) for k, v in self.settings if k in _DATA_SETTINGS)

    def __str__(self) -> str:
        parts = [self.data, self.method]
        parts += [] if self.m is None else [f"m = {self.m:,}"]
        parts += [f"{name} {value}" for name, value in self.settings]
        return ", ".join([*parts, f"seed {self.seed}"])


@dataclass(frozen=True)
class LeftOut:
    """Cells of a table that are not run, with the reason."""

    data: tuple[str, ...]
    reason: str
    methods: tuple[str, ...] = ()  # all methods if empty
    sizes: tuple[int, ...] = ()  # values of m; all if empty

    def covers(self, data: str, method: str, m: int | None) -> bool:
        """Whether cells of this data set, method and size are left out."""
        applies = not self.methods or method in self.methods
        return data in self.data and applies and (not self.sizes or m in self.sizes)


@dataclass(frozen=True)
class Experiment:
    """The cells of one table or figure."""

    name: str
    place: str  # table or figure of the paper, such as "Table 2"; or "Choices"
    title: str
    cells: tuple[Cell, ...]
    left_out: tuple[LeftOut, ...]


def experiments(*, tiny: bool = False) -> tuple[Experiment, ...]:
    """Return all experiments of the paper.

    Parameters
    ----------
    tiny : bool, default=False
        Use tiny twins of the data, fewer landmarks and two seeds. Such a run takes
        about a minute.

    Returns
    -------
    tuple of Experiment
        One per file in the folder `plans`, sorted by file name.

    Examples
    --------
    >>> from experiments.paper import experiments
    >>> [experiment.place for experiment in experiments()][1]
    'Figures 3 and 4'
    """
    folder = files("experiments.paper").joinpath("plans")
    paths = sorted(folder.iterdir(), key=lambda path: path.name)
    return tuple(
        _read(path.name.removesuffix(".toml"), path.read_text("utf-8"), tiny)
        for path in paths
        if path.name.endswith(".toml")
    )


def _read(name: str, text: str, tiny: bool) -> Experiment:
    plan = tomllib.loads(text)
    cells = unique(cell for grid in plan["cells"] for cell in _grid(**grid))
    if tiny:
        few = (c for c in cells if c.seed < _TINY_SEEDS and c.m in _TINY_SIZES)
        cells = unique(map(_tiny_cell, few))
    left_out = tuple(
        LeftOut(
            tuple(entry["data"]),
            entry["reason"],
            tuple(entry.get("methods", ())),
            tuple(entry.get("sizes", ())),
        )
        for entry in plan.get("left_out", ())
    )
    if tiny:
        left_out = tuple(_tiny_left_out(gap) for gap in left_out)
    return Experiment(name, plan["place"], plan["title"], cells, left_out)


def _grid(
    data: list[str],
    methods: list[str],
    seeds: int,
    sizes: list[int] | None = None,
    settings: list[dict[str, Any]] | None = None,
) -> Iterator[Cell]:
    axes: list[Any] = [data, sizes or [None], methods, settings or [{}], range(seeds)]
    for name, m, method, other, seed in product(*axes):
        yield Cell(name, method, m, seed, tuple(sorted(other.items())))


def _tiny_cell(cell: Cell) -> Cell:
    m = None if cell.m is None else cell.m // TINY_FACTOR
    return replace(cell, data=f"tiny-{cell.data}", m=m)


def _tiny_left_out(gap: LeftOut) -> LeftOut:
    data = tuple(f"tiny-{name}" for name in gap.data)
    return replace(gap, data=data, sizes=tuple(m // TINY_FACTOR for m in gap.sizes))


def unique(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Return each cell once, in the order in which cells are run.

    Data sets are run one after the other. On each data set, cells with the usual rows
    and kernel precede cells with other rows or kernels. Within such a group, exact
    kernel k-means is first, because other labels are compared with its labels. The
    other cells are run seed by seed, so that an interrupted run covers all methods.
    """
    return tuple(sorted(set(cells), key=_order))


def _order(cell: Cell) -> tuple[Any, ...]:
    data = DATA.index(cell.data.removeprefix("tiny-"))
    usual, exact = not cell.variation, cell.method == "KKm"
    varied = not usual, str(cell.variation)
    return data, *varied, not exact, cell.seed, cell.m or 0, cell.key
