"""Landmarks: the points that span the space in which the cluster centers lie.

The strategies, the number of landmarks and the `Landmarks` record belong here. The
kernel matrix of the landmarks is factored in `akkm.core`, and the clustering is done in
`akkm.approx`.
"""

from akkm.landmarks._pool import Pool, number_of_landmarks, weighted_sample
from akkm.landmarks._scores import squared_column_norms
from akkm.landmarks._select import STRATEGIES, Landmarks, choose, select_landmarks

__all__ = [
    "STRATEGIES",
    "Landmarks",
    "Pool",
    "choose",
    "number_of_landmarks",
    "select_landmarks",
    "squared_column_norms",
    "weighted_sample",
]
