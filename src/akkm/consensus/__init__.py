"""Combine: one partition out of several, by meta-clusters (the paper's Algorithm 3)."""

from akkm.consensus._bipartite import bipartite_cut
from akkm.consensus._mcla import Consensus, mcla
from akkm.consensus._votes import MetaClusters, Votes

__all__ = ["Consensus", "MetaClusters", "Votes", "bipartite_cut", "mcla"]
