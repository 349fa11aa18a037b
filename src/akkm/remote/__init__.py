"""Rows of Dask collections: on the workers of a cluster, or computed one by one."""

from akkm.remote._collections import is_dask, labels_like, lazily, rows_of
from akkm.remote._opinions import opinions, voted
from akkm.remote._rows import RemoteRows

__all__ = [
    "RemoteRows",
    "is_dask",
    "labels_like",
    "lazily",
    "opinions",
    "rows_of",
    "voted",
]
