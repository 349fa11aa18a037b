"""Streams: rows that arrive in batches and are not kept."""

from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from akkm.approx.factored import Factored
from akkm.core.gram import Centers
from akkm.core.lloyd import centers_of
from akkm.core.model import Model
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
# Minimum number of new rows after which the centers move, relative to the number of
# rows so far. Moving the centers takes longer than assigning a small batch.
_SMALLEST_STEP = 0.03
# Waiting rows are moved to their places in the sample when their number reaches this
# share of the sample's size.
_WAITING = 0.25


@dataclass(frozen=True)
class _Placed:
    """Rows with their places in a sample."""

    places: Array  # (b,)
    rows: RowsLike  # (b, d)
    weights: Array  # (b,)


@dataclass(frozen=True)
class Reservoir:
    """A uniform random sample of all rows so far (Vitter's algorithm R).

    When a row is added, it is given the number of a place in the sample. Rows are moved
    to their places only when the sample is read, or when many rows wait. So adding a
    small batch does not copy the sample.
    """

    size: int
    rng: np.random.Generator  # in its state before the next batch
    # If two rows have the same place, the later row replaces the earlier one.
    blocks: tuple[_Placed, ...] = ()
    seen: int = 0

    def add(self, X: RowsLike, weights: Array | None) -> "Reservoir":
        """Return the sample after a further batch of rows (b, d)."""
        count, rng = X.shape[0], deepcopy(self.rng)
        weights = np.ones(count) if weights is None else weights
        # A row that follows t earlier rows gets a random place from 0 to t. If this
        # place is below `size`, the row is in the sample until a later row gets the
        # same place.
        places = np.arange(self.seen, self.seen + count)
        late = places >= self.size
        places[late] = rng.integers(places[late] + 1)
        new = np.flatnonzero(places < self.size)
        # X[new] is a copy, so the batch may change later.
        block = _Placed(places[new], X[new], weights[new])
        waiting = sum(len(b.places) for b in self.blocks[1:]) + len(new)
        if waiting < _WAITING * self.size:
            blocks = (*self.blocks, block)
        else:
            blocks = (_settle((*self.blocks, block)),)
        return Reservoir(self.size, rng, blocks, self.seen + count)

    @property
    def rows(self) -> RowsLike:
        """The rows of the sample, of shape (at most size, d)."""
        return self._settled.rows

    @property
    def weights(self) -> Array:
        """The weights of the rows of the sample."""
        return self._settled.weights

    @cached_property
    def _settled(self) -> _Placed:
        return _settle(self.blocks)


def _settle(blocks: tuple[_Placed, ...]) -> _Placed:
    """Join blocks of rows: one row per place, sorted by place."""
    if len(blocks) == 1:
        return blocks[0]
    places = np.concatenate([block.places for block in blocks])
    place, last = np.unique(places[::-1], return_index=True)
    chosen = len(places) - 1 - last
    rows = _stack([block.rows for block in blocks])[chosen]
    weights = np.concatenate([block.weights for block in blocks])[chosen]
    return _Placed(place, rows, weights)


def _stack(blocks: list[RowsLike]) -> RowsLike:
    """Stack blocks of rows; the result is dense or sparse like the first block."""
    if sparse.issparse(blocks[0]):
        return sparse.vstack([sparse.csr_array(block) for block in blocks], "csr")
    return np.vstack([to_dense(block) for block in blocks])


@dataclass(frozen=True)
class Stream:
    """Centers that follow the batches of a stream.

    The sums include every row so far. The centers move to the means of the clusters
    when enough new rows are in the sums.
    """

    factored: Factored  # without rows
    stats: Stats  # sums of kernel rows and of weights; older rows weigh less
    centers: Centers
    model: Model  # compares rows with the centers
    seen: int  # number of rows so far
    new: int = 0  # number of rows since the centers moved

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
        centers = centers_of(faded, gram, None)
        return Stream(no_rows, faded, centers, no_rows.model(centers), seen)

    @staticmethod
    def of_centers(
        factored: Factored, alpha: Array, counts: Array, seen: int
    ) -> "Stream":
        """Start from centers alpha (C, m); `counts` (C,) are the clusters' weights."""
        means, faded = factored.gram.means_of(alpha), counts * _MEMORY
        norms = np.einsum("km,km->k", means, alpha)
        centers = Centers(means @ factored.gram.whitener, alpha, norms)
        stats = Stats(means * faded[:, None], faded)
        return Stream(factored, stats, centers, factored.model(centers), seen)

    @property
    def counts(self) -> Array:
        """Total weight (C,) of each cluster's rows, estimated from the sums."""
        return self.stats.counts / _MEMORY

    def follow(
        self, X: RowsLike, weights: Array | None, engine: Threads
    ) -> tuple["Stream", Array | None]:
        """Add a batch of rows (b, d); move the centers if there are enough new rows.

        Returns the new stream and the nearest center (b,) of each row. The second
        result is None if centers have moved, because the labels may have changed.
        """
        stream, start, b = self, 0, X.shape[0]
        found = []
        while start < b:
            rows = slice(start, start + max(1, int(_LARGEST_STEP * stream.seen)))
            own = None if weights is None else weights[rows]
            stream, labels = stream._step(X[rows], own, engine)
            found.append(labels)
            start = rows.stop
        if stream.centers is not self.centers:
            return stream, None
        return stream, np.concatenate(found)

    def _step(
        self, X: RowsLike, weights: Array | None, engine: Threads
    ) -> tuple["Stream", Array]:
        """Assign rows (b, d) to centers; move the centers if there are enough new rows.

        Returns the new stream and the labels (b,) before the move.
        """
        strip, gram = self.factored.strip.with_rows(X), self.factored.gram
        part = Part.of(strip, gram, engine, weights=weights)
        seen, new = self.seen + X.shape[0], self.new + X.shape[0]
        # The total weight was _MEMORY * self.seen, and is to be _MEMORY * seen.
        remaining = max(0.0, (seen - X.shape[0] / _MEMORY) / self.seen)
        stats = Stats(self.stats.sums * remaining, self.stats.counts * remaining)
        stats += part.sweep(self.model.scorer, None, 0).stats
        if new < _SMALLEST_STEP * seen:
            stream = replace(self, stats=stats, seen=seen, new=new)
        else:
            centers = centers_of(stats, gram, self.centers)
            model = self.factored.model(centers)
            stream = Stream(self.factored, stats, centers, model, seen)
        return stream, part.labels


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
