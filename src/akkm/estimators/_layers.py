"""ClusterLayers."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import check_is_fitted

from akkm.core.membership import certainty_limit, most_certain
from akkm.diffusion.choose_neighbours import is_clear
from akkm.diffusion.diffusion_time import diffusion_time, unit_rows
from akkm.diffusion.estimate_k import CONFIDENT_GAP
from akkm.diffusion.graph_embedding import GraphEmbedding
from akkm.estimators._base import KernelClusterer
from akkm.estimators._centers import CenterClusterer
from akkm.estimators._diffusion import DiffusionKernelKMeans
from akkm.estimators._embedding import WalkClusterer
from akkm.estimators._number import number_of
from akkm.estimators._parameters import (
    AUTO,
    COUNT,
    CoverageParameter,
    estimator,
    parameter,
)
from akkm.estimators._run import Run
from akkm.layers.curve import candidate_numbers
from akkm.layers.tree import cut_tree, points_from_distances, ward_tree
from akkm.rows import is_dask
from akkm.typing import Array, RowsLike


@estimator
class ClusterLayers(CoverageParameter, KernelClusterer):
    """Nested layers of clusters, from coarse to fine, for any method with centers.

    Real data rarely have a single correct number of clusters. A partition is worth
    showing if it can be found again. So rows are split into halves, each half is
    clustered on its own, and the labels are compared, for many numbers of clusters. The
    same is done with reference rows without clusters. Numbers of clusters whose score
    is high (see `akkm.layers.curve.LayerCurve.scores`) become layers. The finest layer
    is fitted by the estimator. If `DiffusionKernelKMeans` chooses more neighbours in
    this fit, numbers of clusters are compared again in the graph with more neighbours.
    Coarser layers merge clusters of the finest layer by Ward's criterion.

    Parameters
    ----------
    n_clusters : int, "auto" or pair of int, default="auto"
        Number of clusters of the finest layer: as given, chosen from the data, or
        chosen within a range (least, most).
    estimator : estimator with centers, default=None
        The method; its parameters `n_clusters`, `coverage`, `random_state` and `n_jobs`
        are replaced. None means `DiffusionKernelKMeans()`.
    coverage : float or "auto", default=1.0
        Share of the rows that get a label. The least certain rows get -1 in every
        layer. "auto" leaves out the rows with less than a third of the median
        certainty. `predict` applies the same limit to new rows.
    random_state : int, RandomState instance or None, default=None
        The same seed gives the same labels, for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads. None: as many as BLAS and OpenMP use; -1: one per core.
    verbose : int, default=0
        1 prints a line per step.

    Attributes
    ----------
    layers_ : list of int32 arrays of shape (n,)
        Labels of each layer, from coarse to fine. Each cluster lies inside one cluster
        of the layer before.
    layer_numbers_ : list of int
        Number of clusters of each layer.
    labels_ : int32 array of shape (n,)
        Labels of the finest layer, the last of `layers_`.
    n_clusters_ : int
        Number of clusters of the finest layer.
    certainty_ : float array of shape (n,)
        Certainty of each row's cluster in the finest layer: (d2 - d1) / (d2 + d1),
        where d1 and d2 are the distances to the two nearest centers. With
        `DiffusionKernelKMeans`, it is multiplied by the share of short walks that stay
        in the cluster.
    certainty_limit_ : float
        Rows with a lower certainty get the label -1.
    exemplars_ : list of int arrays
        For each cluster of the finest layer, the numbers of up to 5 typical rows: those
        with the highest certainty.
    tree_ : array of shape (n_clusters_ - 1, 4)
        Merges of the finest layer, for `scipy.cluster.hierarchy.dendrogram`. For
        diffusion methods, distances are averaged over walks of several lengths.
    stability_ : akkm.layers.curve.LayerCurve or None
        How reproducible each number of clusters is; None if there are too few rows.
    estimator_ : estimator
        The fitted estimator.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of shape (n_features_in_,)
        Column names of X, if it is a data frame.

    See Also
    --------
    DiffusionKernelKMeans : The default method.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm import ClusterLayers
    >>> rng = np.random.default_rng(0)
    >>> groups = np.array([[0.0, 0.0], [40.0, 0.0]])
    >>> centers = (groups[:, None] + [[0, 0], [6, 0], [0, 6]]).reshape(6, 2)
    >>> X = centers[np.arange(900) % 6] + rng.normal(size=(900, 2))
    >>> model = ClusterLayers(random_state=0).fit(X)
    >>> model.layer_numbers_[0], model.layer_numbers_[-1]
    (2, 6)
    >>> model.predict(X[:3], layer=0).tolist() == model.layers_[0][:3].tolist()
    True
    """

    n_clusters: Any = parameter(COUNT, AUTO, tuple, list, default="auto", kw_only=False)
    estimator: Any = parameter(CenterClusterer, None, default=None)

    _preparation = "comparing numbers of clusters"

    @property
    def _kernel_text(self) -> str:
        """The kernel of the fitted estimator."""
        return str(self.estimator_._kernel_text)

    def _validate_params(self) -> None:
        super()._validate_params()
        pair = self.n_clusters
        if isinstance(pair, tuple | list) and not (
            len(pair) == 2
            and all(COUNT.is_satisfied_by(number) for number in pair)
            and 2 <= pair[0] <= pair[1]
        ):
            raise InvalidParameterError(
                f"n_clusters={pair!r}; a range needs two integers (least, most) with "
                "2 <= least <= most."
            )

    def _choose_number(self, run: Run) -> None:
        """Forget the number of an earlier fit; `_fit` chooses the new one."""
        self.stability_ = None
        self.__dict__.pop("n_clusters_", None)

    def _fit(self, run: Run) -> None:
        """Fit the finest layer, and merge its clusters."""
        method = DiffusionKernelKMeans() if self.estimator is None else self.estimator
        seed = int(run.rng.integers(2**31 - 1))
        model = clone(method).set_params(
            coverage=1.0, random_state=seed, n_jobs=self.n_jobs
        )
        model._warnings = []
        if isinstance(self.n_clusters, tuple | list):
            least, most = (int(number) for number in self.n_clusters)
            self.stability_ = _measure(model, run, (least, most))
            model.n_clusters = min(max(number_of(self.stability_), least), most)
        else:
            model.n_clusters = self.n_clusters
        model.fit(run.X, sample_weight=run.weights)
        if self.stability_ is None:
            self.stability_ = model.stability_
        if model.stability_ is not None and not _keeps_graph(model, run):
            # Only a fit with a given number of clusters chooses the number of
            # neighbours. So fit again, with the number that was found.
            model.n_clusters, before = model.n_clusters_, model.n_neighbors_
            model.fit(run.X, sample_weight=run.weights)
            if model.n_neighbors_ > before:
                model.set_params(n_clusters="auto", n_neighbors=model.n_neighbors_)
                model.fit(run.X, sample_weight=run.weights)
                self.stability_ = model.stability_
        self.estimator_, self.n_clusters_ = model, model.n_clusters_
        if self.stability_ is None and self.n_clusters_ > 2:
            self.stability_ = _measure(model, run, (2, self.n_clusters_))
        self.tree_ = _tree(model, run.X, run.weights)
        self.layer_numbers_ = self._layer_numbers(model)
        fitted = model._without_names()
        self.certainty_ = fitted.certainty(run.X)
        self.certainty_limit_ = certainty_limit(self.certainty_, self.coverage)
        kept = np.where(self.certainty_ < self.certainty_limit_, -1, model.labels_)
        n_layers = len(self.layer_numbers_)
        self.layers_ = [self.merged(kept, layer) for layer in range(n_layers)]
        self.exemplars_ = most_certain(model.labels_, self.certainty_, self.n_clusters_)
        self.labels_ = self.layers_[-1]
        run.progress.log(f"layers of {self.layer_numbers_} clusters")
        for text, category in model._warnings:
            run.warn(text, category)

    def _layer_numbers(self, model: Any) -> list[int]:
        """Return the number of clusters of each layer, ascending.

        They are the numbers that `stability_` shows as layers, numbers with a wide gap
        in the spectrum, and the number of the finest layer.
        """
        coarse = set(self.stability_.layers) if self.stability_ else set()
        if isinstance(model, WalkClusterer):
            evidence = model.evidence_
            wide = evidence.gaps >= CONFIDENT_GAP
            coarse |= {int(number) for number in evidence.numbers[wide]}
        return sorted({n for n in coarse if n < self.n_clusters_} | {self.n_clusters_})

    def predict(self, X: Any, layer: int = -1) -> Array:
        """Assign each row to a cluster of a layer.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            New rows.
        layer : int, default=-1
            Position of the layer in `layers_`; the finest layer is the last.

        Returns
        -------
        int32 array of shape (n,)
            Cluster of each row. It is -1 for outliers, if the estimator marks outliers,
            and for rows with a certainty below `certainty_limit_`. If X is a Dask array
            or data frame, the result is a lazy Dask array.
        """
        check_is_fitted(self)
        self._require_layer(layer)
        if is_dask(X):
            return self._apply_lazily(
                "predict", X, width=None, dtype=np.int32, layer=layer
            )
        X = self._new_rows(X)
        model = self.estimator_._without_names()
        labels = model.predict(X)
        if self.coverage != 1:
            uncertain = model.certainty(X) < self.certainty_limit_
            labels = np.where(uncertain, np.int32(-1), labels)
        return self.merged(labels, layer)

    def merged(self, labels: Array, layer: int) -> Array:
        """Merge clusters of the finest layer into those of a coarser layer.

        Parameters
        ----------
        labels : int array of shape (n,)
            Clusters of the finest layer; -1 for rows without a cluster.
        layer : int
            Position of the layer in `layers_`.

        Returns
        -------
        int32 array of shape (n,)
            Clusters of the layer; -1 stays -1.
        """
        check_is_fitted(self)
        self._require_layer(layer)
        return _merged(labels, cut_tree(self.tree_, self.layer_numbers_[layer]))

    def _require_layer(self, layer: int) -> None:
        if not -len(self.layer_numbers_) <= layer < len(self.layer_numbers_):
            raise ValueError(
                f"layer={layer}, but there are {len(self.layer_numbers_)} layers; give "
                f"a position from 0 to {len(self.layer_numbers_) - 1}."
            )

    def _new_rows(self, X: Any) -> RowsLike:
        """Return valid rows for predict."""
        check_is_fitted(self)
        return self._validated(X, reset=False)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        return tags


def _measure(model: Any, run: Run, between: tuple[int, int]) -> Any:
    """Measure layers as the model would do it during a fit."""
    if model.kernel is not None:
        kernel = model._choose_kernel(run.X, run.weights, run.rng)
        run = replace(run, kernel=kernel)
    return model._measure_layers(run, between)


def _keeps_graph(model: Any, run: Run) -> bool:
    """Whether a fit with a given number of clusters would keep the model's graph."""
    chooses = isinstance(model, DiffusionKernelKMeans) and model.n_neighbors == "auto"
    if not chooses or not isinstance(model._embedding, GraphEmbedding):
        return True
    rng = np.random.default_rng(model.random_state)
    return is_clear(model._embedding, model.n_clusters_, run.engine, rng)


def _tree(model: Any, X: RowsLike, weights: Array | None) -> Array:
    """The Ward tree of a fitted model's clusters."""
    labels, C = model._labels_before_marking(), model.n_clusters_
    w = np.ones(len(labels)) if weights is None else weights
    sizes = np.bincount(labels, w, C)
    if isinstance(model, WalkClusterer) and model.diffusion_ > 0:
        return ward_tree(_walk_centers(model, labels, w, C), sizes)
    squared = model._without_names().transform(X).astype(np.float64) ** 2
    own = squared[np.arange(len(labels)), labels]
    # The mean of |x - c_b|² - |x - c_a|² over the rows of cluster a is |c_a - c_b|².
    total = np.zeros((C, C))
    np.add.at(total, labels, w[:, None] * (squared - own[:, None]))
    apart = (total / np.maximum(sizes, 1e-300)[:, None]).clip(0)
    return ward_tree(points_from_distances((apart + apart.T) / 2), sizes)


def _walk_centers(model: Any, labels: Array, weights: Array, C: int) -> Array:
    """Centers (C, q) in the mean of diffusion kernels with walks of several lengths.

    Walks that are just long enough to separate C clusters do not show which clusters
    belong together. Longer walks show it.
    """
    E, values = model.embedding_, model.eigenvalues_[: model.embedding_.shape[1]]
    relative = (values / values[0]).clip(1e-12, 1)
    sizes = np.maximum(np.bincount(labels, weights, C), 1e-300)
    numbers = candidate_numbers(2, max(2, C))[::2]
    centers = []
    for number in numbers:
        longer = max(diffusion_time(model.eigenvalues_, number) - model.diffusion_, 0.0)
        points = unit_rows(E.astype(np.float64) * relative**longer)
        sums = np.zeros((C, points.shape[1]))
        np.add.at(sums, labels, weights[:, None] * points)
        centers.append(sums / sizes[:, None])
    return np.hstack(centers) / np.sqrt(len(numbers))


def _merged(labels: Array, group: Array) -> Array:
    """The groups (n,) to which the clusters `labels` (n,) belong; -1 stays -1."""
    return np.where(labels < 0, np.int32(-1), group[labels])
