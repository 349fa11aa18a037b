"""Compare akkm with scikit-learn, tslearn and a bare kernel pass: time, memory, error.

A bare kernel pass computes kernel values and nothing else. Each run has its own
process, so that its peak memory can be measured and a crash does not end other runs.
"""

from __future__ import annotations

import datetime
import gc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from akkm.kernels import resolve
from experiments.benchmarks import CACHE, RESULTS
from experiments.benchmarks.contestants import CONTESTANTS, fits_in_memory
from experiments.benchmarks.errors import exact_error, nystroem_error
from experiments.benchmarks.prepared_rows import prepare
from experiments.benchmarks.speed_tables import report
from experiments.benchmarks.tasks import SECTIONS, Section, Task
from experiments.harness.costs import costs, machine
from experiments.harness.pages import write_file
from experiments.harness.runner import in_new_process, run_missing
from experiments.harness.store import JsonLines, Record


def main(
    names: Sequence[str] = (),
    seeds: int | None = None,
    *,
    fresh: bool = False,
    quick: bool = False,
) -> None:
    """Measure the tasks with these names (default: all), and write the page."""
    known = dict.fromkeys(section.name for section in SECTIONS)
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"Unknown task {unknown[0]!r}. Expected {', '.join(known)}.")
    folder = CACHE / "quick" if quick else RESULTS
    records = JsonLines(folder / "raw.jsonl")
    sections = [section.reduced(quick, seeds) for section in SECTIONS]
    chosen = [s for s in sections if not names or s.name in names]
    if fresh:
        records.remove(
            record for s in chosen for run in s.runs() for record in records.find(**run)
        )
    for section in chosen:
        try:
            run_missing(records, _possible(section), _measure)
        except FileNotFoundError as error:
            print(f"{section.name} is left out. {error}", flush=True)
        if records.records:
            write_file(folder / "README.md", report(records, sections))
    print(f"Tables: {folder / 'README.md'}" if records.records else "No results.")


def _possible(section: Section) -> Iterator[Record]:
    """Yield those runs of a section that fit in memory."""
    for run in section.runs():
        if fits_in_memory(Task.of(run["settings"]), run["contestant"]):
            yield run


def _measure(settings: Record, contestant: str, seed: int) -> Record:
    path = prepare(settings["data"], settings["n"])
    return in_new_process(
        measure_file,
        settings=settings,
        contestant=contestant,
        seed=seed,
        path=str(path),
    )


def measure_file(settings: Record, contestant: str, seed: int, path: str) -> Record:
    """Measure one run on the rows of a file."""
    return measure(Task.of(settings), contestant, seed, np.load(path))


def measure(task: Task, contestant: str, seed: int, X: Any) -> Record:
    """Measure the time and memory of one fit, and the errors of its labels."""
    fit = CONTESTANTS[contestant]
    # Start with a small fit, so that imports and the start of threads are not measured.
    few = np.random.default_rng(0).choice(len(X), 500, replace=False)
    fit(replace(task, m=min(task.m, 100)), seed, X[few])
    gc.collect()
    with costs() as spent:
        result = fit(task, seed, X)
    record: Record = {
        "seconds": spent.seconds,
        "cpu_seconds": spent.cpu_seconds,
        "peak_bytes": spent.peak_bytes,
        "peak_above_data_bytes": spent.above_bytes,
        "n_iter": result.n_iter,
    }
    if result.labels is not None:
        params: Any = task.params
        kernel = resolve(task.kernel, X, **params)
        record["exact_error"] = exact_error(X, result.labels, kernel)
        record["nystroem_error"] = nystroem_error(X, result.labels, kernel, task.m)
    record["date"] = datetime.date.today().isoformat()
    return record | {"machine": machine()}
