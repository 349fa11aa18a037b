"""Rows on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from akkm.core.gram import Gram
from akkm.core.remote_parts import Drawn, RemoteParts
from akkm.core.strip import Strip
from akkm.rows.cluster import Cluster
from akkm.rows.contract import Stored, by_batch

Array = NDArray[Any]
Result = TypeVar("Result")


class RemoteRows(Stored):
    """Partitions of rows, each on the worker that has it."""

    def __init__(
        self,
        cluster: Cluster,
        blocks: list[Any],  # futures of (b, d) arrays
        starts: Array,  # (P + 1,)
        dtype: np.dtype[Any],
        width: int,
        names: tuple[str, ...] | None,
    ) -> None:
        self._cluster, self._blocks, self._starts = cluster, blocks, starts
        self.shape = (int(starts[-1]), width)
        self.dtype = dtype
        self.names = names

    @staticmethod
    def of(array: Any, client: Any, names: tuple[str, ...] | None) -> RemoteRows:
        """The partitions of a Dask array of floats, whose rows are whole."""
        from distributed import futures_of

        there = {future.key: future for future in futures_of(client.persist(array))}
        keys = [key for (key,) in array.__dask_keys__()]
        cluster = Cluster(client)
        blocks = cluster.each(
            _checked, [there[key] for key in keys], list(range(len(keys)))
        )
        starts = np.append(0, np.cumsum(array.chunks[0], dtype=np.int64))
        return RemoteRows(cluster, blocks, starts, array.dtype, array.shape[1], names)

    def __repr__(self) -> str:
        n, d = self.shape
        return (
            f"RemoteRows({n:,} x {d:,}, {self.dtype}, {len(self._blocks)} partitions)"
        )

    def __getitem__(self, rows: Any) -> Array:
        """Some rows, fetched: (b, d)."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(self.shape[0]))
        rows = np.asarray(rows)
        out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        wanted = by_batch(rows, self._starts)
        blocks = [self._blocks[b] for b, _, _ in wanted]
        taken = self._cluster.each(_take, blocks, [local for _, _, local in wanted])
        found = self._cluster.fetch(taken)
        for (_, places, _), part in zip(wanted, found, strict=True):
            out[places] = part
        return out

    def over(self, function: Callable[..., Result], *along: Array) -> Iterator[Result]:
        """function(rows, which, ...) for each partition, where it is."""
        which = self.chunks()
        sent = [
            self._cluster.send([values[rows] for rows in which]) for values in along
        ]
        results = self._cluster.each(function, self._blocks, which, *sent)
        return iter(self._cluster.fetch(results))

    def chunks(self) -> list[slice]:
        """The partitions."""
        return [slice(start, stop) for start, stop in pairwise(self._starts.tolist())]

    def expect(self, rows: Array | None) -> None:
        """Nothing to prepare: the rows are in memory, elsewhere."""

    def checked_by(self, check: Callable[[Array], None]) -> RemoteRows:
        """The same rows, on which check(rows) is called where they are."""
        numbers = list(range(len(self._blocks)))
        checks = [check] * len(numbers)
        blocks = self._cluster.each(_checked, self._blocks, numbers, checks)
        width, names = self.shape[1], self.names
        return RemoteRows(self._cluster, blocks, self._starts, self.dtype, width, names)

    def draw(self, n_clusters: int, rng: np.random.Generator) -> list[Drawn]:
        """Labels at random, to be drawn where the rows are: those of an array."""
        drawn = []
        for rows in self.chunks():
            drawn.append(Drawn(n_clusters, deepcopy(rng)))
            rng.integers(n_clusters, size=rows.stop - rows.start)
        return drawn

    def parts(
        self,
        strip: Strip,
        gram: Gram,
        *,
        labels: Array | list[Drawn] | None,
        weights: Array | None,
    ) -> RemoteParts:
        """The rows as the loop needs them; labels (n,) may be drawn there."""

        def cut(values: Any) -> Any:
            here = isinstance(values, np.ndarray)
            return [values[rows] for rows in self.chunks()] if here else values

        return RemoteParts(
            self._cluster,
            self._blocks,
            self._starts,
            strip,
            gram,
            cut(labels),
            cut(weights),
        )


def _take(block: Array, rows: Array) -> Array:
    return block[rows]


def _checked(
    block: Any, number: int, check: Callable[[Array], None] | None = None
) -> Array:
    """The rows of a partition, if they are as they should be."""
    block = np.ascontiguousarray(block)
    try:
        if check is not None:
            check(block)
        elif not np.isfinite(block).all():
            row, column = (int(first[0]) for first in np.nonzero(~np.isfinite(block)))
            raise ValueError(
                f"row {row:,}, column {column} is {block[row, column]}; expected "
                "finite numbers. Drop or fill such rows."
            )
    except ValueError as error:
        raise ValueError(f"partition {number}: {error}") from None
    return block
