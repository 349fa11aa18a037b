"""Estimate the memory and time of a fit from fits to two samples."""

import os
import re
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from akkm.cli._labels import BATCH_ROWS, label_batches, write_batches
from akkm.estimators import ClusterLayers

# The time of an ensemble is measured with this many members. It is proportional to the
# number of members.
_FEW_MEMBERS = 2
# The memory of an ensemble is measured twice: with _FEW_MEMBERS and with _MORE_MEMBERS
# members. It is a linear function of the number of members.
_MORE_MEMBERS = 4
# With more rows than the sample has, another step of the fit may need the most memory,
# and its memory may grow faster. So the measured growth per row is multiplied by
# _STEEPER, and _MORE_BYTES are added.
_STEEPER = 2
_MORE_BYTES = 32


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
    label_seconds: float = 0.0  # per row
    first_seconds: float = 0.0  # to load libraries that only a fit needs
    resident: float = 0.0  # peak memory of this process with the whole sample, bytes
    max_cache: float = 0.0  # limit on cached kernel values, bytes
    # Seconds to choose the number of clusters of the sample; None if it is given.
    choosing_seconds: float | None = None
    choosing_grows: bool = False  # whether choosing takes longer for more rows

    def growth(self, n: int) -> float:
        """Upper bound on the extra bytes of a fit to n rows instead of the sample."""
        per_row = _STEEPER * max(self._slope("peak"), 0) + _MORE_BYTES
        return per_row * max(n - self.whole.rows, 0)

    def seconds(self, n: int, power: float) -> float:
        """Seconds for n rows, with a given number of clusters.

        Beyond the sample, the time grows like n ** power.
        """
        ratio = max(n / self.whole.rows, 1)
        if power > 1:
            return self.first_seconds + self.whole.seconds * ratio**power
        # At least the time of a prediction: every row is assigned at least once.
        slope = max(self._slope("seconds"), self.predict_seconds)
        more = slope * self.whole.rows * (ratio - 1)
        return self.first_seconds + self.whole.seconds + more

    def seconds_to_choose(self, n: int) -> float:
        """Seconds to choose the number of clusters of n rows; 0 if it is given."""
        ratio = max(n / self.whole.rows, 1) if self.choosing_grows else 1
        return (self.choosing_seconds or 0.0) * ratio

    def _slope(self, name: str) -> float:
        """How much a cost grows per row."""
        more = getattr(self.whole, name) - getattr(self.half, name)
        return float(more / max(self.whole.rows - self.half.rows, 1))


def probe(
    estimator: Any,
    X: Any,
    n: int,
    landmarks: Callable[[int], int],
    n_clusters: int,
    *,
    fitted: bool,
    choosing: Any = None,
    choosing_grows: bool = False,
) -> Probe:
    """Measure the costs of fits to a sample X (s, d) and to half of it.

    `n` is the number of all rows, and `landmarks` returns the number of landmarks for
    all rows, given the number of clusters. `fitted` says whether all rows will be
    fitted; otherwise most labels will be predicted. Afterwards, the estimator is fitted
    to X.

    `choosing` is an estimator that chooses the number of clusters. Choosing takes
    longer than a fit with a given number. So `choosing` is fitted once, and the other
    fits get the number that it finds. If `choosing_grows`, the estimate of the number
    needs more time and memory for more rows. `ClusterLayers` needs more memory, too.
    """
    params = estimator.get_params()
    members = params.get("n_members", 1)
    few = min(members, _FEW_MEMBERS)
    if choosing is not None:
        choosing_seconds = _timed(_adapted(choosing, n_members=few).fit, X)
        n_clusters = choosing.n_clusters_
        estimator.set_params(n_clusters=n_clusters)
    half = np.linspace(0, X.shape[0] - 1, max(X.shape[0] // 2, n_clusters)).astype(int)
    samples = X[half], X
    n_landmarks = landmarks(n_clusters)

    def adapted(rows: Any, members: int, **settings: Any) -> Any:
        m = min(n_landmarks, rows.shape[0])
        settings |= {"n_landmarks": m, "n_leaders": m, "n_members": members}
        return _adapted(estimator, **settings)

    def uncached(rows: Any, members: int) -> Any:
        return clone(adapted(rows, members, cache_size=0))

    first = 0.0
    if choosing is None:  # otherwise, libraries have been loaded
        first = _timed(uncached(samples[0], few).fit, samples[0])
    peaks = []
    for rows in samples:
        model = uncached(rows, few)
        if choosing_grows or isinstance(choosing, ClusterLayers):
            model = clone(choosing)
        peak = _peak(model, rows)
        if members > few:
            more = min(members, _MORE_MEMBERS)
            other = _peak(uncached(rows, more), rows)
            peak += (members - few) / (more - few) * max(other - peak, 0)
        peaks.append(peak)
    _write_labels(model, X[np.arange(min(n, BATCH_ROWS)) % X.shape[0]], fitted=False)
    resident = process_memory()
    estimator.set_params(**{k: v for k, v in params.items() if k == "cache_size"})
    times = [_timed(adapted(rows, few).fit, rows) for rows in samples]
    extra = None if choosing is None else max(choosing_seconds - times[1], 0)
    half_fit, whole_fit = (
        Fit(rows.shape[0], seconds * members / few, peak)
        for rows, seconds, peak in zip(samples, times, peaks, strict=True)
    )
    return Probe(
        half_fit,
        whole_fit,
        predict_seconds=_timed(estimator.predict, X) / X.shape[0],
        label_seconds=_timed(lambda X: _write_labels(estimator, X, fitted=fitted), X)
        / X.shape[0],
        first_seconds=max(first - times[0], 0),
        resident=resident,
        max_cache=params.get("cache_size", 0) * 2**20,
        choosing_seconds=extra,
        choosing_grows=choosing_grows,
    )


def _adapted(estimator: Any, **settings: Any) -> Any:
    """Set those of the settings that the estimator has, and return it."""
    names = settings.keys() & estimator.get_params()
    return estimator.set_params(**{name: settings[name] for name in names})


def _timed(function: Callable[[Any], Any], X: Any) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    with warnings.catch_warnings(action="ignore"):
        function(X)
    return time.perf_counter() - start


def _peak(estimator: Any, X: Any) -> float:
    """Peak number of bytes that a fit allocates.

    The time is measured by another fit, because tracing allocations slows a fit down.
    """
    tracemalloc.start()
    try:
        _timed(estimator.fit, X)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _write_labels(estimator: Any, X: Any, *, fitted: bool) -> None:
    """Do the work of --labels without keeping the file."""
    batches = label_batches(estimator, X, "row", np.arange(X.shape[0]), fitted=fitted)
    with open(os.devnull, "wb") as file:
        for _ in write_batches(batches, file, "labels.parquet"):
            pass


def process_memory() -> float:
    """Peak memory of this process so far, in bytes; 0 if it is unknown."""
    try:  # Linux, where getrusage may return the value of the parent process
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            if found := re.search(r"VmHWM:\s+(\d+) kB", file.read()):
                return 1024.0 * int(found[1])
    except OSError:
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
