"""The paper's data sets, prepared for its experiments, and their tiny twins.

A tiny twin is a small generated data set with the same kinds of columns. Code that
reads, verifies, scales or caches data belongs here. Code that clusters does not.
"""

from experiments.datasets.catalogue import NAMES, Dataset, availability, describe, load

__all__ = ["NAMES", "Dataset", "availability", "describe", "load"]
