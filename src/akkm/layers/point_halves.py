"""Halves of the rows in the leading coordinates of a kernel's space."""

from functools import partial
from typing import Any

import numpy as np

from akkm.core.threads import Threads
from akkm.layers.halves import MOST_ROWS, Agreement, Half, compare_halves
from akkm.typing import Array

# Smallest mean number of rows in a cluster.
_ROWS_PER_CLUSTER = 20
# Largest number of clusters.
_MOST = 60
# Number of k-means runs with up to _MANY clusters; with more clusters, one run. With
# many runs, rows without clusters would look reproducible: reference rows have
# independent components, so if there are few columns, the best clusters are the cells
# of a grid, and k-means would find the same cells in both halves.
_RUNS, _MANY = 3, 20


class PointHalves:
    """Random halves of points in one space.

    Parameters
    ----------
    points : array of shape (n, q)
        The points.
    n_splits : int
        Number of random splits into two halves.
    engine : Threads
        Clusters the halves in parallel.
    rng : numpy.random.Generator
        Draws the halves.
    """

    def __init__(
        self, points: Array, n_splits: int, engine: Threads, rng: np.random.Generator
    ) -> None:
        n = len(points)
        self._engine = engine
        self.most = max(2, min(_MOST, n // _ROWS_PER_CLUSTER))
        self._halves: list[Half] = []
        self._whole = points[np.sort(rng.permutation(n)[:MOST_ROWS])]
        for _ in range(n_splits):
            order = rng.permutation(n)
            compared = points[np.sort(order[:MOST_ROWS])]
            for part in (order[: n // 2], order[n // 2 :]):
                self._halves.append(Half(points[part[:MOST_ROWS]], compared))

    def compare(self, number: int) -> Agreement:
        """Cluster both halves into `number` clusters and compare the labels."""
        known = [partial(_identity, half) for half in self._halves]
        whole = partial(_identity, self._whole)
        runs = _RUNS if number <= _MANY else 1
        return compare_halves(known, whole, number, runs, self._engine)


def _identity(known: Any) -> Any:
    return known
