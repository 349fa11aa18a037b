"""partial_fit for approximate kernel k-means."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from akkm.approx import (
    Factored,
    Reservoir,
    Stream,
    factor,
    leading_coordinates,
    match_labels,
)
from akkm.core.threads import Threads
from akkm.estimators._guided import GuidedClusterer
from akkm.guided.reading import read_known
from akkm.kernels import Precomputed
from akkm.landmarks import Landmarks
from akkm.rows import is_dask, is_rows
from akkm.typing import Array, RowsLike
from akkm.validation import validated_weights

# Minimum number of rows in the sample. With more than 20,000 rows, the initialisation
# uses only a part of them, so clustering the sample again takes less time.
_RESERVOIR = 20_480
# Minimum number of rows in the sample for each landmark.
_PER_LANDMARK = 10
# Minimum number of rows in the sample for each cluster.
_PER_CLUSTER = 20
# When the number of rows has grown by the first factor, the sample's error is compared
# with the error after the last clustering of the sample. When the number has grown by
# the second factor, the sample is clustered again in any case, until it is full.
_CHECKED, _RECLUSTERED = 1.25, 8
# If more than this share of the sample is filled when the next clustering is due, the
# clustering waits until the sample is full.
_PART = 0.125
# The sample is clustered again if its mean error has grown by this factor.
_MISFIT = 1.05
# Number of sampled rows from which the error is computed.
_ERROR_ROWS = 2_000


@dataclass(frozen=True)
class Schedule:
    """When the sample is clustered again."""

    check_at: float  # number of rows so far at which the error is checked
    recluster_at: float  # number of rows so far at which the sample is clustered
    error: float  # mean error of the sample when it was clustered

    def is_due(self, seen: int, error: Callable[[], float]) -> bool:
        """Whether to cluster the sample; `error` computes its present mean error."""
        if seen >= self.recluster_at:
            return True
        # An error that is not known is NaN, which is not below the limit.
        return seen >= self.check_at and not error() <= _MISFIT * self.error


@dataclass(frozen=True)
class Answers:
    """Rows whose class is known, from all batches so far."""

    rows: RowsLike  # (k, d)
    classes: list[Hashable]  # class of each of these rows
    batch_rows: Array  # row numbers of the last rows in their batch

    def extended(self, new: "Answers") -> "Answers":
        """Return these rows and those of a new batch."""
        rows = _stacked(self.rows, new.rows)
        return Answers(rows, [*self.classes, *new.classes], new.batch_rows)


def _stacked(first: RowsLike, second: RowsLike) -> RowsLike:
    """Return the rows of two arrays or CSR matrices as one."""
    if sparse.issparse(first):
        return sparse.csr_array(sparse.vstack([first, second]))
    return np.concatenate([first, second])


class Streaming(GuidedClusterer):
    """Base class that adds `partial_fit` to an estimator."""

    # Known rows of all batches so far, and their labels when they were clustered.
    _answers: Answers | None = None
    _answer_labels: Array
    dual_coef_: Array
    indefinite: str
    landmarks_: RowsLike
    n_landmarks: Any
    # Total weight (C,) of the rows of each cluster so far.
    _counts: Array
    # Number of rows so far.
    _n_rows_seen: int
    checkpoint: Any
    coverage: Any
    labels_file: Any
    solver: str

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        known: Any = None,
    ) -> Self:
        """Cluster rows that arrive in batches; X is the next batch.

        A sample of all rows so far is kept. It is clustered at the first batch, and
        again when the number of rows has grown eightfold, until the sample has its full
        size of about 20,000 rows. Each time the number of rows has grown by a quarter,
        the centers are checked. If they fit the sample worse than before, the sample is
        clustered again. Clusters keep their numbers when the sample is clustered again.
        In between, centers move towards the new rows whenever these are 3 % of all rows
        so far, and older rows lose influence. As long as there are fewer rows than
        `n_landmarks`, all rows are landmarks.

        If the estimator was fitted by `fit`, there is no sample. The kernel and the
        landmarks of the fit are kept, and only the centers move.

        Attributes are set as by `fit`, but `labels_` contains only the labels of this
        batch. If a batch is not valid, the model does not change.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (b, d)
            The batch. The first batch needs at least `n_clusters` rows.
        y : None
            Ignored.
        sample_weight : array of shape (b,), optional
            Weights of the rows.
        known : array of shape (b,) or mapping, optional
            Known classes of rows of this batch, as in `fit`. All known rows of all
            batches are kept, and the sample is clustered again with them. `violated_`
            and `labels_` refer to rows of this batch. After `fit`, known rows can't be
            added.

        Returns
        -------
        object
            The fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from akkm import ApproxKernelKMeans
        >>> rng = np.random.default_rng(0)
        >>> model = ApproxKernelKMeans(2, gamma=1.0, random_state=0)
        >>> for _ in range(10):
        ...     batch = rng.normal(size=(100, 2)) * 0.1 + rng.choice([0, 3], (100, 1))
        ...     model = model.partial_fit(batch)
        >>> sorted(model.predict([[0.0, 0.0], [3.0, 3.0]]).tolist())
        [0, 1]
        """
        if is_dask(X) or is_rows(X):
            raise TypeError(
                f"partial_fit got a {type(X).__name__}; expected a batch as an array. "
                "Use fit."
            )
        if self.n_clusters == "auto":
            raise ValueError(
                "n_clusters='auto' needs all rows at once, but partial_fit gets "
                "batches; give an integer, or use fit."
            )
        if self.coverage != 1:
            raise ValueError(
                f"coverage={self.coverage!r} needs all rows at once, but partial_fit "
                "gets batches; leave out coverage, or use fit."
            )
        if self.checkpoint is not None or self.labels_file is not None:
            raise ValueError(
                "partial_fit does not support checkpoint= and labels_file=, which "
                "refer to all rows of one fit; leave them out."
            )
        if self._is_precomputed():
            raise ValueError(
                "partial_fit got kernel='precomputed', which has no values for rows of "
                "other batches; use fit, or a kernel function."
            )
        with self._unchanged_on_error():
            self._validate_params()
            fitted = hasattr(self, "_model")
            X = self._validated(X, reset=not fitted)
            X = X[:] if is_rows(X) else X  # float16 rows
            weights = validated_weights(sample_weight, X)
            if fitted:
                self._require_as_many_centers()
                self.kernel_.check(X)
            answers = self._read_answers(X, known, fitted)
            if hasattr(self, "_reservoir") or not fitted:
                self._follow_or_recluster(X, weights, answers)
            else:
                self._follow(self._stream_from_fit(X), X, weights)
        return self

    def _require_as_many_centers(self) -> None:
        if self.n_clusters != self._n_features_out:
            raise ValueError(
                f"n_clusters={self.n_clusters}, but partial_fit continues with "
                f"{self._n_features_out} centers; restore n_clusters, or call fit."
            )

    def _read_answers(self, X: RowsLike, known: Any, fitted: bool) -> "Answers | None":
        """Return the known rows of a batch (b, d), or None if there are none."""
        if known is None:
            return None
        rows, classes = read_known(known, X.shape[0])
        if len(rows) and fitted and not hasattr(self, "_reservoir"):
            raise ValueError(
                "partial_fit got known rows after fit, whose rows are not kept; pass "
                "known to fit, or use partial_fit for all batches."
            )
        return Answers(X[rows], classes, rows) if len(rows) else None

    def _follow_or_recluster(
        self, X: RowsLike, weights: Array | None, answers: "Answers | None"
    ) -> None:
        """Move the centers, or cluster the sample again if that is due.

        Clustering is always due if the batch has known rows (`answers`).
        """
        if not hasattr(self, "_reservoir"):
            m = 0 if self.n_landmarks == "auto" else int(self.n_landmarks)
            size = max(_RESERVOIR, _PER_LANDMARK * m, _PER_CLUSTER * self._n_clusters)
            self._reservoir: Reservoir = Reservoir(size, self._generator())
            self._schedule: Schedule | None = None
        sample = self._reservoir = self._reservoir.add(X, weights)
        schedule = self._schedule
        if answers is not None:
            earlier = self._answers
            self._answers = answers if earlier is None else earlier.extended(answers)
            self._cluster_sample(sample)
            self._label_batch(X, answers)
            return
        if schedule is not None and sample.seen < schedule.recluster_at:
            self._follow(self._stream, X, weights)
            if sample.seen >= schedule.check_at:
                schedule = replace(schedule, check_at=_CHECKED * sample.seen)
        due = self._schedule is None or self._schedule.is_due(
            sample.seen, lambda: self._mean_error(sample)
        )
        self._schedule = schedule
        if due:
            self._cluster_sample(sample)
            self.labels_ = self._labels_of(X)

    def _label_batch(self, X: RowsLike, answers: "Answers") -> None:
        """Set `labels_` and `violated_` of a batch X (b, d) with known rows."""
        self.labels_ = self._labels_of(X)
        found = self._answer_labels[-len(answers.batch_rows) :]
        self.labels_[answers.batch_rows] = found
        pairs = zip(found, answers.classes, strict=True)
        wrong = [self.label_names_[label] != name for label, name in pairs]
        self.violated_ = {"known": answers.batch_rows[np.array(wrong)]}

    def _cluster_sample(self, sample: Reservoir) -> None:
        """Cluster the sample of all rows so far, and start a stream from it."""
        rows, weights, guidance = sample.rows, sample.weights, None
        answers = self._answers
        if answers is not None:
            at = range(rows.shape[0], rows.shape[0] + answers.rows.shape[0])
            rows = _stacked(rows, answers.rows)
            weights = np.concatenate([weights, np.ones(len(at))])
            known = dict(zip(at, answers.classes, strict=True))
            guidance = self._read_guidance(rows.shape[0], known, None, None)
            if guidance is not None:
                guidance = replace(guidance, walks=None)  # a stream can't add sums
        before = None if self._schedule is None else self._labels_of(rows)
        equal = (weights == 1).all()
        with self._at_most_landmarks(rows.shape[0]):
            self._cluster_rows(rows, None, None if equal else weights, guidance)
        labels = self.labels_
        if before is not None:
            labels = match_labels(labels, before, self._n_clusters)
            if guidance is not None:
                number = dict(zip(self.labels_.tolist(), labels.tolist(), strict=True))
                names: list[Any] = [None] * self._n_clusters
                for old, new in number.items():
                    names[new] = self.label_names_[old]
                self.label_names_ = names
        if guidance is not None:
            weights = guidance.all_weights(self._n_clusters, weights)
            self._answer_labels = labels[sample.rows.shape[0] :]
        with Threads(self.n_jobs) as engine:
            factored = self._factor_again(rows, rows.dtype)
            stream = Stream.of_sample(
                factored,
                labels,
                None if (weights == 1).all() else weights,
                engine,
                n_clusters=self._n_clusters,
                seen=sample.seen,
            )
        self._set_stream(stream)
        recluster_at = self._next_clustering(sample)
        if self.n_landmarks != "auto" and sample.seen < self.n_landmarks:
            recluster_at = min(recluster_at, max(self.n_landmarks, 2 * sample.seen))
        self._reservoir, self._answers = sample, answers
        self._schedule = Schedule(
            _CHECKED * sample.seen, recluster_at, self._mean_error(sample)
        )

    def _next_clustering(self, sample: Reservoir) -> float:
        """The number of rows at which the sample is clustered again in any case."""
        if sample.rows.shape[0] >= sample.size:
            return np.inf
        growth = _RECLUSTERED * sample.seen
        # If much of the sample is filled by then, wait until it is full.
        return growth if growth < _PART * sample.size else max(growth, sample.size)

    def _labels_of(self, X: RowsLike) -> Array:
        """Return the nearest center (n,) of each valid row."""
        with Threads(self.n_jobs) as engine:
            return self._nearest_centers(X, engine)

    @contextmanager
    def _at_most_landmarks(self, n: int) -> Iterator[None]:
        """Choose at most n landmarks inside the block, as there are only n rows."""
        given = self.n_landmarks
        if given != "auto":
            self.n_landmarks = min(given, n)
        try:
            yield
        finally:
            self.n_landmarks = given

    def _mean_error(self, sample: Reservoir) -> float:
        """Mean squared distance of sampled rows to the nearest center, or NaN."""
        rows = slice(None, None, max(1, sample.rows.shape[0] // _ERROR_ROWS))
        X, weights = sample.rows[rows], sample.weights[rows]
        with Threads(self.n_jobs) as engine:
            blocks = [b.squared.min(axis=1) for b in self._model.compare(X, engine)]
        total = weights.sum()
        return float(weights @ np.concatenate(blocks) / total) if total else np.nan

    def _stream_from_fit(self, X: RowsLike) -> Stream:
        """Return the stream that continues a fit; X (b, d) is its next batch."""
        if hasattr(self, "_stream"):
            return self._stream
        factored = self._factor_again(X[:0], self._model.dtype)
        return Stream.of_centers(
            factored, self.dual_coef_, self._counts, self._n_rows_seen
        )

    def _coordinates(self, X: RowsLike, engine: Threads) -> Array | None:
        if isinstance(self.kernel_, Precomputed):
            return None  # the landmarks are row numbers
        factored = self._factor_again(X, self._model.dtype)
        return leading_coordinates(
            factored.strip, factored.gram, engine, self._n_clusters
        )

    def _factor_again(self, X: RowsLike, dtype: Any) -> Factored:
        """Factor the kernel matrix of the fitted landmarks, for kernel rows of X."""
        return factor(
            X,
            self.kernel_,
            Landmarks(self.landmarks_, self.landmarks_, None),
            dtype=dtype,
            indefinite=self.indefinite,
            solver=self.solver,
        )

    def _follow(self, stream: Stream, X: RowsLike, weights: Array | None) -> None:
        """Move the centers towards the rows of a batch (b, d); set their labels."""
        with Threads(self.n_jobs) as engine:
            stream, labels = stream.follow(X, weights, engine)
        self._set_stream(stream)
        self.labels_ = self._labels_of(X) if labels is None else labels

    def _set_stream(self, stream: Stream) -> None:
        self._stream: Stream = stream
        self._model = stream.model
        self.dual_coef_ = stream.centers.alpha
        self._counts, self._n_rows_seen = stream.counts, stream.seen

    def _start_afresh(self, counts: Array, n: int) -> None:
        """Forget the stream; store a new fit's cluster weights (C,) and row count n."""
        for attribute in ("_reservoir", "_stream", "_schedule", "_answers"):
            self.__dict__.pop(attribute, None)
        self._counts, self._n_rows_seen = counts, n
