"""Clusters of points in an embedding, for steps before the clustering of the fit."""

import numpy as np

from akkm.approx import kmeans_problem, solve
from akkm.core.threads import Threads
from akkm.typing import Array

# Runs and iterations of k-means.
_RUNS, _ITERATIONS = 2, 100


def cluster_points(
    points: Array, n_clusters: int, engine: Threads, rng: np.random.Generator
) -> Array:
    """Return the clusters (n,) of points (n, q) by k-means.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.core.threads import Threads
    >>> from akkm.diffusion.point_clusters import cluster_points
    >>> points = np.array([[0.0, 0.1], [0.1, 0.0], [5.0, 5.1], [5.1, 5.0]])
    >>> with Threads(1) as engine:
    ...     labels = cluster_points(points, 2, engine, np.random.default_rng(0))
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    solution = solve(
        kmeans_problem(points),
        engine,
        n_clusters=n_clusters,
        init="k-means++",
        n_init=_RUNS,
        max_iter=_ITERATIONS,
        weights=None,
        cache_bytes=0,
        rng=rng,
    )
    return np.asarray(solution.labels)
