"""Combine several partitions of the same rows into one (the paper's Algorithm 3).

The package works on labels alone. It never sees rows, kernels or estimators.
"""

from akkm.consensus._bipartite import bipartite_cut
from akkm.consensus._mcla import Consensus, mcla
from akkm.consensus._partition import get_partitioner
from akkm.consensus._votes import MetaClusters, Votes

__all__ = [
    "Consensus",
    "MetaClusters",
    "Votes",
    "bipartite_cut",
    "get_partitioner",
    "mcla",
]


def __dir__() -> list[str]:
    """Public names only; otherwise, imported internal modules would be listed."""
    return __all__
