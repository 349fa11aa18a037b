"""partial_fit, for an estimator whose fit is that of approximate kernel k-means."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from akkm.approx import algorithm2 as approximate
from akkm.approx.stream import Reservoir, Stream, match_labels
from akkm.core.threads import Threads
from akkm.estimators._base import CenterClusterer
from akkm.landmarks import Landmarks
from akkm.rows import Rows as StoredRows
from akkm.rows import is_dask

Array = NDArray[Any]

# Rows of the sample that is kept: so many, and per landmark, and per cluster.
_RESERVOIR, _PER_LANDMARK, _PER_CLUSTER = 20_000, 10, 20
# It is clustered anew when so many times as many rows have come as the last time.
_GROWTH = 1.25


class Streaming(CenterClusterer):
    """An estimator that also takes its rows in batches."""

    indefinite: str
    checkpoint: Any
    labels_file: Any
    solver: str
    labels_: Any
    landmarks_: Any
    dual_coef_: Array
    _reservoir: Reservoir
    _stream: Stream
    _due: float

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Cluster rows that come in batches, of which this is the next.

        A sample of all rows so far is kept, and clustered by `fit` at the first batch
        and whenever a quarter as many again have come; clusters keep their numbers. In
        between centers move towards each batch, and what was before fades. Attributes
        are as after `fit`, `labels_` being those of this batch.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (b, d)
            At least `n_clusters` rows, the first time.
        y : ignored
        sample_weight : array of shape (b,), optional

        Returns
        -------
        self

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
        if is_dask(X) or isinstance(X, StoredRows):
            raise TypeError("partial_fit takes batches that are arrays; use fit.")
        if self.checkpoint is not None or self.labels_file is not None:
            raise ValueError(
                "checkpoint= and labels_file= are about all rows of one fit; leave "
                "them out for partial_fit."
            )
        X = self._checked_rows(X, reset=not hasattr(self, "_reservoir"))
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        if not hasattr(self, "_reservoir"):
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            m = 0 if self.n_landmarks == "auto" else self.n_landmarks
            size = max(_RESERVOIR, _PER_LANDMARK * m, _PER_CLUSTER * self.n_clusters)
            self._reservoir = Reservoir(size, np.random.default_rng(seed))
            self._due = 0.0
        elif self._due:
            self.kernel_.check(X)
        self._reservoir.add(X, weights)
        if self._reservoir.seen >= self._due:
            self._start_stream()
            self.labels_ = self.predict(X)
        else:
            with Threads(self.n_jobs) as engine:
                self.labels_ = self._stream.follow(
                    X, weights, self._reservoir.seen, engine
                )
            self._model = self._stream.model()
            self.dual_coef_ = self._stream.centers.alpha
        return self

    def _start_stream(self) -> None:
        """Cluster the sample of all rows so far."""
        sample = self._reservoir
        before = self.predict(sample.rows) if self._due else None
        weights = None if (sample.weights == 1).all() else sample.weights
        self.fit(sample.rows, sample_weight=weights)
        self._reservoir = sample
        labels = self.labels_
        if before is not None:
            labels = match_labels(labels, before, self.n_clusters)
        chosen = Landmarks(self.landmarks_, self.landmarks_, None)
        with Threads(self.n_jobs) as engine:
            factored = approximate.factor(
                sample.rows,
                self.kernel_,
                chosen,
                dtype=sample.rows.dtype,
                indefinite=self.indefinite,
                solver=self.solver,
            )
            self._stream = Stream.of(
                factored,
                labels,
                weights,
                engine,
                n_clusters=self.n_clusters,
                times=sample.seen / sample.rows.shape[0],
            )
        self._model = self._stream.model()
        self.dual_coef_ = self._stream.centers.alpha
        self._due = _GROWTH * sample.seen
