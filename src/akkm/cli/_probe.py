"""Estimate the memory and time of a fit from fits to two samples."""

import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

# Maximum number of members of an ensemble that is tried. The time of an ensemble is
# proportional to the number of members; its memory hardly depends on that number.
_MEMBERS = 2


@dataclass(frozen=True)
class Fit:
    """The cost of one fit."""

    rows: int
    seconds: float
    peak: float  # bytes, without the data and the cache of kernel values


@dataclass(frozen=True)
class Probe:
    """Costs of fits to half a sample and to the whole sample."""

    half: Fit
    whole: Fit
    predict_seconds: float  # per row
    max_cache: float  # bytes

    def memory(self, n: int) -> float:
        """Bytes for n rows, extrapolated linearly from both fits."""
        return self.whole.peak + max(self._slope("peak"), 0) * (n - self.whole.rows)

    def seconds(self, n: int, power: float) -> float:
        """Seconds for n rows; beyond the sample, the time grows like n ** power."""
        ratio = max(n / self.whole.rows, 1)
        if power > 1:
            return self.whole.seconds * ratio**power
        # Every row is assigned to a center at least once.
        slope = max(self._slope("seconds"), self.predict_seconds)
        return self.whole.seconds + slope * self.whole.rows * (ratio - 1)

    def _slope(self, name: str) -> float:
        """How much a cost grows per row."""
        more = getattr(self.whole, name) - getattr(self.half, name)
        return float(more / max(self.whole.rows - self.half.rows, 1))


def probe(estimator: Any, X: Any, n_landmarks: int, n_clusters: int) -> Probe:
    """Measure the costs of fits to a sample X (s, d) and to half of it.

    `n_landmarks` is the number of landmarks for all rows. Afterwards, the estimator is
    fitted to X.
    """
    params = estimator.get_params()
    members = params.get("n_members", _MEMBERS)
    half = np.linspace(0, X.shape[0] - 1, max(X.shape[0] // 2, n_clusters)).astype(int)
    fits = []
    for rows in (X[half], X):
        m = min(n_landmarks, rows.shape[0])
        fewer = {"n_landmarks": m, "n_leaders": m, "n_members": min(members, _MEMBERS)}
        estimator.set_params(**{name: fewer[name] for name in fewer.keys() & params})
        seconds = _timed(estimator.fit, rows) * max(members / _MEMBERS, 1)
        fits.append(Fit(rows.shape[0], seconds, _peak(estimator, rows)))
    per_row = _timed(estimator.predict, X) / X.shape[0]
    half_fit, whole_fit = fits
    return Probe(half_fit, whole_fit, per_row, params.get("cache_size", 0) * 2**20)


def _timed(function: Callable[[Any], Any], X: Any) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    with warnings.catch_warnings(action="ignore"):
        function(X)
    return time.perf_counter() - start


def _peak(estimator: Any, X: Any) -> int:
    """Peak memory that a fit without a cache allocates, in bytes.

    The time is measured by another fit, because tracing allocations slows a fit down.
    """
    uncached = clone(estimator)
    if "cache_size" in uncached.get_params():
        uncached.set_params(cache_size=0)
    tracemalloc.start()
    try:
        _timed(uncached.fit, X)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def process_memory() -> float:
    """Peak memory of this process so far, in bytes; 0 if the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
