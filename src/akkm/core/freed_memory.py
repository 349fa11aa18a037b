"""Keep freed memory in the process while a task runs on a Dask worker.

Dask starts its workers with the environment variable MALLOC_TRIM_THRESHOLD_, so that
freed memory goes back to the system at once. Then every temporary array gets new
memory, and the system has to clear it. In a fit this took as long as the computation.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

# Parameters of the C function `mallopt`, and glibc's default for both.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _DEFAULT = -1, -3, 2**17
# Values while a task runs: up to 256 MB of free memory are kept, and arrays of up to
# 32 MB (the largest value that glibc accepts) reuse it.
_KEPT, _REUSED = 2**28, 2**25


@contextmanager
def keep_freed_memory() -> Iterator[None]:
    """Keep freed memory during a `with` block, if the process returns it at once.

    This changes nothing in processes without the variable MALLOC_TRIM_THRESHOLD_, or
    without glibc.
    """
    usual = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
    set_option = _mallopt() if usual.isdecimal() else None
    if set_option is None:
        yield
        return
    set_option(_TRIM_THRESHOLD, _KEPT)
    set_option(_MMAP_THRESHOLD, _REUSED)
    try:
        yield
    finally:
        set_option(_TRIM_THRESHOLD, int(usual))
        set_option(_MMAP_THRESHOLD, _DEFAULT)


@cache
def _mallopt() -> Any:
    """The C function `mallopt`, or None if the C library has none."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "mallopt", None)
