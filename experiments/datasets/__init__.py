"""The paper's data sets, prepared for its experiments, and tiny twins of them.

Code that reads, verifies, scales or caches data belongs here. Clustering does not.
"""

from experiments.datasets.catalogue import NAMES, Dataset, availability, describe, load

__all__ = ["NAMES", "Dataset", "availability", "describe", "load"]
