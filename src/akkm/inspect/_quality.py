"""Quality of a fit: convergence, coverage by the landmarks, width of the kernel."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.kernels import Precomputed, PrecomputedStrip
from akkm.theory import nystroem_error
from akkm.typing import Array, RowsLike

# The share of the kernel matrix's trace that lies in the landmarks' span is estimated
# from this many rows.
_TRACE_ROWS = 2_000
# Number of rows whose similarity to landmarks or other rows is computed.
_SIMILARITY_ROWS = 500
# If there are no landmarks: maximum number of other rows to compare these rows with.
_SIMILARITY_POINTS = 10_000
# With fewer rows than this, similarities say nothing about the kernel's width.
_MIN_ROWS = 20


@dataclass(frozen=True)
class Convergence:
    """Changes in each iteration of one run, or of each member of an ensemble.

    Parameters
    ----------
    histories : tuple of int arrays of shape (n_iter, 2)
        For each run and iteration: number of changed labels, number of evaluated rows.
    max_iter : int
        Limit on the number of iterations.
    n_restarts : int
        Number of runs from which the initial labels were chosen. 0 if the initial
        labels were given or random.

    Examples
    --------
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.inspect import Inspection
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> model = ApproxKernelKMeans(2, kernel="linear", random_state=0).fit(X)
    >>> found = Inspection(model).convergence
    >>> len(found.histories), found.n_stopped
    (1, 0)
    """

    histories: tuple[Array, ...]
    max_iter: int
    n_restarts: int

    @property
    def n_stopped(self) -> int:
        """Number of runs that stopped at max_iter while labels were still changing."""
        return sum(
            len(h) >= self.max_iter and bool(h[-1, 0] > 0) for h in self.histories
        )


@dataclass(frozen=True)
class LandmarkCoverage:
    """Landmarks or leaders of a model, and how much of the data they span.

    Parameters
    ----------
    kind : {"landmarks", "leaders"}
        Whether the model has landmarks or leaders.
    counts : tuple of int
        Number of landmarks or leaders; one entry per member of an ensemble.
    ranks : tuple of int
        Dimension of their span, if the estimator stores it; one entry per member.
    captured : float or None
        Share of the trace of the kernel matrix that lies in their span, for the first
        member of an ensemble. None if it is unknown.
    n_rows : int
        Number of rows from which `captured` was estimated.
    negative_mass : float or None
        Share of the negative eigenvalues in the sum of all absolute eigenvalues; the
        maximum over members.
    threshold : float or None
        Largest distance of a row to the leader that represents it.

    Examples
    --------
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.inspect import Inspection
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> model = ApproxKernelKMeans(2, kernel="linear", random_state=0).fit(X)
    >>> found = Inspection(model, X).landmarks
    >>> found.counts, round(found.captured, 3)
    ((4,), 1.0)
    """

    kind: str
    counts: tuple[int, ...]
    ranks: tuple[int, ...] = ()
    captured: float | None = None
    n_rows: int = 0
    negative_mass: float | None = None
    threshold: float | None = None


@dataclass(frozen=True)
class KernelSimilarity:
    """Similarities of rows to landmarks, scaled so that k(x, x) = 1.

    They are computed only if k(x, x) is the same for all rows. If the model has no
    landmarks, rows are compared with leaders or with other rows.

    Parameters
    ----------
    nearest : float
        Median over rows of the similarity to the most similar landmark.
    typical : float
        Median similarity over all pairs of a row and a landmark.
    low : float
        The 5 % quantile of the similarity over the same pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.inspect import Inspection
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = ApproxKernelKMeans(2, gamma=1e-9, random_state=0).fit(X)
    >>> bool(Inspection(model, X).similarity.low > 0.99)  # the kernel is too wide
    True
    """

    nearest: float
    typical: float
    low: float


def convergence(model: Any) -> Convergence | None:
    """Convergence of a model or of its members; None if they have no history."""
    runs = getattr(model, "members_", [model])
    histories = [np.asarray(run.history_) for run in runs if hasattr(run, "history_")]
    histories = [history for history in histories if len(history)]
    if not histories:
        return None
    init = getattr(model, "init", None)
    sampled = isinstance(init, str) and init == "k-means++"
    n_restarts = model._n_runs(init) if sampled else 0
    return Convergence(tuple(histories), runs[0].max_iter, n_restarts)


def landmark_coverage(model: Any, X: RowsLike) -> LandmarkCoverage | None:
    """The model's landmarks or leaders; None for exact kernel k-means."""
    if hasattr(model, "leader_indices_"):
        count = len(model.leader_indices_)
        return LandmarkCoverage("leaders", (count,), threshold=model.threshold_)
    members = getattr(model, "members_", [model])
    if not hasattr(members[0], "landmarks_"):
        return None
    captured, n_rows = None, 0
    if members[0].kernel is not None:  # else the method has its own kernel
        captured, n_rows = _captured(members[0], X, model.n_jobs)
    negative = [m.negative_mass_ for m in members if hasattr(m, "negative_mass_")]
    return LandmarkCoverage(
        "landmarks",
        tuple(int(member.landmarks_.shape[0]) for member in members),
        tuple(int(m.rank_) for m in members if hasattr(m, "rank_")),
        captured,
        n_rows,
        max(negative, default=None),
    )


def _captured(model: Any, X: RowsLike, n_jobs: int | None) -> tuple[float | None, int]:
    """Share of tr(K) in the landmarks' span, and the number of rows used."""
    if isinstance(model.kernel_, PrecomputedStrip):
        return None, 0
    if not isinstance(model.kernel_, Precomputed):
        n, rng = X.shape[0], np.random.default_rng(0)
        X = X[np.sort(rng.choice(n, min(n, _TRACE_ROWS), replace=False))]
    n_threads = Threads(n_jobs).n_threads
    # Only BLAS is limited to one thread: on a busy machine, its threads would wait for
    # one another. `nystroem_error` still uses `n_threads`.
    with Threads(1):
        error = nystroem_error(model, X, n_rows=1, random_state=0, n_jobs=n_threads)
    return float(np.clip(1 - error.relative_trace, 0, 1)), X.shape[0]


def kernel_similarity(
    model: Any, X: RowsLike, *, new_rows: bool = False
) -> KernelSimilarity | None:
    """Compare some rows with the landmarks, leaders or other rows.

    Returns None if the method has no kernel parameter, if k(x, x) is unknown or not
    constant, or if there are very few rows.
    """
    model = getattr(model, "members_", [model])[0]
    kernel, n = model.kernel_, X.shape[0]
    if model.kernel is None or isinstance(kernel, PrecomputedStrip) or n < _MIN_ROWS:
        return None
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(n, min(n, _SIMILARITY_ROWS), replace=False))
    diag = kernel.diag(X if isinstance(kernel, Precomputed) else X[rows])
    if not diag.min() > 0 or np.ptp(diag) > 1e-6 * diag.max():
        return None
    points: Any = getattr(model, "landmarks_", getattr(model, "leaders_", None))
    numbers: Any = getattr(model, "landmark_indices_", None)
    if points is None:
        numbers = np.sort(rng.choice(n, min(n, _SIMILARITY_POINTS), replace=False))
        points = kernel.select(X, numbers)
    elif new_rows:
        numbers = None
    elif numbers is None:
        numbers = getattr(model, "leader_indices_", None)
    if points.shape[0] < 2:
        return None
    with Threads(1):
        K = Strip(X, kernel, points, np.float64).kernel_rows(X[rows]) / diag[0]
    if numbers is not None:
        K[rows[:, None] == numbers] = np.nan  # a row compared with itself
    return KernelSimilarity(
        float(np.median(np.nanmax(K, axis=1))),
        float(np.nanmedian(K)),
        float(np.nanquantile(K, 0.05)),
    )
