"""Cluster two halves of the rows on their own, and compare the labels."""

from collections.abc import Callable, Sequence
from functools import partial
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
# All runs of k-means but the last use a sample of this many rows, or _PER_CLUSTER rows
# per cluster if that is more. The last run continues from the best of them.
_SAMPLE, _PER_CLUSTER = 1_000, 50


class Agreement(NamedTuple):
    """How well the halves of the rows agree on a number of clusters."""

    values: Array  # (splits,) adjusted mutual information of the two halves' labels
    error: float  # mean squared distance to the nearest center, of all rows at once
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
    halves: Sequence[Callable[[], Half]],
    whole: Callable[[], Array],
    number: int,
    runs: int,
    engine: Threads,
) -> Agreement:
    """Run k-means in each half, and compare the labels of the halves of each split.

    `halves` returns the two halves of the first split, then those of the second, ...
    `whole` returns points (h, q) of all rows, for the error. The best of several `runs`
    of k-means is kept.
    """

    def fit(points: Array) -> Any:
        size = max(_SAMPLE, _PER_CLUSTER * number)
        drawn = np.random.default_rng(0).permutation(len(points))[:size]
        best: Any = KMeans(number, n_init=runs, random_state=0).fit(points[drawn])
        if size >= len(points):
            return best
        return KMeans(number, init=best.cluster_centers_, n_init=1).fit(points)

    def labels_by(half: Callable[[], Half]) -> Array:
        own, compared = half()
        return fit(own).predict(compared)

    def error_of_all() -> float:
        points = whole()
        return float(fit(points).inertia_ / len(points))

    def run(task: Callable[[], Any]) -> Any:
        with thread_pools().limit(limits=1, user_api="openmp"):
            return task()

    tasks: list[Any] = [*(partial(labels_by, half) for half in halves), error_of_all]
    # A half may have fewer distinct rows than clusters; the warning is not needed.
    with ignore_warnings(ConvergenceWarning):
        *labels, error = engine.map(run, tasks)
    values = [
        adjusted_mutual_info_score(a, b)
        for a, b in zip(labels[::2], labels[1::2], strict=True)
    ]
    largest = max(np.bincount(each).max() / len(each) for each in labels)
    return Agreement(np.array(values), error, float(largest))
