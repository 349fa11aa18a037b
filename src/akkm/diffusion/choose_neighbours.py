"""Choose the number of neighbours in the graph, or choose k-means without a graph.

With few neighbours, noise decides which rows are neighbours. With many neighbours, rows
of different clusters become neighbours. The best number depends on the data: 15 for
clean images, 40 or more for short texts. If clusters overlap in many columns, k-means
of the rows themselves finds better clusters than a graph does.

In the first graph, each row has 15 neighbours. If nearly all neighbours are in the same
cluster as their row, this graph is kept. Otherwise candidates are compared: graphs with
more and more neighbours, and k-means of positions (the rows themselves, in at most 64
coordinates). A sample is split into two halves, and each candidate finds clusters in
one half. The rows of the other half are assigned to these clusters. The score of the
candidate is the mutual information between the cluster of a row and the cluster of its
neighbour, where both rows are in the other half. The score is low if clusters join rows
that are neighbours only by chance, or if their borders cross dense regions.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from sklearn.metrics import mutual_info_score

from akkm.core.threads import Threads
from akkm.diffusion.graph_embedding import (
    GraphEmbedding,
    GraphRows,
    GraphSettings,
    fit_graph_embedding,
    limit_neighbours,
)
from akkm.diffusion.landmark_positions import weighted_means
from akkm.diffusion.landmark_ties import tie_rows
from akkm.diffusion.point_clusters import cluster_points
from akkm.typing import Array, RowsLike

FEWEST_NEIGHBORS = 15
_CANDIDATES = FEWEST_NEIGHBORS, 40, 100, 250
# A graph is clear if neighbours are in different clusters at most _UNCLEAR times as
# often as random pairs of rows.
_UNCLEAR = 0.07
# Rows in the sample, and the number of rows below which no sample is drawn.
_SAMPLE, _FEW_ROWS = 6000, 1000
# More neighbours, or positions, are chosen only if the score is larger by this factor.
# Smaller differences may be due to chance. Positions need a larger factor: a graph of
# all rows is better than a graph of a sample, but k-means of all rows is not better
# than k-means of a sample.
_MORE_NEIGHBORS, _POSITIONS = 1.01, 1.02
# To see whether a graph is clear, this many rows are clustered, or _PER_CLUSTER rows
# per cluster if that is more. All rows then get the cluster of the nearest mean.
_CLUSTERED, _PER_CLUSTER = 3000, 20


def fit_graph(
    X: RowsLike,
    rows: Array,
    settings: GraphSettings,
    choose: bool,
    engine: Threads,
    rng: np.random.Generator,
    say: Callable[[str], None],
) -> GraphEmbedding:
    """Build the graph of distinct rows, with a given or a chosen number of neighbours.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        All rows.
    rows : int array of shape (u,)
        Indices of the distinct rows.
    settings : GraphSettings
        The parameters of the graph.
    choose : bool
        Whether more neighbours than in `settings`, or positions, may be chosen.
    engine : Threads
        Runs the computation.
    rng : numpy.random.Generator
        Draws the sample and the first vectors of the eigensolver.
    say : callable
        Receives lines of progress.

    Returns
    -------
    GraphEmbedding
        The embedding of the rows by walks in the graph, or by position.
    """
    own = rng.spawn(1)[0]  # so that the same graph results if the number is given
    say(f"preparing the search among {len(rows):,} rows")
    choose = choose and settings.n_clusters is not None
    most = _CANDIDATES[-1] if choose and len(rows) >= _FEW_ROWS else 0
    points = GraphRows.of(X, rows, settings.metric, engine, rng, most)
    graph = fit_graph_embedding(points, settings, engine, rng, say)
    if not choose or settings.n_clusters is None:
        return graph
    if is_clear(graph, settings.n_clusters, engine, own):
        return graph
    k = choose_n_neighbors(X, rows, graph, settings, engine, own, say)
    if k == 0:
        return graph.with_positions()
    if k == settings.n_neighbors:
        return graph
    more = replace(settings, n_neighbors=k)
    return fit_graph_embedding(points, more, engine, rng, say)


def choose_n_neighbors(
    X: RowsLike,
    rows: Array,
    graph: GraphEmbedding,
    settings: GraphSettings,
    engine: Threads,
    rng: np.random.Generator,
    say: Callable[[str], None],
) -> int:
    """Return the number of neighbours, or 0 if positions give better clusters.

    The number is raised as long as this raises the score. `graph` is the first graph.
    The other arguments are those of `fit_graph`.
    """
    C = settings.n_clusters
    assert C is not None
    sample, most = np.array_split(rng.permutation(rows)[:_SAMPLE], 2), _CANDIDATES[-1]
    halves = [
        GraphRows.of(X, half, settings.metric, engine, own, most)
        for half, own in zip(sample, rng.spawn(2), strict=True)
    ]
    points = [half.points[half.order] for half in halves]  # as the searches order them
    lists = [
        half.search.neighbours(FEWEST_NEIGHBORS, engine, own, _silent)[0]
        for half, own in zip(halves, rng.spawn(2), strict=True)
    ]

    def information(embedded: Sequence[tuple[Array, Array]]) -> float:
        """Return the score: the mutual information of the clusters of neighbours.

        It is the mean over both halves. `embedded` contains, for each half, its points
        and those of the other half.
        """
        found = []
        for pair, near, own in zip(embedded, lists[::-1], rng.spawn(2), strict=True):
            labels = _cluster(pair[1], pair[0], C, engine, own)
            found.append(_edge_information(labels, near))
        return float(np.mean(found))

    def walks(k: int) -> list[tuple[Array, Array]]:
        """Return the points of both halves in the graph of each half."""
        tried = replace(settings, n_neighbors=k)
        embedded = []
        for half, other, own in zip(halves, points[::-1], rng.spawn(2), strict=True):
            embed = fit_graph_embedding(half, tried, engine, own, _silent)
            embedded.append((embed.embedding, embed(other, engine)[0]))
        return embedded

    chosen, best = settings.n_neighbors, 0.0
    for k in _CANDIDATES:
        if k > chosen and limit_neighbours(k, len(sample[1]), C) < k:
            break
        value = information(walks(k))
        say(f"{k} neighbours: {value:.3f} nats about neighbours in the other half")
        if value < _MORE_NEIGHBORS * best:
            break
        chosen, best = k, value
    if settings.edit is None and settings.t is None and graph.has_positions:
        first, second = (graph.positions(half) for half in points)
        value = information([(first, second), (second, first)])
        say(f"positions: {value:.3f} nats about neighbours in the other half")
        if value > _POSITIONS * best:
            return 0
    return chosen


def is_clear(
    graph: GraphEmbedding, n_clusters: int, engine: Threads, rng: np.random.Generator
) -> bool:
    """Whether a graph is kept: nearly all neighbours are in the cluster of their row.

    Graphs of few rows are kept, too.
    """
    points = graph.embedding
    if n_clusters == 1 or len(points) < _FEW_ROWS:
        return True
    size = min(len(points), max(_CLUSTERED, _PER_CLUSTER * n_clusters))
    sample = np.sort(rng.choice(len(points), size, replace=False))
    labels = _cluster(points, points[sample], n_clusters, engine, rng)
    lists = graph.neighbours.indices.T
    other = np.mean([(labels[column] != labels).mean() for column in lists])
    by_chance = 1 - np.square(np.bincount(labels) / len(labels)).sum()
    return bool(other <= _UNCLEAR * by_chance)


def _edge_information(labels: Array, lists: Array) -> float:
    """Return the mutual information, in nats, of the clusters of rows and neighbours.

    `labels` (u,) are the clusters of rows, and `lists` (u, k) their neighbours.
    """
    pairs = labels.repeat(lists.shape[1]), labels[lists].ravel()
    return float(mutual_info_score(*pairs))


def _silent(text: str) -> None:
    """Print nothing."""


def _cluster(
    points: Array,
    sample: Array,
    n_clusters: int,
    engine: Threads,
    rng: np.random.Generator,
) -> Array:
    """Return the clusters (n,) of points (n, q), by k-means of a sample (s, q)."""
    labels = cluster_points(sample, n_clusters, engine, rng)
    means = weighted_means(sample, np.ones(len(sample)), labels, n_clusters)
    return tie_rows(points, means, 1, engine).indices[:, 0]
