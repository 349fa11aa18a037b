"""Select landmarks: by the name of a strategy, as row indices, or as points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.core.strip import Rows
from akkm.core.threads import Threads
from akkm.kernels import Kernel
from akkm.landmarks._pool import Pool, number_of_landmarks
from akkm.landmarks._strategies import strategy
from akkm.rows.contract import Stored, sampled

Array = NDArray[Any]

# Candidates per landmark, if the rows are not in memory.
_CANDIDATES = 50


@dataclass(frozen=True)
class Landmarks:
    """The points that span the centers."""

    points: Rows  # (m, d), or column numbers of a precomputed kernel
    rows: Rows  # (m, d), as rows of data
    indices: Array | None  # (m,) their row numbers, if they are rows of X

    @property
    def attribute(self) -> Rows:
        """The value of `landmarks_`: points, or indices for a precomputed kernel."""
        return self.indices if self.points.ndim == 1 else self.points


def select_landmarks(
    X: Rows,
    kernel: Kernel,
    engine: Threads,
    *,
    given: str | Rows,
    n_landmarks: int | str,
    n_clusters: int,
    weights: Array | None,
    rng: np.random.Generator,
) -> Landmarks:
    """Landmarks by a strategy's name, as row indices, or as points."""
    if isinstance(given, str):
        select = strategy(given)
        available = X.shape[0] if weights is None else int((weights > 0).sum())
        m = number_of_landmarks(n_landmarks, available, n_clusters)
        # Its own stream: later steps don't depend on how many numbers it draws.
        own_rng = rng.spawn(1)[0]
        if isinstance(X, Stored) and given != "uniform":
            among: Any = X.shape[0] if weights is None else np.flatnonzero(weights > 0)
            size = min(_CANDIDATES * m, available)
            sample = np.sort(own_rng.choice(among, size, replace=False))
            sample_weights = None if weights is None else weights[sample]
            rows = X.gather(sample)
            taken = select(Pool(rows, kernel, sample_weights, engine), m, own_rng)
            return Landmarks(rows[taken], rows[taken], sample[taken])
        given = select(Pool(X, kernel, weights, engine), m, own_rng)
    if given.ndim == 1:
        rows = sampled(X, given)
        points = rows if isinstance(X, Stored) else kernel.select(X, given)
        return Landmarks(points, rows, given)
    return Landmarks(given, given, None)
