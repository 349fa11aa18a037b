"""The share of short walks that stay in the cluster in which they start.

The distances of a row to the centers show how near the row is to a border between two
clusters in the embedding. They do not show whether the row's neighbours are in its
cluster. Short walks from neighbour to neighbour do.
"""

import numpy as np

from akkm.typing import Array

# Number of steps of a walk.
STEPS = 3


def share_of_staying_walks(neighbours: Array, clusters: Array, steps: int) -> Array:
    """For each point, the share of walks that never leave the point's cluster.

    Each step of a walk goes to one of the nearest neighbours. All neighbours are
    equally likely.

    Parameters
    ----------
    neighbours : int array of shape (n, k)
        The nearest other points of each point.
    clusters : int array of shape (n,)
        The cluster of each point.
    steps : int
        Number of steps of a walk.

    Returns
    -------
    float array of shape (n,)
        The shares, from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.diffusion.staying_walks import share_of_staying_walks
    >>> neighbours = np.array([[1, 2], [0, 2], [1, 3], [1, 2]])
    >>> share_of_staying_walks(neighbours, np.array([0, 0, 0, 1]), steps=1)
    array([1. , 1. , 0.5, 0. ])
    """
    shares = np.ones(len(neighbours))
    for _ in range(steps):
        shares = one_step(neighbours, clusters, clusters, shares)
    return shares


def one_step(neighbours: Array, start: Array, clusters: Array, shares: Array) -> Array:
    """Mean (b,) of the shares of neighbours; neighbours in other clusters count as 0.

    `neighbours` (b, k) are indices of points, and `start` (b,) contains the clusters
    that the walks may not leave. `clusters` and `shares` (n,) describe the points.
    """
    total = np.zeros(len(neighbours))
    for column in neighbours.T:
        total += (clusters[column] == start) * shares[column]
    return total / neighbours.shape[1]
