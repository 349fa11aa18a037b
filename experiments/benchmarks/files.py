"""Compare the cost of `akkm cluster` on a CSV file with the cost of `fit` on an array.

There are four runs. In two runs, the command line clusters the Cover Type file: once
without output files, and once with labels, model and report. In another run, `fit`
clusters the same rows as a NumPy array. In the last run, pyarrow only parses the file.
The runs take turns, each in its own process. The benchmark prints the medians of time
and peak memory.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from experiments.benchmarks.prepared_rows import require_data
from experiments.harness.costs import costs
from experiments.harness.pages import markdown_table
from experiments.harness.runner import in_new_process
from experiments.harness.store import Record

_SETTINGS: Any = {"n_clusters": 7, "kernel": "rbf", "gamma": "median"}
_CLUSTER = "-k 7 --kernel rbf --gamma median --landmarks 1000 --no-header --label 54"


def main(rounds: int = 3) -> None:
    """Measure, and print a table."""
    require_data()
    original = Path(os.environ["AKKM_DATA"]) / "covtype" / "covtype.data.gz"
    names = (
        "parsing alone (pyarrow)",
        "fit of the array",
        "akkm cluster",
        "akkm cluster, labels, model, report",
    )
    measured: dict[str, list[Record]] = {name: [] for name in names}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "covtype.csv.gz")
            file.symlink_to(original)
            outputs = []
            for name in ("labels.parquet", "model.skops", "report.html"):
                outputs += [f"--{Path(name).stem}", str(Path(folder, name))]
            runs = (
                in_new_process(parse, file=str(file)),
                in_new_process(fit_array, file=str(file)),
                in_new_process(cluster, file=str(file), outputs=[]),
                in_new_process(cluster, file=str(file), outputs=outputs),
            )
        for name, record in zip(names, runs, strict=True):
            if "failed" in record:
                raise ValueError(f"{name} failed: {record['failed']}")
            measured[name].append(record)
    seconds = {x: median(r["seconds"] for r in measured[x]) for x in names}
    peaks = {x: median(r["peak_bytes"] for r in measured[x]) for x in names}
    rows = [[x, f"{seconds[x]:.2f}", f"{peaks[x] / 1e6:.0f}"] for x in names]
    print(markdown_table(["", "seconds", "peak memory, MB"], rows))
    parsing, fitting, *commands = seconds.values()
    for value in commands:
        print(f"(command - parsing) / fit: {(value - parsing) / fitting:.2f}")


def _read(file: str) -> Any:
    import pyarrow.csv

    options = pyarrow.csv.ReadOptions(autogenerate_column_names=True)
    return pyarrow.csv.read_csv(file, read_options=options)


def parse(file: str) -> Record:
    """Measure the time that pyarrow takes to read the file."""
    import pyarrow.csv  # noqa: F401 (the import is not timed)

    with costs() as spent:
        _read(file)
    return {"seconds": spent.seconds, "peak_bytes": spent.peak_bytes}


def fit_array(file: str) -> Record:
    """Measure the time of a fit to an array; peak memory includes reading the file."""
    import numpy as np

    from akkm import ApproxKernelKMeans

    with costs() as spent:
        X = np.column_stack([c.to_numpy() for c in _read(file).columns[:-1]])
        X = X.astype(np.float32)
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
        start = perf_counter()
        ApproxKernelKMeans(**_SETTINGS, n_landmarks=1000, random_state=0).fit(X)
        seconds = perf_counter() - start
    return {"seconds": seconds, "peak_bytes": spent.peak_bytes}


def cluster(file: str, outputs: list[str]) -> Record:
    """Measure the command line, from the start of its process to its end."""
    command = [sys.executable, "-m", "akkm.cli", "cluster", file, *_CLUSTER.split()]
    start = perf_counter()
    subprocess.run([*command, *outputs], check=True, stdout=subprocess.DEVNULL)
    seconds = perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return {"seconds": seconds, "peak_bytes": peak}
