"""What a file costs beside an array: `python -m experiments.benchmarks.files`.

Clusters the Cover Type file by the command line (with labels, model and report) and
the same rows from a NumPy array, in turn, each in its own process, and prints the
medians: seconds, peak memory, and the time pyarrow alone takes to parse the file.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_SETTINGS = "n_clusters=7, kernel='rbf', gamma='median', n_landmarks=1000"
_PARSE = """
import sys, time
import pyarrow.csv
started = time.perf_counter()
read = pyarrow.csv.ReadOptions(autogenerate_column_names=True)
pyarrow.csv.read_csv(sys.argv[1], read_options=read)
print(time.perf_counter() - started)
"""
_FIT = f"""
import sys, time
import numpy as np, pyarrow.csv
from akkm import ApproxKernelKMeans
read = pyarrow.csv.ReadOptions(autogenerate_column_names=True)
table = pyarrow.csv.read_csv(sys.argv[1], read_options=read)
X = np.column_stack([c.to_numpy() for c in table.columns[:-1]]).astype(np.float32)
X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
started = time.perf_counter()
ApproxKernelKMeans({_SETTINGS}, random_state=0).fit(X)
print(time.perf_counter() - started)
"""
_CLUSTER = "-k 7 --kernel rbf --gamma median --landmarks 1000 --no-header --label 54"


def main(rounds: int = 3) -> None:
    """Measure, and print a table."""
    file = str(Path(os.environ["AKKM_DATA"]) / "covtype" / "covtype.data.gz")
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "covtype.csv.gz")
            copy.symlink_to(file)
            akkm = ["-m", "akkm.cli", "cluster", str(copy), *_CLUSTER.split()]
            outputs = []
            for name in ("labels.parquet", "model.skops", "report.html"):
                outputs += ["--" + name.split(".")[0], str(Path(folder, name))]
            for what, command in {
                "parsing alone (pyarrow)": ["-c", _PARSE, file],
                "fit of the array": ["-c", _FIT, file],
                "akkm cluster": akkm,
                "akkm cluster, labels, model, report": [*akkm, *outputs],
            }.items():
                found.setdefault(what, []).append(_measure(command))
    medians = {
        what: tuple(statistics.median(values) for values in zip(*runs, strict=True))
        for what, runs in found.items()
    }
    print("| what | seconds | peak memory, MB |")
    print("|---|---|---|")
    for what, (seconds, peak) in medians.items():
        print(f"| {what} | {seconds:.2f} | {peak / 1e6:.0f} |")
    parse, fit, *commands = (seconds for seconds, _ in medians.values())
    for seconds in commands:
        print(f"(command - parsing) / fit: {(seconds - parse) / fit:.2f}")


def _measure(command: list[str]) -> tuple[float, float]:
    """Seconds (those printed, else of the whole process) and peak bytes."""
    started = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    took = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{command} failed")
    peak = usage.ru_maxrss * 1024
    return (float(said) if command[0] == "-c" else took), peak


if __name__ == "__main__":
    main()
