"""Choose the number of neighbours in the graph.

With few neighbours, noise decides which rows are neighbours, and another sample of rows
gives other clusters. With many neighbours, rows of different clusters become
neighbours. The best number depends on the data: 15 for clean images, 40 or more for
short texts.

In the first graph, each row has 15 neighbours. If nearly all neighbours are in the same
cluster as their row, this graph is kept. Otherwise one graph is built from each half of
a sample. The number of neighbours is raised as long as the clusters of both halves
agree better than before.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

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
# A graph is clear if at least this share of neighbours are in the cluster of their row.
_CLEAR = 0.9
# Rows in the sample, and the number of rows below which no sample is drawn.
_SAMPLE, _FEW_ROWS = 6000, 1000
# The random error of an agreement a is about _NOISE sqrt(a (1 - a)).
_NOISE = 0.05
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
        Whether more neighbours than in `settings` may be chosen.
    engine : Threads
        Runs the computation.
    rng : numpy.random.Generator
        Draws the sample and the first vectors of the eigensolver.
    say : callable
        Receives lines of progress.

    Returns
    -------
    GraphEmbedding
        The embedding of the rows by walks in the graph.
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
    k = choose_n_neighbors(X, rows, settings, engine, own, say)
    if k == settings.n_neighbors:
        return graph
    more = replace(settings, n_neighbors=k)
    return fit_graph_embedding(points, more, engine, rng, say)


def choose_n_neighbors(
    X: RowsLike,
    rows: Array,
    settings: GraphSettings,
    engine: Threads,
    rng: np.random.Generator,
    say: Callable[[str], None],
) -> int:
    """Return the number of neighbours from two halves of a sample.

    The number is raised as long as the clusters of the halves agree better than before.
    The arguments are those of `fit_graph`.
    """
    sample, most = np.array_split(rng.permutation(rows)[:_SAMPLE], 2), _CANDIDATES[-1]
    halves = [
        GraphRows.of(X, half, settings.metric, engine, own, most)
        for half, own in zip(sample, rng.spawn(2), strict=True)
    ]
    chosen, best = settings.n_neighbors, -1.0
    for k in _CANDIDATES:
        if limit_neighbours(k, len(sample[1]), settings.n_clusters) < k:
            break
        tried = replace(settings, n_neighbors=k)
        agreement = _agreement(halves, tried, engine, rng.spawn(2))
        say(f"{k} neighbours: agreement of two halves of a sample {agreement:.3f}")
        if agreement < best + _noise(best):
            break
        chosen, best = k, agreement
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
    same = [(labels[column] == labels).mean() for column in graph.neighbours.indices.T]
    return bool(np.mean(same) >= _CLEAR)


def _noise(agreement: float) -> float:
    """Return the difference from this agreement that may be due to chance."""
    a = min(max(agreement, 0.0), 1.0)
    return _NOISE * (a * (1 - a)) ** 0.5


def _agreement(
    halves: list[GraphRows],
    settings: GraphSettings,
    engine: Threads,
    rngs: list[np.random.Generator],
) -> float:
    """Return the adjusted mutual information of the clusters found from each half."""
    C = settings.n_clusters
    assert C is not None
    labels = []
    for half, other, rng in zip(halves, halves[::-1], rngs, strict=True):
        embed = fit_graph_embedding(half, settings, engine, rng, lambda text: None)
        placed, _ = embed(other.points, engine)
        own, _ = embed(half.points, engine)
        both = [own, placed] if half is halves[0] else [placed, own]
        labels.append(_cluster(np.concatenate(both), own, C, engine, rng))
    return float(adjusted_mutual_info_score(*labels))


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
