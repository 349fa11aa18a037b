"""Combine: one partition out of several (the paper's section on ensembles)."""

from akkm.consensus._mcla import Consensus, mcla
from akkm.consensus._partition import PARTITIONERS
from akkm.consensus._votes import MetaClusters, Votes

__all__ = ["PARTITIONERS", "Consensus", "MetaClusters", "Votes", "mcla"]
