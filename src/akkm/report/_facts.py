"""All that a page says, as numbers: gathered once, in a few passes over the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from akkm.estimators._base import KernelClusterer
from akkm.kernels import Precomputed
from akkm.report._features import Features, features, names_for, values
from akkm.report._nearness import Nearness, nearness
from akkm.report._quality import Convergence, Landmarks, convergence, landmarks
from akkm.report._sample import Sample, draw
from akkm.report._scores import Scores, scores
from akkm.report._space import Plane, plane_of
from akkm.sources import Rows

Array = NDArray[Any]

# Points on the map, columns of the heat map, columns shown of a single row.
MAP_ROWS, _FEATURES, SHOWN = 2_000, 20, 5


@dataclass(frozen=True)
class Facts:
    """A clustering, looked at from all sides; None where there is nothing to see."""

    model: Any
    n: int
    d: int
    labels: Array  # (n,)
    sizes: Array  # (C,) zero for clusters that got lost
    drawn: Sample  # rows on the map
    plane: Plane
    near: Nearness | None
    near_drawn: Array | None  # places of the drawn rows in near's sample
    certainty: Array | None  # of the compared rows, or the ensemble's agreement (n,)
    certainty_weights: Array | None
    features: Features | None
    convergence: Convergence | None
    landmarks: Landmarks | None
    scores: Scores | None
    ids: Any
    X: Rows

    @property
    def clusters(self) -> Array:
        """Numbers of the clusters that have rows."""
        return np.flatnonzero(self.sizes)

    @property
    def agreement(self) -> bool:
        """Whether certainty is the agreement of an ensemble's members."""
        return hasattr(self.model, "agreement_")

    def values(self, rows: Array) -> Array:
        """The most telling columns of some rows: (b, at most 5)."""
        assert self.features is not None
        return values(self.X, rows, self.features.columns[:SHOWN])

    def names(self, rows: Array) -> list[str]:
        """What rows are called: their ids, or their numbers."""
        if self.ids is None:
            return [f"row {row:,}" for row in rows]
        picked = (self.ids[int(row)] for row in rows)
        return [str(v.as_py() if hasattr(v, "as_py") else v) for v in picked]


def checked_model(model: Any) -> Any:
    """A fitted estimator of akkm."""
    if not isinstance(model, KernelClusterer):
        raise TypeError(
            f"model is a {type(model).__name__}; expected a fitted estimator of akkm, "
            "such as ApproxKernelKMeans."
        )
    check_is_fitted(model)
    return model


def checked_rows(model: Any, X: Any) -> Rows:
    """Rows that a fitted model of akkm was fitted to."""
    checked_model(model)
    # Of spectral clustering too: its own would embed the rows.
    X = KernelClusterer._new_rows(model, X)
    if X.shape[0] != len(model.labels_):
        fitted = len(model.labels_)
        raise ValueError(
            f"X has {X.shape[0]:,} rows, but the model was fitted to {fitted:,}; give "
            "the rows that it was fitted to."
        )
    return X


def gather(
    model: Any,
    X: Any,
    *,
    feature_names: Sequence[str] | None = None,
    ids: Any = None,
    labels_true: Any = None,
) -> Facts:
    """Look at a fitted model and the rows it was fitted to."""
    X = checked_rows(model, X)
    n, d = X.shape
    ids = _checked_ids(ids, n)
    names = names_for(model, feature_names, d)
    labels = np.asarray(model.labels_)
    known = scores(labels_true, labels) if labels_true is not None else None
    near = nearness(model, X, labels)
    if near is None:
        drawn, near_drawn = draw(labels, most=MAP_ROWS), None
    else:
        # Rows whose distances are known.
        inner = draw(labels[near.sample.rows], most=MAP_ROWS)
        drawn, near_drawn = inner.of(near.sample), inner.rows
    certainty = weights = None
    if hasattr(model, "agreement_"):
        certainty, weights = model.agreement_, np.ones(n)
    elif near is not None:
        certainty, weights = near.certainty, near.sample.weights
    told = None
    # Columns of a kernel matrix are rows once more.
    if not isinstance(model.kernel_, Precomputed):
        told = features(X, labels, names, _FEATURES)
    return Facts(
        model=model,
        n=n,
        d=d,
        labels=labels,
        sizes=np.bincount(labels, minlength=model.n_clusters),
        drawn=drawn,
        plane=plane_of(model, X, drawn),
        near=near,
        near_drawn=near_drawn,
        certainty=certainty,
        certainty_weights=weights,
        features=told if told is not None and len(told.columns) else None,
        convergence=convergence(model),
        landmarks=landmarks(model, X),
        scores=known,
        ids=ids,
        X=X,
    )


def _checked_ids(ids: Any, n: int) -> Any:
    if ids is None:
        return None
    if hasattr(ids, "iloc"):  # a pandas series goes by its index otherwise
        ids = ids.to_numpy()
    if len(ids) != n:
        raise ValueError(
            f"ids has {len(ids)} entries, but X has {n} rows; give one each."
        )
    return ids
