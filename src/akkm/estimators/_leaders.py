"""LeadersKernelKMeans."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import with_callbacks
from sklearn.utils.validation import _check_sample_weight

from akkm.core.model import Model, means_model
from akkm.core.strip import Rows
from akkm.core.threads import Threads
from akkm.estimators._base import require_lengths
from akkm.estimators._exact import ExactClusterer
from akkm.estimators._progress import Progress
from akkm.kernels import Precomputed
from akkm.landmarks import number_of_landmarks
from akkm.methods.exact import working_dtype
from akkm.methods.leaders import LeaderPoints, Leaders, LeaderSearch
from akkm.validation import require_count

Array = NDArray[Any]


class LeadersKernelKMeans(ExactClusterer):
    """Leaders-based kernel k-means (lKKm): cluster rows that stand for others.

    One pass over the rows picks leaders: a row within a distance `threshold` of a
    leader, in the kernel's space, follows the first such leader, any other row becomes
    one. Exact kernel k-means clusters the leaders, each weighted by its followers, and
    followers take their leader's label (Sarma, Viswanath, Reddy 2012). One of the
    methods that the paper compares approximate kernel k-means with. The result depends
    on the order of the rows.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel, gamma, degree, coef0, kernel_params
        As in `ApproxKernelKMeans`; a precomputed X is the square kernel matrix.
    threshold : float or "auto", default="auto"
        The distance up to which rows follow. "auto" finds one that gives about
        `n_leaders` leaders.
    n_leaders : int or "auto", default="auto"
        How many leaders are wanted, with `threshold="auto"`; "auto" is the number that
        `ApproxKernelKMeans` has landmarks. If there are at least as many as rows,
        every row leads.
    init : {"k-means++", "random"} or array of shape (n,), default="k-means++"
        Of the kernel k-means on the leaders; given labels are those of all rows.
    n_init, max_iter, random_state, n_jobs, verbose
        As in `KernelKMeans`.

    Attributes
    ----------
    labels_ : int32 array of shape (n,)
    inertia_ : float
        The sum of squared distances of all rows to the centers of their clusters.
    n_iter_ : int
        Iterations on the leaders.
    history_ : int array of shape (n_iter_, 2)
        Their labels that changed and columns of their kernel matrix that were computed,
        in each iteration.
    threshold_ : float
        The threshold that was used.
    leaders_ : array or CSR matrix of shape (L, d)
        The leaders in the order they were found; indices, for a precomputed kernel.
    leader_indices_ : int array of shape (L,)
    leader_weights_ : float array of shape (L,)
        The weight of the rows that follow each, itself included.
    dual_coef_ : array of shape (C, L)
        Center k is `sum_j dual_coef_[k, j] k(leader j, .)`.
    kernel_ : akkm.kernels.Kernel
        The kernel with its width.
    n_features_in_, feature_names_in_
        As in scikit-learn.

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        threshold: float | str = "auto",
        n_leaders: int | str = "auto",
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
        self.threshold = threshold
        self.n_leaders = n_leaders
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> LeadersKernelKMeans:
        """Find leaders, cluster them, and let the rows of X follow.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
        y : ignored
        sample_weight : array of shape (n,), optional
            A row of weight 2 counts like two rows; one of weight 0 never leads.

        Returns
        -------
        self
        """
        self._check_threshold()
        X, weights, kernel, rng = self._start(X, sample_weight)
        init = self._checked_init(X.shape[0])
        progress = Progress(self, X, y, self.verbose)
        with Threads(self.n_jobs) as engine:
            # Step 1: one pass picks the leaders.
            found = self._lead(LeaderSearch(X, kernel, engine, weights), rng)
            indices, points = found.indices, found.points
            progress.say(
                f"{X.shape[0]:,} rows, {len(indices):,} leaders at a threshold of "
                f"{points.threshold:.4g}, {kernel}"
            )
            # Step 2: kernel k-means on the leaders, weighted by their followers.
            sample, sample_kernel = X[indices], kernel
            if isinstance(kernel, Precomputed):
                sample, sample_kernel = sample[:, indices], Precomputed()
            dtype = working_dtype(sample, sample_kernel, X.dtype)
            followers = np.bincount(found.counted, weights, minlength=len(indices))
            solution = self._solve(
                sample,
                sample_kernel,
                engine,
                init=init if isinstance(init, str) else init[indices],
                weights=followers.astype(np.float64),
                dtype=dtype,
                points=points.points,
                rng=rng,
                progress=progress,
                fitted=lambda step: {
                    "_leader_points": points,
                    "_leader_labels": step.labels,
                },
            )
            # Step 3: followers take their leader's label.
            labels = solution.labels[found.followed]
            model = means_model(
                kernel, X, points.points, solution.alpha, solution.norms, dtype
            )
            errors = _errors(model, X, labels, kernel.diag(X), engine)
        self._keep(solution, model, kernel)
        self._leader_points: LeaderPoints = points
        self._leader_labels: Array = solution.labels
        self.threshold_ = points.threshold
        self.leaders_ = indices if isinstance(kernel, Precomputed) else X[indices]
        self.leader_indices_ = indices
        self.leader_weights_ = followers.astype(np.float64)
        self.labels_ = labels
        self.inertia_ = float(errors.sum() if weights is None else weights @ errors)
        self._warn(self.labels_, solution.converged or solution.stopped)
        progress.end()
        return self

    def predict(self, X: Any) -> Array:
        """The label of the leader that each row follows.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            New rows; k(rows, training rows) for a precomputed kernel. A row beyond the
            threshold of every leader follows the nearest. So does every new row of a
            precomputed kernel whose diagonal is not constant, as its distances are not
            known.

        Returns
        -------
        labels : int32 array of shape (n,)
        """
        X = self._new_rows(X)
        with Threads(self.n_jobs) as engine:
            return self._follow(X, engine)

    def score(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Minus the clustering error of the rows under the predicted labels.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
        y : ignored
        sample_weight : array of shape (n,), optional

        Returns
        -------
        score : float
            On the training rows, `-inertia_`.
        """
        X = self._new_rows(X)
        with Threads(self.n_jobs) as engine:
            labels = self._follow(X, engine)
            errors = _errors(self._model, X, labels, self._model.diag(X), engine)
        w = _check_sample_weight(sample_weight, X, dtype=np.float64)
        total = w @ errors
        require_lengths(total)
        return float(-total)

    def _follow(self, X: Rows, engine: Threads) -> Array:
        diag = self._model.diag(X)
        return self._leader_labels[self._leader_points.follow(X, diag, engine)]

    def _check_threshold(self) -> None:
        if self.n_leaders != "auto":
            require_count("n_leaders", self.n_leaders)
        threshold: Any = self.threshold
        if threshold == "auto":
            return
        number = isinstance(threshold, Real) and not isinstance(threshold, bool)
        if not (number and 0 <= threshold < np.inf):
            raise ValueError(
                f"threshold={threshold!r} is not valid; expected a distance ≥ 0 or "
                "'auto'."
            )

    def _lead(self, search: LeaderSearch, rng: np.random.Generator) -> Leaders:
        if self.threshold == "auto":
            able = int(search.can_lead.sum())
            wanted: Any = self.n_leaders
            if wanted == "auto":
                wanted = number_of_landmarks(wanted, able, self.n_clusters)
            found: Leaders | None = search.find_about(int(wanted), self.n_clusters, rng)
        else:
            found = search.one_pass(float(self.threshold))
        assert found is not None  # as there was no limit
        if (count := len(found.indices)) < self.n_clusters:
            raise ValueError(
                f"A threshold of {found.points.threshold:.4g} gives {count} leaders, "
                f"fewer than n_clusters={self.n_clusters}; lower threshold, raise "
                "n_leaders or lower n_clusters."
            )
        return found


def _errors(
    model: Model, X: Rows, labels: Array, diag: Array, engine: Threads
) -> Array:
    """Squared distance of each row to the center of its label: (n,)."""
    errors = []
    start = 0
    for part in model.compare(X, engine, diag):
        stop = start + len(part.labels)
        errors.append(part.squared[np.arange(stop - start), labels[start:stop]])
        start = stop
    return np.concatenate(errors)
