"""What a piece of work costs: seconds, processor seconds, memory; and where it ran."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from time import perf_counter, process_time

_PROC = Path("/proc/self")
_PACKAGES = ("akkm", "numpy", "scipy", "scikit-learn", "numba")


@dataclass
class Costs:
    """Of what was done inside of `costs`; known afterwards."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0  # of all threads
    peak_bytes: int = 0
    above_bytes: int = 0  # the peak, less what was in use before
    memory_by: str = ""  # "VmHWM", started anew, or "ru_maxrss" of the process so far


@contextmanager
def costs() -> Iterator[Costs]:
    """Measure what is done inside."""
    found = Costs()
    before, found.memory_by = forget_peak()
    start, worked = perf_counter(), process_time()
    yield found
    found.seconds = perf_counter() - start
    found.cpu_seconds = process_time() - worked
    found.peak_bytes = memory("VmHWM")
    found.above_bytes = max(0, found.peak_bytes - before)


def forget_peak() -> tuple[int, str]:
    """Let the peak of memory start anew where the system can; bytes in use, and how."""
    try:
        (_PROC / "clear_refs").write_text("5")
    except OSError:
        return memory("VmHWM"), "ru_maxrss"
    return memory("VmRSS"), "VmHWM"


def memory(field: str) -> int:
    """Bytes, from the system's status of this process or else from getrusage."""
    try:
        lines = (_PROC / "status").read_text().splitlines()
        return int(next(x for x in lines if x.startswith(field)).split()[1]) * 1024
    except OSError:
        import resource  # not on Windows

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def processor() -> str:
    """The name of the processor, and how many cores there are."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(x for x in lines if x.startswith("model name")).split(": ")[1]
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, {cores()} cores"


@cache
def versions() -> dict[str, str]:
    """Of Python and the packages that compute."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
