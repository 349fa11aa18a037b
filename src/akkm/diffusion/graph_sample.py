"""Choose the rows of the graph: all distinct rows, or a sample of them."""

import numpy as np

from akkm.core.threads import Threads
from akkm.diffusion import neighbour_graph as graph
from akkm.diffusion.estimate_k import OUTLIER_SHARE
from akkm.diffusion.graph_embedding import GraphSettings
from akkm.diffusion.landmark_positions import project
from akkm.diffusion.prepared_rows import ANGULAR, EUCLIDEAN
from akkm.diffusion.row_hashes import row_hashes
from akkm.rows import as_rows
from akkm.typing import Array, RowsLike

# Number of rows in a sample. A sample is used because the time to build a graph grows
# faster than its number of rows.
_SAMPLE = 20_000
# With few columns, neighbours in a sample are near enough. With more than _WIDE columns
# they are not, and up to _ALL_IF_WIDE rows are used without sampling. Up to
# _MOST_ROWS rows are used if the graph of _PROBED sampled rows is in one piece.
_ALL_IF_WIDE, _WIDE = 100_000, 15
_MOST_ROWS, _PROBED = 2_000_000, 10_000
# A sample of rows in files or on workers has at most this many bytes.
_SAMPLE_BYTES = 2**30


def max_graph_rows(n_columns: int) -> int:
    """The number of distinct rows up to which the default graph may contain all rows.

    See `takes_all_rows`.
    """
    return _MOST_ROWS if n_columns > _WIDE else _SAMPLE


def takes_all_rows(
    X: RowsLike,
    rows: Array,
    settings: GraphSettings,
    engine: Threads,
    rng: np.random.Generator,
) -> bool:
    """Whether the default graph contains all distinct `rows` (u,) of X (n, d).

    If there are many rows, the answer depends on the graph of a sample. A graph in
    several pieces does not say how near the pieces are to each other. Such graphs are
    frequent in tables with few distinct values per column. For these tables, landmarks
    give better clusters.
    """
    u, d, metric = len(rows), X.shape[1], settings.metric
    if u <= min(_ALL_IF_WIDE, max_graph_rows(d)):
        return True
    if u > max_graph_rows(d) or not (metric in EUCLIDEAN or metric in ANGULAR):
        return False
    sample = X[np.sort(rng.choice(rows, _PROBED, replace=False))]
    k = min(settings.n_neighbors, _PROBED - 1)
    W, _ = graph.similarity_graph(sample, k, metric, engine, rng)
    sizes = graph.label_components(W)[1]
    return int((sizes >= OUTLIER_SHARE * _PROBED).sum()) == 1


def max_sample_rows(n_columns: int, itemsize: int) -> int:
    """The default number of rows in the graph if rows are in files or on workers."""
    most = _SAMPLE_BYTES // (n_columns * itemsize)
    return max(2, min(_ALL_IF_WIDE, max_graph_rows(n_columns), most))


def distinct_rows(X: RowsLike, weights: Array | None) -> Array:
    """Indices (u,) of distinct rows of positive weight; of equal rows, the first.

    If there are at most 20,000 distinct rows, they are sorted by a random projection.
    The graph of few rows then does not depend on their order in X, not even in its last
    bits. With few rows, many distances in the embedding are equal, and such bits would
    decide how clusters are numbered. If there are more rows, they are sorted by index.
    """
    hashes = np.concatenate(list(as_rows(X).map_blocks(_block_hashes)))
    rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
    _, first = np.unique(hashes[rows], return_index=True)
    distinct = np.sort(rows[first])
    if len(distinct) > _SAMPLE:
        return distinct
    direction = np.random.default_rng(0).standard_normal(X.shape[1])
    points = as_rows(X).gather(distinct)
    return distinct[np.argsort(project(points, direction), kind="stable")]


def _block_hashes(block: RowsLike, rows: slice) -> Array:
    """The hashes (b,) of a block of rows."""
    return row_hashes(block)


def sample_rows(rows: Array, size: int | None, rng: np.random.Generator) -> Array:
    """Sorted random sample of at most `size` of the rows (u,); None means 20,000."""
    size = _SAMPLE if size is None else size
    if len(rows) <= size:
        return rows
    return np.sort(rng.choice(rows, size, replace=False))
