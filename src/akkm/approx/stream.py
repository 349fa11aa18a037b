"""Streams: rows that arrive in batches and are not kept."""

from copy import deepcopy
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from akkm.approx.factored import Factored
from akkm.core.gram import Centers
from akkm.core.lloyd import centers_of
from akkm.core.model import Model
from akkm.core.nearest import Scorer
from akkm.core.parts import Part, Stats
from akkm.core.threads import Threads
from akkm.kernels import to_dense
from akkm.typing import Array, RowsLike

# Total weight of the clusters' sums, relative to the number of rows so far. It is below
# 1, because the weight of older rows shrinks: they were assigned to outdated centers.
_MEMORY = 0.5
# Maximum number of new rows that are assigned before the centers move, relative to the
# number of rows so far. A larger batch is cut, so that it does not outweigh all earlier
# rows at once.
_LARGEST_STEP = 0.25


@dataclass(frozen=True)
class Reservoir:
    """A uniform random sample of all rows so far (Vitter's algorithm R)."""

    size: int
    rng: np.random.Generator  # in its state before the next batch
    rows: RowsLike = None  # (at most size, d)
    weights: Array = field(default_factory=lambda: np.empty(0))
    seen: int = 0

    def add(self, X: RowsLike, weights: Array | None) -> "Reservoir":
        """Return the sample after a further batch of rows (b, d)."""
        count, rng = X.shape[0], deepcopy(self.rng)
        weights = np.ones(count) if weights is None else weights
        rows = X[:0] if self.rows is None else self.rows
        # A row that follows t earlier rows gets a random place from 0 to t. If this
        # place is below `size`, the row is in the sample until a later row gets the
        # same place.
        places = np.arange(self.seen, self.seen + count)
        late = places >= self.size
        places[late] = rng.integers(places[late] + 1)
        inside = np.flatnonzero(places < self.size)[::-1]
        place, first = np.unique(places[inside], return_index=True)
        new = inside[first]
        if rows.shape[0] == self.size and not sparse.issparse(rows):
            # The sample is full: row i is at place i.
            rows, kept = rows.copy(), self.weights.copy()
            rows[place], kept[place] = to_dense(X[new]), weights[new]
            return Reservoir(self.size, rng, rows, kept, self.seen + count)
        old = np.setdiff1d(np.arange(rows.shape[0]), place, assume_unique=True)
        # Sort by place.
        order = np.argsort(np.concatenate([old, place]))
        return Reservoir(
            self.size,
            rng,
            _stack(rows[old], X[new])[order],
            np.concatenate([self.weights[old], weights[new]])[order],
            self.seen + count,
        )


def _stack(first: RowsLike, second: RowsLike) -> RowsLike:
    """Stack two blocks of rows; the result is dense or sparse like the first block."""
    if sparse.issparse(first):
        return sparse.vstack([first, sparse.csr_array(second)], "csr")
    return np.vstack([first, to_dense(second)])


@dataclass(frozen=True)
class Stream:
    """Centers that are updated with every batch of a stream."""

    factored: Factored  # without rows
    stats: Stats  # sums of kernel rows and of weights, in which older rows fade
    centers: Centers
    seen: int  # number of rows so far

    @staticmethod
    def of_sample(
        factored: Factored,
        labels: Array,
        weights: Array | None,
        engine: Threads,
        *,
        n_clusters: int,
        seen: int,
    ) -> "Stream":
        """Start from the labels (n,) of a sample of the rows so far."""
        strip, gram = factored.strip, factored.gram
        part = Part.of(strip, gram, engine, labels=labels, weights=weights)
        stats = part.label_stats(n_clusters)
        share = seen / strip.n * _MEMORY
        faded = Stats(stats.sums * share, stats.counts * share)
        no_rows = replace(factored, strip=strip.with_rows(strip.X[:0]))
        return Stream(no_rows, faded, centers_of(faded, gram, None), seen)

    @staticmethod
    def of_centers(
        factored: Factored, alpha: Array, counts: Array, seen: int
    ) -> "Stream":
        """Start from centers alpha (C, m); `counts` (C,) are the clusters' weights."""
        means, faded = factored.gram.means_of(alpha), counts * _MEMORY
        norms = np.einsum("km,km->k", means, alpha)
        centers = Centers(means @ factored.gram.whitener, alpha, norms)
        return Stream(factored, Stats(means * faded[:, None], faded), centers, seen)

    @property
    def counts(self) -> Array:
        """Total weight (C,) of each cluster's rows, estimated from the faded sums."""
        return self.stats.counts / _MEMORY

    def follow(self, X: RowsLike, weights: Array | None, engine: Threads) -> "Stream":
        """Return the stream whose centers have moved towards a batch of rows (b, d)."""
        stream, start, b = self, 0, X.shape[0]
        while start < b:
            rows = slice(start, start + max(1, int(_LARGEST_STEP * stream.seen)))
            own = None if weights is None else weights[rows]
            stream, start = stream._step(X[rows], own, engine), rows.stop
        return stream

    def _step(self, X: RowsLike, weights: Array | None, engine: Threads) -> "Stream":
        """Assign a few rows (b, d) to the centers, and move the centers."""
        strip, gram = self.factored.strip.with_rows(X), self.factored.gram
        alpha, norms = self.centers.alpha, self.centers.norms
        scorer = Scorer.of(alpha, norms, strip.dtype, self.factored.probes)
        part = Part.of(strip, gram, engine, weights=weights)
        seen = self.seen + X.shape[0]
        remaining = max(0.0, 1 - X.shape[0] / (_MEMORY * seen))
        stats = Stats(self.stats.sums * remaining, self.stats.counts * remaining)
        stats += part.sweep(scorer, None, 0).stats
        centers = centers_of(stats, gram, self.centers)
        return Stream(self.factored, stats, centers, seen)

    def model(self) -> Model:
        """Return the model of the present centers."""
        return self.factored.model(self.centers)


def match_labels(labels: Array, before: Array, n_clusters: int) -> Array:
    """Renumber clusters so that labels (n,) agree with `before` where possible.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.approx import match_labels
    >>> match_labels(np.array([0, 0, 1]), np.array([1, 1, 0]), 2)
    array([1, 1, 0])
    """
    shared = np.zeros((n_clusters, n_clusters))
    np.add.at(shared, (labels, before), 1)
    _, number = linear_sum_assignment(-shared)
    return number[labels]
