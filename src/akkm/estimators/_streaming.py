"""partial_fit for approximate kernel k-means."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from akkm.approx import Reservoir, Stream, factor, match_labels
from akkm.core.threads import Threads
from akkm.estimators._centers import CenterClusterer
from akkm.landmarks import Landmarks
from akkm.rows import is_dask, is_rows
from akkm.validation import validated_weights

# The sample has at least this many rows in total, per landmark and per cluster.
_RESERVOIR, _PER_LANDMARK, _PER_CLUSTER = 20_000, 10, 20
# The sample is clustered again when the number of rows has grown by this factor.
_GROWTH = 1.25


class Streaming(CenterClusterer):
    """Adds `partial_fit` to an estimator."""

    indefinite: str
    checkpoint: Any
    labels_file: Any
    solver: str

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Cluster rows that arrive in batches; X is the next batch.

        A sample of all rows so far is kept. `fit` clusters it at the first batch, and
        whenever the number of rows has grown by a quarter. Clusters keep their numbers.
        In between, centers move towards the rows of each batch, and older rows lose
        influence. Attributes are set as by `fit`, but `labels_` are those of this
        batch.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (b, d)
            The batch; the first one needs at least `n_clusters` rows.
        y : None
            Ignored.
        sample_weight : array of shape (b,), optional
            Weights of the rows.

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
        if self.checkpoint is not None or self.labels_file is not None:
            raise ValueError(
                "partial_fit does not support checkpoint= and labels_file=, which "
                "refer to all rows of one fit; leave them out."
            )
        first = not hasattr(self, "_reservoir")
        X = self._validated(X, reset=first)
        weights = validated_weights(sample_weight, X)
        if first:
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            m = 0 if self.n_landmarks == "auto" else self.n_landmarks
            size = max(_RESERVOIR, _PER_LANDMARK * m, _PER_CLUSTER * self.n_clusters)
            self._reservoir: Reservoir = Reservoir(size, np.random.default_rng(seed))
            self._refit_at: float = 0.0
        elif self._refit_at:
            self.kernel_.check(X)
        self._reservoir.add(X, weights)
        if self._reservoir.seen >= self._refit_at:
            self._cluster_sample()
            self.labels_ = self.predict(X)
        else:
            with Threads(self.n_jobs) as engine:
                self.labels_ = self._stream.follow(
                    X, weights, self._reservoir.seen, engine
                )
            self._follow_stream()
        return self

    def _cluster_sample(self) -> None:
        """Cluster the sample of all rows so far, and restart the stream from it."""
        sample = self._reservoir
        before = self.predict(sample.rows) if self._refit_at else None
        weights = None if (sample.weights == 1).all() else sample.weights
        self.fit(sample.rows, sample_weight=weights)
        self._reservoir = sample
        labels = self.labels_
        if before is not None:
            labels = match_labels(labels, before, self.n_clusters)
        with Threads(self.n_jobs) as engine:
            factored = factor(
                sample.rows,
                self.kernel_,
                Landmarks(self.landmarks_, self.landmarks_, None),
                dtype=sample.rows.dtype,
                indefinite=self.indefinite,
                solver=self.solver,
            )
            self._stream: Stream = Stream.of(
                factored,
                labels,
                weights,
                engine,
                n_clusters=self.n_clusters,
                times=sample.seen / sample.rows.shape[0],
            )
        self._follow_stream()
        self._refit_at = _GROWTH * sample.seen

    def _follow_stream(self) -> None:
        self._model = self._stream.model()
        self.dual_coef_ = self._stream.centers.alpha

    def _end_stream(self) -> None:
        """Forget the stream, if there is one: `fit` starts afresh."""
        self.__dict__.pop("_reservoir", None)
