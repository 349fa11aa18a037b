"""Streams: rows that arrive in batches and are not kept."""

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from akkm.approx.factored import Factored
from akkm.core.lloyd import centers_of
from akkm.core.model import Model
from akkm.core.nearest import Scorer
from akkm.core.parts import Part, Stats
from akkm.core.threads import Threads
from akkm.typing import Array, RowsLike

# Total weight of the rows in the clusters' sums, as a share of all rows so far. The
# weight of older rows shrinks, because they were assigned to outdated centers.
_MEMORY = 0.5


class Reservoir:
    """A uniform random sample of all rows so far (Vitter's algorithm R)."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.size, self.seen = size, 0
        self.rows: RowsLike = None  # (at most size, d)
        self.weights = np.empty(0)
        self._rng = rng

    def add(self, X: RowsLike, weights: Array | None) -> None:
        """Add a batch of rows (b, d)."""
        count = X.shape[0]
        weights = np.ones(count) if weights is None else weights
        if self.rows is None:
            self.rows = X[:0]
        # A row that follows t others gets a random place from 0 to t. If this place is
        # below `size`, the row is in the sample until a later row takes its place.
        places = np.arange(self.seen, self.seen + count)
        late = places >= self.size
        places[late] = self._rng.integers(places[late] + 1)
        inside = np.flatnonzero(places < self.size)[::-1]
        place, first = np.unique(places[inside], return_index=True)
        new = inside[first]
        old = np.setdiff1d(np.arange(self.rows.shape[0]), place, assume_unique=True)
        # Sort by place.
        order = np.argsort(np.concatenate([old, place]))
        both = [self.rows[old], X[new]]
        stacked = sparse.vstack(both, "csr") if sparse.issparse(X) else np.vstack(both)
        self.rows = stacked[order]
        self.weights = np.concatenate([self.weights[old], weights[new]])[order]
        self.seen += count


class Stream:
    """Centers that are updated with every batch of a stream."""

    def __init__(self, factored: Factored, stats: Stats) -> None:
        self._factored, self._stats = factored, stats
        self.centers = centers_of(stats, factored.gram, None)

    @staticmethod
    def of(
        factored: Factored,
        labels: Array,
        weights: Array | None,
        engine: Threads,
        *,
        n_clusters: int,
        times: float,
    ) -> "Stream":
        """Start from a sample's labels (n,); a sampled row stands for `times` rows."""
        strip, gram = factored.strip, factored.gram
        part = Part.of(strip, gram, engine, labels=labels, weights=weights)
        stats = part.label_stats(n_clusters)
        no_rows = strip.with_rows(strip.X[:0])
        faded = Stats(stats.sums * times * _MEMORY, stats.counts * times * _MEMORY)
        return Stream(replace(factored, strip=no_rows), faded)

    def follow(
        self, X: RowsLike, weights: Array | None, seen: int, engine: Threads
    ) -> Array:
        """Return labels (b,) of a batch; move the centers towards the batch's rows."""
        strip, gram = self._factored.strip.with_rows(X), self._factored.gram
        alpha, norms = self.centers.alpha, self.centers.norms
        scorer = Scorer.of(alpha, norms, strip.dtype, self._factored.probes)
        part = Part.of(strip, gram, engine, weights=weights)
        sweep = part.sweep(scorer, None, 0)
        remaining = max(0.0, 1 - X.shape[0] / (_MEMORY * seen))
        self._stats.sums *= remaining
        self._stats.counts *= remaining
        self._stats += sweep.stats
        self.centers = centers_of(self._stats, gram, self.centers)
        return part.labels

    def model(self) -> Model:
        """Return the model of the present centers."""
        return self._factored.model(self.centers)


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
