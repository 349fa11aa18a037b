"""KernelKMeans, and the base class of estimators that use exact kernel k-means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import with_callbacks

from akkm.approx import factor, solve
from akkm.core.model import Model, means_model
from akkm.core.strip import Rows
from akkm.core.threads import Threads
from akkm.estimators._base import CenterClusterer
from akkm.estimators._parameters import IterationParameters, KernelParameters, estimator
from akkm.estimators._progress import Progress
from akkm.kernels import Kernel, Precomputed
from akkm.landmarks import select_landmarks
from akkm.methods.exact import ExactSolution, ExactStep, kernel_k_means, working_dtype

Array = NDArray[Any]


@estimator
class ExactClusterer(IterationParameters, KernelParameters, CenterClusterer):
    """Base class of estimators that run exact kernel k-means, on all or some rows."""

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
        """Return the best of the runs on the rows X, whose points are `points`.

        `fitted` gives extra fitted attributes that callbacks need to predict.
        """

        def attributes(step: ExactStep) -> dict[str, Any]:
            model = means_model(kernel, X, points, step.alpha, step.norms, dtype)
            return {"_model": model, "kernel_": kernel, **fitted(step)}

        solutions = []
        for labels in self._initial_labels(X, kernel, engine, init, weights, rng):
            solution = kernel_k_means(
                X,
                kernel,
                engine,
                labels=labels,
                n_clusters=self.n_clusters,
                dtype=dtype,
                weights=weights,
                max_iter=self.max_iter,
                watch=lambda step: progress.step(step, lambda: attributes(step)),
            )
            solutions.append(solution)
            if solution.stopped:
                break
        return min(solutions, key=lambda s: s.error)

    def _initial_labels(
        self,
        X: Rows,
        kernel: Kernel,
        engine: Threads,
        init: str | Array,
        weights: Array | None,
        rng: np.random.Generator,
    ) -> Iterator[Array]:
        """Yield the initial labels (n,) of each run."""
        if not isinstance(init, str):
            yield init
        elif init == "random":
            for _ in range(self._n_runs(init)):
                yield rng.integers(self.n_clusters, size=X.shape[0])
        else:
            yield self._approximate_labels(X, kernel, engine, weights, rng)

    def _approximate_labels(
        self,
        X: Rows,
        kernel: Kernel,
        engine: Threads,
        weights: Array | None,
        rng: np.random.Generator,
    ) -> Array:
        """Return labels (n,) by approximate kernel k-means with its defaults."""
        landmarks = select_landmarks(
            X,
            kernel,
            engine,
            given="uniform",
            n_landmarks="auto",
            n_clusters=self.n_clusters,
            weights=weights,
            rng=rng,
        )
        factored = factor(X, kernel, landmarks, dtype=X.dtype)
        self._warn_if_negative(factored.gram, "the initialisation drops them")
        return solve(
            factored,
            engine,
            n_clusters=self.n_clusters,
            init="k-means++",
            n_init=self._n_runs("k-means++"),
            max_iter=self.max_iter,
            weights=weights,
            cache_bytes=0,
            rng=rng,
        ).labels

    def _set_attributes(
        self, solution: ExactSolution, model: Model, kernel: Kernel
    ) -> None:
        self._model = model
        self.kernel_ = kernel
        self.n_iter_ = solution.n_iter
        self.history_ = solution.history
        self.dual_coef_ = solution.alpha


@estimator
class KernelKMeans(ExactClusterer):
    """Exact kernel k-means, in O(n C) memory.

    Centers are means of all rows in the RKHS. A fit takes about n² kernel evaluations,
    in tiles that are not stored. It starts from the result of `ApproxKernelKMeans`, so
    that it needs little more than one pass over the kernel matrix.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters C.
    kernel, gamma, degree, coef0, kernel_params : various
        As in `ApproxKernelKMeans`; a precomputed X is the square kernel matrix.
    init : {"k-means++", "random"} or array of shape (n,), default="k-means++"
        Initialisation: approximate kernel k-means, random labels, or given labels.
    n_init : int or "auto", default="auto"
        Number of runs of which the best is kept. "auto" is 4 for "k-means++", where
        they run on a sample and the best one is improved by adding and removing
        centers, and 1 for "random".
    max_iter : int, default=300
        Maximal number of iterations.
    random_state : int, RandomState instance or None, default=None
        Same seed, same labels, whatever `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads. None: as many as BLAS and OpenMP use; -1: one per core.
    verbose : int, default=0
        1 prints every iteration.

    Attributes
    ----------
    labels_ : int32 array of shape (n,)
        Cluster of each row.
    inertia_ : float
        The clustering error: the sum of squared distances to the centers.
    n_iter_ : int
        Number of iterations.
    history_ : int array of shape (n_iter_, 2)
        Labels changed and columns of the kernel matrix computed in each iteration.
    dual_coef_ : array of shape (C, n)
        Center k is `sum_i dual_coef_[k, i] k(x_i, .)`.
    kernel_ : akkm.kernels.Kernel
        The kernel with its width.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of shape (n_features_in_,)
        Column names of X, if it is a data frame.

    See Also
    --------
    ApproxKernelKMeans : For millions of rows.

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

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> KernelKMeans:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            The rows, or the kernel matrix (n, n).
        y : None
            Ignored.
        sample_weight : array of shape (n,), optional
            A row of weight 2 counts like two rows; one of weight 0 only gets a label.

        Returns
        -------
        KernelKMeans
            The fitted estimator.
        """
        X, weights, kernel, rng = self._begin_with_kernel(X, sample_weight)
        init = self._initialisation(X.shape[0])
        points = np.arange(X.shape[0]) if isinstance(kernel, Precomputed) else X
        dtype = working_dtype(X, kernel, X.dtype)
        with self._running(X, y) as (engine, progress):
            progress.log(f"{X.shape[0]:,} rows, {kernel}")
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
            model = means_model(
                kernel, X, points, solution.alpha, solution.norms, dtype
            )
            self._set_attributes(solution, model, kernel)
            self.labels_ = solution.labels
            self.inertia_ = solution.error
        self._warn_unless_converged(
            solution.labels, solution.converged or solution.stopped
        )
        return self
