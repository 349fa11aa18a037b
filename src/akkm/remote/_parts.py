"""The rows of a fit on many workers: each partition is a part, and they add up.

Every task is a function of the partition and of what the task before made of it, and
changes neither: what a worker took with it when it died is computed again from these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.bounds import Moves, State
from akkm.engines import Threads
from akkm.gram import Gram
from akkm.nearest import View
from akkm.parts import Part, Stats, Swept, Worst
from akkm.remote._waiting import Cluster
from akkm.sources import Strip

Array = NDArray[Any]


@dataclass(frozen=True)
class _Setup:
    """What every worker has: landmarks and their coordinates."""

    strip: Strip  # without rows
    gram: Gram | None


@dataclass(frozen=True)
class _Held:
    """What a worker has of a partition, besides its rows."""

    state: State
    swept: Swept | None = None  # in the last sweep


class RemoteParts:
    """Partitions on workers, as one."""

    def __init__(
        self,
        cluster: Cluster,
        blocks: list[Any],
        starts: Array,
        strip: Strip,
        gram: Gram,
    ) -> None:
        self._cluster, self._blocks, self._starts = cluster, blocks, starts
        rowless = strip.over(np.empty((0, strip.X.shape[1]), dtype=strip.X.dtype))
        # Coordinates are needed only where lengths are not those of the kernel.
        self._setup = cluster.hand_out(
            _Setup(rowless, None if strip.kernel.psd else gram)
        )
        self._held = cluster.each(_start, blocks, [strip.kernel.unit] * len(blocks))

    def _ask(self, function: Callable[..., Any], *values: Any) -> list[Any]:
        """Futures of function(setup, rows, held, ...) for each partition."""
        count = len(self._blocks)
        same = [[value] * count for value in (self._setup, *values)]
        return self._cluster.each(
            function, same[0], self._blocks, self._held, *same[1:]
        )

    def tally(self, n_clusters: int) -> Stats:
        """Never asked: there are no labels before the first sweep."""
        raise AssertionError("remote rows start from centers")

    def sweep(self, view: View, moves: Moves | None, stamp: int) -> Swept:
        """Assign rows that are in doubt, all of them without `moves`."""
        order = self._cluster.hand_out((view, moves, stamp))
        self._held = self._ask(_sweep, order)
        swept: Swept = self._cluster.add(self._cluster.each(_swept_of, self._held))
        return swept

    def recount(self, cluster: int) -> Stats:
        """Stats of one cluster, summed anew, as cluster 0 of 1."""
        stats: Stats = self._cluster.add(self._ask(_recount, cluster))
        return stats

    def worst(self, view: View, stale: Moves | None, counts: Array) -> Worst:
        """The row that fits worst, of those that leave something of their cluster."""
        order = self._cluster.hand_out((view, stale, counts))
        found = self._cluster.fetch(self._ask(_worst, order))
        part = max(range(len(found)), key=lambda p: found[p].squared)
        return replace(found[part], part=part)

    def give(self, row: Worst, cluster: int) -> None:
        """Put a row into a cluster, to be looked at in the next sweep."""
        held = self._held[row.part]
        self._held[row.part] = self._cluster.task(_give, held, row, cluster)

    def trace(self) -> float:
        """sum_i k(x_i, x_i)."""
        return float(sum(self._cluster.fetch(self._ask(_trace))))

    @property
    def labels(self) -> Any:
        """(n,) int32, as a Dask array in the partitions of the rows."""
        import dask.array as da

        found = self._cluster.each(_labels_of, self._held)
        sizes = [stop - start for start, stop in pairwise(self._starts.tolist())]
        return da.concatenate(
            [
                da.from_delayed(future, (size,), np.int32)
                for future, size in zip(found, sizes, strict=True)
            ]
        )


# Tasks. `setup`, `rows` and `held` are shared with other tasks: not to be changed.


def _start(rows: Array, unit: bool) -> _Held:
    return _Held(State.start(len(rows), unit=unit))


def _part(setup: _Setup, rows: Array, state: State, engine: Threads) -> Part:
    return Part(setup.strip.over(rows), setup.gram, None, state, engine)


def _sweep(setup: _Setup, rows: Array, held: _Held, order: Any) -> _Held:
    state = held.state.copy()
    with Threads(1) as engine:
        return _Held(state, _part(setup, rows, state, engine).sweep(*order))


def _swept_of(held: _Held) -> Swept | None:
    return held.swept


def _labels_of(held: _Held) -> Array:
    return held.state.labels


def _recount(setup: _Setup, rows: Array, held: _Held, cluster: int) -> Stats:
    with Threads(1) as engine:
        return _part(setup, rows, held.state, engine).recount(cluster)


def _worst(setup: _Setup, rows: Array, held: _Held, order: Any) -> Worst:
    with Threads(1) as engine:
        return _part(setup, rows, held.state, engine).worst(*order)


def _give(held: _Held, row: Worst, cluster: int) -> _Held:
    state = held.state.copy()
    state.give(row.row, cluster)
    return _Held(state)


def _trace(setup: _Setup, rows: Array, held: _Held) -> float:
    with Threads(1) as engine:
        return _part(setup, rows, held.state, engine).trace()
