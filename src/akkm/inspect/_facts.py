"""All that a page says, as numbers: gathered once, in a few passes over the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.diffusion.estimate_k import Evidence
from akkm.inspect._certainty import Certainty, certainty
from akkm.inspect._features import Features, features, names_for
from akkm.inspect._nearness import Nearness, nearness
from akkm.inspect._quality import (
    Convergence,
    Landmarks,
    Similarity,
    convergence,
    landmarks,
    similarity,
)
from akkm.inspect._sample import Sample, draw
from akkm.inspect._scores import Scores, scores
from akkm.inspect._space import Plane, plane_of
from akkm.inspect._subject import subject
from akkm.inspect._values import Values, values
from akkm.kernels import Precomputed

Array = NDArray[Any]

# Points on the map, columns of the heat map.
MAP_ROWS, _FEATURES = 2_000, 20


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
    certainty: Certainty | None
    features: Features | None
    values: Values | None  # of single rows
    convergence: Convergence | None
    landmarks: Landmarks | None
    similarity: Similarity | None
    scores: Scores | None
    ids: Any
    new_rows: bool  # not those of the fit

    @property
    def clusters(self) -> Array:
        """Numbers of the clusters that have rows."""
        return np.flatnonzero(self.sizes)

    @property
    def evidence(self) -> Evidence | None:
        """What speaks for each number of clusters, if the model has looked."""
        found: Evidence | None = getattr(self.model, "evidence_", None)
        return found if found is not None and len(found.numbers) else None

    @property
    def agreement(self) -> bool:
        """Whether certainty is the agreement of an ensemble's members."""
        return self.certainty is not None and self.certainty.agreement

    def names(self, rows: Array) -> list[str]:
        """What rows are called: their ids, or their numbers."""
        if self.ids is None:
            return [f"row {row:,}" for row in rows]
        picked = (self.ids[int(row)] for row in rows)
        return [str(v.as_py() if hasattr(v, "as_py") else v) for v in picked]


def gather(
    model: Any,
    X: Any,
    *,
    feature_names: Sequence[str] | None = None,
    ids: Any = None,
    labels_true: Any = None,
    records: Callable[[Array], list[dict[str, Any]]] | None = None,
    original: Callable[[Array], list[dict[str, Any]]] | None = None,
    new_rows: bool = False,
) -> Facts:
    """Look at a fitted model and the rows it was fitted to, or new ones.

    `records` gives rows as they were once by their numbers, `original` from themselves.
    """
    new_rows = new_rows or not hasattr(model, "labels_")  # it was read from a file
    model, X = subject(model, X, new_rows=new_rows)
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
    told = None
    # Columns of a kernel matrix are rows once more.
    if not isinstance(model.kernel_, Precomputed):
        told = features(X, labels, names, _FEATURES)
        told = told if len(told.columns) else None
    if original is not None:

        def records(rows: Array) -> list[dict[str, Any]]:
            return original(X[rows])

    return Facts(
        model=model,
        n=n,
        d=d,
        labels=labels,
        sizes=np.bincount(labels, minlength=model._wanted),
        drawn=drawn,
        plane=plane_of(model, X, drawn),
        near=near,
        near_drawn=near_drawn,
        certainty=certainty(model, near),
        features=told,
        values=None if told is None else values(X, told, records),
        convergence=convergence(model),
        landmarks=landmarks(model, X),
        similarity=similarity(model, X, new_rows=new_rows),
        scores=known,
        ids=ids,
        new_rows=new_rows,
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
