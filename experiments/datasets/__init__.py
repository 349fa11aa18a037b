"""The paper's data sets, prepared as its experiments need them, and tiny twins."""

from experiments.datasets._load import NAMES, Dataset, describe, load, whereabouts

__all__ = ["NAMES", "Dataset", "describe", "load", "whereabouts"]
