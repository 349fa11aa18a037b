"""The rows of a fit on many workers: each partition is a part, and they add up.

Every task is a function of the partition and of what the task before made of it, and
changes neither: what a worker took with it when it died is computed again from these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.core.bounds import Moves, State
from akkm.core.gram import Gram
from akkm.core.nearest import View
from akkm.core.parts import Part, Stats, Swept, Worst
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.rows.cluster import Cluster

Array = NDArray[Any]


@dataclass(frozen=True)
class _Setup:
    """What every worker has: landmarks and their coordinates."""

    strip: Strip  # without rows
    gram: Gram | None


@dataclass(frozen=True)
class Drawn:
    """Labels at random, to be drawn where they are needed."""

    n_clusters: int
    rng: np.random.Generator  # as it is before the first of them

    def labels(self, n: int) -> Array:
        """(n,), the same each time."""
        return deepcopy(self.rng).integers(self.n_clusters, size=n)


@dataclass(frozen=True)
class _Held:
    """What a worker has of a partition, besides its rows."""

    state: State
    weights: Array | None  # (b,)
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
        labels: Sequence[Array | Drawn] | None,
        weights: Sequence[Array] | None,
    ) -> None:
        self._cluster, self._blocks, self._starts = cluster, blocks, starts
        rowless = strip.over(np.empty((0, strip.X.shape[1]), dtype=strip.X.dtype))
        # Coordinates are needed only where lengths are not those of the kernel.
        self._setup = cluster.hand_out(
            _Setup(rowless, None if strip.kernel.psd else gram)
        )
        none = [None] * len(blocks)
        self._held = cluster.each(
            _start,
            blocks,
            none if labels is None else cluster.send(labels),
            none if weights is None else cluster.send(weights),
            [strip.kernel.unit] * len(blocks),
        )

    def _ask(self, function: Callable[..., Any], *values: Any) -> list[Any]:
        """Futures of function(setup, rows, held, ...) for each partition."""
        count = len(self._blocks)
        same = [[value] * count for value in (self._setup, *values)]
        return self._cluster.each(
            function, same[0], self._blocks, self._held, *same[1:]
        )

    def tally(self, n_clusters: int) -> Stats:
        """Stats of the labels there are."""
        stats: Stats = self._cluster.add(self._ask(_tally, n_clusters))
        return stats

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
        """sum_i w_i k(x_i, x_i)."""
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


def _start(
    rows: Array, labels: Array | Drawn | None, weights: Array | None, unit: bool
) -> _Held:
    if isinstance(labels, Drawn):
        labels = labels.labels(len(rows))
    return _Held(State.start(len(rows), labels, unit=unit), weights)


def _part(setup: _Setup, rows: Array, held: _Held, engine: Threads) -> Part:
    return Part(setup.strip.over(rows), setup.gram, held.weights, held.state, engine)


def _tally(setup: _Setup, rows: Array, held: _Held, n_clusters: int) -> Stats:
    with Threads(1) as engine:
        return _part(setup, rows, held, engine).tally(n_clusters)


def _sweep(setup: _Setup, rows: Array, held: _Held, order: Any) -> _Held:
    held = _Held(held.state.copy(), held.weights)
    with Threads(1) as engine:
        return replace(held, swept=_part(setup, rows, held, engine).sweep(*order))


def _swept_of(held: _Held) -> Swept | None:
    return held.swept


def _labels_of(held: _Held) -> Array:
    return held.state.labels


def _recount(setup: _Setup, rows: Array, held: _Held, cluster: int) -> Stats:
    with Threads(1) as engine:
        return _part(setup, rows, held, engine).recount(cluster)


def _worst(setup: _Setup, rows: Array, held: _Held, order: Any) -> Worst:
    with Threads(1) as engine:
        return _part(setup, rows, held, engine).worst(*order)


def _give(held: _Held, row: Worst, cluster: int) -> _Held:
    state = held.state.copy()
    state.give(row.row, cluster)
    return _Held(state, held.weights)


def _trace(setup: _Setup, rows: Array, held: _Held) -> float:
    with Threads(1) as engine:
        return _part(setup, rows, held, engine).trace()
