"""KernelKMeans, and the base class of estimators that use exact kernel k-means."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from akkm.approx import factor, solve
from akkm.core.kernel_matrix import is_resolved, kernel_matrix
from akkm.core.lloyd import Solution
from akkm.core.model import means_model
from akkm.estimators._centers import CenterClusterer
from akkm.estimators._guided import GuidedClusterer
from akkm.estimators._parameters import IterationParameters, KernelParameters, estimator
from akkm.estimators._run import Run
from akkm.guided.guide import Guide
from akkm.kernels import Precomputed
from akkm.landmarks import select_landmarks
from akkm.methods.exact import (
    ExactSolution,
    ExactStep,
    kernel_k_means,
    some_rows,
    working_dtype,
)
from akkm.typing import Array, RowsLike


@estimator
class ExactClusterer(IterationParameters, KernelParameters, CenterClusterer):
    """Base class of estimators that run exact kernel k-means, on all or some rows."""

    def _solve(
        self,
        run: Run,
        init: str | Array,
        points: RowsLike,
        fitted: Callable[[ExactStep], dict[str, Any]] = lambda step: {},
    ) -> tuple[ExactSolution, Guide | None, Any]:
        """Return the best solution for the rows of `run`, its guide, and the dtype.

        `points` are the rows of `run` in the form that the fitted model stores: rows
        or, for a precomputed kernel, row numbers. `fitted` returns extra fitted
        attributes that callbacks need to predict.
        """
        dtype = working_dtype(run.X, run.kernel, run.X.dtype)

        def attributes(step: ExactStep) -> dict[str, Any]:
            model = means_model(
                run.kernel, run.X, points, step.centers.alpha, step.centers.norms, dtype
            )
            return {"_model": model, "kernel_": run.kernel, **fitted(step)}

        solutions = []
        weights = run.weights
        if run.guidance is not None:
            weights = run.guidance.all_weights(self._n_clusters, run.weights)
        for labels, guide in self._starts(run, init):
            solution = kernel_k_means(
                run.X,
                run.kernel,
                run.engine,
                labels=labels,
                n_clusters=self._n_clusters,
                dtype=dtype,
                weights=weights,
                max_iter=self.max_iter,
                tol=self.tol,
                watch=lambda step: run.progress.step(step, lambda: attributes(step)),
                guide=guide,
            )
            solutions.append((solution, guide))
            if solution.stopped:
                break
        best, guide = min(solutions, key=lambda pair: pair[0].error + pair[0].penalty)
        K = kernel_matrix(run.X, run.kernel, some_rows(run.X))
        self._warn_unless_resolved(run, is_resolved(K, run.kernel), best.error)
        return best, guide, dtype

    def _starts(
        self, run: Run, init: str | Array
    ) -> Iterator[tuple[Array, Guide | None]]:
        """Yield the initial labels (n,) of each run, and the guide of its constraints.

        The labels satisfy the constraints.
        """
        if isinstance(init, str) and init == "k-means++":
            solution = self._approximate(run)
            yield solution.labels, getattr(solution.parts, "guide", None)
            return
        for _ in range(self._n_runs(init)):
            if isinstance(init, str):
                labels = run.rng.integers(self._n_clusters, size=run.X.shape[0])
            else:
                labels = init
            yield self._guided_start(run, labels, matched=not isinstance(init, str))

    def _guided_start(
        self, run: Run, labels: Array, matched: bool
    ) -> tuple[Array, Guide | None]:
        """Return labels (n,) that satisfy the constraints of the run, and its guide.

        `matched` says whether the given labels decide which clusters belong to which
        classes. Otherwise, the first clusters belong to the classes, in order.
        """
        if run.guidance is None:
            return labels, None
        rows = run.guidance.constraints.rows
        owner = run.guidance.owners(self._n_clusters, labels[rows] if matched else None)
        K = kernel_matrix(run.X, run.kernel, some_rows(run.X))
        spread = float(K.diagonal().mean() - K.mean())
        weights = run.guidance.row_weights(self._n_clusters, run.weights)
        guide = run.guidance.guide(owner, weights, spread)
        labels = labels.copy()
        labels[rows] = guide.row_labels(guide.first_labels(labels[rows]))
        return labels, guide

    def _approximate(self, run: Run) -> Solution:
        """Return the solution of approximate kernel k-means with its defaults."""
        landmarks = select_landmarks(
            run.X,
            run.kernel,
            run.engine,
            given="uniform",
            n_landmarks="auto",
            n_clusters=self._n_clusters,
            weights=run.weights,
            rng=run.rng,
        )
        factored = factor(run.X, run.kernel, landmarks, dtype=run.X.dtype)
        treatment = "the initialisation drops negative eigenvalues"
        self._warn_if_negative(run, factored.gram, treatment)
        return solve(
            factored,
            run.engine,
            n_clusters=self._n_clusters,
            init="k-means++",
            n_init=self._n_runs("k-means++"),
            max_iter=self.max_iter,
            tol=self.tol,
            weights=run.weights,
            cache_bytes=0,
            rng=run.rng,
            guidance=run.guidance,
        )

    def _set_model(
        self, run: Run, points: RowsLike, solution: ExactSolution, dtype: Any
    ) -> None:
        """Set the fitted attributes; the centers are means of the points."""
        _, alpha, norms = solution.centers
        self._model = means_model(run.kernel, run.X, points, alpha, norms, dtype)
        self.kernel_ = run.kernel
        self.n_iter_ = solution.n_iter
        self.history_ = solution.history
        self.dual_coef_ = alpha


@estimator
class KernelKMeans(GuidedClusterer, ExactClusterer):
    """Exact kernel k-means, in O(n C) memory.

    Each center is the mean of its cluster's rows in the kernel's space. A fit starts
    from the result of `ApproxKernelKMeans`. It then needs little more than one pass
    over the kernel matrix, about n² kernel evaluations. The matrix is computed in tiles
    and not stored.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters C. "auto" chooses the number that independent halves of the
        rows agree on (see `stability_`), and warns if the choice is unsure.
    kernel, gamma, degree, coef0, kernel_params : various
        As in `ApproxKernelKMeans`; a precomputed X is the square kernel matrix.
    init : {"k-means++", "random"} or array of shape (n,), default="k-means++"
        Initialisation. "k-means++" starts from the labels of approximate kernel
        k-means, and "random" starts from random labels. An array contains the initial
        labels.
    n_init : int or "auto", default="auto"
        Number of runs; the best run is kept. "auto" is 4 for "k-means++" and 1 for
        "random". With "random", each run is a complete fit. With "k-means++", these are
        runs of the initialisation on a sample. The best of them is improved by adding
        and removing centers, and one exact run starts from the result.
    max_iter : int, default=300
        Maximal number of iterations.
    tol : float, default=0.0
        The fit also ends if an iteration decreases the clustering error by less than
        this share. With 0, it ends when no label changes.
    strength, clusters_per_class, known_weight : various
        How constraints on labels are applied, as in `ApproxKernelKMeans`.
    coverage : float or "auto", default=1.0
        Share of the rows that get a label, as in `ApproxKernelKMeans`.
    random_state : int, RandomState instance or None, default=None
        The same seed gives the same labels, for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads. None: as many as BLAS and OpenMP use; -1: one per core.
    verbose : int, default=0
        1 prints a line per iteration.

    Attributes
    ----------
    labels_ : int32 array of shape (n,)
        Cluster of each row.
    n_clusters_ : int
        Number of clusters, given or estimated.
    stability_ : akkm.layers.curve.LayerCurve or None
        How reproducible each number of clusters is; None if this was not measured.
    label_names_ : list of length C
        The known class to which each cluster belongs; None for no class. This attribute
        and `violated_` exist only if `fit` got constraints.
    violated_ : dict
        Violated constraints, as in `ApproxKernelKMeans`.
    inertia_ : float
        The clustering error: the sum of squared distances to the centers.
    n_iter_ : int
        Number of iterations.
    history_ : int array of shape (n_iter_, 2)
        For each iteration, the number of labels that changed and the number of columns
        of the kernel matrix that were computed.
    dual_coef_ : array of shape (C, n)
        Center k is `sum_i dual_coef_[k, i] k(x_i, .)`.
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

    _preparation = "initialising"

    def _fit(self, run: Run) -> None:
        """Cluster the rows."""
        n = run.X.shape[0]
        run.progress.log(f"{n:,} rows, {run.kernel}")
        points = np.arange(n) if isinstance(run.kernel, Precomputed) else run.X
        solution, guide, dtype = self._solve(run, self._initialisation(n), points)
        self._set_model(run, points, solution, dtype)
        self.labels_ = solution.labels
        self.inertia_ = solution.error
        if guide is not None:
            rows = guide.constraints.rows
            self._describe_guide(guide, guide.group_labels(solution.labels[rows]))
        self._warn_unless_converged(run, solution.labels, solution.finished)
