"""How a fit went: iterations, and how much the landmarks see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.core.strip import Rows, Strip
from akkm.core.threads import Threads
from akkm.estimators import LeadersKernelKMeans
from akkm.kernels import Precomputed, PrecomputedStrip
from akkm.theory import nystroem_error

Array = NDArray[Any]

# Rows that the landmarks' share of the trace is estimated from.
_ROWS = 2_000
# Rows whose similarity is looked at, and points that they are compared with at most.
_SOME, _POINTS = 500, 10_000
# With fewer rows nothing can be said.
_FEW = 20


@dataclass(frozen=True)
class Convergence:
    """What happened in each iteration, of one run or of several."""

    histories: tuple[Array, ...]  # (t, 2) each: labels changed, rows looked at
    max_iter: int
    restarts: int  # runs on samples before, of which the best was the start; 0: none

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


@dataclass(frozen=True)
class Similarity:
    """How alike rows are to a kernel for which equal rows are at 1."""

    nearest: float  # median, over rows, of the greatest similarity to a landmark
    pairs: float  # median over rows and landmarks
    least: float  # all but 5 % of these are more alike


def convergence(model: Any) -> Convergence | None:
    """Histories of a model, or of an ensemble's members; None without any."""
    runs = getattr(model, "members_", [model])
    histories = [np.asarray(run.history_) for run in runs if hasattr(run, "history_")]
    histories = [history for history in histories if len(history)]
    if not histories:
        return None
    init = getattr(model, "init", None)
    sampled = isinstance(init, str) and init == "k-means++"
    restarts = model._restarts(init) if sampled else 0
    return Convergence(tuple(histories), model.max_iter, restarts)


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


def similarity(model: Any, X: Rows, *, new_rows: bool = False) -> Similarity | None:
    """Some rows against the landmarks, or leaders, or other rows, but not themselves.

    None for methods without a kernel of the user's, for kernels for which rows have
    lengths of their own, and for very few rows.
    """
    seen = getattr(model, "members_", [model])[0]
    kernel, n = seen.kernel_, X.shape[0]
    if seen.kernel is None or isinstance(kernel, PrecomputedStrip) or n < _FEW:
        return None
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(n, min(n, _SOME), replace=False))
    diag = kernel.diag(X if isinstance(kernel, Precomputed) else X[rows])
    if not diag.min() > 0 or np.ptp(diag) > 1e-6 * diag.max():
        return None
    points, numbers = _points(seen, X, rng, new_rows)
    if points.shape[0] < 2:
        return None
    with Threads(1):
        K = Strip(X, kernel, points, np.float64).precise(X[rows]) / diag[0]
    if numbers is not None:
        K[rows[:, None] == numbers] = np.nan  # a row and itself
    return Similarity(
        float(np.median(np.nanmax(K, axis=1))),
        float(np.nanmedian(K)),
        float(np.nanquantile(K, 0.05)),
    )


def _points(
    model: Any, X: Rows, rng: np.random.Generator, new_rows: bool
) -> tuple[Rows, Array | None]:
    """What rows are compared with (p, d), and which rows of X these are, if known."""
    indices: Any = getattr(model, "landmark_indices_", None)
    if indices is None:
        indices = getattr(model, "leader_indices_", None)
    points: Any = getattr(model, "landmarks_", getattr(model, "leaders_", None))
    if points is not None:
        return points, None if new_rows else indices
    n = X.shape[0]
    drawn = np.sort(rng.choice(n, min(n, _POINTS), replace=False))
    return model.kernel_.select(X, drawn), drawn
