"""The paper's Algorithm 2 end to end: factor K̂, initialise, iterate, stream, resume.

This package has the steps of approximate kernel k-means, as functions of validated
arrays. Parameters, validation and attributes of estimators do not belong here.

`factored`
    The factored kernel matrix K̂ of the landmarks, and the strip of kernel rows.
`seeding`
    The initialisation: centers from samples.
`prepared_parts`
    The rows, prepared for the loop in this process or on workers.
`algorithm2`, `guided_runs`
    Initialise and iterate, without or with constraints; return the best run.
`class_sums`
    Sums of the kernel rows of each class, after random walks have spread known classes.
`checkpoint`, `digest`
    Resume an interrupted fit, and check that its rows have not changed.
`stream`
    Rows that arrive in batches.
"""

from akkm.approx.algorithm2 import solve
from akkm.approx.checkpoint import Checkpoint, fingerprint
from akkm.approx.digest import digest
from akkm.approx.factored import Factored, factor, kmeans_problem
from akkm.approx.seeding import leading_coordinates, prefetch_sample
from akkm.approx.stream import Reservoir, Stream, match_labels

__all__ = [
    "Checkpoint",
    "Factored",
    "Reservoir",
    "Stream",
    "digest",
    "factor",
    "fingerprint",
    "kmeans_problem",
    "leading_coordinates",
    "match_labels",
    "prefetch_sample",
    "solve",
]
