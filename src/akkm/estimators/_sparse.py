"""SparseKernelKMeans."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from akkm.core.strip import Rows
from akkm.core.threads import Threads
from akkm.diffusion.estimate_k import check_balance
from akkm.diffusion.landmark_embedding import (
    N_NEIGHBORS,
    LandmarkEmbedding,
    fit_landmark_embedding,
)
from akkm.diffusion.landmark_positions import place_landmarks, resolve_n_landmarks
from akkm.estimators import _checks
from akkm.estimators._embedding import EmbeddingClusterer
from akkm.estimators._progress import Progress
from akkm.kernels import Linear
from akkm.validation import require_count


class SparseKernelKMeans(EmbeddingClusterer):
    """Kernel k-means with a sparse kernel: rows are compared through near landmarks.

    Each row is tied to the p landmarks nearest to it, and to no other. The kernel is
    where walks from row to landmark to row end after t steps, t being set by the
    number of clusters. Clusters may have any shape, as in `DiffusionKernelKMeans`, of
    which this is the form for many rows: time is linear in n, memory beside the data
    and the embedding O(n p). There is no width to choose. Distances are Euclidean.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        "auto" takes the number that the spectrum speaks for, see `evidence_`, and
        warns if nothing speaks clearly. At most 40 clusters are counted, and none that
        has less than 0.5 % of the rows; of few rows, less than 15 (or a tenth).
    n_landmarks : int or "auto", default="auto"
        m: more see finer structure and are slower. With too many for the data the graph
        of landmarks may fall apart, and clusters get worse.
        "auto" is a quarter of the rows, a sixth where clusters are counted, at most
        1,000.
    landmarks : {"k-means", "uniform"} or array, default="k-means"
        Means of few rows each, far from one another; or rows at random; or the points
        (m, d), or row indices (m,).
    n_neighbors : int, default=3
        p, the number of landmarks that each row is tied to.
    diffusion : float or "auto", default="auto"
        t, the length of walks. "auto" sets it so that the sum of eigenvalue^(2t), the
        number of dimensions that are left, is 0.9 times that of clusters.
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
        Of the kernel, falling from 1.
    diffusion_ : float
        The t that was used.
    landmarks_ : array or CSR matrix of shape (m, d)
        Those that were used: landmarks of small groups, far from all others, are left
        out, and rows of such groups go with what is nearest to them.
    kernel_ : akkm.kernels.Linear
        Of the embedding, as that is what k-means ran on.
    inertia_ : float
        The k-means error in the embedding.
    n_iter_ : int
    history_ : int array of shape (n_iter_, 2)
        As in `ApproxKernelKMeans`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from akkm import SparseKernelKMeans
    >>> X, y = make_moons(10_000, noise=0.05, random_state=0)
    >>> model = SparseKernelKMeans(2, random_state=0).fit(X)
    >>> bool((model.labels_ == y).mean() in (0.0, 1.0))
    True
    >>> model.predict(X[:3]).tolist() == model.labels_[:3].tolist()
    True
    """

    _counts = True
    kernel = None  # of the user's there is none

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        n_landmarks: int | str = "auto",
        landmarks: Any = "k-means",
        n_neighbors: int = N_NEIGHBORS,
        diffusion: float | str = "auto",
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.n_neighbors = n_neighbors
        self.diffusion = diffusion
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> SparseKernelKMeans:
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
        t = _checks.steps(self.diffusion)
        p = require_count("n_neighbors", self.n_neighbors)
        X, weights, rng = self._start_rows(X, sample_weight)
        n_clusters = None if self.n_clusters == "auto" else int(self.n_clusters)
        for_points, for_pairs = rng.spawn(2)
        progress = Progress(self, X, y, self.verbose)
        with Threads(self.n_jobs) as engine:
            points = self._points(X, weights, engine, for_points)
            embedding, rows = fit_landmark_embedding(
                X,
                points,
                engine,
                n_clusters=n_clusters,
                weights=weights,
                rng=for_pairs,
                n_neighbors=p,
                t=t,
            )
            progress.say(
                f"{X.shape[0]:,} rows, {len(embedding.vectors):,} landmarks of "
                f"{points.shape[0]:,}, {embedding.n_components} components, "
                f"{rows.shape[1]} eigenvectors, walks of {embedding.kernel.t:.3g} steps"
            )
            self.n_clusters_ = embedding.kernel.n_clusters
            solution = self._cluster(
                rows,
                self.n_clusters_,
                weights,
                engine,
                rng,
                progress,
                {"_embedding": embedding},
            )
        self._embedding: LandmarkEmbedding = embedding
        self.kernel_ = Linear()
        self.evidence_ = embedding.kernel.evidence
        if n_clusters is None:
            self.evidence_ = check_balance(
                embedding.kernel.evidence, solution.labels, weights
            )
        self.eigenvalues_ = embedding.kernel.eigenvalues
        self.diffusion_ = embedding.kernel.t
        self.landmarks_ = embedding.points
        self._warn(solution.labels, solution.converged or solution.stopped)
        if n_clusters is None and not self.evidence_.sure:
            self._tell_of_doubt(self.evidence_)
        progress.end()
        return self

    def _points(
        self, X: Rows, weights: Any, engine: Threads, rng: np.random.Generator
    ) -> Rows:
        """The landmarks that were asked for: (m, d)."""
        least = 1 if self.n_clusters == "auto" else self.n_clusters
        if not isinstance(self.landmarks, str):
            given = _checks.landmark_array(self.landmarks, X, Linear(), least)
            return X[given] if given.ndim == 1 else given
        _checks.require_one_of("landmarks", self.landmarks, ("k-means", "uniform"))
        if self.n_landmarks != "auto":
            require_count("n_landmarks", self.n_landmarks, least)
        able = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
        wanted = None if self.n_clusters == "auto" else least
        m = resolve_n_landmarks(self.n_landmarks, len(able), wanted)
        if self.landmarks == "k-means":
            return place_landmarks(X, m, weights, engine, rng)
        return X[np.sort(rng.choice(able, m, replace=False))]

    def _new_rows(self, X: Any) -> Rows:
        """New rows in the embedding."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._accepted())
        with Threads(self.n_jobs) as engine:
            return self._embedding(X, engine)
