"""The rows that landmarks are chosen from, and how many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.core.strip import Rows, Strip
from akkm.core.threads import Threads
from akkm.kernels import Kernel

Array = NDArray[Any]

# n_landmarks="auto": the square root of n, kept between these.
FEWEST, MOST = 256, 2048
# A row that would have no chance has this share of the best one's.
_SLIM = 1e-30


def number_of_landmarks(n_landmarks: int | str, n: int, n_clusters: int) -> int:
    """The number of landmarks m for n rows (of positive weight).

    `"auto"` is the square root of n, at least 256 and at most 2,048, but never fewer
    than four per cluster and never more than n: below 256 the m x m work is nothing
    beside the rest, and above 2,048 it begins to outweigh it.

    Examples
    --------
    >>> from akkm.landmarks import number_of_landmarks
    >>> number_of_landmarks("auto", n=1_000_000, n_clusters=8)
    1000
    >>> number_of_landmarks("auto", n=100, n_clusters=8)
    100
    """
    if n_landmarks == "auto":
        return min(n, max(FEWEST, 4 * n_clusters, min(MOST, round(n**0.5))))
    m = int(n_landmarks)
    if m > n:
        raise ValueError(
            f"n_landmarks={m} is more than the n_samples={n} rows (of positive weight) "
            "they are chosen from; lower n_landmarks or use 'auto'."
        )
    if m < n_clusters:
        raise ValueError(
            f"n_landmarks={m} is less than n_clusters={n_clusters}; centers in the "
            f"span of {m} points can't tell {n_clusters} clusters apart. Raise "
            "n_landmarks."
        )
    return m


@dataclass(frozen=True)
class Pool:
    """Rows, the kernel that compares them, and what weight they have."""

    X: Rows  # (n, d), or a square precomputed kernel matrix
    kernel: Kernel
    weights: Array | None  # (n,)
    engine: Threads

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    def weights_of(self, rows: Array) -> Array:
        """Weights of some rows, ones if there are none: (b,) float64."""
        return np.ones(len(rows)) if self.weights is None else self.weights[rows]

    def diag(self) -> Array:
        """|k(x, x)| of all rows: (n,) float64."""
        return np.abs(self.kernel.diag(self.X))

    def against(self, rows: Array, points: Array) -> Strip:
        """The strip of some rows against other rows, both by index, in float64."""
        Z = self.kernel.select(self.X, points)
        return Strip(self.X, self.kernel, Z, np.float64).subset(rows)

    def some(self, size: int, rng: np.random.Generator) -> Array:
        """At most `size` rows of positive weight, all equally likely, in order."""
        able = (
            np.arange(self.n)
            if self.weights is None
            else np.flatnonzero(self.weights > 0)
        )
        if size >= len(able):
            return able
        return np.sort(rng.choice(able, size, replace=False))


def weighted_sample(chance: Array, m: int, rng: np.random.Generator) -> Array:
    """M distinct positions in `chance` (n,), likely ones first, in order.

    Equal to drawing one after the other without replacement: each position waits for
    an exponential time at the rate of its chance, and the first m count. Positions
    without a chance come last, at random.
    """
    most = chance.max()
    rate = np.maximum(chance / most, _SLIM) if most > 0 else np.ones(len(chance))
    waiting = rng.exponential(size=len(chance)) / rate
    return np.sort(np.argpartition(waiting, m - 1)[:m])
