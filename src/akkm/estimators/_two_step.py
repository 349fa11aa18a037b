"""TwoStepKernelKMeans."""

from dataclasses import replace

import numpy as np

from akkm.estimators import _checks
from akkm.estimators._exact import ExactClusterer
from akkm.estimators._guided import GuidedClusterer
from akkm.estimators._parameters import LandmarkParameters, estimator
from akkm.estimators._run import Run
from akkm.guided.guide import Guide
from akkm.kernels import Precomputed, PrecomputedStrip
from akkm.landmarks import Landmarks
from akkm.typing import Array


@estimator
class TwoStepKernelKMeans(GuidedClusterer, LandmarkParameters, ExactClusterer):
    """Two-step kernel k-means (tKKm): cluster a sample, then assign all other rows.

    This is Algorithm 1 of the paper, which uses it as a baseline. Exact kernel k-means
    clusters m landmarks, so each center is a mean of landmarks. Every row is then
    assigned to the nearest center. This method is faster than `ApproxKernelKMeans`, but
    less accurate unless m is large.

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
        Initialisation of kernel k-means on the landmarks. An array contains the labels
        of all rows or, if landmarks are given as points, the labels of the landmarks.
    strength, clusters_per_class, known_weight : various
        How constraints on labels are applied, as in `ApproxKernelKMeans`.
    n_init, max_iter, tol, coverage, random_state, n_jobs, verbose : various
        As in `KernelKMeans`.

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
        The sum of squared distances of all rows to their centers. It is NaN for a
        precomputed strip, which does not contain k(x, x).
    n_iter_ : int
        Number of iterations on the landmarks.
    history_ : int array of shape (n_iter_, 2)
        For each iteration, the number of landmarks whose label changed and the number
        of columns of their kernel matrix that were computed.
    landmarks_ : array or CSR matrix of shape (m, d)
        The landmarks, or their row indices if the kernel was precomputed.
    landmark_indices_ : int array of shape (m,) or None
        Row indices of the landmarks; None if they were given as points.
    dual_coef_ : array of shape (C, m)
        Center k is `sum_j dual_coef_[k, j] k(landmark j, .)`.
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
    ApproxKernelKMeans : Centers in the span of the landmarks.

    Notes
    -----
    Up to m constrained rows become additional landmarks. All constrained rows are
    assigned by their constraints.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from akkm import TwoStepKernelKMeans
    >>> X, y = make_circles(1000, factor=0.3, noise=0.05, random_state=0)
    >>> model = TwoStepKernelKMeans(2, gamma=5.0, n_landmarks=200, random_state=0)
    >>> model.fit(X).dual_coef_.shape
    (2, 200)
    """

    def _fit(self, run: Run) -> None:
        """Cluster the landmarks, then assign the rows."""
        landmarks = self._with_constrained_rows(run, self._select_landmarks(run))
        n, m, kernel = run.X.shape[0], landmarks.points.shape[0], run.kernel
        sample, weights, indices = landmarks.rows, None, landmarks.indices
        if isinstance(kernel, Precomputed):
            sample, kernel = sample[:, landmarks.points], Precomputed()
        init = self._initialisation(m if indices is None else n)
        if indices is not None:
            init = init if isinstance(init, str) else init[indices]
            weights = None if run.weights is None else run.weights[indices]
            _checks.require_enough_rows(m, self._n_clusters, weights)
        run.progress.log(f"{n:,} rows, {m:,} landmarks, {run.kernel}")
        # Step 1: kernel k-means on the landmarks.
        guidance = None
        if run.guidance is not None and indices is not None:
            guidance = run.guidance.among(indices)
        on_sample = replace(
            run, X=sample, weights=weights, kernel=kernel, guidance=guidance
        )
        solution, guide, dtype = self._solve(on_sample, init, landmarks.points)
        # Step 2: assign every row to the nearest center.
        self._set_model(run, landmarks.points, solution, dtype)
        diag = run.kernel.diag(run.X)
        blocks = list(self._model.compare(run.X, run.engine, diag))
        self.landmarks_ = landmarks.attribute
        self.landmark_indices_ = landmarks.indices
        self.labels_ = np.concatenate([block.labels for block in blocks])
        errors = np.concatenate([block.squared_own for block in blocks])
        if run.guidance is not None:
            squared = np.concatenate([block.squared for block in blocks])
            self._assign_constrained(run, guide, squared, errors)
        self.inertia_ = run.weighted_sum(errors)
        self._warn_unless_converged(run, self.labels_, solution.finished)

    def _with_constrained_rows(self, run: Run, landmarks: Landmarks) -> Landmarks:
        """Add up to m constrained rows to the m landmarks."""
        indices, kernel = landmarks.indices, run.kernel
        if run.guidance is None or indices is None:
            return landmarks
        if isinstance(kernel, PrecomputedStrip):
            return landmarks  # X has no other columns
        more = np.setdiff1d(run.guidance.constraints.rows, indices)
        if len(more) > len(indices):
            more = np.sort(run.rng.choice(more, len(indices), replace=False))
        both = np.sort(np.concatenate([indices, more]))
        return Landmarks(kernel.select(run.X, both), run.X[both], both)

    def _assign_constrained(
        self, run: Run, guide: Guide | None, squared: Array, errors: Array
    ) -> None:
        """Assign constrained rows, given squared distances (n, C) of all rows.

        `guide` is that of the landmarks; None if no landmark is constrained. The errors
        (n,) of the rows are changed.
        """
        assert run.guidance is not None
        rows, n_clusters = run.guidance.constraints.rows, self._n_clusters
        weights = run.guidance.row_weights(n_clusters, run.weights)
        if guide is None:
            guide = self._guided_start(run, self.labels_, matched=True)[1]
            assert guide is not None
        own = Guide(run.guidance.constraints, guide.owner, weights, guide.penalty)
        labels = own.assign(squared[rows].T, np.zeros(len(rows)), None)
        before = squared[rows, self.labels_[rows]]
        self.labels_[rows] = own.row_labels(labels)
        errors[rows] += squared[rows, self.labels_[rows]] - before
        self._describe_guide(own, labels)
