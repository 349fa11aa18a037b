"""LeadersKernelKMeans."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from akkm.core.model import Model
from akkm.core.threads import Threads
from akkm.estimators._exact import ExactClusterer
from akkm.estimators._parameters import AUTO, COUNT, NOT_NEGATIVE, estimator, parameter
from akkm.estimators._run import Run
from akkm.kernels import Precomputed
from akkm.landmarks import number_of_landmarks
from akkm.methods.leaders import LeaderPoints, Leaders, LeaderSearch
from akkm.typing import Array, RowsLike


@estimator
class LeadersKernelKMeans(ExactClusterer):
    """Leaders and kernel k-means (lKKm): cluster rows that represent their neighbours.

    One pass over the rows chooses leaders. A row follows the first leader whose
    distance in the kernel's space is at most `threshold`. If there is no such leader,
    the row becomes a leader. Kernel k-means clusters the leaders, each weighted by the
    total weight of its followers. Every row takes its leader's label (Sarma, Viswanath,
    Reddy 2013). The paper compares approximate kernel k-means with this method.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters C. "auto" chooses the number that independent halves of the
        rows agree on (see `stability_`), and warns if the choice is unsure.
    kernel, gamma, degree, coef0, kernel_params : various
        As in `ApproxKernelKMeans`; a precomputed X is the square kernel matrix.
    threshold : float or "auto", default="auto"
        Largest distance at which a row follows a leader. "auto" chooses a threshold
        that gives about `n_leaders` leaders.
    n_leaders : int or "auto", default="auto"
        Approximate number of leaders for `threshold="auto"`. "auto" is the number of
        landmarks that `ApproxKernelKMeans` would use. If `n_leaders` is at least the
        number of rows, every row is a leader.
    init : {"k-means++", "random"} or array of shape (n,), default="k-means++"
        Initialisation of kernel k-means on the leaders. An array contains the labels of
        all rows.
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
    inertia_ : float
        The sum of squared distances of all rows to the centers of their clusters.
    n_iter_ : int
        Number of iterations on the leaders.
    history_ : int array of shape (n_iter_, 2)
        For each iteration, the number of leaders whose label changed and the number of
        columns of their kernel matrix that were computed.
    threshold_ : float
        The threshold that was used.
    leaders_ : array or CSR matrix of shape (L, d)
        The leaders in the order in which they were found. If the kernel was
        precomputed, their row indices.
    leader_indices_ : int array of shape (L,)
        Row indices of the leaders.
    leader_weights_ : float array of shape (L,)
        Total weight of the rows that follow each leader, including the leader.
    dual_coef_ : array of shape (C, L)
        Center k is `sum_j dual_coef_[k, j] k(leader j, .)`.
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

    Notes
    -----
    `predict` gives a new row the label of the leader that it follows. A row that is
    farther than the threshold from every leader follows the nearest leader. If the
    kernel is precomputed and its diagonal is not constant, the distances of new rows to
    the leaders are unknown. Every new row then follows the nearest leader.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm import LeadersKernelKMeans
    >>> X = np.array([[0.0], [0.2], [1.0], [10.0], [10.1]])
    >>> model = LeadersKernelKMeans(2, kernel="linear", threshold=0.5, random_state=0)
    >>> model.fit(X).leader_indices_
    array([0, 2, 3])
    >>> model.leader_weights_
    array([2., 1., 2.])
    """

    threshold: Any = parameter(NOT_NEGATIVE, AUTO, default="auto")
    n_leaders: Any = parameter(COUNT, AUTO, default="auto")

    _preparation = "choosing leaders"

    def _fit(self, run: Run) -> None:
        """Find leaders, cluster them, and give each row its leader's label."""
        rows, kernel = run.X, run.kernel
        init = self._initialisation(rows.shape[0])
        # Step 1: find the leaders in one pass.
        leaders = self._find_leaders(run)
        indices, points = leaders.indices, leaders.points
        run.progress.log(
            f"{rows.shape[0]:,} rows, {len(indices):,} leaders at a threshold of "
            f"{points.threshold:.4g}, {kernel}"
        )
        # Step 2: kernel k-means on the leaders, weighted by their followers.
        sample = rows[indices]
        if isinstance(kernel, Precomputed):
            sample, kernel = sample[:, indices], Precomputed()
        followers = np.bincount(
            leaders.counted, run.weights, minlength=len(indices)
        ).astype(np.float64)
        solution, _, dtype = self._solve(
            replace(run, X=sample, weights=followers, kernel=kernel),
            init if isinstance(init, str) else init[indices],
            points.points,
            lambda step: {"_leader_points": points, "_leader_labels": step.labels},
        )
        # Step 3: followers take their leader's label.
        self._set_model(run, points.points, solution, dtype)
        labels = solution.labels[leaders.followed]
        diag = run.kernel.diag(rows)
        errors = _errors(self._model, rows, labels, diag, run.engine)
        self._leader_points: LeaderPoints = points
        self._leader_labels: Array = solution.labels
        self.threshold_ = points.threshold
        self.leaders_ = indices if isinstance(kernel, Precomputed) else sample
        self.leader_indices_ = indices
        self.leader_weights_ = followers
        self.labels_ = labels
        self.inertia_ = run.weighted_sum(errors)
        self._warn_unless_converged(run, self.labels_, solution.finished)

    def score(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return minus the clustering error of the rows under the predicted labels.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            Rows; k(rows, training rows) for a precomputed kernel.
        y : None
            Ignored.
        sample_weight : array of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        float
            The score. On the training rows it is `-inertia_`.
        """
        X = self._new_rows(X)
        with Threads(self.n_jobs) as engine:
            labels, _ = self._assign(X, engine)
            errors = _errors(self._model, X, labels, self._model.diag(X), engine)
        return self._score(errors, X, sample_weight)

    def _assign(
        self, X: RowsLike, engine: Threads, clusters: Array | None = None
    ) -> tuple[Array, Array | None]:
        """Give each row (n, d) the label of the leader that it follows.

        `clusters` is not used, because it always contains all clusters: every cluster
        has a leader, and every leader follows itself, so that no cluster is empty.
        """
        diag = self._model.diag(X)
        labels = self._leader_labels[self._leader_points.follow(X, diag, engine)]
        return labels, None

    def _distance_blocks(self, X: Any) -> Iterator[tuple[Array, Array]]:
        """Yield the clusters (b,) and all distances (b, C) of blocks of rows.

        A row's cluster is that of its leader. Another center may be nearer.
        """
        with Threads(self.n_jobs) as engine:
            labels, _ = self._assign(self._new_rows(X), engine)
        start = 0
        for _, distances in super()._distance_blocks(X):
            stop = start + len(distances)
            yield labels[start:stop], distances
            start = stop

    def _find_leaders(self, run: Run) -> Leaders:
        search = LeaderSearch(run.X, run.kernel, run.engine, run.weights)
        leaders: Leaders | None
        if self.threshold == "auto":
            count: Any = self.n_leaders
            if count == "auto":
                available = int(search.can_lead.sum())
                count = number_of_landmarks(count, available, self._n_clusters)
            leaders = search.find_about(int(count), self._n_clusters, run.rng)
        else:
            leaders = search.one_pass(float(self.threshold))
        assert leaders is not None  # None is possible only with a limit on leaders
        if len(leaders.indices) < self._n_clusters:
            raise ValueError(
                f"A threshold of {leaders.points.threshold:.4g} gives "
                f"{len(leaders.indices)} leaders, fewer than "
                f"n_clusters={self.n_clusters}; lower threshold, raise n_leaders or "
                "lower n_clusters."
            )
        return leaders


def _errors(
    model: Model, X: RowsLike, labels: Array, diag: Array, engine: Threads
) -> Array:
    """Return the squared distance (n,) of each row to the center of its cluster."""
    errors = []
    start = 0
    for block in model.compare(X, engine, diag):
        stop = start + len(block.labels)
        errors.append(block.squared[np.arange(stop - start), labels[start:stop]])
        start = stop
    return np.concatenate(errors)
