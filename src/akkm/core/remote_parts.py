"""The rows of a fit on Dask workers: one `Part` per partition, with summed results.

Every task is a function of a partition and of the previous task's result, and modifies
neither. If a worker dies, Dask can therefore recompute the worker's results.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from akkm.core.bounds import Moves, State
from akkm.core.gram import Gram
from akkm.core.nearest import Scorer
from akkm.core.parts import Part, Stats, Sweep, WorstRow
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.rows import Partitions
from akkm.typing import Array


@dataclass(frozen=True)
class _Setup:
    """Data sent to every worker: the landmarks and their factored kernel matrix."""

    strip: Strip  # without rows
    gram: Gram | None  # gives lengths; None if k(x, x) gives them


@dataclass(frozen=True)
class _Held:
    """Data that a worker holds for a partition, besides its rows."""

    state: State
    weights: Array | None  # (b,)
    sweep: Sweep | None = None  # result of the last sweep


class RemoteParts:
    """Rows partitioned over workers, as one `Parts` object."""

    def __init__(
        self,
        partitions: Partitions,
        strip: Strip,
        gram: Gram,
        *,
        labels: Any,  # (n,) array, one RandomLabels per partition, or None
        weights: Array | None,
    ) -> None:
        self._partitions = partitions
        self._cluster, self._blocks = partitions.cluster, partitions.blocks
        self._slices = partitions.slices

        def send(values: Any) -> list[Any]:
            if values is None:
                return [None] * len(self._blocks)
            if isinstance(values, np.ndarray):
                values = [values[rows] for rows in self._slices]
            return self._cluster.send(values)

        no_rows = strip.with_rows(np.empty((0, strip.X.shape[1]), dtype=strip.X.dtype))
        # Workers need `gram` only if the kernel does not give the lengths.
        setup = _Setup(no_rows, None if strip.kernel.psd else gram)
        (self._setup,) = self._cluster.send([setup])
        self._held = self._cluster.map(
            _start,
            self._blocks,
            send(labels),
            send(weights),
            [strip.kernel.unit] * len(self._blocks),
        )

    def _each(self, task: Any, *values: Any) -> list[Any]:
        """Start task(setup, rows, held, *values) on each partition; return futures."""
        count = len(self._blocks)
        same = [[value] * count for value in values]
        setups = [self._setup] * count
        return self._cluster.map(task, setups, self._blocks, self._held, *same)

    def label_stats(self, n_clusters: int) -> Stats:
        """Return the sums over the rows of each cluster, by their present labels."""
        stats: Stats = self._cluster.add(
            self._each(_call, "label_stats", (n_clusters,))
        )
        return stats

    def sweep(self, scorer: Scorer, moves: Moves | None, stamp: int) -> Sweep:
        """Assign the rows whose label is not proved, or all rows if `moves` is None."""
        (arguments,) = self._cluster.send([(scorer, moves, stamp)])
        self._held = self._each(_sweep, arguments)
        return self._cluster.add(self._cluster.map(_sweep_of, self._held))

    def cluster_stats(self, cluster: int) -> Stats:
        """Recompute the sums of one cluster, as a `Stats` with a single cluster."""
        return self._cluster.add(self._each(_call, "cluster_stats", (cluster,)))

    def worst_row(self, scorer: Scorer, stale: Moves | None, counts: Array) -> WorstRow:
        """Find the row farthest from its center, ignoring clusters of a single row."""
        (arguments,) = self._cluster.send([(scorer, stale, counts)])
        rows = self._cluster.fetch(self._each(_call, "worst_row", arguments))
        # If several partitions have equally far rows, up to rounding errors, take the
        # first of these partitions.
        worst_squared = max(row.squared for row in rows)
        part = next(p for p, row in enumerate(rows) if row.limit >= worst_squared)
        return replace(rows[part], part=part)

    def reassign(self, row: WorstRow, cluster: int) -> None:
        """Move a row to a cluster; the next sweep will evaluate it."""
        held = self._held[row.part]
        self._held[row.part] = self._cluster.submit(_reassign, held, row, cluster)

    def trace(self) -> float:
        """Return sum_i w_i k(x_i, x_i)."""
        return float(sum(self._cluster.fetch(self._each(_call, "trace", ()))))

    @property
    def labels(self) -> Any:
        """Labels (n,) int32, as a Dask array in the partitions of the rows."""
        futures = self._cluster.map(_labels_of, self._held)
        return self._partitions.as_dask(futures, np.int32)

    def labels_with(self, rows: Array, labels: Array) -> Any:
        """Return the labels, with those of some rows (r,), ascending, replaced."""
        changes = []
        for part in self._slices:
            own = slice(*np.searchsorted(rows, (part.start, part.stop)))
            changes.append((rows[own] - part.start, labels[own]))
        sent = self._cluster.send(changes)
        futures = self._cluster.map(_labels_with, self._held, sent)
        return self._partitions.as_dask(futures, np.int32)


# Tasks that run on workers. They must not modify their arguments, because other tasks
# use the same objects.


def _start(rows: Array, labels: Any, weights: Array | None, unit: bool) -> _Held:
    if hasattr(labels, "draw"):  # RandomLabels
        labels = labels.draw(len(rows))
    return _Held(State.start(len(rows), labels, unit=unit), weights)


def _call(setup: _Setup, rows: Array, held: _Held, method: str, arguments: Any) -> Any:
    """Call a method of the part; the method must not change the part's state."""
    with Threads(1) as engine:
        return getattr(_part(setup, rows, held, engine), method)(*arguments)


def _sweep(setup: _Setup, rows: Array, held: _Held, arguments: Any) -> _Held:
    held = _Held(held.state.copy(), held.weights)
    with Threads(1) as engine:
        return replace(held, sweep=_part(setup, rows, held, engine).sweep(*arguments))


def _part(setup: _Setup, rows: Array, held: _Held, engine: Threads) -> Part:
    strip = setup.strip.with_rows(rows)
    return Part(strip, setup.gram, held.weights, held.state, engine)


def _reassign(held: _Held, row: WorstRow, cluster: int) -> _Held:
    state = held.state.copy()
    state.reassign(row.row, cluster)
    return _Held(state, held.weights)


def _sweep_of(held: _Held) -> Sweep | None:
    return held.sweep


def _labels_of(held: _Held) -> Array:
    return held.state.labels


def _labels_with(held: _Held, changes: tuple[Array, Array]) -> Array:
    labels = held.state.labels.copy()
    rows, new = changes
    labels[rows] = new
    return labels
