"""KernelKMeans and TwoStepKernelKMeans."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import with_callbacks

from akkm import approximate
from akkm.engines import Threads
from akkm.estimators import _checks
from akkm.estimators._base import KernelClusterer
from akkm.estimators._progress import Progress
from akkm.exact import ExactSolution, ExactStep, kernel_k_means, working_dtype
from akkm.kernels import Kernel, Precomputed
from akkm.model import Model, shared_diagonal
from akkm.nearest import View
from akkm.sources import Rows

Array = NDArray[Any]


class _ExactClusterer(KernelClusterer):
    """What the two have in common: exact kernel k-means on some rows."""

    def _solve(
        self,
        X: Rows,
        kernel: Kernel,
        engine: Threads,
        *,
        init: str | Array,
        weights: Array | None,
        dtype: Any,
        points: Rows,
        rng: np.random.Generator,
        progress: Progress,
    ) -> ExactSolution:
        """The best of `n_init` runs on the rows X, whose points are `points`."""

        def model(alpha: Array, norms: Array) -> Model:
            return _model(kernel, X, points, alpha, norms, dtype)

        def watch(step: ExactStep) -> bool:
            return progress.step(
                step, lambda: {"_model": model(step.alpha, step.norms)}
            )

        def run(labels: Array) -> ExactSolution:
            return kernel_k_means(
                X,
                kernel,
                engine,
                labels=labels,
                n_clusters=self.n_clusters,
                dtype=dtype,
                weights=weights,
                max_iter=self.max_iter,
                watch=watch,
            )

        if not isinstance(init, str):
            starts = [init]
        elif init == "random":
            n_init = self._restarts(init)
            starts = [
                rng.integers(self.n_clusters, size=X.shape[0]) for _ in range(n_init)
            ]
        else:
            starts = [self._warm_labels(X, kernel, engine, weights, rng)]
        solutions = []
        for labels in starts:
            solutions.append(run(labels))
            if solutions[-1].stopped:
                break
        return min(solutions, key=lambda s: s.error)

    def _warm_labels(
        self,
        X: Rows,
        kernel: Kernel,
        engine: Threads,
        weights: Array | None,
        rng: np.random.Generator,
    ) -> Array:
        """Labels by approximate kernel k-means with its defaults."""
        chosen = approximate.choose(
            X,
            kernel,
            landmark="uniform",
            n_landmarks="auto",
            n_clusters=self.n_clusters,
            weights=weights,
            rng=rng,
        )
        factored = approximate.factor(
            X, kernel, chosen, dtype=X.dtype, indefinite="clip"
        )
        return approximate.solve(
            factored,
            engine,
            n_clusters=self.n_clusters,
            init="k-means++",
            n_init=self._restarts("k-means++"),
            max_iter=self.max_iter,
            weights=weights,
            cache_bytes=0,
            rng=rng,
        ).labels

    def _keep(self, solution: ExactSolution, model: Model, kernel: Kernel) -> None:
        self._model = model
        self.kernel_ = kernel
        self.n_iter_ = solution.n_iter
        self.dual_coef_ = solution.alpha


class KernelKMeans(_ExactClusterer):
    """Exact kernel k-means, in O(n C) memory.

    Centers are means of all rows in the RKHS. It takes about n² kernel evaluations, in
    tiles that are not kept, and starts from the result of `ApproxKernelKMeans`, so that
    little more than that one pass over the kernel matrix is needed.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel, gamma, degree, coef0, kernel_params
        As in `ApproxKernelKMeans`; a precomputed X is the square kernel matrix.
    init : {"k-means++", "random"} or array of shape (n,), default="k-means++"
        Start from approximate kernel k-means; from random labels; from given labels.
    n_init : int or "auto", default="auto"
        Number of starts of which the best is kept: "auto" is 10 for "k-means++", where
        they run on a sample, and 1 for "random".
    max_iter : int, default=300
    random_state : int, RandomState instance or None, default=None
    n_jobs : int, optional
        Threads. None: as many as BLAS and OpenMP use, -1: one per core.
    verbose : int, default=0
        1 tells of every iteration.

    Attributes
    ----------
    labels_ : int32 array of shape (n,)
    inertia_ : float
        The clustering error: the sum of squared distances to the centers.
    n_iter_ : int
    dual_coef_ : array of shape (C, n)
        Center k is `sum_i dual_coef_[k, i] k(x_i, .)`.
    kernel_ : akkm.kernels.Kernel
        The kernel with its width.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm import KernelKMeans
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> model = KernelKMeans(2, kernel="linear", random_state=0).fit(X)
    >>> model.inertia_
    1.0
    >>> model.transform([[0.5]]).round(6).tolist() in ([[0.0, 10.0]], [[10.0, 0.0]])
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
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> KernelKMeans:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
        y : ignored
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        X, weights, kernel, rng = self._start(X, sample_weight)
        init = self._checked_init(X.shape[0])
        progress = Progress(self, X, y, self.verbose)
        points = np.arange(X.shape[0]) if isinstance(kernel, Precomputed) else X
        dtype = working_dtype(X, kernel, X.dtype)
        progress.say(f"{X.shape[0]:,} rows, {kernel}")
        with Threads(self.n_jobs) as engine:
            solution = self._solve(
                X,
                kernel,
                engine,
                init=init,
                weights=weights,
                dtype=dtype,
                points=points,
                rng=rng,
                progress=progress,
            )
        model = _model(kernel, X, points, solution.alpha, solution.norms, dtype)
        self._keep(solution, model, kernel)
        self.labels_ = solution.labels
        self.inertia_ = solution.error
        self._warn(solution.labels, solution.converged or solution.stopped)
        progress.end()
        return self


class TwoStepKernelKMeans(_ExactClusterer):
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
        The sum of squared distances of all rows to the centers.
    n_iter_ : int
        Iterations on the landmarks.
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
        chosen = self._landmarks(
            X,
            kernel,
            weights,
            rng,
            landmarks=self.landmarks,
            n_landmarks=self.n_landmarks,
        )
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
            model = _model(
                kernel, X, chosen.points, solution.alpha, solution.norms, dtype
            )
            parts = list(model.compare(X, engine))
        self._keep(solution, model, kernel)
        self.landmarks_ = chosen.named
        self.landmark_indices_ = chosen.indices
        self.labels_ = np.concatenate([part.labels for part in parts])
        errors = np.concatenate([part.squared_own for part in parts])
        self.inertia_ = float(errors.sum() if weights is None else weights @ errors)
        self._warn(self.labels_, solution.converged or solution.stopped)
        progress.end()
        return self


def _model(
    kernel: Kernel, X: Rows, points: Rows, alpha: Array, norms: Array, dtype: Any
) -> Model:
    """Centers that are means of the points, which are (some of) the rows X."""
    view = View.of(alpha, norms, dtype)
    return Model(kernel, points, view, dtype, constant=shared_diagonal(kernel, X))
