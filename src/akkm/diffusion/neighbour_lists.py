"""During a search: the nearest points found so far for each row."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from akkm.typing import Array

# Rows, or links, per block.
_BLOCK = 16384


@dataclass(frozen=True)
class NeighbourLists:
    """The k nearest points found so far for each row, in any order."""

    indices: Array  # (n, k) int32
    distances: Array  # (n, k)
    worst: Array  # (n,) largest distance of each row

    @staticmethod
    def empty(n: int, k: int, dtype: Any) -> "NeighbourLists":
        """Lists without any point: all distances are infinite."""
        distances = np.full((n, k), np.inf, dtype=dtype)
        return NeighbourLists(
            np.zeros((n, k), np.int32), distances, distances[:, 0].copy()
        )

    def update(self, rows: Array, D: Array, first: int) -> None:
        """Add s points, with indices from `first` on, to the lists of `rows` (b,).

        D (b, s) are the distances of these rows to the points.
        """
        k, size = self.indices.shape[1], D.shape[1]
        bound = self.worst[rows]
        if size > k and np.isinf(bound).all():
            place = _smallest(D, k)
            self._store(rows, place + first, np.take_along_axis(D, place, axis=1))
            return
        row, column = np.divmod(np.flatnonzero(bound[:, None] > D), size)
        self.merge(rows, row, column + first, D[row, column])

    def merge(self, rows: Array, row: Array, point: Array, distance: Array) -> None:
        """Add point[i] to the list of rows[row[i]], for each i; `row` is ascending."""
        if not len(row):
            return
        k, count = self.indices.shape[1], np.bincount(row, minlength=len(rows))
        place = np.cumsum(count > 0)[row] - 1
        column = k + np.arange(len(row)) - (np.cumsum(count) - count)[row]
        rows = rows[count > 0]
        width = k + int(count.max())
        indices = np.zeros((len(rows), width), dtype=np.int32)
        distances = np.full((len(rows), width), np.inf, dtype=self.distances.dtype)
        indices[:, :k], distances[:, :k] = self.indices[rows], self.distances[rows]
        indices[place, column], distances[place, column] = point, distance
        best = _smallest(distances, k)
        self._store(
            rows,
            np.take_along_axis(indices, best, axis=1),
            np.take_along_axis(distances, best, axis=1),
        )

    def _store(self, rows: Array, indices: Array, distances: Array) -> None:
        self.indices[rows], self.distances[rows] = indices, distances
        self.worst[rows] = distances.max(axis=1)

    def merged(self, p: int) -> "NeighbourLists":
        """Make one list of each p consecutive lists, which have no point in common."""
        n, k = self.indices.shape
        indices = self.indices.reshape(n // p, p * k)
        distances = self.distances.reshape(n // p, p * k)
        best = _smallest(distances, k)
        nearest = np.take_along_axis(distances, best, axis=1)
        return NeighbourLists(
            np.take_along_axis(indices, best, axis=1), nearest, nearest.max(axis=1)
        )

    def add_reverse(self) -> None:
        """For each j in the list of i, add i to the list of j if i is near enough."""
        n, k = self.indices.shape
        self.worst[:] = self.distances.max(axis=1)
        edges = np.flatnonzero(self.distances < self.worst[self.indices])
        source, target = edges // k, self.indices.ravel()[edges]
        listed = np.empty(len(edges), dtype=bool)
        for start in range(0, len(edges), _BLOCK):
            part = slice(start, start + _BLOCK)
            lists = self.indices[target[part]]
            listed[part] = (lists == source[part, None]).any(axis=1)
        new = np.flatnonzero(~listed)
        new = new[np.argsort(target[new], kind="stable")]
        source, target = source[new], target[new]
        distance = self.distances.ravel()[edges[new]]
        for start in range(0, n, _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, n))
            part = slice(*np.searchsorted(target, [start, rows[-1] + 1]))
            self.merge(rows, target[part] - start, source[part], distance[part])

    def nearest(self, k: int) -> Array:
        """Indices (n, k) of the k nearest points of each list, sorted by distance."""
        best = _smallest(self.distances, k)
        indices = np.take_along_axis(self.indices, best, axis=1)
        distances = np.take_along_axis(self.distances, best, axis=1)
        return NeighbourLists(indices, distances, self.worst).ascending()[0]

    def ascending(self) -> tuple[Array, Array]:
        """Indices and distances, sorted by distance; equal distances by index."""
        order = np.lexsort((self.indices, self.distances))
        return (
            np.take_along_axis(self.indices, order, axis=1),
            np.take_along_axis(self.distances, order, axis=1),
        )


def _smallest(D: Array, k: int) -> Array:
    """The columns (b, k) of the k smallest entries of each row of D (b, s), unsorted.

    `np.partition` finds the k-th smallest value faster than `np.argpartition` finds the
    columns. So `np.argpartition` is used only if there are ties.
    """
    limit = np.partition(D, k - 1, axis=1)[:, k - 1 : k]
    found = np.flatnonzero(limit >= D)
    if len(found) == len(D) * k:
        return found.reshape(len(D), k) % D.shape[1]
    return np.argpartition(D, k - 1, axis=1)[:, :k]
