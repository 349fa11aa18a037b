"""Base class of all estimators: validation, fit, kernels, landmarks and warnings."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import fields
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from akkm.core.gram import Gram
from akkm.core.model import Model
from akkm.core.threads import Threads
from akkm.documentation import DocumentationLink
from akkm.estimators import _checks
from akkm.estimators._callbacks import CallbackSupportMixin, with_callbacks
from akkm.estimators._number import measure_in_kernel_space, number_of
from akkm.estimators._parameters import CommonParameters, estimator
from akkm.estimators._progress import Progress
from akkm.estimators._run import Run
from akkm.guided.guide import Guidance
from akkm.kernels import Kernel, Linear, Precomputed, resolve
from akkm.landmarks import Landmarks, select_landmarks
from akkm.layers.curve import LayerCurve
from akkm.rows import apply_lazily, columns_of_dask, is_dask, is_rows, rows_of_dask
from akkm.typing import Array, RowsLike
from akkm.user_warnings import warn_user
from akkm.validation import validated_weights

# Warn if negative eigenvalues make up more than this share of the sum of the absolute
# values of all eigenvalues.
_NEGATIVE = 0.1
# Number of runs if n_init="auto" and init="k-means++". Each run clusters only a sample,
# so several runs are cheap.
_RUNS = 4


class _Attributes(CallbackSupportMixin, DocumentationLink):
    """Declares fitted attributes, and parameters that only some estimators have."""

    kernel: Any = None
    kernel_: Kernel
    labels_: Any
    label_names_: list[Hashable]
    violated_: dict[str, Array]
    n_clusters_: int
    stability_: LayerCurve | None
    certainty_: Array
    certainty_limit_: float
    members_: list[Any]
    _model: Model
    # embedding(X, engine) maps rows to points, in estimators that embed rows.
    _embedding: Any
    # Warnings of a member of an ensemble are queued here instead of being emitted.
    _warnings: list[tuple[str, type[Warning]]] | None = None
    # on_step(step) and on_member(name) of this object are called during a fit.
    _observer: Any = None


@estimator
class KernelClusterer(CommonParameters, _Attributes, ClusterMixin, BaseEstimator, ABC):
    """Base class of all estimators: validates input and emits warnings.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    random_state : int, RandomState instance or None, default=None
        Seed of all random choices.
    n_jobs : int or None, default=None
        Number of threads.
    verbose : int, default=0
        Verbosity.
    """

    # Whether rows may stay in files or on the workers of a Dask cluster.
    _takes_stored = False
    # Progress message that is shown before the first iteration.
    _preparation = "choosing landmarks, initialising"

    @property
    def _kernel_text(self) -> str:
        """The kernel of a fitted estimator, in words or as an expression."""
        return str(self.kernel_)

    @property
    def _number_text(self) -> str:
        """The estimated number of clusters of a fitted estimator, and the reason."""
        curve, number = self.stability_, self.n_clusters_
        if curve is None:
            return f"{number}, unsure: there are too few rows"
        sure = "sure" if curve.sure else "unsure"
        return f"{number}, {sure}: {curve.reason}"

    @property
    def _parameter_constraints(self) -> dict[str, list[Any]]:
        return {each.name: each.metadata["allowed"] for each in fields(self)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = self._is_precomputed()
        histograms = ("chi2", "additive_chi2", "intersection")
        tags.input_tags.sparse = not precomputed
        tags.input_tags.pairwise = precomputed
        tags.input_tags.positive_only = (
            isinstance(self.kernel, str) and self.kernel in histograms
        )
        return tags

    def _is_precomputed(self) -> bool:
        if isinstance(self.kernel, str):
            return self.kernel == "precomputed"
        return isinstance(self.kernel, Precomputed)

    def _validated(self, X: Any, reset: bool = True) -> RowsLike:
        """Return valid rows: an array, a CSR matrix, or `Rows`.

        `Rows` are float16 rows, or rows in files or on the workers of a Dask cluster.
        """
        if is_dask(X) and self._takes_stored:
            X = rows_of_dask(X)
        if is_rows(X):
            _checks.require_stored_rows_fit(self, X, reset)
            return X
        return _checks.validated_array(self, X, reset)

    def _new_rows(self, X: Any) -> RowsLike:
        """Return valid rows for predict, transform and score."""
        check_is_fitted(self)
        return _checks.allowed_by(self.kernel_, self._validated(X, reset=False))

    def _without_names(self) -> Self:
        """Return a copy of the estimator that accepts arrays without column names.

        The arrays must have the columns of the fit, in the same order.
        """
        nameless = copy(self)
        nameless.__dict__.pop("feature_names_in_", None)
        return nameless

    def _apply_lazily(
        self, method: str, X: Any, *, width: int | None, dtype: Any = None, **more: Any
    ) -> Any:
        """Apply a method to each partition of a Dask array or data frame, lazily.

        Column names are checked here, because the method gets each partition as an
        array without names. `more` are further arguments of the method.
        """
        check_is_fitted(self)
        _checks.require_columns(self, *columns_of_dask(X))
        bound = partial(getattr(self._without_names(), method), **more)
        return apply_lazily(bound, X, width=width, dtype=dtype)

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Restore all attributes if the block fails or is interrupted."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _generator(self) -> np.random.Generator:
        """Return a random generator, seeded by `random_state`."""
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return np.random.default_rng(seed)

    def _choose_kernel(
        self: Any, X: RowsLike, weights: Array | None, rng: np.random.Generator
    ) -> Kernel:
        """Return the kernel with its width, or the precomputed kernel."""
        # Spawn a generator even if it is not used, so that later seeds stay the same.
        width_rng = rng.spawn(1)[0]
        if self._is_precomputed():
            return _checks.precomputed(X, getattr(self, "landmarks", "uniform"))
        return resolve(
            self.kernel,
            X,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
            sample_weight=weights,
            rng=width_rng,
        )

    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            The rows, or a precomputed kernel. `ApproxKernelKMeans`,
            `EnsembleKernelKMeans` and `DiffusionKernelKMeans` also take Dask
            collections and rows from `akkm.open_rows`.
        y : None
            Ignored.
        sample_weight : array of shape (n,), optional
            A row of weight 2 counts like two equal rows. A row of weight 0 gets a
            label, but has no influence.

        Returns
        -------
        object
            The fitted estimator.
        """
        return self._fit_guided(X, y, sample_weight, lambda n: None)

    def _fit_guided(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        read: Callable[[int], Guidance | None],
    ) -> Self:
        """Cluster the rows of X; `read` returns the constraints on n rows."""
        with self._unchanged_on_error():
            self._validate_params()
            X = self._validated(X)
            if is_dask(sample_weight):  # sampling by weight needs all weights in memory
                sample_weight = np.asarray(sample_weight)
            weights = validated_weights(sample_weight, X)
            self._cluster_rows(X, y, weights, read(X.shape[0]))
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def _cluster_rows(
        self,
        X: RowsLike,
        y: Any,
        weights: Array | None,
        guidance: Guidance | None = None,
    ) -> None:
        """Cluster validated rows (n, d) with weights (n,), and warn of problems."""
        known = isinstance(self.n_clusters, Integral)
        n_clusters = int(self.n_clusters) if known else 1
        _checks.require_enough_rows(X.shape[0], n_clusters, weights)
        rng = self._generator()
        kernel: Kernel = Linear()  # for estimators without a kernel parameter
        if self.kernel is not None:
            kernel = self._choose_kernel(X, weights, rng)
            X = _checks.allowed_by(kernel, X)
        progress = Progress(self, X, y, self.verbose)
        first = f"{X.shape[0]:,} rows, {self._preparation}"
        with Threads(self.n_jobs) as engine, progress.steady(first):
            run = Run(X, weights, kernel, rng, engine, progress, guidance)
            self._choose_number(run)
            self._fit(run)
            self._leave_out_uncertain(run)
        progress.end()
        for text, category in run.warnings:
            if self._warnings is None:
                warn_user(text, category)
            else:
                self._warnings.append((text, category))

    def _choose_number(self, run: Run) -> None:
        """Set `n_clusters_`: as given, or by how reproducible clusters are."""
        self.stability_ = None
        if self.n_clusters != "auto":
            self.n_clusters_ = int(self.n_clusters)
            return
        self.stability_ = self._measure_layers(run)
        self.n_clusters_ = min(number_of(self.stability_), run.X.shape[0])
        run.progress.log(f"{self.n_clusters_} clusters")
        if self.stability_ is None:
            why = f"there are only {run.X.shape[0]} rows;"
        elif not self.stability_.sure:
            why = f"{self.stability_.reason}; look at stability_, or"
        else:
            return
        run.warn(
            f"The estimate of {self.n_clusters_} clusters is unsure: {why} give "
            "n_clusters.",
            UserWarning,
        )

    def _measure_layers(
        self, run: Run, between: tuple[int, int | None] = (2, None)
    ) -> LayerCurve | None:
        """Measure how reproducible each number of clusters is."""
        # Copy the generator, so that giving this number leads to the same fit.
        rng = deepcopy(run.rng).spawn(1)[0]
        return measure_in_kernel_space(
            self, run.X, run.weights, run.kernel, run.engine, rng, between
        )

    @abstractmethod
    def _fit(self, run: Run) -> None:
        """Cluster the rows of a run and set the fitted attributes."""

    def _leave_out_uncertain(self, run: Run) -> None:
        """Apply the parameter `coverage`, in estimators that have it."""

    def _initialisation(self: Any, n: int) -> str | Array:
        """Return the name of the initialisation, or valid initial labels (n,)."""
        if isinstance(self.init, str):
            return self.init
        return _checks.initial_labels(self.init, n, self._n_clusters)

    def _n_runs(self: Any, init: str | Array) -> int:
        """Return the number of runs; the best run is kept."""
        if not isinstance(init, str):
            return 1
        if self.n_init == "auto":
            return _RUNS if init == "k-means++" else 1
        return int(self.n_init)

    def _select_landmarks(self: Any, run: Run) -> Landmarks:
        given = self.landmarks
        if not isinstance(given, str):
            given = _checks.landmark_array(given, run.X, run.kernel, self._n_clusters)
        return select_landmarks(
            run.X,
            run.kernel,
            run.engine,
            given=given,
            n_landmarks=self.n_landmarks,
            n_clusters=self._n_clusters,
            weights=run.weights,
            rng=run.rng,
        )

    @property
    def _n_clusters(self) -> int:
        """`n_clusters_` if the fit has set it, else the parameter `n_clusters`."""
        return int(getattr(self, "n_clusters_", self.n_clusters))

    def _warn_unless_converged(self, run: Run, labels: Array, finished: bool) -> None:
        found, n_clusters = len(np.unique(labels)), self._n_clusters
        if not finished:
            # Clusters may still be empty: they would get a row in a later iteration.
            empty = f" ({n_clusters - found} of {n_clusters} clusters are empty)"
            run.warn(
                f"Stopped at max_iter={self.max_iter} before labels stopped changing"
                f"{empty if found < n_clusters else ''}; raise max_iter for a "
                "converged result.",
                ConvergenceWarning,
            )
        elif found < n_clusters:
            run.warn(
                f"Number of distinct clusters ({found}) found smaller than "
                f"n_clusters ({n_clusters}). Possibly due to duplicate points in X.",
                ConvergenceWarning,
            )

    def _warn_unless_resolved(self, run: Run, resolved: bool, error: float) -> None:
        """Warn if the kernel is zero for all pairs of different rows.

        `resolved` says whether the kernel is nonzero between some of the rows that were
        compared. `error` is the clustering error. If k(x, y) = 0 for all x ≠ y, and
        k(x, x) = 1, each cluster reduces the error by at most the weight of one row.
        """
        total, largest = float(run.X.shape[0]), 1.0
        if run.weights is not None:
            total, largest = float(run.weights.sum()), float(run.weights.max())
        if resolved or error < 1e-6 * total:  # error 0: each row has its own cluster
            return
        if total - error <= (1 + 1e-6) * largest * self._n_clusters:
            run.warn(
                "The kernel can't resolve the data: it is zero between any two "
                "different rows, so that the clusters are arbitrary. Scale the columns "
                "(e.g. StandardScaler), or lower gamma (e.g. gamma='scale' or "
                "'median').",
                UserWarning,
            )

    def _warn_if_negative(self, run: Run, span: Gram, treatment: str) -> None:
        if span.negative_mass > _NEGATIVE:
            run.warn(
                "The kernel is far from positive definite: negative eigenvalues make "
                f"up more than {_NEGATIVE:.0%} of the sum of absolute eigenvalues. "
                f"Distances to centers then mean little ({treatment}); choose other "
                "kernel parameters or another kernel.",
                UserWarning,
            )
