"""NystroemSpectralClustering."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks

from akkm.approx import algorithm2 as approximate
from akkm.core.strip import Rows
from akkm.core.threads import Threads
from akkm.estimators._embedding import EmbeddingClusterer
from akkm.estimators._progress import Progress
from akkm.methods.spectral import SpectralEmbedding, spectral_embedding

# More rows without a degree than this share are worth a warning.
_MANY = 0.01


class NystroemSpectralClustering(EmbeddingClusterer):
    """Spectral clustering of the Nyström kernel (nysSC), in O(n C + m²) memory.

    k-means on the top C eigenvectors of the normalised kernel matrix
    D^(-1/2) K D^(-1/2), rows scaled to length one, where K is approximated from m
    landmarks (Fowlkes, Belongie, Chung, Malik 2004). One of the methods that the paper
    compares approximate kernel k-means with; try it where clusters are connected rather
    than compact. The kernel should be (mostly) positive.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel, gamma, degree, coef0, kernel_params
        As in `ApproxKernelKMeans`.
    n_landmarks, landmarks
        As in `ApproxKernelKMeans`.
    init : {"k-means++", "random"} or array of shape (n,), default="k-means++"
        Of the k-means on the eigenvectors.
    n_init, max_iter, random_state, n_jobs, verbose
        As in `ApproxKernelKMeans`.

    Attributes
    ----------
    labels_ : int32 array of shape (n,)
    inertia_ : float
        The k-means error in the embedding.
    n_iter_ : int
        Iterations of k-means.
    history_ : int array of shape (n_iter_, 2)
        Labels that changed and rows that were looked at, in each of these.
    embedding_ : array of shape (n, q)
        The rows in the space of the top eigenvectors, of length one; q is C, or the
        rank of the kernel matrix if that is less. Rows without any similarity to
        others are zero there. `transform` has distances to centers in this space.
    eigenvalues_ : array of shape (q,)
        Of the normalised kernel matrix, falling from about 1. A gap speaks for as many
        clusters as there are values before it; fit with more clusters to see further.
    landmarks_ : array or CSR matrix of shape (m, d)
    landmark_indices_ : int array of shape (m,) or None
    kernel_ : akkm.kernels.Kernel
        The kernel with its width.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from akkm import NystroemSpectralClustering
    >>> X, y = make_moons(1000, noise=0.05, random_state=0)
    >>> model = NystroemSpectralClustering(2, gamma=20.0, random_state=0).fit(X)
    >>> bool((model.labels_ == y).mean() in (0.0, 1.0))
    True
    >>> model.predict(X[:3]).tolist() == model.labels_[:3].tolist()
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_landmarks: int | str = "auto",
        landmarks: Any = "uniform",
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> NystroemSpectralClustering:
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
        X, weights, kernel, rng = self._start(X, sample_weight, self.landmarks)
        progress = Progress(self, X, y, self.verbose)
        with Threads(self.n_jobs) as engine:
            chosen = self._landmarks(X, kernel, engine, weights, rng)
            factored = approximate.factor(X, kernel, chosen, dtype=X.dtype)
            embedding = spectral_embedding(
                factored, engine, n_vectors=self.n_clusters, weights=weights
            )
            points = embedding(X, engine)
            progress.say(
                f"{X.shape[0]:,} rows, {factored.strip.m:,} landmarks of rank "
                f"{factored.gram.rank:,}, {points.shape[1]} eigenvectors, {kernel}"
            )
            solution = self._cluster(
                points,
                self.n_clusters,
                weights,
                engine,
                rng,
                progress,
                {"_embedding": embedding, "kernel_": kernel},
            )
        self._embedding: SpectralEmbedding = embedding
        self.kernel_ = kernel
        self.eigenvalues_ = embedding.eigenvalues
        self.landmarks_ = chosen.attribute
        self.landmark_indices_ = chosen.indices
        self._warn_of_negative(factored.gram, "negative ones are left out")
        nowhere = int((~points.any(axis=1)).sum())
        if nowhere > _MANY * X.shape[0]:
            self._tell_of_nowhere(nowhere, X.shape[0])
        self._warn(solution.labels, solution.converged or solution.stopped)
        progress.end()
        return self

    def _tell_of_nowhere(self, nowhere: int, n: int) -> None:
        self._tell(
            f"{nowhere:,} of {n:,} rows have no similarity to the rest (a degree that "
            "is zero or negative) and can't be placed. Spectral clustering needs a "
            "kernel that is mostly positive and not too narrow: choose another kernel, "
            "a smaller gamma or more landmarks.",
            UserWarning,
        )

    def _new_rows(self, X: Any) -> Rows:
        """New rows in the space of the eigenvectors."""
        X = super()._new_rows(X)
        with Threads(self.n_jobs) as engine:
            return self._embedding(X, engine)
