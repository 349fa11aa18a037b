"""Embed rows by random walks on the neighbour graph, and place new rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from akkm.core.threads import Threads
from akkm.diffusion import neighbour_graph as graph
from akkm.diffusion.cell_search import PositionSearch
from akkm.diffusion.constrained_graph import GraphEdit
from akkm.diffusion.diffusion_time import diffusion_map, unit_rows
from akkm.diffusion.estimate_k import OUTLIER_SHARE
from akkm.diffusion.neighbour_graph import Neighbours
from akkm.diffusion.neighbour_search import NewRowSearch, PointSearch, search_for
from akkm.diffusion.prepared_rows import is_product
from akkm.diffusion.row_hashes import row_hashes
from akkm.diffusion.spectrum import (
    Decision,
    DiffusionKernel,
    fit_diffusion_kernel,
    pairs_for,
    spectrum_decides,
)
from akkm.diffusion.staying_walks import STEPS, one_step, share_of_staying_walks
from akkm.typing import Array, RowsLike

# Minimum number of eigenpairs.
_PAIRS = 40
# A component is small if it has fewer rows than _SMALL_SHARE times the mean size of a
# cluster, or fewer than _SMALL_ROWS.
_SMALL_SHARE, _SMALL_ROWS = 1 / 20, 3
# The largest number of clusters that can be estimated.
_MOST_CLUSTERS = 60
# The point of a new row is a mean over at most this many neighbours.
_PLACED_BY = 15
# Rows that are hashed or placed at a time.
_BLOCK = 65536


# A function that returns the clusters (b,) of points (b, q) of the embedding.
Label = Callable[[Array], Array]


@dataclass(frozen=True)
class GraphSettings:
    """The parameters of the graph and its diffusion."""

    n_clusters: int | None  # None: to be estimated
    n_neighbors: int
    metric: str
    t: float | None  # None: chosen from the spectrum
    decide: Decision = spectrum_decides  # chooses n_clusters if it is to be estimated
    edit: GraphEdit | None = None  # applies constraints to the graph


@dataclass(frozen=True)
class GraphEmbedding:
    """The embedding of the graph's rows, and the data to embed new rows."""

    search: NewRowSearch  # searches the u distinct rows, called points
    keys: Array  # (u,) hashes of the points, ascending
    places: Array  # (u,) index of the point with each hash
    sparse: bool  # whether rows are stored as CSR
    neighbours: Neighbours
    embedding: Array  # (u, q), of unit length unless points have positions
    outlying: Array  # (u,) whether the point's component is small
    kernel: DiffusionKernel
    n_components: int  # number of large components, before components were linked
    by_position: bool = False  # whether the embedding has positions instead of walks

    @property
    def n_neighbors(self) -> int:
        """The number of neighbours of each point, or 0 if points have positions."""
        return 0 if self.by_position else int(self.neighbours.indices.shape[1])

    @property
    def n_coordinates(self) -> int:
        """The number q of coordinates of the embedding."""
        return int(self.embedding.shape[1])

    def __call__(self, X: RowsLike, engine: Threads) -> tuple[Array, Array]:
        """Return the embedding (n, q) of rows X (n, d), and which rows are outlying.

        A row that equals a point of the graph gets the embedding of that point. Any
        other row gets the mean embedding of its neighbours in the graph, weighted by
        similarity. If points have positions, it gets its own position. Such a row is
        outlying if more than half of its similarity belongs to outlying neighbours.
        """
        n = X.shape[0]
        embedded = np.empty((n, self.embedding.shape[1]), dtype=self.embedding.dtype)
        outlying = np.empty(n, dtype=bool)
        same = self._equal_points(X)
        known, new = np.flatnonzero(same >= 0), np.flatnonzero(same < 0)
        embedded[known] = self.embedding[same[known]]
        outlying[known] = self.outlying[same[known]]
        k = min(max(1, self.neighbours.indices.shape[1]), _PLACED_BY)
        for start in range(0, len(new), _BLOCK):
            rows = new[start : start + _BLOCK]
            near = self.search.nearest(self._like_points(X[rows]), k, engine)
            W = graph.new_row_similarity(self.neighbours, *near)
            embedded[rows] = self._place(X[rows], W)
            outlying[rows] = W @ self.outlying > W.sum(axis=1) / 2
        return embedded, outlying

    def staying(self, label: Label, engine: Threads) -> Callable[[RowsLike], Array]:
        """Return a function from rows (n, d) to shares (n,) of walks that stay.

        These are the shares of short walks that stay in the cluster of the row.
        `label` returns the clusters of points of the embedding.
        """
        clusters, lists = label(self.embedding), self.neighbours.indices
        before = share_of_staying_walks(lists, clusters, STEPS - 1)
        last = one_step(lists, clusters, clusters, before)
        k = min(lists.shape[1], _PLACED_BY)

        def shares(X: RowsLike) -> Array:
            same = self._equal_points(X)
            found = last[same]
            new = np.flatnonzero(same < 0)
            for start in range(0, len(new), _BLOCK):
                rows = new[start : start + _BLOCK]
                near = self.search.nearest(self._like_points(X[rows]), k, engine)
                W = graph.new_row_similarity(self.neighbours, *near)
                own = label(self._place(X[rows], W))
                found[rows] = one_step(near[0], own, clusters, before)
            return found

        return shares

    @property
    def has_positions(self) -> bool:
        """Whether rows have positions, see `positions`."""
        search = self.search
        return isinstance(search, PositionSearch) and is_product(search.metric)

    def positions(self, X: RowsLike) -> Array:
        """Return the coordinates (n, q) of rows X (n, d) in which they are searched."""
        assert isinstance(self.search, PositionSearch)
        # In float64, so that the position of a row does not depend on the other rows.
        found = self.search.coordinates(self._like_points(X).astype(np.float64))
        return found.astype(self.embedding.dtype)

    def with_positions(self) -> "GraphEmbedding":
        """Return the embedding of the points by position, without walks."""
        assert isinstance(self.search, PositionSearch)
        kernel, points = replace(self.kernel, t=0.0), self.search.cells.points
        return replace(
            self, embedding=np.asarray(points), kernel=kernel, by_position=True
        )

    def _place(self, X: RowsLike, W: Any) -> Array:
        """Return the points (b, q) of new rows with similarities W (b, u) to points."""
        return self.positions(X) if self.by_position else unit_rows(W @ self.embedding)

    def _equal_points(self, X: RowsLike) -> Array:
        """For each row of X the index of the point that equals it, or -1: (n,)."""
        same = np.empty(X.shape[0], dtype=np.int64)
        for start in range(0, X.shape[0], _BLOCK):
            block = slice(start, start + _BLOCK)
            keys = row_hashes(self._like_points(X[block]))
            place = np.searchsorted(self.keys[:-1], keys)
            same[block] = np.where(self.keys[place] == keys, self.places[place], -1)
        return same

    def _like_points(self, X: RowsLike) -> RowsLike:
        """X in the storage of the points: dense or sparse, with the same dtype."""
        if self.sparse:
            X = sparse.csr_array(X)
        elif sparse.issparse(X):
            X = X.toarray()
        return X.astype(self.embedding.dtype, copy=False)


@dataclass(frozen=True)
class GraphRows:
    """The distinct rows of a graph, and a search among them."""

    rows: Array  # (u,) indices of the rows
    points: RowsLike  # (u, d)
    search: PointSearch
    order: Array  # (u,) point i of the search is points[order[i]]

    @staticmethod
    def of(
        X: RowsLike,
        rows: Array,
        metric: str,
        engine: Threads,
        rng: np.random.Generator,
        most: int = 0,
    ) -> "GraphRows":
        """Prepare the `rows` (u,) of X (n, d); see `search_for` for `most`."""
        # Without duplicates, no copy of the rows is made here.
        in_order = len(rows) == X.shape[0] and bool((np.diff(rows) > 0).all())
        points = X if in_order else X[rows]
        return GraphRows(
            rows, points, *search_for(points, metric, engine, rng, most=most)
        )


def fit_graph_embedding(
    graph_rows: GraphRows,
    settings: GraphSettings,
    engine: Threads,
    rng: np.random.Generator,
    say: Callable[[str], None],
) -> GraphEmbedding:
    """Build the graph of distinct rows, and embed them."""
    rows, points, search = graph_rows.rows, graph_rows.points, graph_rows.search
    order, u, metric = graph_rows.order, len(rows), settings.metric
    k = limit_neighbours(settings.n_neighbors, u, settings.n_clusters)
    say(f"searching the {k} nearest neighbours of {u:,} rows")
    neighbours = Neighbours(*search.neighbours(k, engine, rng, say))
    say("counting shared neighbours")
    W = graph.shared_neighbour_similarity(neighbours)
    if settings.edit is not None:
        W = settings.edit(W, rows[order])
    say(f"{u:,} rows in the graph, {k} neighbours")

    def link(W: Any, inside: Array, component: Array) -> Any:
        inner = points[order[inside]]
        return graph.link_components(inner, W, component, k, metric, rng)

    walks = embed_graph(W, settings, points.dtype, engine, rng, say, link)
    kernel, inside, label = walks.kernel, walks.inside, walks.label
    if k < settings.n_neighbors:
        why = f"there are only {u} distinct rows"
        kernel = replace(kernel, evidence=replace(kernel.evidence, sure=False, why=why))
    outside = points[order[~inside]]
    target = graph.attach_small_components(outside, search, inside, label, engine)
    embedding = walks.embedding
    if settings.edit is not None:
        inner = W[inside][:, inside]
        embedding = settings.edit.extend(
            embedding, inner, rows[order][inside], kernel.n_clusters, engine, rng
        )
    embedding = embedding[(np.cumsum(inside) - 1)[target]]
    keys = _hashes(points, order)
    places = np.argsort(keys, kind="stable")
    return GraphEmbedding(
        search.new_rows,
        keys[places],
        places,
        sparse.issparse(points),
        neighbours,
        embedding,
        ~inside,
        kernel,
        walks.n_components,
    )


@dataclass(frozen=True)
class GraphWalks:
    """The diffusion kernel of a graph, and the points of its large components."""

    kernel: DiffusionKernel
    embedding: Array  # (v, q) points of the nodes in large components
    inside: Array  # (u,) whether each node is in a large component
    label: Array  # (u,) component of each node, the largest components first
    n_components: int  # number of large components, before components were linked


def embed_graph(
    W: Any,
    settings: GraphSettings,
    dtype: Any,
    engine: Threads,
    rng: np.random.Generator,
    say: Callable[[str], None],
    link: Callable[[Any, Array, Array], Any] | None = None,
) -> GraphWalks:
    """Embed the nodes of a graph with similarities W (u, u), symmetric CSR.

    `link` is called if there are more large components than clusters. It returns W with
    links between components. Its arguments are W of the nodes in large components, a
    bool array (u,) that is true for these nodes, and the component of each of them.
    """
    u = W.shape[0]
    label, sizes = graph.label_components(W)
    most = settings.n_clusters or _MOST_CLUSTERS
    share = _SMALL_SHARE / most if settings.n_clusters else OUTLIER_SHARE
    inside = sizes[label] >= min(max(_SMALL_ROWS, share * u), sizes[0])
    n_components = int(label[inside].max()) + 1
    outside = u - int(inside.sum())
    say(f"{n_components} large components of the graph, {outside:,} rows in small ones")
    W, component = W[inside][:, inside], label[inside]
    if settings.n_clusters is not None and n_components > most and link is not None:
        W = link(W, inside, component)
        component = graph.label_components(W)[0]
    n_pairs, ones = max(_PAIRS, pairs_for(most)), np.ones(W.shape[0])
    kernel, vectors = fit_diffusion_kernel(
        W,
        component,
        n_pairs,
        rng,
        settings.n_clusters,
        settings.t,
        ones,
        say=say,
        decide=settings.decide,
        engine=engine,
    )
    values = kernel.eigenvalues
    say(f"{len(values)} eigenvalues down to {values[-1]:.4f}, t = {kernel.t:.4g}")
    embedding = diffusion_map(vectors, values, kernel.t).astype(dtype)
    return GraphWalks(kernel, embedding, inside, label, n_components)


def limit_neighbours(n_neighbors: int, u: int, n_clusters: int | None) -> int:
    """The number of neighbours of each row, in a graph of u rows.

    The result is below the mean size of a cluster. With more neighbours, rows of
    different clusters would be neighbours. If each row were a neighbour of all other
    rows, the graph would have no clusters. If the number of clusters is to be estimated
    (None), two clusters are assumed.

    Examples
    --------
    >>> from akkm.diffusion.graph_embedding import limit_neighbours
    >>> limit_neighbours(15, u=1000, n_clusters=2), limit_neighbours(15, 16, 2)
    (15, 7)
    """
    return min(n_neighbors, max(1, u // (n_clusters or 2) - 1), u - 1)


def _hashes(X: RowsLike, rows: Array) -> Array:
    """The hashes (u,) of the given rows of X, computed in blocks."""
    blocks = [rows[a : a + _BLOCK] for a in range(0, len(rows), _BLOCK)]
    return np.concatenate([row_hashes(X[block]) for block in blocks])
