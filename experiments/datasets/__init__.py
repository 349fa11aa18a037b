"""The paper's data sets as its experiments need them, and small generated twins.

Reading, verifying, scaling and caching belong here; clustering does not.
"""

from experiments.datasets.catalogue import (
    NAMES,
    Dataset,
    availability,
    describe,
    load,
)

__all__ = ["NAMES", "Dataset", "availability", "describe", "load"]
