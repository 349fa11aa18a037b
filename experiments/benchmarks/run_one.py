"""A process of its own for one run: reads an order, prints one line of JSON.

So its peak memory is its own, and a crash ends nothing else.
"""

from __future__ import annotations

import datetime
import gc
import json
import platform
import sys
from dataclasses import replace
from importlib import metadata
from time import perf_counter
from typing import Any

import numpy as np

from experiments.harness.costs import forget_peak, memory, processor
from experiments.benchmarks.contestants import CONTESTANTS
from experiments.benchmarks.tasks import Task


def run(task: Task, contestant: str, seed: int, X: Any) -> dict[str, Any]:
    """Time one fit, measure its memory, and score its labels."""
    fit = CONTESTANTS[contestant]
    # Imports, thread pools and caches are nobody's fault.
    few = np.random.default_rng(0).choice(len(X), 500, replace=False)
    fit(replace(task, m=min(task.m, 100)), seed, X[few])
    gc.collect()

    before, _ = forget_peak()
    start = perf_counter()
    result = fit(task, seed, X)
    seconds = perf_counter() - start
    peak = memory("VmHWM")

    record = {
        "seconds": seconds,
        "peak_bytes": peak,
        "peak_above_data_bytes": peak - before,
        "n_iter": result.n_iter,
    }
    if result.labels is not None:
        from akkm.kernels import resolve
        from experiments.benchmarks.errors import exact_error, nystroem_error

        kernel = resolve(task.kernel, X, **task.params)
        record["exact_error"] = exact_error(X, result.labels, kernel)
        record["nystroem_error"] = nystroem_error(X, result.labels, kernel, task.m)
    return record


def machine() -> str:
    """Processor, cores and packages."""
    packages = [f"Python {platform.python_version()}"]
    for name in ("numpy", "scipy", "scikit-learn", "tslearn"):
        try:
            packages.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return f"{processor()}; {', '.join(packages)}"


if __name__ == "__main__":
    order = json.loads(sys.argv[1])
    X = np.load(order["data"])
    record = run(Task(**order["task"]), order["contestant"], order["seed"], X)
    record["date"] = datetime.date.today().isoformat()
    record["machine"] = machine()
    print(json.dumps(record))
