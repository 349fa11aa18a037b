"""The paper's data sets, prepared for its experiments, and tiny twins of them.

Reading, verifying, scaling and caching belong here; clustering does not.
"""

from experiments.datasets.catalogue import NAMES, Dataset, availability, describe, load

__all__ = ["NAMES", "Dataset", "availability", "describe", "load"]
