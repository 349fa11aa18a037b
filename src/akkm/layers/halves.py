"""Cluster two halves of the rows on their own, and compare the labels."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_mutual_info_score

from akkm.core.threads import Threads, thread_pools
from akkm.silence import ignore_warnings
from akkm.typing import Array

# Maximum number of rows of a half that k-means uses, and of rows whose labels are
# compared.
MOST_ROWS = 5_000
# Number of k-means runs in each half; the best run is kept. With more than _MANY
# clusters one run is enough, because chance averages out.
_RUNS, _MANY = 3, 20


class Agreement(NamedTuple):
    """How well the halves of the rows agree on a number of clusters."""

    values: Array  # (splits,) adjusted mutual information of the two halves' labels
    error: float  # mean squared distance to the nearest center
    largest: float  # the largest cluster's share of the rows


class Halves(Protocol):
    """Rows that were split into halves; each half has its own embedding."""

    @property
    def most(self) -> int:
        """The largest number of clusters that can be measured."""

    def compare(self, number: int) -> Agreement:
        """Cluster both halves into `number` clusters and compare the labels."""


class Half(NamedTuple):
    """One half of the rows: points to cluster, and points of the compared rows."""

    own: Array  # (h, q) points of the half's rows
    compared: Array  # (c, q) points of the rows whose labels are compared


def compare_halves(
    halves: Sequence[Callable[[], Half]], number: int, engine: Threads
) -> Agreement:
    """Run k-means in each half, and compare the labels of the halves of each split.

    `halves` contains the two halves of the first split, then those of the second, ...
    """

    def cluster(half: Callable[[], Half]) -> tuple[Array, float]:
        own, compared = half()
        with thread_pools().limit(limits=1, user_api="openmp"):
            runs = _RUNS if number <= _MANY else 1
            fit: Any = KMeans(number, n_init=runs, random_state=0).fit(own)
            return fit.predict(compared), fit.inertia_ / len(own)

    # A half may have fewer distinct rows than clusters; the warning is not needed.
    with ignore_warnings(ConvergenceWarning):
        found = list(engine.map(cluster, halves))
    labels = [each[0] for each in found]
    values = [
        adjusted_mutual_info_score(a, b)
        for a, b in zip(labels[::2], labels[1::2], strict=True)
    ]
    largest = max(np.bincount(each).max() / len(each) for each in labels)
    error = float(np.mean([each[1] for each in found]))
    return Agreement(np.array(values), error, float(largest))
