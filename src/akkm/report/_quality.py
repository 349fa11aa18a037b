"""How a fit went: iterations, and how much the landmarks see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.engines import Threads
from akkm.estimators import LeadersKernelKMeans
from akkm.kernels import Precomputed, PrecomputedStrip
from akkm.sources import Rows
from akkm.theory import nystroem_error

Array = NDArray[Any]

# Rows that the landmarks' share of the trace is estimated from.
_ROWS = 2_000


@dataclass(frozen=True)
class Convergence:
    """What happened in each iteration, of one run or of several."""

    histories: tuple[Array, ...]  # (t, 2) each: labels changed, rows looked at
    max_iter: int

    @property
    def unsettled(self) -> int:
        """How many runs stopped while labels were still changing."""
        return sum(
            len(h) >= self.max_iter and bool(h[-1, 0] > 0) for h in self.histories
        )


@dataclass(frozen=True)
class Landmarks:
    """The points that centers are made of."""

    what: str  # "landmarks" or "leaders"
    counts: tuple[int, ...]  # one per member of an ensemble
    ranks: tuple[int, ...]  # none, where it is not known
    captured: float | None  # share of tr(K) within their span
    captured_rows: int  # rows that it was computed from
    negative_mass: float | None  # the largest of all members
    threshold: float | None  # of leaders


def convergence(model: Any) -> Convergence | None:
    """Histories of a model, or of an ensemble's members; None without any."""
    runs = getattr(model, "members_", [model])
    histories = [np.asarray(run.history_) for run in runs if hasattr(run, "history_")]
    histories = [history for history in histories if len(history)]
    return Convergence(tuple(histories), model.max_iter) if histories else None


def landmarks(model: Any, X: Rows) -> Landmarks | None:
    """The model's landmarks or leaders; None for exact kernel k-means."""
    if isinstance(model, LeadersKernelKMeans):
        count = len(model.leader_indices_)
        return Landmarks("leaders", (count,), (), None, 0, None, model.threshold_)
    members = getattr(model, "members_", [model])
    if not hasattr(members[0], "landmarks_"):
        return None
    captured, rows = None, 0
    if members[0].kernel is not None:  # of the user's, to judge landmarks by
        captured, rows = _captured(members[0], X, model.n_jobs)
    negative = [m.negative_mass_ for m in members if hasattr(m, "negative_mass_")]
    return Landmarks(
        "landmarks",
        tuple(int(member.landmarks_.shape[0]) for member in members),
        tuple(int(m.rank_) for m in members if hasattr(m, "rank_")),
        captured,
        rows,
        max(negative) if negative else None,
        None,
    )


def _captured(model: Any, X: Rows, n_jobs: int | None) -> tuple[float | None, int]:
    """Share of the squared lengths of rows in the landmarks' span, and of how many."""
    if isinstance(model.kernel_, PrecomputedStrip):
        return None, 0
    n = X.shape[0]
    if n > _ROWS and not isinstance(model.kernel_, Precomputed):
        X = X[np.sort(np.random.default_rng(0).choice(n, _ROWS, replace=False))]
    n_threads = Threads(n_jobs).n_threads
    # On a busy machine threads of BLAS would wait for one another.
    with Threads(1):
        error = nystroem_error(model, X, n_rows=1, random_state=0, n_jobs=n_threads)
    return float(np.clip(1 - error.relative_trace, 0, 1)), X.shape[0]
