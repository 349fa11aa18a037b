"""Some rows of every cluster, and how many rows each of them stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Sample:
    """Rows drawn from each cluster on its own."""

    rows: Array  # (s,) row numbers, rising
    weights: Array  # (s,) rows of the cluster for each one drawn

    def of(self, outer: Sample) -> Sample:
        """The same rows by their numbers in what `outer` was drawn from."""
        weights = self.weights * outer.weights[self.rows]
        return Sample(outer.rows[self.rows], weights)


def draw(labels: Array, *, most: int, least: int = 20) -> Sample:
    """At most `most` rows, `least` of each cluster if it has them and there is room.

    The same labels give the same rows, so that a page can be made again.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect._sample import draw
    >>> sample = draw(np.repeat([0, 1], [990, 10]), most=100, least=5)
    >>> len(sample.rows), sample.weights.sum().round()
    (100, np.float64(1000.0))
    """
    n = len(labels)
    if n <= most:
        return Sample(np.arange(n), np.ones(n))
    sizes = np.bincount(labels)
    least = min(least, most // int(np.count_nonzero(sizes)))
    sure = np.minimum(sizes, least)
    rest = sizes - sure
    quota = sure + rest * (most - sure.sum()) // rest.sum()
    # What rounding left goes to the largest clusters.
    largest = np.argsort(-(sizes - quota), kind="stable")[: most - quota.sum()]
    quota[largest] += quota[largest] < sizes[largest]
    rng = np.random.default_rng(0)
    by_cluster = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
    rows = np.concatenate(
        [
            rng.choice(members, size, replace=False)
            for members, size in zip(by_cluster, quota, strict=True)
            if size
        ]
    )
    rows.sort()
    return Sample(rows, (sizes / quota.clip(1))[labels[rows]])
