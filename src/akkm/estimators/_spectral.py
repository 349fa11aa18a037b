"""NystroemSpectralClustering."""

from akkm.approx import factor
from akkm.estimators._embedding import EmbeddingClusterer
from akkm.estimators._parameters import KernelParameters, LandmarkParameters, estimator
from akkm.estimators._run import Run
from akkm.methods.spectral import spectral_embedding

# The degree of a row is the sum of its kernel values. Warn if more than this share of
# the rows have a degree that is zero or negative.
_MANY = 0.01


@estimator
class NystroemSpectralClustering(
    KernelParameters, LandmarkParameters, EmbeddingClusterer
):
    """Spectral clustering of the Nyström kernel (nysSC), in O(n C + m²) memory.

    The rows are embedded by the top C eigenvectors of the normalised kernel matrix
    D^(-1/2) K D^(-1/2), where D is the diagonal matrix of the row sums of K. Embedded
    rows are scaled to unit length and clustered by k-means. K is approximated from m
    landmarks (Fowlkes, Belongie, Chung, Malik 2004). The paper compares approximate
    kernel k-means with this method. Spectral clustering suits clusters that are
    connected rather than compact. Most kernel values should be positive.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters C. "auto" chooses the number that independent halves of the
        rows agree on (see `stability_`), and warns if the choice is unsure.
    kernel, gamma, degree, coef0, kernel_params : various
        As in `ApproxKernelKMeans`.
    n_landmarks, landmarks : various
        As in `ApproxKernelKMeans`.
    init : {"k-means++", "random"} or array of shape (n,), default="k-means++"
        Initialisation of k-means on the eigenvectors. An array contains the labels to
        start from.
    n_init, max_iter, tol, coverage, random_state, n_jobs, verbose : various
        As in `ApproxKernelKMeans`.

    Attributes
    ----------
    labels_ : int32 array of shape (n,)
        Cluster of each row.
    n_clusters_ : int
        Number of clusters, given or estimated.
    stability_ : akkm.layers.curve.LayerCurve or None
        How reproducible each number of clusters is; None if this was not measured.
    inertia_ : float
        The k-means error in the embedding.
    n_iter_ : int
        Number of k-means iterations.
    history_ : int array of shape (n_iter_, 2)
        For each iteration, the number of labels that changed and the number of rows
        that were evaluated.
    embedding_ : array of shape (n, q)
        The rows in the space of the top eigenvectors, scaled to unit length. q is C, or
        the rank of the kernel matrix if the rank is less than C. Rows whose degree is
        not positive become zero. `transform` returns distances to centers in this
        space.
    eigenvalues_ : array of shape (q,)
        Eigenvalues of the normalised kernel matrix, in descending order from about 1. A
        large gap after the first k eigenvalues suggests k clusters. To see more
        eigenvalues, fit with more clusters.
    landmarks_ : array or CSR matrix of shape (m, d)
        The landmarks, or their row indices if the kernel was precomputed.
    landmark_indices_ : int array of shape (m,) or None
        Row indices of the landmarks; None if they were given as points.
    kernel_ : akkm.kernels.Kernel
        The kernel with its width.
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
    DiffusionKernelKMeans : Connected clusters without a kernel width to choose.

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

    def _fit(self, run: Run) -> None:
        """Embed the rows by eigenvectors and cluster them."""
        landmarks = self._select_landmarks(run)
        factored = factor(run.X, run.kernel, landmarks, dtype=run.X.dtype)
        embedding = spectral_embedding(
            factored, run.engine, n_vectors=self._n_clusters, weights=run.weights
        )
        points = embedding(run.X, run.engine)
        run.progress.log(
            f"{len(points):,} rows, {factored.strip.m:,} landmarks, rank "
            f"{factored.gram.rank:,}, {points.shape[1]} eigenvectors, {run.kernel}"
        )
        solution = self._cluster(run, embedding, points, self._n_clusters)
        self.eigenvalues_ = embedding.eigenvalues
        self.landmarks_ = landmarks.attribute
        self.landmark_indices_ = landmarks.indices
        self._warn_if_negative(run, factored.gram, "negative eigenvalues are dropped")
        self._warn_if_isolated(run, int((~points.any(axis=1)).sum()), len(points))
        self._warn_unless_converged(run, solution.labels, solution.finished)

    def _warn_if_isolated(self, run: Run, count: int, n: int) -> None:
        if count > _MANY * n:
            run.warn(
                f"{count:,} of {n:,} rows have no similarity to the others (a degree "
                "that is zero or negative) and can't be embedded. Spectral clustering "
                "needs a kernel that is mostly positive and not too narrow: choose "
                "another kernel, a smaller gamma or more landmarks.",
                UserWarning,
            )
