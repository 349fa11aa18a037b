"""Algorithm 2 end to end: factor the landmarks, initialise, iterate, stream, resume.

The steps of approximate kernel k-means, as functions of checked arrays, belong here.
Parameters, validation and attributes of estimators do not.
"""

from akkm.approx.algorithm2 import solve
from akkm.approx.checkpoint import Checkpoint, fingerprint
from akkm.approx.factored import Factored, factor, kmeans_problem
from akkm.approx.seeding import prefetch_sample
from akkm.approx.stream import Reservoir, Stream, match_labels

__all__ = [
    "Checkpoint",
    "Factored",
    "Reservoir",
    "Stream",
    "factor",
    "fingerprint",
    "kmeans_problem",
    "match_labels",
    "prefetch_sample",
    "solve",
]
