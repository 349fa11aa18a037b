"""Measures computed from records, and the paper's numbers to compare them with."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import comb
from statistics import mean, stdev
from typing import Any

import numpy as np

from akkm.metrics import error_reduction, nmi_from_counts
from experiments.harness.store import Record
from experiments.paper.plan import TINY_FACTOR, Cell, Experiment, unique
from experiments.paper.store import Store

# The methods with landmarks, and those without.
WITH_LANDMARKS = ("aKKm", "tKKm", "nysSC")
WITHOUT_LANDMARKS = ("KKm", "k-means", "lKKm")
# Data sets that are too large for exact kernel k-means.
LARGE = ("covtype", "kddcup99-full")
# Data sets on which exact kernel k-means is run.
SMALL = ("imagenet12", "mnist")
# Number of runs over which the paper averages.
_PAPER_RUNS = 10


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over seeds, or over the paper's runs."""

    mean: float
    sd: float  # 0 for one value
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """Summarise values; return None if there are no values."""
        if not values:
            return None
        sd = stdev(values) if len(values) > 1 else 0.0
        return cls(mean(values), sd, len(values))


def ari(table: Sequence[Sequence[int]]) -> float:
    """Return the adjusted Rand index of two labelings from their contingency table.

    Examples
    --------
    >>> from experiments.paper.results import ari
    >>> ari([[2, 0], [0, 2]]), round(ari([[1, 1], [1, 1]]), 6)
    (1.0, -0.5)
    """
    counts = np.asarray(table)
    pairs = sum(comb(int(x), 2) for x in counts.ravel())
    rows = sum(comb(int(x), 2) for x in counts.sum(axis=1))
    columns = sum(comb(int(x), 2) for x in counts.sum(axis=0))
    expected = rows * columns / comb(int(counts.sum()), 2)
    most = (rows + columns) / 2
    # most == expected only if both labelings have a single cluster, or if both have one
    # cluster per row.
    return 1.0 if most == expected else (pairs - expected) / (most - expected)


def _reduction(record: Record) -> float | None:
    before, after = record["error"]["before"], record["error"]["after"]
    # A constant kernel leaves no error to reduce.
    return error_reduction(before, after) if before > 0 else None


# Functions that compute a measure from a record; None if the measure does not apply.
MEASURES: dict[str, Callable[[Record], float | None]] = {
    "seconds": lambda r: r["seconds"]["fit"] + r["seconds"].get("sampling", 0.0),
    "sampling": lambda r: r["seconds"].get("sampling"),
    "consensus": lambda r: r["seconds"].get("consensus"),
    "peak": lambda r: r["peak_bytes"],
    "matrix": lambda r: 8.0 * r["rows"] ** 2,
    "iterations": lambda r: r["n_iter"],
    "nmi": lambda r: nmi_from_counts(r["classes"]),
    "ari": lambda r: None if r.get("exact") is None else ari(r["exact"]),
    "reduction": _reduction,
}


class Results:
    """The records of a plan, by data set, method, number of landmarks and settings."""

    def __init__(
        self, store: Store, plan: Sequence[Experiment], *, tiny: bool = False
    ) -> None:
        self.store, self.plan, self.tiny = store, plan, tiny
        self._planned: dict[tuple[Any, ...], list[Cell]] = {}
        for cell in unique(cell for e in plan for cell in e.cells):
            group = cell.data, cell.method, cell.m, cell.settings
            self._planned.setdefault(group, []).append(cell)
        records = [
            store.get(cell) for cells in self._planned.values() for cell in cells
        ]
        self.records = [record for record in records if record is not None]
        self.complete = len(self.records) == len(records)  # every planned cell was run

    def name(self, data: str) -> str:
        """Return the name of a data set, or of its twin in a tiny run."""
        return f"tiny-{data}" if self.tiny else data

    def scaled(self, m: int) -> int:
        """Return the paper's m as used in this run; a tiny run divides it by 20."""
        return m // TINY_FACTOR if self.tiny else m

    def sizes(self, data: str, method: str = "aKKm") -> list[int]:
        """Return the planned numbers of landmarks in ascending order."""
        group = (self.name(data), method)
        sizes = {key[2] for key in self._planned if key[:2] == group}
        return sorted(sizes - {None})

    def table_sizes(self, data: str) -> list[int]:
        """Return all values of m in a table, even those that the plan leaves out."""
        gaps = (gap for e in self.plan for gap in e.left_out)
        out = {m for gap in gaps if self.name(data) in gap.data for m in gap.sizes}
        return sorted({*self.sizes(data), *out})

    def cells(self, data: str, method: str, m: int | None, **other: Any) -> list[Cell]:
        """Return the planned cells with these properties, one per seed."""
        settings = tuple(sorted(other.items()))
        return self._planned.get((self.name(data), method, m, settings), [])

    def get(
        self, measure: str, data: str, method: str, m: int | None = None, **other: Any
    ) -> Spread | None:
        """Return the spread of a measure over seeds; None if no run has the measure."""
        values = []
        for cell in self.cells(data, method, m, **other):
            record = self.store.get(cell)
            if record is not None and "failed" not in record:
                value = MEASURES[measure](record)
                values += [] if value is None else [float(value)]
        return Spread.of(values)

    def paper(
        self, measure: str, data: str, row: str | None = None, m: int | None = None
    ) -> Spread | None:
        """Return a number from the paper; None in a tiny run, which has other data."""
        return None if self.tiny else published(measure, data, row, m)

    def missing_reason(
        self, data: str, method: str, m: int | None, **other: Any
    ) -> str:
        """Return why a table has no number for these runs."""
        cells = self.cells(data, method, m, **other)
        if not cells:
            for gap in (gap for e in self.plan for gap in e.left_out):
                if gap.covers(self.name(data), method, m):
                    return gap.reason
            return "–"
        for cell in cells:
            record = self.store.get(cell)
            if record is not None and "failed" in record:
                return f"failed: {record['failed']}"
        return "not run yet"


@cache
def _published_numbers() -> dict[str, Any]:
    text = files("experiments.paper").joinpath("published.toml").read_text("utf-8")
    return tomllib.loads(text)


def published(
    measure: str, data: str, row: str | None = None, m: int | None = None
) -> Spread | None:
    """Return a number from the paper, or None if the paper does not report it.

    Examples
    --------
    >>> from experiments.paper.results import published
    >>> published("ari", "mnist", "aKKm", 500)
    Spread(mean=0.69, sd=0.11, n=10)
    """
    numbers = _published_numbers()
    value = numbers[measure].get(data)
    if row is not None:
        value = (value or {}).get(row)
    if value is not None and m is not None:
        value = dict(zip(numbers["sizes"], value, strict=False)).get(m)
    if value is None:
        return None
    return Spread(value[0], value[1] if len(value) > 1 else 0.0, _PAPER_RUNS)
