"""Rows that come in batches and are not kept: a sample of them, and sums that fade."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from akkm.approx.solve import Factored
from akkm.core.lloyd import means_of
from akkm.core.nearest import View
from akkm.core.parts import Part, Stats
from akkm.core.strip import Rows
from akkm.core.threads import Threads

Array = NDArray[Any]

# The sums speak of this share of the rows so far, the rest has faded: what was assigned
# to centers as they were long ago.
_MEMORY = 0.5


class Reservoir:
    """A sample of all rows so far, each as likely to be in it as any other."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.size, self.seen = size, 0
        self.rows: Rows = None  # (size or fewer, d)
        self.weights = np.empty(0)
        self._rng = rng

    def add(self, X: Rows, weights: Array | None) -> None:
        """Some more rows (Vitter's algorithm R)."""
        count = X.shape[0]
        weights = np.ones(count) if weights is None else weights
        if self.rows is None:
            self.rows = X[:0]
        # A row that comes when t rows were there takes place 0 .. t at random, and is
        # in the sample if there is such a place; the last one in a place stays.
        places = np.arange(self.seen, self.seen + count)
        late = places >= self.size
        places[late] = self._rng.integers(places[late] + 1)
        inside = np.flatnonzero(places < self.size)[::-1]
        place, first = np.unique(places[inside], return_index=True)
        new = inside[first]
        old = np.setdiff1d(np.arange(self.rows.shape[0]), place, assume_unique=True)
        # In the order of their places.
        order = np.argsort(np.concatenate([old, place]))
        both = [self.rows[old], X[new]]
        stacked = sparse.vstack(both, "csr") if sparse.issparse(X) else np.vstack(both)
        self.rows = stacked[order]
        self.weights = np.concatenate([self.weights[old], weights[new]])[order]
        self.seen += count


class Stream:
    """Centers that follow the batches."""

    def __init__(self, factored: Factored, stats: Stats) -> None:
        self._factored, self._stats = factored, stats
        self.centers = means_of(stats, factored.gram, None)

    @staticmethod
    def of(
        factored: Factored,
        labels: Array,
        weights: Array | None,
        engine: Threads,
        *,
        n_clusters: int,
        times: float,
    ) -> Stream:
        """The clusters of the rows of `factored`, each of which stands for `times`."""
        strip, gram = factored.strip, factored.gram
        part = Part.of(strip, gram, engine, labels=labels, weights=weights)
        stats = part.tally(n_clusters)
        rowless = strip.over(strip.X[:0])
        faded = Stats(stats.sums * times * _MEMORY, stats.counts * times * _MEMORY)
        return Stream(replace(factored, strip=rowless), faded)

    def follow(
        self, X: Rows, weights: Array | None, seen: int, engine: Threads
    ) -> Array:
        """Labels (b,) of a batch, after which the centers move towards it."""
        strip, gram = self._factored.strip.over(X), self._factored.gram
        alpha, norms = self.centers.alpha, self.centers.norms
        view = View.of(alpha, norms, strip.dtype, self._factored.probes)
        part = Part.of(strip, gram, engine, weights=weights)
        swept = part.sweep(view, None, 0)
        keep = max(0.0, 1 - X.shape[0] / (_MEMORY * seen))
        self._stats.sums *= keep
        self._stats.counts *= keep
        self._stats += swept.stats
        self.centers = means_of(self._stats, gram, self.centers)
        return part.labels

    def model(self) -> Any:
        """The centers as they are, ready for new rows."""
        return self._factored.model(self.centers)


def renamed(labels: Array, before: Array, n_clusters: int) -> Array:
    """Labels (n,) whose clusters have the numbers of those they share most rows with.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.approx.stream import renamed
    >>> renamed(np.array([0, 0, 1]), np.array([1, 1, 0]), 2)
    array([1, 1, 0])
    """
    shared = np.zeros((n_clusters, n_clusters))
    np.add.at(shared, (labels, before), 1)
    _, number = linear_sum_assignment(-shared)
    return number[labels]
