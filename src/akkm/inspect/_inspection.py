"""All facts about a fitted model; each is computed on first use."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from akkm.diffusion.estimate_k import Evidence
from akkm.inspect._certainty import Certainty
from akkm.inspect._checks import QualityCheck, quality_checks
from akkm.inspect._columns import (
    ColumnDifferences,
    column_differences,
    column_names,
    readable_name,
)
from akkm.inspect._distances import CenterDistances, center_distances, cluster_sizes
from akkm.inspect._fitted import (
    Sampled,
    at_rows,
    finest_layer,
    fitted_to,
    given_sample,
    read_sample,
    require_fitted,
)
from akkm.inspect._layers import layers_of
from akkm.inspect._pipeline import split_pipeline, table_encoder
from akkm.inspect._plane import MapPlane, project
from akkm.inspect._profiles import ClusterProfiles, cluster_profiles
from akkm.inspect._quality import (
    Convergence,
    KernelSimilarity,
    LandmarkCoverage,
    convergence,
    kernel_similarity,
    landmark_coverage,
)
from akkm.inspect._sample import RowSample, sample_rows
from akkm.inspect._values import (
    Records,
    RowValues,
    columns_of,
    encoded_columns,
    encoded_values,
    most_different,
    original_values,
    texts_of,
    with_texts,
)
from akkm.kernels import Precomputed
from akkm.typing import Array, RowsLike

_MAP_ROWS = 2_000
# Number of rows, and of columns, whose original values describe the clusters.
_PROFILE_ROWS, _PROFILE_COLUMNS = 20_000, 60
# Minimum number of these rows in each cluster.
_PER_CLUSTER = 100


class Inspection:
    """Facts about a fitted model and its rows, each computed on first use.

    Attributes that do not apply to the model are None. Large data sets are sampled:
    distances are computed for as many rows as can be evaluated in about a second, and
    for at least 2,000 rows.

    Parameters
    ----------
    model : fitted estimator of akkm, or scikit-learn Pipeline that ends in one
        The model. It is not changed.
    X : array, data frame or CSR matrix of shape (n, d), optional
        The rows that the model was fitted to; in a pipeline, its untransformed input.
        If X is a Dask collection or comes from `akkm.open_rows`, a random sample of
        20,000 rows is read. Without X, only `labels`, `sizes`, `convergence` and
        `evidence` are available.
    feature_names : sequence of d str, optional
        Names of the columns. Default: those of the data frame that was fitted.
    original : callable, optional
        Function that takes rows of X, of shape (b, d), and returns one dict per row.
        The dict maps column names to the values before encoding.
    encoder : akkm.tables.TableEncoder, optional
        The encoder that made X. It replaces `feature_names` and `original`, and gives
        the units of money, percentages and durations.
    new_rows : bool, default=False
        Whether X contains other rows than those of the fit. If so, their labels are
        predicted. Labels are also predicted if the model was read from a file, because
        such a model has no labels.
    texts : dict, optional
        Column name -> n texts (an array or Arrow array). These columns were not
        clustered, but `profiles` describes clusters by their words.
    rows : int array of shape (s,), optional
        If X is a sample: the numbers of its rows among all rows. The sizes of clusters
        then count all rows, by the model's `labels_`. All other facts describe the
        sample.

    Attributes
    ----------
    model : estimator
        A copy of the model, or of the last step if the model is a pipeline. Its
        `labels_` are the labels of X.
    X : array or CSR matrix of shape (n, d)
        The validated rows; in a pipeline, transformed by its other steps.
    new_rows : bool
        Whether the rows are other rows than those of the fit.
    layers : Layers or None
        The tree of nested layers, and the stability of numbers of clusters; None if the
        model has neither.
    sampled : tuple of (int array of shape (s,), int) or None
        If X is a sample: the numbers of its rows among all rows, and how many rows
        there are in total.

    Raises
    ------
    TypeError
        If the model is not an estimator of akkm.
    ValueError
        If rows or names do not fit the model.

    Examples
    --------
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.inspect import Inspection
    >>> X = [[0.0, 1.0], [1.0, 2.0], [10.0, 1.0], [11.0, 2.0]]
    >>> model = ApproxKernelKMeans(2, random_state=0).fit(X)
    >>> facts = Inspection(model, X, feature_names=["height", "noise"])
    >>> facts.sizes, facts.columns.names
    (array([2, 2]), ('height',))
    >>> [check.name for check in facts.checks if check.grade == "doubt"]
    ['rows_per_cluster', 'widest_column']
    """

    def __init__(
        self,
        model: Any,
        X: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
        original: Callable[[Array], list[dict[str, Any]]] | None = None,
        encoder: Any = None,
        new_rows: bool = False,
        texts: Mapping[str, Any] | None = None,
        rows: Array | None = None,
    ) -> None:
        self._records: Records | None = None
        self._texts = dict(texts or {})
        if isinstance(model, Pipeline):
            encoder = table_encoder(model)
            model, X, feature_names, self._records = split_pipeline(
                model, X, feature_names
            )
        elif encoder is not None:
            feature_names = encoder.feature_names_
            # Sparse rows are shown encoded, because `original` leaves out their zeros.
            dense = encoder.matrix_ is None
            original = partial(encoder.original, filled=False) if dense else None
        self._encoder = encoder
        require_fitted(model)
        self.layers = layers_of(model)
        model = finest_layer(model)
        self.new_rows = new_rows or not hasattr(model, "labels_")
        self.model, self._X = model, None
        self._all_labels: Array | None = None
        self.sampled: Sampled | None = None
        if X is None:
            return
        self._names = column_names(model, feature_names, model.n_features_in_)
        model, X, self.sampled = read_sample(model, X, new_rows=self.new_rows)
        if rows is not None:
            self.sampled = given_sample(model, rows)
        if self.sampled is not None and (rows is not None or not self.new_rows):
            self._all_labels = np.asarray(model.labels_)
            model = at_rows(model, self.sampled.rows)
        self.model, self._X = fitted_to(model, X, new_rows=self.new_rows)
        if original is not None:
            self._records = lambda rows: with_texts(
                original(self.X[rows]), self._texts, rows
            )

    @property
    def X(self) -> RowsLike:
        """The validated rows."""
        if self._X is None:
            raise ValueError("This Inspection has no rows, but needs them. Pass X.")
        return self._X

    @property
    def labels(self) -> Array:
        """Cluster of each row, of shape (n,); -1 for outliers."""
        if not hasattr(self.model, "labels_"):
            raise ValueError(
                f"This {type(self.model).__name__} was read from a file and has no "
                "labels_. Pass X, the rows to be labelled."
            )
        return np.asarray(self.model.labels_)

    @property
    def all_labels(self) -> Array:
        """Labels of all training rows if X is a sample of these, else labels of X."""
        return self.labels if self._all_labels is None else self._all_labels

    @property
    def n_rows(self) -> int:
        """Number of training rows if X is a sample of these, else of rows of X."""
        return len(self.all_labels)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def n_clusters(self) -> int:
        """Number of clusters that was requested, or that the model estimated."""
        return int(self.model._n_clusters)

    @cached_property
    def sizes(self) -> Array:
        """Number of rows of each cluster, of shape (C,); 0 for empty clusters."""
        return cluster_sizes(self.all_labels, self.n_clusters)

    @property
    def n_clustered(self) -> int:
        """Number of rows that belong to a cluster."""
        return int(self.sizes.sum())

    @property
    def n_outliers(self) -> int:
        """Number of rows that the model marked as outliers: they are in no cluster."""
        return self.n_rows - self.n_clustered

    @property
    def clusters(self) -> Array:
        """Numbers of the clusters that have rows."""
        return np.flatnonzero(self.sizes)

    @cached_property
    def convergence(self) -> Convergence | None:
        """Progress of the fit, iteration by iteration."""
        return convergence(self.model)

    @property
    def evidence(self) -> Evidence | None:
        """Evidence for each number of clusters, from the diffusion methods."""
        evidence: Evidence | None = getattr(self.model, "evidence_", None)
        return evidence if evidence is not None and len(evidence.numbers) else None

    @cached_property
    def landmarks(self) -> LandmarkCoverage | None:
        """The landmarks or leaders, and how much of the data they span."""
        return landmark_coverage(self.model, self.X)

    @cached_property
    def similarity(self) -> KernelSimilarity | None:
        """How similar rows are. This shows if the kernel is too narrow or too wide."""
        other = self.new_rows or self.sampled is not None
        return kernel_similarity(self.model, self.X, new_rows=other)

    @cached_property
    def distances(self) -> CenterDistances | None:
        """Distances of rows to their own and the nearest other center; typical rows."""
        return center_distances(self.model, self.X, self.labels)

    @cached_property
    def certainty(self) -> Certainty | None:
        """Certainty of labels, from an ensemble's votes or else from distances."""
        if hasattr(self.model, "agreement_"):
            inside = sample_rows(self.labels, len(self.labels))  # all but outliers
            agreement = np.asarray(self.model.agreement_)[inside.rows]
            return Certainty.from_agreement(inside, agreement)
        if self.distances is None:
            return None
        found = self.distances
        return Certainty(found.sample, found.certainty, found.near_border)

    @cached_property
    def columns(self) -> ColumnDifferences | None:
        """Columns that distinguish clusters; None for precomputed kernels."""
        if isinstance(self.model.kernel_, Precomputed):
            return None
        found = column_differences(self.X, self.labels, self._names)
        return found if found.names else None

    @cached_property
    def profiles(self) -> ClusterProfiles | None:
        """Columns in original units, per cluster; None for precomputed kernels.

        Computed from at most 20,000 rows. If there are many columns, only those that
        differ most between clusters are described.
        """
        if self.columns is None:
            return None
        sample = sample_rows(self.labels, _PROFILE_ROWS, n_per_cluster=_PER_CLUSTER)
        facts: Any = () if self._encoder is None else self._encoder.facts()
        if facts:
            # Missing values that were filled with the mean would distort averages.
            table = self._encoder.original_table(self.X[sample.rows], filled=False)
            read = table.to_pydict()
        elif self._records is not None:
            read = columns_of(self._records(sample.rows))
        else:
            read = encoded_columns(self.X, sample.rows, self.columns, _PROFILE_COLUMNS)
        chosen = most_different(read, self.columns, _PROFILE_COLUMNS)
        chosen |= texts_of(self._texts, sample.rows)
        return cluster_profiles(
            chosen,
            sample,
            self.labels[sample.rows],
            self.n_clusters,
            original=self._records is not None,
            roles={readable_name(f.name): (f.role, f.unit) for f in facts},
        )

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns of text that were not clustered, but describe clusters."""
        return tuple(self._texts)

    @property
    def encodings(self) -> list[str]:
        """How columns were encoded, one sentence per group of columns."""
        lines = [] if self._encoder is None else self._encoder.describe()
        return [line for line in lines if not line.startswith(("left out", "held out"))]

    def row_values(self, n_columns: int = 5) -> RowValues | None:
        """Return a reader of the values of single rows.

        The values are those of the columns that distinguish clusters.

        Parameters
        ----------
        n_columns : int, default=5
            Maximum number of columns.

        Returns
        -------
        RowValues or None
            Values before encoding if these are known. None for precomputed kernels.
        """
        if self.columns is None:
            return None
        if self._records is None:
            return encoded_values(self.X, self.columns, n_columns)
        return original_values(self._records, self.columns, n_columns)

    @cached_property
    def map(self) -> MapPlane:
        """At most 2,000 rows, projected onto the plane of the map.

        The rows are drawn from the sample of `distances`, if `distances` is not None.
        """
        if self.distances is None:
            return self.map_of(sample_rows(self.labels, _MAP_ROWS))
        known = self.distances.sample
        inner = sample_rows(self.distances.labels, _MAP_ROWS)
        weights = inner.weights * known.weights[inner.rows]
        return self.map_of(RowSample(known.rows[inner.rows], weights))

    def map_of(self, sample: RowSample) -> MapPlane:
        """Project rows onto the map's plane.

        If the model has an embedding, PCA of the embedding gives the plane. Otherwise,
        kernel PCA in the span of the model's landmarks gives the plane. If the model
        has no landmarks, the span of leaders or of some rows is used.

        Parameters
        ----------
        sample : RowSample
            The rows to project.

        Returns
        -------
        MapPlane
            Coordinates, and the share of the variance that they show.
        """
        return project(self.model, self.X, sample)

    @cached_property
    def checks(self) -> tuple[QualityCheck, ...]:
        """Checks for common problems, in the order in which to read them."""
        return quality_checks(self)
