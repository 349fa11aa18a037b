"""DiffusionKernelKMeans."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from akkm.core.threads import Threads
from akkm.diffusion.choose_neighbours import FEWEST_NEIGHBORS, fit_graph
from akkm.diffusion.constrained_graph import GraphEdit
from akkm.diffusion.given_graph import (
    DISTANCES,
    SIMILARITIES,
    canonical,
    fit_given_graph,
    require_graph,
)
from akkm.diffusion.graph_embedding import GraphEmbedding, GraphSettings
from akkm.diffusion.graph_sample import (
    distinct_rows,
    max_sample_rows,
    sample_rows,
    takes_all_rows,
)
from akkm.diffusion.landmark_embedding import LandmarkEmbedding, fit_landmark_embedding
from akkm.diffusion.landmark_positions import place_landmarks, resolve_n_landmarks
from akkm.diffusion.placing import place_block, place_stored
from akkm.estimators._centers import mark_outliers
from akkm.estimators._embedding import WalkClusterer
from akkm.estimators._parameters import AUTO, COUNT, estimator, parameter
from akkm.estimators._run import Run
from akkm.layers.curve import LayerCurve
from akkm.rows import as_rows, is_dask, is_rows
from akkm.typing import Array, RowsLike


@estimator
class DiffusionKernelKMeans(WalkClusterer):
    """Kernel k-means with a diffusion kernel on the graph of nearest neighbours.

    Two rows are similar if random walks that start from them end at the same rows. Each
    step of a walk goes from a row to one of its neighbours. Clusters may have any
    shape, as long as each is connected and denser than its surroundings.

    The matrix W contains the similarities of rows. The similarity of two rows is their
    number of shared neighbours, with more weight if each row is a neighbour of the
    other. D is the diagonal matrix of the row sums of W. With
    S = D^(-1/2) W D^(-1/2), the kernel is K = S^(2t). The embedding consists of the
    leading eigenvectors of S, each times eigenvalue^t. Its rows are then scaled to unit
    length. Negative eigenvalues count as zero. There is no kernel width to choose.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters C. "auto" estimates it from the spectrum (see `evidence_`).
        If the spectrum is not conclusive, "auto" chooses the number that independent
        halves of the rows agree on (see `stability_`). If the choice is unsure, a
        warning says so.
    n_neighbors : int or "auto", default="auto"
        Number of neighbours of each row in the graph. "auto" starts with 15. If nearly
        all neighbours are in the same cluster as their row, it stays at 15. Otherwise
        the rows are noisy, and 40, 100 or 250 neighbours may be better, or k-means of
        the rows themselves, without a graph. All of these are compared on a sample of
        at most 6,000 rows (see Notes). "auto" means 15 if there are fewer than 1,000
        distinct rows, or if the number of clusters is estimated. The number of
        neighbours is always below the mean number of distinct rows per cluster. If the
        number of clusters is estimated, two clusters are assumed for this limit.
    metric : str, default="euclidean"
        A metric of scikit-learn's `pairwise_distances`: "manhattan", "cosine",
        "correlation", "hamming", ... With more than 20,000 rows, the Euclidean, cosine
        and correlation metrics are much faster than others.

        If X is a graph instead of rows, the metric says what its entries are:
        "precomputed" for distances, as in scikit-learn, or "precomputed_similarity" for
        similarities. X is then a symmetric sparse matrix (n, n), such as those of
        `akkm.neighbor_graph`. See Notes.
    diffusion : float or "auto", default="auto"
        Length t of the walks. "auto" sets it so that the sum of eigenvalue^(2t), the
        effective number of dimensions, is 0.9 times the number of clusters. Shorter
        walks need more eigenvectors. A warning says if more are needed than can be
        computed.
    outliers : {"attach", "mark"}, default="attach"
        Treatment of rows in components of the graph that are too small for a cluster.
        "attach" gives them the label of the nearest other rows. "mark" gives them -1.
    max_rows : int or "auto", default="auto"
        Maximal number of distinct rows in the graph. If X has more, the graph is built
        from a sample. Like a new row, each of the other rows then gets the mean point
        of its neighbours in the sample. With "auto", the graph contains up to 100,000
        distinct rows (20,000 if they have at most 15 columns). With more than 15
        columns, it may contain up to 2,000,000 rows. This requires the Euclidean,
        cosine or correlation metric, and that the graph of a sample of 10,000 rows is
        in one piece, not counting rows in small components. If there are too many rows
        for the graph, walks go through landmarks, as in `SparseKernelKMeans`, and
        `n_neighbors` is not used. Landmarks need the Euclidean metric and
        `outliers="attach"`. Otherwise, the graph is built from a sample of 20,000 rows.
        For rows in files or on Dask workers, "auto" is 100,000 distinct rows (20,000 if
        they have at most 15 columns), or as many as fit in 1 GB if that is less.
    strength, clusters_per_class, known_weight : various
        How constraints on labels are applied, as in `ApproxKernelKMeans`.
    init, n_init, max_iter, tol, coverage, random_state, n_jobs, verbose : various
        As in `ApproxKernelKMeans`, for k-means in the embedding.

    Attributes
    ----------
    labels_ : int32 array of shape (n,)
        Cluster of each row. If X is a Dask collection, `labels_`, `embedding_` and
        `outlying_` are Dask arrays.
    n_clusters_ : int
        Number of clusters, given or estimated.
    stability_ : akkm.layers.curve.LayerCurve or None
        How reproducible each number of clusters is; None if this was not measured.
    evidence_ : akkm.diffusion.estimate_k.Evidence
        Evidence for each number of clusters.
    embedding_ : array of shape (n, q)
        The embedded rows, which k-means clusters. `transform` returns distances to
        centers in this space.
    eigenvalues_ : array of shape (r,)
        Eigenvalues of S, in descending order from 1.
    diffusion_ : float
        The t that was used. It is 0 if k-means clusters the rows themselves.
    n_neighbors_ : int
        Number of neighbours, given or chosen. It is 0 if walks went through landmarks,
        if X contains similarities, or if k-means clusters the rows themselves.
    n_components_ : int
        Number of connected components of the graph, not counting small components.
    outlying_ : bool array of shape (n,)
        Whether each row is in a small component.
    kernel_ : akkm.kernels.Linear
        The kernel of k-means in the embedding.
    label_names_ : list of length C
        The known class to which each cluster belongs; None for no class. This attribute
        and `violated_` exist only if `fit` got constraints.
    violated_ : dict
        Violated constraints, as in `ApproxKernelKMeans`.
    inertia_ : float
        The k-means error in the embedding.
    n_iter_ : int
        Number of k-means iterations.
    history_ : int array of shape (n_iter_, 2)
        For each iteration, the number of labels that changed and the number of rows
        that were evaluated.
    certainty_ : float array of shape (n,)
        Certainty of each row. It is set only if `coverage` is not 1.
    certainty_limit_ : float
        Rows with a lower certainty get the label -1. It is set only if `coverage` is
        not 1.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of shape (n_features_in_,)
        Column names of X, if it is a data frame.

    See Also
    --------
    SparseKernelKMeans : Walks through landmarks, for more rows.
    akkm.neighbor_graph : The graph as a matrix, for other tools.

    Notes
    -----
    Rows from `akkm.open_rows` and Dask collections need not fit in memory. Only the
    rows of the graph are read into memory. The points of the other rows are computed
    batch by batch, or on the workers. k-means then runs where the points are stored: in
    memory, in a temporary file, or on the workers. With the same `max_rows`, the labels
    equal those of a fit in memory.

    **Rows without a graph.** If clusters overlap in many columns, chance decides which
    rows are neighbours, and k-means of the rows finds better clusters than any graph.
    With ``n_neighbors="auto"`` and a given number of clusters, graphs and k-means are
    compared. Clusters are found in one half of a sample, and the rows of the other half
    are assigned to them. The score is the mutual information between the cluster of a
    row and the cluster of its neighbour, where both rows are in the other half. If
    k-means of the rows is clearly better, then `n_neighbors_` and `diffusion_` are 0,
    and `embedding_` contains the rows, shifted towards the origin or scaled to unit
    length. If they have more than 64 columns, it contains their 64 leading principal
    coordinates. `predict` assigns a row to the nearest center. `eigenvalues_` and
    `evidence_` describe a graph with 15 neighbours. k-means of the rows is not
    considered if `diffusion` or constraints are given, or if the metric is not
    Euclidean, cosine or correlation.

    **Graphs as input.** In a matrix of distances, the `n_neighbors` smallest entries of
    a row show its neighbours. A missing entry is a large distance, and rows at a stored
    distance of zero are equal rows. A matrix of similarities takes the place of W, and
    `n_neighbors` is not used; missing entries and zeros mean no similarity. `max_rows`
    is not used in either case. New rows are rows of a sparse matrix (b, n): their
    distances or similarities to the n training rows. For a row of the training matrix,
    `predict` returns its label from `labels_`. Some components are too small for a
    cluster. If no distances link such a component to a large component, its rows get
    the label of the best-connected row, and a warning is given. The best-connected row
    is the one with the largest row sum of W.

    Equal rows share one node of the graph, but k-means counts each equal row. For
    `predict`, a row that equals a row of the graph gets the point of that row. Any
    other row gets the mean point of its neighbours. For the training rows, in the
    precision of the fit, `predict` returns `labels_`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from akkm import DiffusionKernelKMeans
    >>> X, y = make_moons(1000, noise=0.05, random_state=1)
    >>> model = DiffusionKernelKMeans(2, random_state=0).fit(X)
    >>> bool((model.labels_ == y).mean() in (0.0, 1.0))
    True
    >>> model.predict(X[:3]).tolist() == model.labels_[:3].tolist()
    True
    >>> DiffusionKernelKMeans("auto", random_state=0).fit(X).n_clusters_
    2
    """

    n_neighbors: Any = parameter(COUNT, AUTO, default="auto")
    outliers: str = parameter(StrOptions({"attach", "mark"}), default="attach")
    max_rows: Any = parameter(
        Interval(Integral, 2, None, closed="left"), AUTO, default="auto"
    )

    _preparation = "building the graph of neighbours"
    _takes_stored = True

    @property
    def _takes_graph(self) -> bool:
        """Whether X is a graph, rather than rows."""
        return self.metric in (DISTANCES, SIMILARITIES)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._takes_graph
        return tags

    def _validated(self, X: Any, reset: bool = True) -> RowsLike:
        """Return valid rows, or a valid graph as a CSR matrix."""
        if self._takes_graph and (is_dask(X) or is_rows(X)):
            raise ValueError(
                f"Got {type(X).__name__}; metric={self.metric!r} needs the matrix in "
                "memory."
            )
        X = super()._validated(X, reset)
        X = X[:] if is_rows(X) and X.in_memory else X  # float16 rows
        prepare = require_graph if reset else canonical
        return prepare(X, self.metric) if self._takes_graph else X

    def _fit(self, run: Run) -> None:
        """Embed the rows by walks in the graph and cluster them."""
        run.progress.log(f"comparing the {run.X.shape[0]:,} rows, to find equal rows")
        embedding, points, outlying = self._fit_embedding(run, run.progress.log)
        solution = self._cluster_walks(run, embedding, points)
        marked = outlying if self.outliers == "mark" else None
        stored = as_rows(run.X)
        self.labels_ = stored.as_labels(mark_outliers(solution.labels, marked))
        self.outlying_ = stored.as_labels(outlying)
        self.n_components_ = embedding.n_components
        walks_on_landmarks = isinstance(embedding, LandmarkEmbedding)
        self.n_neighbors_ = 0 if walks_on_landmarks else embedding.n_neighbors
        self._warn_of_result(run, solution)

    def _fit_embedding(
        self, run: Run, say: Callable[[str], None]
    ) -> tuple[Any, RowsLike, Any]:
        """Return the fitted embedding, points (n, q), and which rows are outlying."""
        X, weights, engine, rng = run.X, run.weights, run.engine, run.rng
        n_clusters, t = self._given_n_clusters, self._given_t
        max_rows = None if self.max_rows == "auto" else self.max_rows
        choose = self.n_neighbors == "auto"
        k = FEWEST_NEIGHBORS if choose else int(self.n_neighbors)
        decide = partial(self._decide, run)
        edit = self._graph_edit(run)
        settings = GraphSettings(n_clusters, k, self.metric, t, decide, edit)
        if self._takes_graph:
            given, n_unlinked = fit_given_graph(X, weights, settings, engine, rng, say)
            self._warn_of_components(run, given.n_components, n_unlinked)
            return given, *given(X, engine)
        rows = distinct_rows(X, weights)
        build = partial(
            fit_graph, settings=settings, choose=choose, engine=engine, rng=rng, say=say
        )
        if is_rows(X):
            size = max_rows or max_sample_rows(X.shape[1], X.dtype.itemsize)
            sample = X.gather(sample_rows(rows, size, rng))
            order = np.arange(len(sample))
            graph = build(sample, order)
            say(f"placing {X.shape[0]:,} rows")
            return graph, *place_stored(graph, X, self.n_jobs, say)
        too_many = max_rows is None and not takes_all_rows(
            X, rows, settings, engine, deepcopy(rng)
        )
        if too_many and self.metric == "euclidean" and self.outliers == "attach":
            m = resolve_n_landmarks("auto", len(rows), n_clusters or 1)
            say(f"no graph of all {len(rows):,} rows; placing {m:,} landmarks")
            embedding, points = fit_landmark_embedding(
                X,
                place_landmarks(X, m, weights, engine, rng),
                engine,
                n_clusters=n_clusters,
                weights=weights,
                rng=rng,
                t=t,
                decide=lambda evidence, A: self._decide(run, evidence),
            )
            say(f"{X.shape[0]:,} rows, {m:,} landmarks, t = {embedding.kernel.t:.4g}")
            return embedding, points, np.zeros(X.shape[0], dtype=bool)
        if too_many or max_rows is not None:
            rows = sample_rows(rows, max_rows, rng)
        graph = build(X, rows)
        say(f"placing {X.shape[0]:,} rows")
        return graph, *graph(X, engine)

    def _graph_edit(self, run: Run) -> GraphEdit | None:
        """Return the function that applies constraints to the graph, or None."""
        if run.guidance is None or is_rows(run.X) or self.n_clusters == "auto":
            return None
        join = run.guidance.joins_classes(int(self.n_clusters))
        return GraphEdit(run.guidance.constraints, join)

    def _measure_layers(
        self, run: Run, between: tuple[int, int | None] = (2, None), W: Any = None
    ) -> LayerCurve | None:
        """Measure how reproducible each number of clusters is; None for a given graph.

        The measurement needs a reference made from rows, which a graph does not have.
        """
        if self._takes_graph:
            return None
        return super()._measure_layers(run, between, W)

    @property
    def _graph_settings(self) -> dict[str, Any]:
        """Parameters of the graph in which numbers of clusters are compared."""
        auto = self.n_neighbors == "auto"
        k = FEWEST_NEIGHBORS if auto else int(self.n_neighbors)
        return {"n_neighbors": k, "metric": self.metric}

    def _warn_of_components(self, run: Run, n_components: int, unlinked: int) -> None:
        """Warn if a given graph does not say which components belong together."""
        if self.n_clusters != "auto" and n_components > self.n_clusters:
            run.warn(
                f"The graph has {n_components} large components, but n_clusters="
                f"{self.n_clusters}. X does not say which components are near each "
                "other, so clusters join components arbitrarily. Raise n_clusters, or "
                "give X more entries per row.",
                UserWarning,
            )
        if unlinked and self.outliers == "attach":
            run.warn(
                f"{unlinked:,} rows have no link to a large component of the graph. "
                "They get the label of the best-connected row, whose similarities to "
                "other rows have the largest sum; outliers='mark' gives them the label "
                "-1.",
                UserWarning,
            )

    def _assign(
        self, X: RowsLike, engine: Threads, clusters: Array | None = None
    ) -> tuple[Array, Array | None]:
        """Return the nearest centers (n,) of rows, and which rows are marked (n,)."""
        points, outlying = self._place(X, engine)
        labels = self._nearest_centers(points, engine, clusters)
        return labels, outlying if self.outliers == "mark" else None

    def _labels_before_marking(self) -> Array:
        """Return the cluster (n,) of each training row, including marked outliers."""
        labels = self.labels_.copy()
        marked = np.flatnonzero(labels < 0)
        if len(marked):
            with Threads(self.n_jobs) as engine:
                labels[marked] = self._nearest_centers(self.embedding_[marked], engine)
        return labels

    def _embed(self, X: RowsLike, engine: Threads) -> RowsLike:
        """Map valid rows (n, d) to points of the embedding (n, q)."""
        points = self._place(X, engine)[0]
        return points if is_rows(points) else points.astype(X.dtype, copy=False)

    def _place(self, X: RowsLike, engine: Threads) -> tuple[RowsLike, Any]:
        """Return points of the embedding (n, q), and whether rows are outlying (n,).

        The points of rows in files or on workers are stored rows, too.
        """
        if is_rows(X):
            return place_stored(self._embedding, X, self.n_jobs, lambda text: None)
        return place_block(self._embedding, X, engine)

    def _staying(self, X: RowsLike) -> Array | None:
        """Return the share (n,) of short walks from rows that stay in their cluster.

        None if the model has no lists of nearest neighbours, or if rows are on workers.
        """
        embedding = self._embedding
        if not isinstance(embedding, GraphEmbedding):
            return None
        stored = as_rows(X)
        if stored.partitions is not None:
            return None
        with Threads(self.n_jobs) as engine:
            label = partial(self._nearest_centers, engine=engine)
            shares = embedding.staying(label, engine)
            blocks = stored.map_blocks(lambda block, rows: shares(block))
            return np.concatenate(list(blocks))
