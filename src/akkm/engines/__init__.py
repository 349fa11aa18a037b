"""Engines move blocks and add what comes back; there is no formula in here."""

from akkm.engines._quiet import quiet
from akkm.engines._threads import Threads

__all__ = ["Threads", "quiet"]
