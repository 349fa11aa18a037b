"""SparseKernelKMeans."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from akkm.core.threads import Threads
from akkm.diffusion.landmark_embedding import N_NEIGHBORS, fit_landmark_embedding
from akkm.diffusion.landmark_positions import place_landmarks, resolve_n_landmarks
from akkm.diffusion.row_lengths import unit_length
from akkm.estimators import _checks
from akkm.estimators._embedding import WalkClusterer
from akkm.estimators._parameters import AUTO, COUNT, estimator, parameter
from akkm.estimators._run import Run
from akkm.kernels import Linear
from akkm.typing import Array, RowsLike
from akkm.validation import require_count


@estimator
class SparseKernelKMeans(WalkClusterer):
    """Kernel k-means with a sparse kernel: rows are compared through near landmarks.

    Each row is tied only to its p nearest landmarks. Two rows are similar if random
    walks of t steps that start from them end at the same rows. Each step goes from a
    row to one of its landmarks, and from there to a row that is tied to this landmark.
    By default, t follows from the number of clusters. Clusters may have any shape, as
    in `DiffusionKernelKMeans`.

    This estimator is made for many rows. Its time is linear in n. Its memory is O(n p),
    in addition to the data and the embedding. There is no kernel width to choose.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters C. "auto" estimates it from the spectrum (see `evidence_`).
        If the spectrum is not conclusive, "auto" chooses the number that independent
        halves of the rows agree on (see `stability_`). If the choice is unsure, a
        warning says so.
        From the spectrum alone, "auto" finds at most 40 clusters, each with at least
        0.5 % of the rows and at least 15 rows. If there are fewer than 150 rows, a
        tenth of the rows is enough for a cluster.
    n_landmarks : int or "auto", default="auto"
        Number of landmarks m. More landmarks resolve finer structure, but take more
        time. If there are too many landmarks for the data, their graph may become
        disconnected, and clusters get worse. "auto" is a quarter of the rows, at most
        1,000, but at least 8 per cluster. If the number of clusters is estimated,
        "auto" is a sixth of the rows, at most 1,000.
    landmarks : {"k-means", "uniform"} or array, default="k-means"
        "k-means" uses points that are far from one another. Each is a mean of rows.
        "uniform" uses random rows. An array contains points (m, d) or row indices (m,).
    n_neighbors : int, default=3
        Number p of landmarks that each row is tied to.
    metric : {"euclidean", "cosine"}, default="euclidean"
        How rows are compared. "cosine" scales rows and given landmarks to unit length
        first, so that only their directions matter. It suits embeddings of texts whose
        lengths vary.
    diffusion : float or "auto", default="auto"
        Length t of the walks. "auto" sets it so that the sum of eigenvalue^(2t), the
        effective number of dimensions, is 0.9 times the number of clusters. Shorter
        walks need more eigenvectors. A warning says if more are needed than can be
        computed.
    strength, clusters_per_class, known_weight : various
        How constraints on labels are applied, as in `ApproxKernelKMeans`.
    init, n_init, max_iter, tol, coverage, random_state, n_jobs, verbose : various
        As in `ApproxKernelKMeans`, for k-means in the embedding.

    Attributes
    ----------
    labels_ : int32 array of shape (n,)
        Cluster of each row.
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
        Eigenvalues of the kernel, in descending order from 1.
    diffusion_ : float
        The t that was used.
    landmarks_ : array or CSR matrix of shape (m, d)
        The landmarks that were used. Small groups of landmarks that are far from all
        other landmarks are dropped. Their rows are tied to the nearest landmarks that
        were kept.
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
    DiffusionKernelKMeans : Random walks on the graph of all rows.
    ConsensusKernelKMeans : Many fits of this estimator combined.

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

    n_landmarks: Any = parameter(COUNT, AUTO, default="auto")
    landmarks: Any = parameter(
        StrOptions({"k-means", "uniform"}),
        "array-like",
        "sparse matrix",
        default="k-means",
    )
    n_neighbors: int = parameter(COUNT, default=N_NEIGHBORS)
    metric: str = parameter(StrOptions({"euclidean", "cosine"}), default="euclidean")

    def _scaled(self, X: RowsLike) -> RowsLike:
        """Return the rows (n, d) that are compared: of unit length for cosine."""
        return unit_length(X) if self.metric == "cosine" else X

    def _embed(self, X: RowsLike, engine: Threads) -> Array:
        """Map valid rows (n, d) to points of the embedding (n, q)."""
        return super()._embed(self._scaled(X), engine)

    def _fit(self, run: Run) -> None:
        """Embed the rows by walks through landmarks and cluster them."""
        run = replace(run, X=self._scaled(run.X))
        landmarks_rng, pairs_rng = run.rng.spawn(2)
        run.progress.log(f"{run.X.shape[0]:,} rows, placing landmarks")
        landmarks = self._landmark_points(run, landmarks_rng)
        run.progress.log(f"walks through {landmarks.shape[0]:,} landmarks")
        embedding, points = fit_landmark_embedding(
            run.X,
            landmarks,
            run.engine,
            n_clusters=self._given_n_clusters,
            weights=run.weights,
            rng=pairs_rng,
            n_neighbors=self.n_neighbors,
            t=self._given_t,
            decide=lambda evidence, A: self._decide(run, evidence),
        )
        run.progress.log(
            f"{len(points):,} rows, {len(embedding.vectors):,} landmarks of "
            f"{landmarks.shape[0]:,}, {embedding.n_components} components, "
            f"{points.shape[1]} eigenvectors, t = {embedding.kernel.t:.3g}"
        )
        solution = self._cluster_walks(run, embedding, points)
        self.landmarks_ = embedding.points
        self._warn_of_result(run, solution)

    def _landmark_points(self, run: Run, rng: np.random.Generator) -> RowsLike:
        """Return the landmarks as points (m, d)."""
        X, weights = run.X, run.weights
        n_clusters = self._given_n_clusters
        if not isinstance(self.landmarks, str):
            given = _checks.landmark_array(self.landmarks, X, Linear(), n_clusters or 1)
            return X[given] if given.ndim == 1 else self._scaled(given)
        if self.n_landmarks != "auto":
            require_count("n_landmarks", self.n_landmarks, n_clusters or 1)
        rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
        m = resolve_n_landmarks(self.n_landmarks, len(rows), n_clusters)
        if self.landmarks == "k-means":
            return place_landmarks(X, m, weights, run.engine, rng)
        return X[np.sort(rng.choice(rows, m, replace=False))]
