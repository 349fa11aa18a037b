"""TwoStepKernelKMeans."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks

from akkm.core.model import means_model
from akkm.core.threads import Threads
from akkm.estimators import _checks
from akkm.estimators._exact import ExactClusterer
from akkm.estimators._progress import Progress
from akkm.kernels import Precomputed
from akkm.methods.exact import working_dtype


class TwoStepKernelKMeans(ExactClusterer):
    """Two-step kernel k-means (tKKm): cluster a sample, then assign all other rows.

    The paper's Algorithm 1, and its baseline: exact kernel k-means on m landmarks, so
    that centers are means of landmarks only. Faster than `ApproxKernelKMeans`, and
    worse unless m is large.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel, gamma, degree, coef0, kernel_params
        As in `ApproxKernelKMeans`.
    n_landmarks, landmarks
        As in `ApproxKernelKMeans`.
    init : {"k-means++", "random"} or array of shape (n,), default="k-means++"
        Of the kernel k-means on the landmarks; given labels are those of all rows, of
        which the landmarks' are used (of the landmarks, if these are given as points).
    n_init, max_iter, random_state, n_jobs, verbose
        As in `KernelKMeans`.

    Attributes
    ----------
    labels_ : int32 array of shape (n,)
    inertia_ : float
        The sum of squared distances of all rows to the centers; NaN for a precomputed
        strip, which does not hold k(x, x).
    n_iter_ : int
        Iterations on the landmarks.
    history_ : int array of shape (n_iter_, 2)
        Their labels that changed and columns of their kernel matrix that were computed,
        in each iteration.
    landmarks_ : array or CSR matrix of shape (m, d)
    landmark_indices_ : int array of shape (m,) or None
    dual_coef_ : array of shape (C, m)
        Center k is `sum_j dual_coef_[k, j] k(landmark j, .)`.
    kernel_ : akkm.kernels.Kernel
        The kernel with its width.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from akkm import TwoStepKernelKMeans
    >>> X, y = make_circles(1000, factor=0.3, noise=0.05, random_state=0)
    >>> model = TwoStepKernelKMeans(2, gamma=5.0, n_landmarks=200, random_state=0)
    >>> model.fit(X).dual_coef_.shape
    (2, 200)
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
    ) -> TwoStepKernelKMeans:
        """Cluster the landmarks, then assign the rows of X.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
        y : ignored
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        X, weights, kernel, rng = self._start(X, sample_weight, self.landmarks)
        progress = Progress(self, X, y, self.verbose)
        with Threads(self.n_jobs) as engine:
            chosen = self._landmarks(X, kernel, engine, weights, rng)
        m = chosen.points.shape[0]
        sample, sample_kernel, sample_weights = chosen.rows, kernel, None
        if isinstance(kernel, Precomputed):
            sample, sample_kernel = sample[:, chosen.points], Precomputed()
        init = self._checked_init(m if chosen.indices is None else X.shape[0])
        if chosen.indices is not None:
            init = init if isinstance(init, str) else init[chosen.indices]
            sample_weights = None if weights is None else weights[chosen.indices]
            _checks.require_enough_rows(m, self.n_clusters, sample_weights)
        dtype = working_dtype(sample, sample_kernel, X.dtype)
        progress.say(f"{X.shape[0]:,} rows, {m:,} landmarks, {kernel}")
        with Threads(self.n_jobs) as engine:
            # Step 1: kernel k-means on the landmarks.
            solution = self._solve(
                sample,
                sample_kernel,
                engine,
                init=init,
                weights=sample_weights,
                dtype=dtype,
                points=chosen.points,
                rng=rng,
                progress=progress,
            )
            # Step 2: every row goes to the nearest center.
            model = means_model(
                kernel, X, chosen.points, solution.alpha, solution.norms, dtype
            )
            compared = model.compare(X, engine, kernel.diag(X))
            parts = [(part.labels, part.squared_own) for part in compared]
        self._keep(solution, model, kernel)
        self.landmarks_ = chosen.attribute
        self.landmark_indices_ = chosen.indices
        self.labels_ = np.concatenate([labels for labels, _ in parts])
        errors = np.concatenate([squared for _, squared in parts])
        self.inertia_ = float(errors.sum() if weights is None else weights @ errors)
        self._warn(self.labels_, solution.converged or solution.stopped)
        progress.end()
        return self
