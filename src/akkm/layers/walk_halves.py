"""Halves of the rows in a graph, each embedded by random walks on its own."""

from functools import partial
from typing import Any

import numpy as np

from akkm.core.threads import Threads
from akkm.diffusion import neighbour_graph as graph
from akkm.diffusion.diffusion_time import diffusion_map, diffusion_time, unit_rows
from akkm.diffusion.estimate_k import OUTLIER_SHARE
from akkm.diffusion.spectrum import leading_eigenpairs
from akkm.layers.halves import MOST_ROWS, Agreement, Half, compare_halves
from akkm.typing import Array, RowsLike

# Number of eigenpairs. It is the same for all numbers of clusters, so that their errors
# can be compared. FEW_PAIRS are enough for most data; MANY_PAIRS are for data with many
# clusters.
FEW_PAIRS, MANY_PAIRS = 110, 320
# Number of eigenpairs that a cluster needs.
_PAIRS_PER_CLUSTER = 2
# Smallest mean number of rows in a cluster.
_ROWS_PER_CLUSTER = 20
# Number of k-means runs. It is _RUNS divided by the number of clusters, but at least
# _FEWEST and at most _MOST. With fewer runs, poor local optima would change the scores
# at random. With many clusters, few runs are enough, because chance averages out.
_RUNS, _FEWEST, _MOST = 150, 3, 15
# Components of the graph with fewer rows than this are small.
_SMALL_ROWS = 3


class WalkHalves:
    """Random halves of the nodes of a graph, embedded by walks within each half.

    The walks of a half use only edges within this half, so the two halves of a split
    share no edge. A node of the other half gets the mean point of its neighbours in
    this half.

    Parameters
    ----------
    W : CSR array of shape (n, n)
        Similarities of the nodes.
    n_splits : int
        Number of random splits into two halves.
    engine : Threads
        Computes the halves in parallel.
    rng : numpy.random.Generator
        Draws the halves.
    n_pairs : int
        Number of eigenpairs of each half.
    """

    def __init__(
        self,
        W: Any,
        n_splits: int,
        engine: Threads,
        rng: np.random.Generator,
        n_pairs: int = FEW_PAIRS,
    ) -> None:
        self._engine = engine
        n = W.shape[0]
        self.most = max(2, min(n_pairs // _PAIRS_PER_CLUSTER, n // _ROWS_PER_CLUSTER))
        self._halves: list[_PartGraph] = []
        for _ in range(n_splits):
            order = rng.permutation(n)
            compared = np.sort(rng.choice(n, min(n, MOST_ROWS), replace=False))
            parts = np.sort(order[: n // 2]), np.sort(order[n // 2 :])
            seeds = rng.integers(2**63, size=2)
            pair = [_PartGraph(W, *each) for each in zip(parts, seeds, strict=True)]
            # A node that has no neighbours in one half gets no point from that half.
            placed = np.logical_and(*(half.can_place(W, compared) for half in pair))
            for half in pair:
                half.place(W, compared[placed])
            self._halves += pair
        self._whole = _PartGraph(W, np.arange(n), int(rng.integers(2**63)))
        graphs = [*self._halves, self._whole]
        engine.for_each(partial(_PartGraph.solve, n_pairs=n_pairs), graphs)

    def compare(self, number: int) -> Agreement:
        """Cluster both halves into `number` clusters and compare the labels."""
        embed = [partial(half.embed, number) for half in self._halves]
        whole = partial(self._whole.points, number)
        runs = min(max(_FEWEST, _RUNS // number), _MOST)
        return compare_halves(embed, whole, number, runs, self._engine)


class _PartGraph:
    """The graph of one half of the nodes, or of all, without small components."""

    def __init__(self, W: Any, nodes: Array, seed: int) -> None:
        inner = W[nodes][:, nodes]
        kept = _large_components(inner)
        self._nodes, self._W = nodes[kept], inner[kept][:, kept]
        self._component = graph.label_components(self._W)[0]
        self._seed = int(seed)
        rng = np.random.default_rng(self._seed)
        m = len(self._nodes)
        self._clustered = np.sort(rng.choice(m, min(m, MOST_ROWS), replace=False))

    def can_place(self, W: Any, nodes: Array) -> Array:
        """Whether each of the nodes (c,) has a neighbour in this half."""
        return np.asarray(W[nodes][:, self._nodes].sum(axis=1)).ravel() > 0

    def place(self, W: Any, nodes: Array) -> None:
        """Store the links of nodes (c,), from which `embed` computes their points."""
        self._ties = W[nodes][:, self._nodes].astype(np.float32)

    def solve(self, n_pairs: int) -> None:
        """Compute the eigenpairs."""
        rng = np.random.default_rng(self._seed)
        found = leading_eigenpairs(self._W, self._component, n_pairs, rng)
        self._values, self._vectors = found[0], found[1].astype(np.float32)

    def points(self, number: int) -> Array:
        """Points (h, q) of up to MOST_ROWS nodes, to find this number of clusters."""
        t = diffusion_time(self._values, number)
        return diffusion_map(self._vectors[self._clustered], self._values, t)

    def embed(self, number: int) -> Half:
        """The same points, and those of the nodes that were placed."""
        t = diffusion_time(self._values, number)
        points = diffusion_map(self._vectors, self._values, t)
        return Half(points[self._clustered], unit_rows(self._ties @ points))


def sample_graph(
    X: RowsLike,
    n_neighbors: int,
    metric: str,
    engine: Threads,
    rng: np.random.Generator,
) -> Any:
    """The similarities (CSR) of distinct rows X (n, d), computed as in a fit.

    Rows in small components are left out.
    """
    k = min(n_neighbors, X.shape[0] - 1)
    W, _ = graph.similarity_graph(X, k, metric, engine, rng)
    kept = _large_components(W)
    return W[kept][:, kept]


def _large_components(W: Any) -> Array:
    """The nodes (m,) of W (n, n) in components that are not small.

    A component is also small if it has less than the share OUTLIER_SHARE of the nodes.
    The largest component always remains.
    """
    label, sizes = graph.label_components(W)
    least = max(_SMALL_ROWS, OUTLIER_SHARE * W.shape[0])
    return np.flatnonzero(sizes[label] >= min(least, sizes[0]))
