"""The rows of the loop, with constrained rows assigned separately.

The loop assigns free rows as usual, with exact bounds and pruning. In the loop,
constrained rows have weight zero. A copy of the constrained rows is held in this
process, and is evaluated in every iteration, in a fixed order.
"""

from typing import Any

import numpy as np

from akkm.core.bounds import Moves
from akkm.core.lloyd import centers_of
from akkm.core.nearest import Scorer
from akkm.core.parts import Part, Stats, Sweep, WorstRow
from akkm.core.remote_parts import RemoteParts
from akkm.guided.guide import Guide
from akkm.typing import Array


def weights_of_others(n: int, weights: Array | None, rows: Array) -> Array:
    """Return the weights (n,) of all rows, with zeros at the constrained `rows`."""
    others = np.ones(n) if weights is None else weights.copy()
    others[rows] = 0
    return others


class GuidedParts:
    """Free rows and constrained rows, as one `Parts` object.

    Parameters
    ----------
    free : Part or RemoteParts
        All rows; constrained rows have weight zero.
    held : Part
        The constrained rows (r,), with the weights of the guide.
    guide : Guide
        Assigns the constrained rows.
    labels : int array of shape (g,), optional
        Labels of the groups. If given, `free` has labels, too.
    added : Stats, optional
        Sums that are added to those of the rows in each cluster.
    """

    def __init__(
        self,
        free: Part | RemoteParts,
        held: Part,
        guide: Guide,
        labels: Array | None = None,
        added: Stats | None = None,
    ) -> None:
        self._free, self._held, self.guide = free, held, guide
        zeros = Stats.zeros(guide.n_clusters, held.strip.m)
        self.added = zeros if added is None else added
        self.group_labels = labels
        # Total weight of free rows by cluster.
        self._free_counts = np.zeros(guide.n_clusters)
        if labels is not None:
            held.state.labels[:] = guide.row_labels(labels)

    @property
    def labels(self) -> Any:
        """Labels (n,) int32, as an array of the same kind as the rows."""
        assert self.group_labels is not None
        rows = self.guide.constraints.rows
        return self._free.labels_with(rows, self.guide.row_labels(self.group_labels))

    def label_stats(self, n_clusters: int) -> Stats:
        """Return the sums over the rows of each cluster, by their present labels."""
        stats = self._free.label_stats(n_clusters)
        self._free_counts = stats.counts.copy()
        stats += self._held.label_stats(n_clusters)
        stats += self.added
        return stats

    def sweep(self, scorer: Scorer, moves: Moves | None, stamp: int) -> Sweep:
        """Assign free rows as usual, and constrained rows by the guide."""
        sweep = self._free.sweep(scorer, moves, stamp)
        self._free_counts += sweep.stats.counts
        scores, ties = self._scores(scorer)
        labels = self.guide.assign(scores, ties, self.group_labels)
        squared = scores + self._held.state.length**2
        self.guide.fill_empty(squared, labels, self._free_counts)
        if self.group_labels is None:  # the first sweep returns all sums
            sweep.stats += self.added
        self.group_labels = labels
        sweep += self._held.relabel(self.guide.row_labels(labels), len(scorer.norms))
        return sweep

    def _scores(self, scorer: Scorer) -> tuple[Array, Array]:
        """Return scores (C, r) of the constrained rows, and their rounding errors."""
        held = self._held
        scores = np.empty((len(scorer.norms), held.strip.n))
        ties = np.empty(held.strip.n)

        def fill(chunk: slice) -> None:
            for rows, phi in held.strip.tiles(chunk):
                scores[:, rows] = scorer.scores(phi)
                ties[rows] = scorer.slack(held.lengths(rows, phi))

        held.engine.for_each(fill, held.strip.X.chunks())
        return scores, ties

    def cluster_stats(self, cluster: int) -> Stats:
        """Recompute the sums of one cluster, as a `Stats` with a single cluster."""
        stats = self._free.cluster_stats(cluster)
        stats += self._held.cluster_stats(cluster)
        one = slice(cluster, cluster + 1)
        stats += Stats(self.added.sums[one], self.added.counts[one])
        return stats

    def worst_row(self, scorer: Scorer, stale: Moves | None, counts: Array) -> WorstRow:
        """Find the free row farthest from its center."""
        return self._free.worst_row(scorer, stale, counts)

    def reassign(self, row: WorstRow, cluster: int) -> None:
        """Move a free row to a cluster; the next sweep will evaluate it."""
        self._free.reassign(row, cluster)
        self._free_counts[row.label] -= row.weight
        self._free_counts[cluster] += row.weight

    def trace(self) -> float:
        """Return sum_i w_i k(x_i, x_i). Added sums count as one row per cluster."""
        added = 0.0
        if self.added.counts.any():
            assert self._held.gram is not None
            means = centers_of(self.added, self._held.gram, None)
            added = float(self.added.counts @ means.norms)
        return added + self._trace_of_rows()

    def _trace_of_rows(self) -> float:
        held = self._held
        kernel, X, gram = held.strip.kernel, held.strip.X, held.gram
        if kernel.psd or gram is None:
            return self._free.trace() + held.trace()
        # A precomputed kernel needs row numbers that count all rows, not only these.
        rows = self.guide.constraints.rows.tolist()
        blocks = [
            kernel.diag_of_block(X[i : i + 1], slice(row, row + 1))
            for i, row in enumerate(rows)
        ]
        squared = np.concatenate(blocks)
        if np.isnan(squared).any():  # a precomputed strip has no k(x, x)
            squared = gram.squared_norms(X[:])
        return self._free.trace() + float(self.guide.weights @ squared)
