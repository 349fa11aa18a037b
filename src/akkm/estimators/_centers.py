"""Base class of estimators whose clusters have centers: predict, transform, score."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import _check_sample_weight

from akkm.core.membership import (
    certainty_limit,
    certainty_of,
    memberships_of,
    most_certain,
    own_and_other,
)
from akkm.core.model import Model
from akkm.core.threads import Threads
from akkm.estimators._base import KernelClusterer
from akkm.estimators._parameters import CoverageParameter, estimator
from akkm.estimators._run import Run
from akkm.rows import is_dask
from akkm.typing import Array, RowsLike
from akkm.validation import require_count


@estimator
class CenterClusterer(
    CoverageParameter,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    KernelClusterer,
):
    """Base class of estimators whose clusters have centers."""

    def _validated(self, X: Any, reset: bool = True) -> RowsLike:
        """Return valid rows, in memory or stored."""
        if reset and self.coverage != 1 and is_dask(X):
            raise ValueError(
                f"coverage={self.coverage!r} needs the certainties of all rows, but X "
                "is a Dask collection; leave out coverage, and use certainty after the "
                "fit."
            )
        return super()._validated(X, reset)

    def _leave_out_uncertain(self, run: Run) -> None:
        """Give the least certain rows the label -1, as `coverage` says."""
        for name in ("certainty_", "certainty_limit_"):
            self.__dict__.pop(name, None)
        if self.coverage == 1:
            return
        self.certainty_ = self._without_names().certainty(run.X)
        self.certainty_limit_ = certainty_limit(self.certainty_, self.coverage)
        uncertain = self.certainty_ < self.certainty_limit_
        if run.guidance is not None:
            uncertain[run.guidance.constraints.rows] = False
        self.labels_ = mark_outliers(self.labels_, uncertain)

    def _embed(self, X: RowsLike, engine: Threads) -> RowsLike:
        """Map valid rows (n, d) to the space in which the model has its centers."""
        return X

    def predict(self, X: Any) -> Array:
        """Assign each row to the nearest center.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            New rows; k(rows, training rows) for a precomputed kernel.

        Returns
        -------
        int32 array of shape (n,)
            Cluster of each row. It is -1 for outliers, if the estimator marks outliers,
            and for rows with a certainty below `certainty_limit_`, if the estimator has
            a `coverage` below 1. If X is a Dask array or data frame, the result is a
            lazy Dask array.
        """
        if is_dask(X):
            return self._apply_lazily("predict", X, width=None, dtype=np.int32)
        X = self._new_rows(X)
        with Threads(self.n_jobs) as engine:
            labels, outlying = self._assign(X, engine)
        labels = mark_outliers(labels, outlying)
        if self.coverage == 1 or not hasattr(self, "certainty_limit_"):
            return labels
        uncertain = self._without_names().certainty(X) < self.certainty_limit_
        return mark_outliers(labels, uncertain)

    def _assign(
        self, X: RowsLike, engine: Threads, clusters: Array | None = None
    ) -> tuple[Array, Array | None]:
        """Assign valid rows (n, d) to the nearest centers.

        If `clusters` is given, rows are assigned only to these clusters. Returns labels
        (n,) and a bool array (n,) of the rows that are marked as outliers. The second
        result is None if the estimator marks no outliers.
        """
        points = self._embed(X, engine)
        return self._nearest_centers(points, engine, clusters), None

    def _nearest_centers(
        self, points: RowsLike, engine: Threads, clusters: Array | None = None
    ) -> Array:
        """Return the nearest center (n,) of each point.

        If `clusters` is given, only the centers of these clusters are compared.
        """

        def nearest(model: Model, points: RowsLike) -> Array:
            blocks = model.compare(points, engine)
            return np.concatenate([block.labels for block in blocks])

        labels = nearest(self._model, points)
        if clusters is not None:
            # Only rows whose center is not among `clusters` are compared again. The
            # labels of other rows stay as they are. A comparison with fewer centers
            # could change them by rounding, if two centers are equally near.
            others = np.flatnonzero(~np.isin(labels, clusters))
            if others.size:
                few = nearest(self._model.only(clusters), points[others])
                labels[others] = clusters[few]
        return labels

    def _labels_before_marking(self) -> Array:
        """Return the cluster (n,) of each training row, including marked outliers."""
        return self.labels_

    def transform(self, X: Any) -> Array:
        """Compute the distances to the centers, in the space that was clustered.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            New rows; k(rows, training rows) for a precomputed kernel.

        Returns
        -------
        array of shape (n, n_clusters)
            Distances in the precision of X. Spectral and diffusion methods measure them
            in the embedding, and other methods in the kernel's space. If the kernel is
            indefinite and negative eigenvalues were dropped, distances ignore these.
        """
        if is_dask(X):
            return self._apply_lazily("transform", X, width=self._n_features_out)
        return self._nearest(X)[1]

    def certainty(self, X: Any) -> Array:
        """Compute how certain the cluster of each row is, from 0 to 1.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            Rows; k(rows, training rows) for a precomputed kernel.

        Returns
        -------
        float array of shape (n,)
            (d2 - d1) / (d2 + d1), where d1 is the distance to the center of the row's
            cluster, and d2 is the distance to the nearest other center: 0 on the border
            between two clusters, 1 at a center. All estimators with centers use
            this formula. `DiffusionKernelKMeans` multiplies it by the share of random
            walks from the row that stay in the row's cluster. A walk takes three steps,
            each to one of the nearest neighbours.
        """
        margins = np.concatenate(
            [
                certainty_of(*own_and_other(distances, labels))
                for labels, distances in self._distance_blocks(X)
            ]
        )
        shares = self._staying(self._new_rows(X))
        return margins if shares is None else margins * shares

    def _staying(self, X: RowsLike) -> Array | None:
        """Return the factor (n,) of the certainty of valid rows; None means 1."""
        return None

    def exemplars(self, X: Any, top: int = 5) -> list[Array]:
        """Find typical rows of each cluster: those with the highest certainty.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            Rows; k(rows, training rows) for a precomputed kernel.
        top : int, default=5
            Maximum number of rows of each cluster.

        Returns
        -------
        list of int arrays
            For each cluster, row numbers in X; the most certain row comes first.
        """
        require_count("top", top)
        X = self._new_rows(X)
        nameless = self._without_names()
        labels, certainty = nameless.predict(X), nameless.certainty(X)
        return most_certain(labels, certainty, self._n_features_out, top)

    def memberships(self, X: Any, top: int = 10) -> sparse.csr_array:
        """Compute soft memberships of rows in their nearest clusters.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            Rows; k(rows, training rows) for a precomputed kernel.
        top : int, default=10
            Number of nearest clusters that get a membership. It limits the memory.

        Returns
        -------
        CSR array of shape (n, n_clusters)
            Memberships, at least 0. Each row sums to one.

        Notes
        -----
        A membership of p says: if the model were fitted to other rows of the same
        source, the row would be in the corresponding cluster with probability p. Let
        d_c be the distances of a row to the centers, d_1 the smallest of them, and s
        the mean of d_c² over all centers. The membership in cluster c is proportional
        to exp(-(4.5 (d_c² - d_1²) / s)^1.5).

        The two constants were chosen for the diffusion methods. `docs/choosing-k.md`
        states how well memberships are calibrated.
        """
        require_count("top", top)
        blocks = [memberships_of(d, top) for _, d in self._distance_blocks(X)]
        return sparse.csr_array(sparse.vstack(blocks, format="csr"))

    def _distance_blocks(self, X: Any) -> Iterator[tuple[Array, Array]]:
        """Yield the clusters (b,) and all distances (b, C) of blocks of rows."""
        X = self._new_rows(X)
        with Threads(self.n_jobs) as engine:
            for block in self._model.compare(self._embed(X, engine), engine):
                distances = np.sqrt(block.squared.clip(0))
                _require_lengths(distances)
                yield block.labels, distances

    def score(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return minus the clustering error of the rows under the fitted centers.

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
            The score. On the training rows it is `-inertia_`. Scores are comparable
            only for the same kernel and width: a search for the gamma with the best
            score would end at the widest kernel.
        """
        X = self._new_rows(X)
        with Threads(self.n_jobs) as engine:
            blocks = self._model.compare(self._embed(X, engine), engine)
            errors = np.concatenate([block.squared_own for block in blocks])
        return self._score(errors, X, sample_weight)

    def _score(
        self, errors: Array, X: RowsLike, sample_weight: ArrayLike | None
    ) -> float:
        """Return minus the weighted sum of the errors (n,) of rows."""
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        total = weights @ errors
        _require_lengths(total)
        return float(-total)

    def _nearest(self, X: Any) -> tuple[Array, Array]:
        """Return nearest centers (n,) and all distances (n, C), in one pass."""
        X = self._new_rows(X)
        labels = np.empty(X.shape[0], dtype=np.int32)
        distances = np.empty((X.shape[0], self._n_features_out), dtype=X.dtype)
        start = 0
        with Threads(self.n_jobs) as engine:
            for block in self._model.compare(self._embed(X, engine), engine):
                stop = start + len(block.labels)
                labels[start:stop] = block.labels
                distances[start:stop] = np.sqrt(block.squared.clip(0))
                start = stop
        _require_lengths(distances)
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


def mark_outliers(labels: Array, outlying: Array | None) -> Array:
    """Return labels (n,), with -1 where `outlying` (n,) is true; None marks no row."""
    return labels if outlying is None else np.where(outlying, np.int32(-1), labels)


def _require_lengths(values: Any) -> None:
    if np.isnan(values).any():
        raise ValueError(
            "Distances need k(x, x) of the new rows. With a precomputed kernel, these "
            "values are known only if the diagonal of the training matrix is constant. "
            "Use predict, normalise the kernel, or pass rows and a kernel function."
        )
