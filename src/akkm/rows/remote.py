"""Rows on the workers of a Dask cluster."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from akkm.rows.batches import require_finite_rows
from akkm.rows.contract import Partitions, Rows, by_batch
from akkm.rows.dask_cluster import Cluster
from akkm.typing import Array

Result = TypeVar("Result")


@dataclass(frozen=True)
class RandomLabels:
    """Random labels of one partition, drawn on the worker that needs them."""

    n_clusters: int
    rng: np.random.Generator  # in its state before the first draw

    def draw(self, n: int) -> Array:
        """Return the labels (n,), which are the same in every call."""
        return deepcopy(self.rng).integers(self.n_clusters, size=n)


class RemoteRows(Rows):
    """Rows in partitions that stay on the workers of a Dask cluster."""

    partitions: Partitions

    def __init__(
        self,
        partitions: Partitions,
        dtype: np.dtype[Any],
        width: int,
        names: tuple[str, ...] | None,
    ) -> None:
        self.partitions = partitions
        self.shape = (int(partitions.starts[-1]), width)
        self.dtype, self.names = dtype, names

    @staticmethod
    def of(array: Any, client: Any, names: tuple[str, ...] | None) -> "RemoteRows":
        """Persist a Dask array of floats (n, d) on its workers and return its rows."""
        from distributed import futures_of

        futures = {future.key: future for future in futures_of(client.persist(array))}
        blocks = [futures[key] for (key,) in array.__dask_keys__()]
        starts = np.append(0, np.cumsum(array.chunks[0], dtype=np.int64))
        raw = Partitions(Cluster(client), blocks, starts)
        rows = RemoteRows(raw, array.dtype, array.shape[1], names)
        return rows.checked_by(_require_finite)

    def __repr__(self) -> str:
        n, d = self.shape
        count = len(self.partitions.blocks)
        return f"RemoteRows({n:,} x {d:,}, {self.dtype}, {count} partitions)"

    def __getitem__(self, rows: Any) -> Array:
        """Fetch the rows of a slice or an index array from the workers: (b, d)."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(self.shape[0]))
        rows = np.asarray(rows)
        cluster, blocks = self.partitions.cluster, self.partitions.blocks
        groups = by_batch(rows, self.partitions.starts)
        taken = cluster.map(
            _take, [blocks[b] for b, _, _ in groups], [local for _, _, local in groups]
        )
        out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        for (_, positions, _), block in zip(groups, cluster.fetch(taken), strict=True):
            out[positions] = block
        return out

    def map_blocks(
        self, function: Callable[..., Result], *aligned: Array, block_rows: int = 0
    ) -> Iterator[Result]:
        """Yield function(block, slice of its rows, ...), computed on the workers."""
        cluster, slices = self.partitions.cluster, self.chunks()
        sent = [cluster.send([values[rows] for rows in slices]) for values in aligned]
        results = cluster.map(function, self.partitions.blocks, slices, *sent)
        return iter(cluster.fetch(results))

    def embed(
        self, function: Callable[..., Any], shared: Any, *, width: int
    ) -> tuple["RemoteRows", Any]:
        """Return the points (n, width) and marks (n,) that workers compute."""
        cluster, blocks = self.partitions.cluster, self.partitions.blocks
        (sent,) = cluster.send([shared])
        both = cluster.map(function, [sent] * len(blocks), blocks)
        points, marks = cluster.map(_first, both), cluster.map(_second, both)
        partitions = Partitions(cluster, points, self.partitions.starts)
        return (
            RemoteRows(partitions, self.dtype, width, None),
            partitions.as_dask(marks, np.bool),
        )

    def whole(self) -> Any:
        """Return all rows as a Dask array (n, d), without moving them."""
        partitions = self.partitions
        return partitions.as_dask(partitions.blocks, self.dtype, self.shape[1])

    def chunks(self) -> list[slice]:
        """Return the slice of rows of each partition."""
        return self.partitions.slices

    def checked_by(self, check: Callable[[Array], None]) -> "RemoteRows":
        """Return the same rows; check(block) is called for each block on its worker."""
        cluster, blocks = self.partitions.cluster, self.partitions.blocks
        count = len(blocks)
        checked = cluster.map(_checked, blocks, list(range(count)), [check] * count)
        partitions = Partitions(cluster, checked, self.partitions.starts)
        return RemoteRows(partitions, self.dtype, self.shape[1], self.names)

    def random_labels(
        self, n_clusters: int, rng: np.random.Generator
    ) -> list[RandomLabels]:
        """Return one `RandomLabels` per partition, for the workers to draw from."""
        drawn = []
        for rows in self.chunks():
            drawn.append(RandomLabels(n_clusters, deepcopy(rng)))
            rng.integers(n_clusters, size=rows.stop - rows.start)
        return drawn


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _second(pair: tuple[Any, Any]) -> Any:
    return pair[1]


def _take(block: Array, rows: Array) -> Array:
    return block[rows]


def _require_finite(block: Array) -> None:
    require_finite_rows(block, np.arange(len(block)), None)


def _checked(block: Any, number: int, check: Callable[[Array], None]) -> Array:
    """Return the block if it passes the check; errors name the partition."""
    block = np.ascontiguousarray(block)
    try:
        check(block)
    except ValueError as error:
        raise ValueError(f"partition {number}: {error}") from None
    return block
