"""The rows of a fit on Dask workers: one `Part` per partition, with summed results.

Every task is a function of a partition and of the previous task's result, and modifies
neither. So if a worker dies, Dask can recompute its results on other workers.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from akkm.core.bounds import Moves, State
from akkm.core.freed_memory import keep_freed_memory
from akkm.core.gram import Gram
from akkm.core.nearest import Scorer
from akkm.core.parts import Part, Stats, Sweep, WorstRow
from akkm.core.strip import RowCache, Strip
from akkm.core.threads import Threads
from akkm.rows import Partitions
from akkm.rows.dask_cluster import total_of
from akkm.typing import Array

# The main process adds the sums of all partitions if they have at most this many bytes.
_GATHERED_BYTES = 32 * 2**20


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
    cache: RowCache | None  # of kernel rows; sweeps fill it, which changes no result


@dataclass(frozen=True)
class _Message:
    """A sweep without the sums that are zero: late iterations change few clusters."""

    sweep: Sweep  # its sums are those of the clusters `changed`
    changed: Array

    @staticmethod
    def of(sweep: Sweep) -> "_Message":
        changed = np.flatnonzero(sweep.stats.sums.any(axis=1))
        stats = Stats(sweep.stats.sums[changed], sweep.stats.counts)
        return _Message(replace(sweep, stats=stats), changed)

    def unpack(self, shape: tuple[int, int]) -> Sweep:
        """Return the sweep with sums of the given shape (C, m)."""
        stats = Stats.zeros(*shape)
        stats.sums[self.changed] = self.sweep.stats.sums
        stats.counts[:] = self.sweep.stats.counts
        return replace(self.sweep, stats=stats)


@dataclass(frozen=True)
class _Group:
    """Data that a worker holds for a group of partitions."""

    held: list[_Held]
    sweeps: list[Sweep] | None = None  # results of the last sweep


class RemoteParts:
    """Rows partitioned over workers, as one `Parts` object.

    One task sweeps over all partitions of a group. A group has those partitions that
    one thread of a worker processes. So the number of messages per iteration depends on
    the number of threads, not on the number of partitions.
    """

    def __init__(
        self,
        partitions: Partitions,
        strip: Strip,
        gram: Gram,
        *,
        labels: Any,  # (n,) array, one RandomLabels per partition, or None
        weights: Array | None,
        cache_bytes: float = 0,  # for all workers together
    ) -> None:
        self._partitions = partitions
        self._cluster, self._blocks = partitions.cluster, partitions.blocks
        self._slices = partitions.slices
        self._groups = self._cluster.groups(self._blocks)
        # For each partition, the number of its group and its position there.
        self._places = [(0, 0)] * len(self._blocks)
        for number, group in enumerate(self._groups):
            for position, part in enumerate(group):
                self._places[part] = number, position

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
        row_bytes = cache_bytes / max(partitions.starts[-1], 1)
        count = len(self._groups)
        self._held = self._cluster.map(
            _start,
            [self._setup] * count,
            self._grouped(self._blocks),
            self._grouped(send(labels)),
            self._grouped(send(weights)),
            [row_bytes] * count,
        )

    def _grouped(self, values: list[Any]) -> list[list[Any]]:
        """Return the values of the partitions of each group."""
        return [[values[part] for part in group] for group in self._groups]

    def _of_parts(self, task: Any, *values: Any) -> list[Any]:
        """Start task(group, position, *values) for each partition; return futures."""
        groups, positions = zip(*self._places, strict=True)
        held = [self._held[group] for group in groups]
        return self._cluster.map(task, held, positions, *values)

    def _each(self, method: str, arguments: Any) -> list[Any]:
        """Start a method of the part of each partition; return futures."""
        count = len(self._blocks)
        same = [[value] * count for value in (self._setup, method, arguments)]
        return self._of_parts(_call, self._blocks, *same)

    def label_stats(self, n_clusters: int) -> Stats:
        """Return the sums over the rows of each cluster, by their present labels."""
        stats: Stats = self._cluster.add(self._each("label_stats", (n_clusters,)))
        return stats

    def sweep(self, scorer: Scorer, moves: Moves | None, stamp: int) -> Sweep:
        """Assign the rows whose label is not proved, or all rows if `moves` is None."""
        # The results are added in the order of the partitions: here if they are small,
        # else on the workers.
        small = len(self._blocks) * scorer.columns.nbytes <= _GATHERED_BYTES
        self._held, found = self._cluster.step(
            _sweep,
            (scorer, moves, stamp),
            [self._setup] * len(self._groups),
            self._grouped(self._blocks),
            self._held,
            part=_messages_of if small else _nothing_of,
        )
        if not small:
            total: Sweep = self._cluster.add(self._of_parts(_sweep_of))
            return total
        shape = scorer.columns.T.shape
        return total_of([found[group][at].unpack(shape) for group, at in self._places])

    def cluster_stats(self, cluster: int) -> Stats:
        """Recompute the sums of one cluster, as a `Stats` with a single cluster."""
        stats: Stats = self._cluster.add(self._each("cluster_stats", (cluster,)))
        return stats

    def worst_row(self, scorer: Scorer, stale: Moves | None, counts: Array) -> WorstRow:
        """Find the row farthest from its center, ignoring clusters of a single row."""
        (arguments,) = self._cluster.send([(scorer, stale, counts)])
        rows = self._cluster.fetch(self._each("worst_row", arguments))
        # If several partitions have equally far rows, up to rounding errors, take the
        # first of these partitions.
        worst_squared = max(row.squared for row in rows)
        part = next(p for p, row in enumerate(rows) if row.limit >= worst_squared)
        return replace(rows[part], part=part)

    def reassign(self, row: WorstRow, cluster: int) -> None:
        """Move a row to a cluster; the next sweep will evaluate it."""
        group, at = self._places[row.part]
        held = self._held[group]
        self._held[group] = self._cluster.submit(_reassign, held, at, row, cluster)

    def trace(self) -> float:
        """Return sum_i w_i k(x_i, x_i)."""
        return float(sum(self._cluster.fetch(self._each("trace", ()))))

    @property
    def labels(self) -> Any:
        """Labels (n,) int32, as a Dask array in the partitions of the rows."""
        return self._partitions.as_dask(self._of_parts(_labels_of), np.int32)

    def labels_with(self, rows: Array, labels: Array) -> Any:
        """Return the labels, with those of some rows (r,), ascending, replaced."""
        changes = []
        for part in self._slices:
            own = slice(*np.searchsorted(rows, (part.start, part.stop)))
            changes.append((rows[own] - part.start, labels[own]))
        futures = self._of_parts(_labels_with, self._cluster.send(changes))
        return self._partitions.as_dask(futures, np.int32)


# Tasks that run on workers. They must not modify their arguments, because other tasks
# use the same objects. Only a cache may change, because this changes no result.


def _start(
    setup: _Setup,
    blocks: list[Array],
    labels: list[Any],
    weights: list[Array | None],
    row_bytes: float,
) -> _Group:
    """Return the state before the first sweep; cache `row_bytes` bytes per row."""
    held = []
    for rows, given, weight in zip(blocks, labels, weights, strict=True):
        drawn = given.draw(len(rows)) if hasattr(given, "draw") else given
        strip = setup.strip.with_rows(rows)
        strip.use_cache(row_bytes * len(rows))
        state = State.start(len(rows), drawn, unit=strip.kernel.unit)
        held.append(_Held(state, weight, strip.cache))
    return _Group(held)


def _call(
    group: _Group, at: int, rows: Array, setup: _Setup, method: str, arguments: Any
) -> Any:
    """Call a method of the part; the method must not change the part's state."""
    with Threads(1) as engine, keep_freed_memory():
        return getattr(_part(setup, rows, group.held[at], engine), method)(*arguments)


def _sweep(arguments: Any, setup: _Setup, blocks: list[Array], group: _Group) -> _Group:
    held = [replace(old, state=old.state.copy()) for old in group.held]
    with Threads(1) as engine, keep_freed_memory():
        sweeps = [
            _part(setup, rows, own, engine).sweep(*arguments)
            for rows, own in zip(blocks, held, strict=True)
        ]
    return _Group(held, sweeps)


def _part(setup: _Setup, rows: Array, held: _Held, engine: Threads) -> Part:
    strip = setup.strip.with_rows(rows)
    strip.cache = held.cache
    return Part(strip, setup.gram, held.weights, held.state, engine)


def _reassign(group: _Group, at: int, row: WorstRow, cluster: int) -> _Group:
    held = [*group.held]
    state = held[at].state.copy()
    state.reassign(row.row, cluster)
    held[at] = replace(held[at], state=state)
    return _Group(held)


def _messages_of(group: _Group) -> list[_Message]:
    return [_Message.of(sweep) for sweep in group.sweeps or ()]


def _nothing_of(group: _Group) -> None:
    return None


def _sweep_of(group: _Group, at: int) -> Sweep:
    assert group.sweeps is not None
    return group.sweeps[at]


def _labels_of(group: _Group, at: int) -> Array:
    return group.held[at].state.labels


def _labels_with(group: _Group, at: int, changes: tuple[Array, Array]) -> Array:
    labels = _labels_of(group, at).copy()
    rows, new = changes
    labels[rows] = new
    return labels
