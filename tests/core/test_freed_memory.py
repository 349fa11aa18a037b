"""On Dask workers, memory that a task frees is used again by the task."""

import os
import subprocess
import sys

import pytest

_PAGE_FAULTS = """
import resource
import numpy as np
from contextlib import nullcontext
from akkm.core.freed_memory import keep_freed_memory

def faults(block):
    def count():
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    with block:
        np.ones(500_000)
        before = count()
        for _ in range(50):
            np.ones(500_000)  # 4 MB
        return count() - before

print(faults(keep_freed_memory()), faults(nullcontext()))
"""


def _faults(**variables):
    run = subprocess.run(
        [sys.executable, "-c", _PAGE_FAULTS],
        env={**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536", **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return map(int, run.stdout.split())


@pytest.mark.skipif(
    sys.platform != "linux" or os.confstr("CS_GNU_LIBC_VERSION") is None,
    reason="only glibc has thresholds for freed memory",
)
def test_freed_memory_is_used_again_inside_the_block_only():
    inside, outside = _faults()
    assert inside < outside / 10


def test_processes_without_the_variable_of_dask_do_not_change():
    pages = 4_000_000 // os.sysconf("SC_PAGE_SIZE")
    inside, _ = _faults(MALLOC_TRIM_THRESHOLD_="", MALLOC_MMAP_THRESHOLD_="1000000")
    assert inside > 40 * pages
