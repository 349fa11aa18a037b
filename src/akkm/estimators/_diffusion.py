"""DiffusionKernelKMeans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from akkm.core.strip import Rows
from akkm.core.threads import Threads
from akkm.diffusion.estimate_k import check_balance
from akkm.diffusion.graph_embedding import (
    GraphEmbedding,
    GraphSettings,
    distinct_rows,
    fit_graph_embedding,
    max_graph_rows,
    sample_rows,
)
from akkm.diffusion.landmark_embedding import LandmarkEmbedding, fit_landmark_embedding
from akkm.diffusion.landmark_positions import place_landmarks, resolve_n_landmarks
from akkm.estimators import _checks
from akkm.estimators._embedding import EmbeddingClusterer
from akkm.estimators._progress import Progress
from akkm.kernels import Linear
from akkm.validation import require_count

Array = NDArray[Any]


class DiffusionKernelKMeans(EmbeddingClusterer):
    """Kernel k-means with a diffusion kernel on the graph of nearest neighbours.

    Rows are compared by where walks from neighbour to neighbour end, so clusters may
    have any shape as long as each is connected and denser than what lies between. With
    W the numbers of neighbours that rows share, edges in both directions favoured, and
    S = D^(-1/2) W D^(-1/2), the kernel is K = S^(2t): all leading eigenvectors, each
    times eigenvalue^t, rows scaled to length one. There is no width to choose.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        "auto" takes the number that the spectrum speaks for, see `evidence_`, and
        warns if nothing speaks clearly.
    n_neighbors : int, default=15
        Neighbours of each row in the graph.
    metric : str, default="euclidean"
        A name that scikit-learn's `NearestNeighbors` and, for more than 20,000 rows,
        pynndescent know: "manhattan", "cosine", "correlation", "hamming", ...
    diffusion : float or "auto", default="auto"
        t, the length of walks. "auto" sets it so that the sum of eigenvalue^(2t), the
        number of dimensions that are left, is 0.9 times that of clusters.
    outliers : {"attach", "mark"}, default="attach"
        What to do with rows in components of the graph that are too small for a
        cluster: give them the label of what they are nearest to, or -1.
    max_rows : int or "auto", default="auto"
        Distinct rows in the graph at most. If there are more, a sample makes the graph,
        and other rows are placed through their neighbours in it, like new rows. With
        "auto" the graph has all of up to 100,000 distinct rows (20,000 if they have no
        more than 15 columns); of more, walks go through landmarks, as in
        `SparseKernelKMeans`, to which `n_neighbors` does not matter. Where that can't
        be (another metric, outliers to be marked) 20,000 are sampled.
    init, n_init, max_iter, random_state, n_jobs, verbose
        As in `ApproxKernelKMeans`, of the k-means in the embedding.

    Attributes
    ----------
    labels_ : int32 array of shape (n,)
    n_clusters_ : int
        C, as given or counted.
    evidence_ : akkm.diffusion.estimate_k.Evidence
        What speaks for each number of clusters.
    embedding_ : array of shape (n, q)
        The rows as k-means sees them; `transform` has distances to centers there.
    eigenvalues_ : array of shape (r,)
        Of S, falling from 1.
    diffusion_ : float
        The t that was used.
    n_components_ : int
        Connected components of the graph, without small ones.
    outlying_ : bool array of shape (n,)
        Rows in small components.
    kernel_ : akkm.kernels.Linear
        With which k-means runs in the embedding.
    inertia_ : float
        The k-means error in the embedding.
    n_iter_ : int
    history_ : int array of shape (n_iter_, 2)
        As in `ApproxKernelKMeans`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Equal rows are one row of the graph, and count as many in k-means. `predict` gives
    training rows of the graph their own labels, and other rows those of their
    neighbours. It is the same as `labels_` on the training rows if they come in the
    same precision.

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

    _counts = True
    kernel = None  # of the user's there is none

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        n_neighbors: int = 15,
        metric: str = "euclidean",
        diffusion: float | str = "auto",
        outliers: str = "attach",
        max_rows: int | str = "auto",
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.diffusion = diffusion
        self.outliers = outliers
        self.max_rows = max_rows
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> DiffusionKernelKMeans:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
        y : ignored
        sample_weight : array of shape (n,), optional
            A row of weight 2 counts like two rows; one of weight 0 only gets a label.

        Returns
        -------
        self
        """
        setting = self._setting()
        X, weights, rng = self._start_rows(X, sample_weight)
        progress = Progress(self, X, y, self.verbose)
        with Threads(self.n_jobs) as engine:
            walks, points, outlying = self._walked(
                X, weights, setting, engine, rng, progress.say
            )
            self.n_clusters_ = walks.kernel.n_clusters
            solution = self._cluster(
                points,
                self.n_clusters_,
                weights,
                engine,
                rng,
                progress,
                {"_walks": walks},
            )
        self._walks: GraphEmbedding | LandmarkEmbedding = walks
        self.kernel_ = Linear()
        self.labels_ = self._marked(solution.labels, outlying)
        self.outlying_ = outlying
        self.evidence_ = walks.kernel.evidence
        if setting.n_clusters is None:
            self.evidence_ = check_balance(
                walks.kernel.evidence, solution.labels, weights
            )
        self.eigenvalues_ = walks.kernel.eigenvalues
        self.diffusion_ = walks.kernel.t
        self.n_components_ = walks.n_components
        self._warn(solution.labels, solution.converged or solution.stopped)
        if setting.n_clusters is None and not self.evidence_.sure:
            self._tell_of_doubt(self.evidence_)
        progress.end()
        return self

    def _walked(
        self,
        X: Rows,
        weights: Array | None,
        setting: GraphSettings,
        engine: Threads,
        rng: np.random.Generator,
        say: Callable[[str], None],
    ) -> tuple[GraphEmbedding | LandmarkEmbedding, Array, Array]:
        """Walks in the graph or through landmarks; rows (n, q); outlying ones (n,)."""
        most: Any = self.max_rows
        most = None if most == "auto" else require_count("max_rows", most, 2)
        rows = distinct_rows(X, weights)
        many = most is None and len(rows) > max_graph_rows(X.shape[1])
        if many and self.metric == "euclidean" and self.outliers == "attach":
            m = resolve_n_landmarks("auto", len(rows), setting.n_clusters or 1)
            embedding, points = fit_landmark_embedding(
                X,
                place_landmarks(X, m, weights, engine, rng),
                engine,
                n_clusters=setting.n_clusters,
                weights=weights,
                rng=rng,
                t=setting.t,
            )
            say(
                f"{X.shape[0]:,} rows, too many for a graph, {m:,} landmarks, "
                f"t = {embedding.kernel.t:.4g}"
            )
            return embedding, points, np.zeros(X.shape[0], dtype=bool)
        if many or most is not None:
            rows = sample_rows(rows, most, rng)
        walks = fit_graph_embedding(X, rows, setting, engine, rng, say)
        return walks, *walks(X, engine)

    def predict(self, X: Any) -> Array:
        """The nearest center of each row, placed through its neighbours.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)

        Returns
        -------
        labels : int32 array of shape (n,)
            -1 for outliers, if these are marked.
        """
        X = self._known_rows(X)
        with Threads(self.n_jobs) as engine:
            points, outlying = self._placed(X, engine)
            parts = [part.labels for part in self._model.compare(points, engine)]
        return self._marked(np.concatenate(parts), outlying)

    def _marked(self, labels: Array, outlying: Array) -> Array:
        if self.outliers == "attach":
            return labels
        return np.where(outlying, np.int32(-1), labels)

    def _new_rows(self, X: Any) -> Rows:
        """New rows in the embedding."""
        X = self._known_rows(X)
        with Threads(self.n_jobs) as engine:
            return self._placed(X, engine)[0].astype(X.dtype, copy=False)

    def _placed(self, X: Rows, engine: Threads) -> tuple[Array, Array]:
        """Rows in the embedding (n, q), and whether they are outlying (n,)."""
        if isinstance(self._walks, GraphEmbedding):
            return self._walks(X, engine)
        return self._walks(X, engine), np.zeros(X.shape[0], dtype=bool)

    def _known_rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **self._accepted())

    def _setting(self) -> GraphSettings:
        _checks.require_one_of("outliers", self.outliers, ("attach", "mark"))
        return GraphSettings(
            None if self.n_clusters == "auto" else self.n_clusters,
            require_count("n_neighbors", self.n_neighbors),
            self.metric,
            _checks.steps(self.diffusion),
        )
