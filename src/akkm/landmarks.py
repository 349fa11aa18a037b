"""Step 1, choose: which points span the space in which the centers live."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# n_landmarks="auto": the square root of n, kept between these.
FEWEST, MOST = 256, 2048


def count(n_landmarks: int | str, n: int, n_clusters: int) -> int:
    """The number of landmarks m for n rows (of positive weight).

    `"auto"` is the square root of n, at least 256 and at most 2,048, but never fewer
    than four per cluster and never more than n: below 256 the m x m work is nothing
    beside the rest, and above 2,048 it begins to outweigh it.

    Examples
    --------
    >>> from akkm.landmarks import count
    >>> count("auto", n=1_000_000, n_clusters=8)
    1000
    >>> count("auto", n=100, n_clusters=8)
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


def uniform(n: int, m: int, weights: Array | None, rng: np.random.Generator) -> Array:
    """M distinct row numbers out of n, in order; chance in proportion to weight."""
    chance = None if weights is None else weights / weights.sum()
    return np.sort(rng.choice(n, size=m, replace=False, p=chance))


Strategy = Callable[[int, int, "Array | None", np.random.Generator], Array]
STRATEGIES: dict[str, Strategy] = {"uniform": uniform}


def strategy(name: str) -> Strategy:
    """The strategy of that name."""
    if name not in STRATEGIES:
        raise ValueError(
            f"Unknown landmark strategy {name!r}; expected one of "
            f"{', '.join(STRATEGIES)}, an array of row indices, or an array of points."
        )
    return STRATEGIES[name]
