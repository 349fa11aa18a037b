"""Step 1, choose: which points span the space in which the centers live."""

from akkm.landmarks._choose import choose
from akkm.landmarks._pool import Pool, number_of_landmarks, weighted_sample
from akkm.landmarks._scores import squared_column_norms
from akkm.landmarks._select import Landmarks, select_landmarks
from akkm.landmarks._strategies import STRATEGIES

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
