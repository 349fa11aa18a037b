"""Measures of what was run, and the paper's numbers beside them."""

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
from experiments._plan import SMALLER, Cell, Experiment
from experiments._store import Record, Store

METHODS = ("aKKm", "tKKm", "nysSC")
SINGLE = ("KKm", "k-means", "lKKm")
LARGE = ("covtype", "kddcup99-full")
SMALL = ("imagenet12", "mnist")
# Over so many runs the paper's numbers are.
_RUNS = 10


@dataclass(frozen=True)
class Spread:
    """Numbers over seeds, or the paper's over its runs."""

    mean: float
    sd: float  # 0 for one value
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """None of nothing."""
        if not values:
            return None
        sd = stdev(values) if len(values) > 1 else 0.0
        return cls(mean(values), sd, len(values))


def ari(table: Sequence[Sequence[int]]) -> float:
    """Adjusted Rand index of two labelings, out of their counts in common.

    Examples
    --------
    >>> from experiments._results import ari
    >>> ari([[2, 0], [0, 2]]), round(ari([[1, 1], [1, 1]]), 6)
    (1.0, -0.5)
    """
    counts = np.asarray(table)
    pairs = sum(comb(int(x), 2) for x in counts.ravel())
    rows = sum(comb(int(x), 2) for x in counts.sum(axis=1))
    columns = sum(comb(int(x), 2) for x in counts.sum(axis=0))
    expected = rows * columns / comb(int(counts.sum()), 2)
    most = (rows + columns) / 2
    # Both one cluster, or both all rows alone: they are the same.
    return 1.0 if most == expected else (pairs - expected) / (most - expected)


def _reduction(record: Record) -> float | None:
    before, after = record["error"]["before"], record["error"]["after"]
    # A constant kernel tells no rows apart.
    return error_reduction(before, after) if before > 0 else None


# Each from the record of one cell; None where that has nothing to say about it.
MEASURES: dict[str, Callable[[Record], float | None]] = {
    "seconds": lambda r: r["seconds"]["fit"] + r["seconds"].get("sampling", 0.0),
    "sampling": lambda r: r["seconds"].get("sampling"),
    "consensus": lambda r: r["seconds"].get("consensus"),
    "peak": lambda r: r["peak_bytes"],
    "matrix": lambda r: 8.0 * r["rows"] ** 2,
    "iterations": lambda r: r["n_iter"],
    "nmi": lambda r: nmi_from_counts(np.array(r["classes"], dtype=float)),
    "ari": lambda r: None if r.get("exact") is None else ari(r["exact"]),
    "reduction": _reduction,
}


class Results:
    """All records of a plan, by what they are of."""

    def __init__(
        self, store: Store, plan: Sequence[Experiment], *, tiny: bool = False
    ) -> None:
        self.store, self.plan, self.tiny = store, plan, tiny
        self._planned: dict[tuple[Any, ...], list[Cell]] = {}
        for cell in sorted({c for e in plan for c in e.cells}, key=lambda c: c.seed):
            of = cell.data, cell.method, cell.m, cell.settings
            self._planned.setdefault(of, []).append(cell)
        found = [store.get(cell) for cells in self._planned.values() for cell in cells]
        self.records = [record for record in found if record is not None]
        self.complete = len(self.records) == len(found)  # all that is planned was run

    def name(self, data: str) -> str:
        """A data set as it is called in this run."""
        return f"tiny-{data}" if self.tiny else data

    def at(self, m: int) -> int:
        """A number of landmarks of the paper, as it is in this run."""
        return m // SMALLER if self.tiny else m

    def sizes(self, data: str, method: str = "aKKm") -> list[int]:
        """Numbers of landmarks that are planned."""
        of = (self.name(data), method)
        sizes = {key[2] for key in self._planned if key[:2] == of}
        return sorted(sizes - {None})

    def rows(self, data: str) -> list[int]:
        """Numbers of landmarks of a table: those planned, and those left out."""
        gaps = (gap for e in self.plan for gap in e.left_out)
        out = {m for gap in gaps if self.name(data) in gap.data for m in gap.sizes}
        return sorted({*self.sizes(data), *out})

    def cells(self, data: str, method: str, m: int | None, **other: Any) -> list[Cell]:
        """Planned cells, seed by seed."""
        settings = tuple(sorted(other.items()))
        return self._planned.get((self.name(data), method, m, settings), [])

    def get(
        self, measure: str, data: str, method: str, m: int | None = None, **other: Any
    ) -> Spread | None:
        """A measure over seeds; None if there is no run that has it."""
        values = []
        for cell in self.cells(data, method, m, **other):
            record = self.store.get(cell)
            if record is not None and "failed" not in record:
                value = MEASURES[measure](record)
                values += [] if value is None else [float(value)]
        return Spread.of(values)

    def paper(
        self, measure: str, data: str, of: str | None = None, m: int | None = None
    ) -> Spread | None:
        """The paper's number to show beside it; tiny twins are not the paper's data."""
        return None if self.tiny else paper(measure, data, of, m)

    def gap(self, data: str, method: str, m: int | None, **other: Any) -> str:
        """Why there is no number."""
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
def _paper() -> dict[str, Any]:
    text = files("experiments").joinpath("paper.toml").read_text("utf-8")
    return tomllib.loads(text)


def paper(
    measure: str, data: str, of: str | None = None, m: int | None = None
) -> Spread | None:
    """The paper's number, if it has one.

    Examples
    --------
    >>> from experiments._results import paper
    >>> paper("ari", "mnist", "aKKm", 500)
    Spread(mean=0.69, sd=0.11, n=10)
    """
    found = _paper()[measure].get(data)
    if of is not None:
        found = (found or {}).get(of)
    if found is not None and m is not None:
        sizes: list[int] = _paper()["sizes"]
        found = dict(zip(sizes, found, strict=False)).get(m)
    if found is None:
        return None
    return Spread(found[0], found[1] if len(found) > 1 else 0.0, _RUNS)
