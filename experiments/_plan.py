"""What is run: cells, read from one small file per table or figure."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from itertools import product
from typing import Any

# A tiny run: twins of the data, some of the sizes divided by this, and few seeds.
SMALLER, _SEEDS, _SIZES = 20, 2, (None, 100, 1000, 5000)
# Settings that change what is clustered.
_OF_DATA = ("rows", "gamma", "coef0")
# Data sets in the order in which they are run.
DATA = ("imagenet12", "mnist", "covtype", "kddcup99", "kddcup99-full")


@dataclass(frozen=True)
class Cell:
    """One run: a method on a data set, with m landmarks and a seed.

    Examples
    --------
    >>> from experiments import Cell
    >>> print(Cell("mnist", "aKKm", 100, 0))
    mnist, aKKm, m = 100, seed 0
    """

    data: str
    method: str
    m: int | None  # landmarks, of methods that have some
    seed: int
    settings: tuple[tuple[str, Any], ...] = ()  # what is other than usual

    @property
    def key(self) -> str:
        """What makes two cells the same."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Cell:
        """From what JSON keeps of it."""
        settings = tuple((name, value) for name, value in fields["settings"])
        return cls(**{**fields, "settings": settings})

    @property
    def variation(self) -> tuple[tuple[str, Any], ...]:
        """The settings that are about rows and kernel, not about the method."""
        return tuple((k, v) for k, v in self.settings if k in _OF_DATA)

    def __str__(self) -> str:
        parts = [self.data, self.method]
        parts += [] if self.m is None else [f"m = {self.m:,}"]
        parts += [f"{name} {value}" for name, value in self.settings]
        return ", ".join([*parts, f"seed {self.seed}"])


@dataclass(frozen=True)
class LeftOut:
    """Cells that a table has and that are not run, with the reason."""

    data: tuple[str, ...]
    reason: str
    methods: tuple[str, ...] = ()  # none: all
    sizes: tuple[int, ...] = ()  # none: all

    def covers(self, data: str, method: str, m: int | None) -> bool:
        """Whether this is about a cell."""
        fits = not self.methods or method in self.methods
        return data in self.data and fits and (not self.sizes or m in self.sizes)


@dataclass(frozen=True)
class Experiment:
    """The cells of one table or figure."""

    name: str
    place: str  # in the paper
    title: str
    cells: tuple[Cell, ...]
    left_out: tuple[LeftOut, ...]


def experiments(*, tiny: bool = False) -> tuple[Experiment, ...]:
    """All experiments of the paper.

    Parameters
    ----------
    tiny : bool, default=False
        The same on tiny twins of the data, with fewer landmarks and two seeds: in less
        than a minute, to see what comes out.

    Examples
    --------
    >>> from experiments import experiments
    >>> [experiment.place for experiment in experiments()][1]
    'Figures 3 and 4'
    """
    folder = files("experiments").joinpath("plans")
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
        few = (c for c in cells if c.seed < _SEEDS and c.m in _SIZES)
        cells = unique(map(_smaller, few))
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
        left_out = tuple(_smaller_gap(gap) for gap in left_out)
    return Experiment(name, plan["place"], plan["title"], cells, left_out)


def _grid(
    data: list[str],
    methods: list[str],
    seeds: int,
    sizes: list[int] | None = None,
    settings: list[dict[str, Any]] | None = None,
) -> Iterator[Cell]:
    each: list[Any] = [data, sizes or [None], methods, settings or [{}], range(seeds)]
    grid = product(*each)
    for name, m, method, other, seed in grid:
        yield Cell(name, method, m, seed, tuple(sorted(other.items())))


def _smaller(cell: Cell) -> Cell:
    m = None if cell.m is None else cell.m // SMALLER
    return replace(cell, data=f"tiny-{cell.data}", m=m)


def _smaller_gap(gap: LeftOut) -> LeftOut:
    data = tuple(f"tiny-{name}" for name in gap.data)
    return replace(gap, data=data, sizes=tuple(m // SMALLER for m in gap.sizes))


def unique(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Each cell once, in the order of running.

    Data set by data set, as it is and then with other rows or kernels; first exact
    kernel k-means, which others are compared with; then seed by seed, so that whatever
    is there says something about all methods.
    """
    return tuple(sorted(set(cells), key=_order))


def _order(cell: Cell) -> tuple[Any, ...]:
    data = DATA.index(cell.data.removeprefix("tiny-"))
    usual, exact = not cell.variation, cell.method == "KKm"
    varied = not usual, str(cell.variation)
    return data, *varied, not exact, cell.seed, cell.m or 0, cell.key
