"""KernelKMeans, and what estimators that use exact kernel k-means share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import with_callbacks

from akkm.approx import algorithm2 as approximate
from akkm.core.model import Model, means_model
from akkm.core.strip import Rows
from akkm.core.threads import Threads
from akkm.estimators._base import CenterClusterer
from akkm.estimators._progress import Progress
from akkm.kernels import Kernel, Precomputed
from akkm.landmarks import select_landmarks
from akkm.methods.exact import ExactSolution, ExactStep, kernel_k_means, working_dtype

Array = NDArray[Any]


class ExactClusterer(CenterClusterer):
    """Estimators that run exact kernel k-means, on all rows or on some."""

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
        fitted: Callable[[ExactStep], dict[str, Any]] = lambda step: {},
    ) -> ExactSolution:
        """The best of `n_init` runs on the rows X, whose points are `points`.

        `fitted` gives what a callback's model needs in addition to the centers.
        """

        def attributes(step: ExactStep) -> dict[str, Any]:
            model = means_model(kernel, X, points, step.alpha, step.norms, dtype)
            return {"_model": model, "kernel_": kernel, **fitted(step)}

        def watch(step: ExactStep) -> bool:
            return progress.step(step, lambda: attributes(step))

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
        chosen = select_landmarks(
            X,
            kernel,
            engine,
            given="uniform",
            n_landmarks="auto",
            n_clusters=self.n_clusters,
            weights=weights,
            rng=rng,
        )
        factored = approximate.factor(X, kernel, chosen, dtype=X.dtype)
        self._warn_of_negative(factored.gram, "the start leaves them out")
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
        self.history_ = solution.history
        self.dual_coef_ = solution.alpha


class KernelKMeans(ExactClusterer):
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
        Number of starts of which the best is kept: "auto" is 4 for "k-means++", where
        they run on a sample and the best is improved by adding and taking away
        centers, and 1 for "random".
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
    history_ : int array of shape (n_iter_, 2)
        Labels that changed and columns of the kernel matrix that were computed, in each
        iteration.
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
        model = means_model(kernel, X, points, solution.alpha, solution.norms, dtype)
        self._keep(solution, model, kernel)
        self.labels_ = solution.labels
        self.inertia_ = solution.error
        self._warn(solution.labels, solution.converged or solution.stopped)
        progress.end()
        return self
