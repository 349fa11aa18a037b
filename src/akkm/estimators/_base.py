"""The face that all kernel k-means estimators share: validate, call, set attributes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from akkm.core.gram import Gram
from akkm.core.model import Model
from akkm.core.strip import Rows
from akkm.core.threads import Threads
from akkm.diffusion.estimate_k import Evidence
from akkm.estimators import _checks
from akkm.kernels import Kernel, Precomputed, resolve
from akkm.landmarks import Landmarks, select_landmarks
from akkm.rows import Rows as StoredRows
from akkm.rows import apply_lazily, is_dask, rows_of_dask
from akkm.validation import require_count

Array = NDArray[Any]

# A larger negative share of the eigenvalues is worth a warning.
_NEGATIVE = 0.1
# Restarts of k-means++ are cheap: they run on a sample.
_RESTARTS = 4


class KernelClusterer(CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """What every estimator does before it clusters, and what it warns of after."""

    # Set by each estimator's __init__.
    n_clusters: Any
    kernel: Any
    gamma: Any
    degree: float
    coef0: float
    kernel_params: dict[str, Any] | None
    n_landmarks: Any  # of those that have some
    landmarks: Any
    init: Any
    n_init: Any
    max_iter: int
    random_state: Any
    n_jobs: int | None
    kernel_: Kernel
    # Whether rows may stay where they are: in files, or on other machines.
    _takes_stored = False
    # Whether n_clusters="auto" has a meaning; n_clusters_ is then what was found.
    _counts = False
    # What a member of an ensemble would have warned of.
    _heard: list[tuple[str, type[Warning]]] | None = None

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

    def _new_rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        X = self._checked_rows(X, reset=False)
        return _checks.allowed_by(self.kernel_, X)

    def _checked_rows(self, X: Any, reset: bool = True) -> Rows:
        """Rows as an array, or as they are stored."""
        if is_dask(X) and self._takes_stored:
            X = rows_of_dask(X)
        if not isinstance(X, StoredRows):
            return validate_data(self, X, reset=reset, **self._accepted())
        _checks.require_stored_rows_fit(self, X, reset)
        return X

    def _is_precomputed(self) -> bool:
        if isinstance(self.kernel, str):
            return self.kernel == "precomputed"
        return isinstance(self.kernel, Precomputed)

    def _accepted(self) -> dict[str, Any]:
        return {
            "accept_sparse": False if self._is_precomputed() else "csr",
            "dtype": [np.float64, np.float32],
        }

    def _start_rows(
        self, X: Any, sample_weight: ArrayLike | None
    ) -> tuple[Rows, Array | None, np.random.Generator]:
        """Checked rows, weights and randomness of a fit."""
        if not (self._counts and self.n_clusters == "auto"):
            require_count("n_clusters", self.n_clusters)
        require_count("max_iter", self.max_iter)
        if self.n_init != "auto":
            require_count("n_init", self.n_init)
        X = self._checked_rows(X)
        weights = None
        if sample_weight is not None:
            if is_dask(sample_weight):  # landmarks and a sample are drawn by weight
                sample_weight = np.asarray(sample_weight)
            weights = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        least = 1 if self.n_clusters == "auto" else self.n_clusters
        _checks.require_enough_rows(X.shape[0], least, weights)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return X, weights, np.random.default_rng(seed)

    def _start(
        self, X: Any, sample_weight: ArrayLike | None, landmarks: Any = "uniform"
    ) -> tuple[Rows, Array | None, Kernel, np.random.Generator]:
        """The same, and the kernel."""
        X, weights, rng = self._start_rows(X, sample_weight)
        for_width = rng.spawn(1)[0]  # whether it is used or not
        if self._is_precomputed():
            kernel = _checks.precomputed(X, landmarks)
        else:
            kernel = resolve(
                self.kernel,
                X,
                gamma=self.gamma,
                degree=self.degree,
                coef0=self.coef0,
                params=self.kernel_params,
                sample_weight=weights,
                rng=for_width,
            )
        return _checks.allowed_by(kernel, X), weights, kernel, rng

    def _checked_init(self, n: int) -> str | Array:
        if isinstance(self.init, str):
            _checks.require_one_of("init", self.init, ("k-means++", "random"))
            return self.init
        return _checks.initial_labels(self.init, n, self.n_clusters)

    def _restarts(self, init: str | Array) -> int:
        """The number of runs of which the best is kept."""
        if not isinstance(init, str):
            return 1
        if self.n_init == "auto":
            return _RESTARTS if init == "k-means++" else 1
        return int(self.n_init)

    def _landmarks(
        self,
        X: Rows,
        kernel: Kernel,
        engine: Threads,
        weights: Array | None,
        rng: np.random.Generator,
    ) -> Landmarks:
        """The landmarks that were asked for."""
        if self.n_landmarks != "auto":
            require_count("n_landmarks", self.n_landmarks)
        landmarks = self.landmarks
        if not isinstance(landmarks, str):
            landmarks = _checks.landmark_array(landmarks, X, kernel, self.n_clusters)
        return select_landmarks(
            X,
            kernel,
            engine,
            given=landmarks,
            n_landmarks=self.n_landmarks,
            n_clusters=self.n_clusters,
            weights=weights,
            rng=rng,
        )

    @property
    def _wanted(self) -> int:
        """The number of clusters, as given or, once it is fitted, counted."""
        return int(getattr(self, "n_clusters_", self.n_clusters))

    def _warn(self, labels: Array, settled: bool) -> None:
        found = len(np.unique(labels))
        if found < self._wanted:
            self._tell(
                f"Number of distinct clusters ({found}) found smaller than "
                f"n_clusters ({self._wanted}). Possibly due to duplicate points "
                "in X.",
                ConvergenceWarning,
            )
        elif not settled:
            self._tell(
                f"Stopped at max_iter={self.max_iter} before labels stopped changing; "
                "raise max_iter for a converged result.",
                ConvergenceWarning,
            )

    def _warn_of_negative(self, span: Gram, what: str) -> None:
        if span.negative_mass > _NEGATIVE:
            self._tell(
                "The kernel is far from positive definite: more than "
                f"{_NEGATIVE:.0%} of the eigenvalues' absolute sum on the landmarks is "
                f"negative. Distances to centers then mean little ({what}); choose "
                "other kernel parameters or another kernel.",
                UserWarning,
            )

    def _tell_of_doubt(self, evidence: Evidence) -> None:
        self._tell(
            f"Unsure of the number of clusters, {evidence.n_clusters}: {evidence.why}; "
            "look at evidence_, or give n_clusters.",
            UserWarning,
        )

    def _tell(self, text: str, category: type[Warning]) -> None:
        """Warn the user; or, as a member of an ensemble, that."""
        if self._heard is None:
            # Past _warn, fit and what scikit-learn wraps around it.
            warnings.warn(text, category, stacklevel=5)
        else:
            self._heard.append((text, category))


class CenterClusterer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelClusterer
):
    """An estimator whose clusters have centers: predict, transform and score."""

    _model: Model

    def predict(self, X: Any) -> Array:
        """The nearest center of each row.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            New rows; k(rows, training rows) for a precomputed kernel.

        Returns
        -------
        labels : int32 array of shape (n,)
            A Dask array, not computed yet, if X is one or a Dask data frame.
        """
        if is_dask(X):
            return apply_lazily(self.predict, X, width=None, dtype=np.int32)
        X = self._new_rows(X)
        with Threads(self.n_jobs) as engine:
            parts = [part.labels for part in self._model.compare(X, engine)]
        return np.concatenate(parts)

    def transform(self, X: Any) -> Array:
        """Distances to the centers, in the space in which they were found.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)

        Returns
        -------
        distances : array of shape (n, n_clusters)
            In the precision of X. That space is the kernel's RKHS (without its
            negative part, if the kernel is not positive definite and that was left
            out), or that of the eigenvectors in spectral clustering.
        """
        if is_dask(X):
            return apply_lazily(
                self.transform, X, width=self._n_features_out, dtype=None
            )
        return self._nearest(X)[1]

    def score(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Minus the clustering error of the rows under the fitted centers.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
        y : ignored
        sample_weight : array of shape (n,), optional

        Returns
        -------
        score : float
            On the training rows, `-inertia_`. Comparable between fits with the same
            kernel and width only: a search for gamma by it ends at the widest kernel.
        """
        X = self._new_rows(X)
        with Threads(self.n_jobs) as engine:
            errors = [part.squared_own for part in self._model.compare(X, engine)]
        w = _check_sample_weight(sample_weight, X, dtype=np.float64)
        total = w @ np.concatenate(errors)
        require_lengths(total)
        return float(-total)

    def _nearest(self, X: Any) -> tuple[Array, Array]:
        """The nearest centers (n,) and all distances (n, n_clusters), in one pass."""
        X = self._new_rows(X)
        labels = np.empty(X.shape[0], dtype=np.int32)
        distances = np.empty((X.shape[0], self._n_features_out), dtype=X.dtype)
        start = 0
        with Threads(self.n_jobs) as engine:
            for part in self._model.compare(X, engine):
                stop = start + len(part.labels)
                labels[start:stop] = part.labels
                distances[start:stop] = np.sqrt(part.squared.clip(0))
                start = stop
        require_lengths(distances)
        return labels, distances

    @property
    def _n_features_out(self) -> int:
        return len(self._model.scorer.norms)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def require_lengths(values: Any) -> None:
    if np.isnan(values).any():
        raise ValueError(
            "Distances need k(x, x) of the new rows, which a precomputed kernel matrix "
            "does not hold unless its diagonal is constant. Use predict, normalise the "
            "kernel, or give the rows and a kernel function."
        )
