"""Compare fits on a Dask cluster with fits in this process (docs/large.md).

The benchmark has four parts:

* `overhead` fits the same rows twice: as an array in this process, and as a Dask array
  of six partitions on two workers with one thread each. The rows are Cover Type (1,000
  landmarks), and 600,000 generated rows of 20 columns (500 landmarks, at most 50
  iterations). Fits start from the default initialisation or from given random labels.
  The processor time of a fit on workers includes client, scheduler and workers. Elapsed
  times can be compared only on an idle machine with at least two cores. Results are
  stored.
* `memory` measures the client's peak memory for 20 million generated rows.
* `rows` measures the time that one thread needs per row.
* `estimate` extrapolates from this time per row to 10^9 rows on 100 workers.
"""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from akkm import ApproxKernelKMeans
from akkm.silence import ignore_warnings
from experiments.benchmarks import RESULTS
from experiments.benchmarks.prepared_rows import prepare
from experiments.harness.costs import machine, machines
from experiments.harness.pages import Paragraph, ResultTable, markdown, write_file
from experiments.harness.runner import in_new_process, run_missing
from experiments.harness.store import JsonLines, Record

_SEEDS, _PARTITIONS = 5, 6
_COVTYPE: dict[str, Any] = {"n_clusters": 7, "gamma": "median", "n_landmarks": 1000}
_GENERATED: dict[str, Any] = {
    "n_clusters": 10,
    "gamma": 0.01,
    "n_landmarks": 500,
    "max_iter": 50,
}
_DATA, _INITS = ("covtype", "generated"), ("default", "random labels")


def overhead() -> None:
    """Run the missing comparisons and write the page."""
    records = JsonLines(RESULTS / "workers.jsonl")
    runs = [
        {"data": data, "init": init, "seed": seed}
        for seed in range(_SEEDS)
        for data in _DATA
        for init in _INITS
    ]

    def measure(**run: Any) -> Record:
        return in_new_process(compare, **run) | {"machine": machine()}

    run_missing(records, runs, measure)
    write_file(RESULTS / "workers.md", report(records))


def compare(data: str, init: str, seed: int) -> Record:
    """Measure the times of the same fit in this process and on two workers."""
    import dask.array as da
    import psutil
    from distributed import Client, LocalCluster, wait
    from sklearn.exceptions import ConvergenceWarning

    if data == "covtype":
        X, settings = np.load(prepare("covtype", 581_012)), _COVTYPE
    else:
        X, settings = _generated(), _GENERATED
    settings = settings | {"random_state": seed}
    if init == "random labels":
        labels = np.random.default_rng(seed).integers(
            settings["n_clusters"], size=len(X)
        )
        settings["init"] = labels
    found: dict[str, Any] = {}
    record: Record = {}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as two,
        Client(two) as client,
    ):
        chunks = (-(-len(X) // _PARTITIONS), X.shape[1])
        rows = client.persist(da.from_array(X, chunks=chunks))
        wait(rows)
        pids = [os.getpid(), *(worker.pid for worker in two.workers.values())]

        def cpu() -> float:
            times = [psutil.Process(pid).cpu_times() for pid in pids]
            return sum(spent.user + spent.system for spent in times)

        # A small fit first: all threads and both workers import what they need.
        few = slice(None, None, len(X) // 6_000)
        for where, source in (("array", X), ("workers", rows)):
            small = settings | (
                {"init": settings["init"][few]} if "init" in settings else {}
            )
            ApproxKernelKMeans(**small).fit(source[few])
            model = ApproxKernelKMeans(**settings)
            before, started = cpu(), time.perf_counter()
            with ignore_warnings(ConvergenceWarning):  # 50 iterations may be too few
                model.fit(source)
            record[where] = time.perf_counter() - started
            record[f"{where}_cpu"] = cpu() - before
            found[where] = np.asarray(model.labels_)
    record["ratio"] = record["workers"] / record["array"]
    record["cpu_ratio"] = record["workers_cpu"] / record["array_cpu"]
    record["iterations"] = model.n_iter_
    record["same"] = bool((found["array"] == found["workers"]).all())
    return record


def _generated() -> Any:
    return np.concatenate([_block(i, 100_000, 20) for i in range(6)])


def report(records: JsonLines) -> str:
    """Return the page with one line per data set and initialisation."""
    runs = [run for run in records.records if "failed" not in run]
    rows = []
    for data in _DATA:
        for init in _INITS:
            group = [r for r in runs if (r["data"], r["init"]) == (data, init)]
            if group:
                ratios = [run["cpu_ratio"] for run in group]
                rows.append(
                    [
                        data,
                        init,
                        str(len(group)),
                        f"{median(run['iterations'] for run in group):g}",
                        f"{median(run['array_cpu'] for run in group):.2f}",
                        f"{median(run['workers_cpu'] for run in group):.2f}",
                        f"{median(ratios):.2f}",
                        f"{min(ratios):.2f} to {max(ratios):.2f}",
                        f"{median(run['ratio'] for run in group):.2f}",
                        "equal" if all(run["same"] for run in group) else "different",
                    ]
                )
    columns = ["data", "start", "seeds", "iterations", "CPU seconds, array"]
    columns += ["CPU seconds, workers", "ratio", "range of ratios"]
    columns += ["ratio of elapsed times", "labels"]
    text = (
        "Written by `python -m experiments bench workers` from `workers.jsonl`, not by "
        f"hand. Measured on: {machines(runs, machine())}. The module's docstring "
        "describes the fits. Seconds, iterations and ratios are medians over seeds."
    )
    table = ResultTable("Time of a fit", columns, rows)
    return markdown("Fits on Dask workers", [Paragraph(text), table])


def _block(number: int, rows: int, width: int) -> Any:
    rng = np.random.default_rng([3, number])
    means = np.random.default_rng(1).normal(0, 1.2, (10, width))
    X = rng.standard_normal((rows, width), dtype=np.float32)
    return X + means[rng.integers(10, size=rows)].astype(np.float32)


def memory(n: int = 20_000_000, width: int = 20, rows: int = 500_000) -> None:
    """Measure the client's peak memory while workers cluster n rows."""
    import dask.array as da
    from dask.delayed import delayed
    from distributed import Client, LocalCluster

    parts = [
        da.from_delayed(delayed(_block)(i, rows, width), (rows, width), np.float32)
        for i in range(n // rows)
    ]
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as two,
        Client(two),
    ):
        seen: list[int] = []
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.5):
                pages = int(Path("/proc/self/statm").read_text().split()[1])
                seen.append(pages * resource.getpagesize())

        threading.Thread(target=watch).start()
        model = ApproxKernelKMeans(10, gamma=0.01, n_landmarks=500, random_state=0)
        started = time.perf_counter()
        model.fit(da.concatenate(parts))
        over.set()
        print(
            f"{n:,} x {width}: {time.perf_counter() - started:.1f} s, "
            f"{model.n_iter_} iterations; the client had {seen[0] / 1e6:.0f} MB at the "
            f"start and {max(seen) / 1e6:.0f} MB at most"
        )


def time_per_row(n: int = 200_000) -> tuple[float, float]:
    """Return the microseconds per evaluated row and per skipped row, in one thread.

    A row is skipped if the bounds prove that its label does not change.
    """
    from akkm.approx import factor
    from akkm.core.bounds import Moves
    from akkm.core.lloyd import centers_of
    from akkm.core.nearest import Scorer
    from akkm.core.parts import Part
    from akkm.core.threads import Threads
    from akkm.kernels import RBF
    from akkm.landmarks import Landmarks

    X = _block(0, n, 100)
    chosen = Landmarks(X[:500], X[:500], None)
    factored = factor(X, RBF(gamma=0.0025), chosen, dtype=np.float32)
    with Threads(1) as engine:
        part = Part.of(factored.strip, factored.gram, engine)
        part.state.labels[:] = np.arange(len(X)) % 10
        centers = centers_of(part.label_stats(10), factored.gram, None)
        part.state.labels[:] = -1
        view = Scorer.of(centers.alpha, centers.norms, np.float32, factored.probes)
        times = []
        for moves in (None, Moves([centers], centers)):
            started = time.perf_counter()
            part.sweep(view, moves, 0)
            times.append((time.perf_counter() - started) / len(X) * 1e6)
    print(
        f"one thread, 100 columns, m = 500: {times[0]:.2f} µs per evaluated row, "
        f"{times[1]:.3f} µs per skipped row"
    )
    return times[0], times[1]


def estimate(n: int = 10**9, workers: int = 100, draws: int = 1000) -> None:
    """Simulate a fit with 100 columns, 500 landmarks and 10 clusters.

    Each worker has one thread. The simulation assumes a network of 10 Gbit/s with a
    latency of 1 ms per message. It assumes that the scheduler takes 1 ms per task, and
    that the speed of workers varies by 10 % from iteration to iteration. The time per
    row is measured. The share of evaluated rows in each iteration is that of a real fit
    to a million rows.
    """
    evaluated, skipped = time_per_row()
    X = np.concatenate([_block(i, 250_000, 100) for i in range(4)])
    settings: dict[str, Any] = {"gamma": 0.0025, "n_landmarks": 500, "random_state": 0}
    history = ApproxKernelKMeans(10, **settings).fit(X).history_
    shares = history[:, 1] / len(X)
    rng = np.random.default_rng(0)
    rows, C, m, d = n / workers, 10, 500, 100
    message = 8 * C * m / 1.25e9 + 1e-3
    # Sums of the workers are added eight at a time, in a tree of this depth.
    depth = np.ceil(np.log(workers) / np.log(8))
    # Before the first iteration, a sample of 128 MB is sent to the client, which
    # clusters it in 30 s. Then the landmarks are sent to all workers.
    start = 128e6 / 1.25e9 + 30.0 + m * d * 4 * workers / 1.25e9
    totals = []
    for _ in range(draws):
        slowest = rng.lognormal(0, 0.1, (len(shares), workers)).max(axis=1)
        compute = rows * (shares * evaluated + (1 - shares) * skipped) * 1e-6 * slowest
        messages = 2 * depth * message + workers * message + 2.2 * workers * 1e-3
        totals.append(start + (compute + messages).sum())
    print(
        f"{n:,} rows on {workers} workers: {np.median(totals):.0f} s "
        f"({np.quantile(totals, 0.05):.0f} to {np.quantile(totals, 0.95):.0f}) in "
        f"{len(shares)} iterations and {shares.sum():.2f} passes; a worker holds "
        f"{rows * (4 * d + 26) / 1e9:.1f} GB and sends "
        f"{len(shares) * 2 * 8 * C * m / 1e6:.1f} MB after the start"
    )


_PARTS: dict[str, Callable[[], object]] = {
    "overhead": overhead,
    "memory": memory,
    "rows": time_per_row,
    "estimate": estimate,
}


def main(part: str = "overhead") -> None:
    """Run one part of the benchmark."""
    _PARTS[part]()
