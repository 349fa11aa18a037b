"""Measure time, processor time and memory, and describe the machine."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

_PROC = Path("/proc/self")


@dataclass
class Costs:
    """The costs of the work inside a `with costs()` block, set when the block ends."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0  # of all threads
    peak_bytes: int = 0
    above_bytes: int = 0  # peak_bytes minus the memory in use before the block
    # "VmHWM" if peak_bytes is the peak during the block; "ru_maxrss" if it is the peak
    # since the start of the process, because the system can't reset the peak.
    memory_by: str = ""


@contextmanager
def costs() -> Iterator[Costs]:
    """Measure the time and memory of the work inside the `with` block."""
    spent = Costs()
    before, spent.memory_by = _reset_peak()
    start, cpu_start = perf_counter(), process_time()
    yield spent
    spent.seconds = perf_counter() - start
    spent.cpu_seconds = process_time() - cpu_start
    spent.peak_bytes = _memory("VmHWM")
    spent.above_bytes = max(0, spent.peak_bytes - before)


def _reset_peak() -> tuple[int, str]:
    """Reset the process's peak memory, if possible.

    Returns the bytes to subtract from the next peak, and `Costs.memory_by`. The bytes
    are the memory in use, or the peak so far if the peak could not be reset.
    """
    try:
        (_PROC / "clear_refs").write_text("5")
    except OSError:
        return _memory("VmHWM"), "ru_maxrss"
    return _memory("VmRSS"), "VmHWM"


def _memory(field: str) -> int:
    """Return a field of /proc/self/status in bytes; ru_maxrss if there is no /proc."""
    try:
        lines = (_PROC / "status").read_text().splitlines()
        return int(next(x for x in lines if x.startswith(field)).split()[1]) * 1024
    except OSError:
        import resource  # not on Windows

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def processor() -> str:
    """Return the name of the processor and its number of cores."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(x for x in lines if x.startswith("model name")).split(": ")[1]
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, {cores()} cores"


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of Python and of those packages that are installed."""
    candidates = {name: _version(name) for name in packages}
    installed = {name: version for name, version in candidates.items() if version}
    return {"python": platform.python_version(), **installed}


@cache
def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def machine() -> str:
    """Return processor, cores and package versions on one line."""
    used = versions(("numpy", "scipy", "scikit-learn", "tslearn"))
    packages = [f"Python {used.pop('python')}", *(f"{k} {v}" for k, v in used.items())]
    return f"{processor()}; {', '.join(packages)}"


def machines(records: Iterable[dict[str, Any]], default: str) -> str:
    """Return the machines of all records; records without a machine have `default`."""
    names = dict.fromkeys(record.get("machine", default) for record in records)
    return "; ".join(names).replace(" 1 cores", " 1 core")
