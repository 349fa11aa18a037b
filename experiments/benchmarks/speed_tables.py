"""The page of the speed benchmark, computed from its records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean, median

import numpy as np

from experiments.benchmarks.contestants import fits_in_memory, memory_needed
from experiments.benchmarks.errors import EXACT_ROWS
from experiments.benchmarks.tasks import AKKM, BARE, KMEANS, Section, Task
from experiments.harness.pages import Block, Heading, Paragraph, ResultTable, markdown
from experiments.harness.store import JsonLines, Record

_ABOUT = (
    "Written by `python -m experiments bench speed` from `raw.jsonl`, not by hand.",
    "A contestant is a method whose time and memory are measured. Each run has its own "
    "process, and contestants take turns, seed by seed. Seconds are the time of `fit`, "
    "measured after a small fit to warm up. Memory above the data is the peak memory "
    "during `fit` minus the memory in use before `fit`, when the data are already in "
    "memory. For akkm, only iterations over all rows are counted; earlier iterations "
    "on samples are not. The bare kernel pass computes the kernel values of all rows "
    "on all cores, with one matrix product (GEMM) and one elementwise function.",
    "All contestants are judged by the same two clustering errors. The exact error is "
    "computed with the exact kernel, on sampled rows. The Nyström error is computed on "
    "all rows, with centers in the span of landmarks that are the same for all "
    "contestants. Errors are means over seeds. Seconds, memory and iterations are "
    "medians over seeds. Ratios are computed for each seed; the table shows their "
    "medians.",
)
_LETTERS = {"n": "n", "m": "m", "n_clusters": "C"}
_SECONDS, _MEMORY, _PEAK = "seconds", "peak_above_data_bytes", "peak_bytes"

Runs = dict[int, Record]  # seed -> record


def report(records: JsonLines, sections: Sequence[Section]) -> str:
    """Return the whole page as Markdown."""
    good = [r for r in records.records if "failed" not in r]
    machines = sorted({f"- {r['date']}: {r['machine']}" for r in good})
    blocks: list[Block] = [*map(Paragraph, _ABOUT), Paragraph("\n".join(machines))]
    for section in sections:
        if any(_good(records, t, c) for t in section.tasks for c in t.contestants):
            blocks.append(Heading(section.title))
            blocks += [Paragraph(section.note)] if section.note else []
            if section.vary:
                blocks += _growth(records, section, section.vary)
            else:
                for task in section.tasks:
                    blocks += _comparison(records, task)
    return markdown("Benchmarks", blocks)


def _good(records: JsonLines, task: Task, contestant: str) -> Runs:
    """Return the last successful run of each seed."""
    runs = records.find(settings=task.settings, contestant=contestant)
    return {
        record["seed"]: record
        for record in runs
        if record["seed"] < task.seeds and "failed" not in record
    }


def _comparison(records: JsonLines, task: Task) -> list[Block]:
    """Return a caption, and a table that compares the contestants of a task."""
    first = task.contestants[0]
    reference, bare = _good(records, task, first), _good(records, task, BARE)
    head = [
        "contestant",
        "seconds",
        f"time / {first}",
        "time / bare pass",
        "peak MB above data",
        f"memory / {first}",
        "peak MB in total",
        f"error, exact kernel, {min(task.n, EXACT_ROWS):,} rows",
        "error, Nyström, all rows",
        "iterations",
    ]
    rows = []
    for contestant in task.contestants:
        runs = _good(records, task, contestant)
        if not runs:
            reason = _missing_reason(records, task, contestant)
            cells = [reason, *[""] * (len(head) - 2)]
        else:
            cells = [
                _digits(_median(runs, _SECONDS)),
                _ratio(runs, reference, _SECONDS),
                _ratio(runs, bare, _SECONDS),
                f"{_median(runs, _MEMORY) / 1e6:,.0f}",
                _ratio(runs, reference, _MEMORY),
                f"{_median(runs, _PEAK) / 1e6:,.0f}",
                _error(runs, "exact_error"),
                _error(runs, "nystroem_error"),
                _iterations(runs),
            ]
        rows.append([contestant, *cells])
    params = ", ".join(f"{name} {value:.4g}" for name, value in task.params.items())
    sizes = f"n = {task.n:,}, m = {task.m:,}, C = {task.n_clusters}"
    caption = f"{sizes}; {task.kernel} kernel, {params}"
    if KMEANS in task.contestants:
        caption += f"; n_init: {task.restarts} for KMeans, the default for akkm"
    return [_caption(caption, task.seeds), ResultTable("", head, rows)]


def _growth(records: JsonLines, section: Section, vary: str) -> list[Block]:
    """Return a caption, a table and a text on how akkm's costs grow with one size."""
    head = [
        _LETTERS[vary],
        "seconds",
        "µs per row",
        "µs per row / first line",
        "peak MB above data",
        "iterations",
        f"seconds, {KMEANS}",
        "time / akkm",
    ]
    rows, costs = [], []
    first = section.tasks[0]
    reference = _good(records, first, AKKM)
    for task in section.tasks:
        if runs := _good(records, task, AKKM):
            other = _good(records, task, KMEANS)
            costs.append(1e6 * _median(runs, _SECONDS) / task.n)
            rows.append(
                [
                    f"{getattr(task, vary):,}",
                    _digits(_median(runs, _SECONDS)),
                    _digits(costs[-1]),
                    _ratio(runs, reference, _SECONDS, first.n / task.n),
                    f"{_median(runs, _MEMORY) / 1e6:,.0f}",
                    _iterations(runs),
                    _digits(_median(other, _SECONDS)) if other else "–",
                    _ratio(other, runs, _SECONDS),
                ]
            )
    others = {k: v for k, v in _LETTERS.items() if k != vary}
    fixed = ", ".join(f"{v} = {getattr(first, k):,}" for k, v in others.items())
    caption = f"{fixed}; Gaussian mixture, 20 components in 100 dimensions"
    text = f"Largest / smallest µs per row: {max(costs) / min(costs):.2f}."
    if vary == "n" and len(costs) > 2:
        text += "\n" + _linear_fit([task.n for task in section.tasks], costs)
    table = ResultTable("", head, rows)
    return [_caption(caption, first.seeds), table, Paragraph(text)]


def _linear_fit(sizes: list[int], costs: list[float]) -> str:
    """Return a sentence about the line seconds = a + b n that is fitted to the costs.

    The fit minimises the sum of squares of the relative deviations.
    """
    seconds = np.array(costs) * sizes[: len(costs)] / 1e6
    design = np.c_[np.ones(len(costs)), sizes[: len(costs)]] / seconds[:, None]
    (a, b), *_ = np.linalg.lstsq(design, np.ones(len(costs)))
    off = design @ (a, b)
    return (
        f"Fitted line: {a:.2f} s + {1e6 * b:.2f} µs per row. Measured times are "
        f"{1 / off.max():.2f} to {1 / off.min():.2f} times the fitted ones."
    )


def _missing_reason(records: JsonLines, task: Task, contestant: str) -> str:
    if not fits_in_memory(task, contestant):
        needed = memory_needed(task, contestant) / 1e9
        return f"does not fit in memory: {needed:.0f} GB needed"
    runs = records.find(settings=task.settings, contestant=contestant)
    return f"failed: {runs[0]['failed']}" if runs else "not run"


def _median(runs: Runs, field: str) -> float:
    return median(record[field] for record in runs.values())


def _ratio(runs: Runs, reference: Runs, field: str, factor: float = 1) -> str:
    """Return the median of the ratios of runs to reference runs with the same seed."""
    pairs = [(runs[s][field], reference[s][field]) for s in runs if s in reference]
    ratios = [factor * value / unit for value, unit in pairs if unit > 0]
    return _digits(median(ratios)) if ratios else "–"


def _error(runs: Runs, field: str) -> str:
    values = [record[field] for record in runs.values() if field in record]
    return _digits(mean(values), digits=6) if values else "–"


def _iterations(runs: Runs) -> str:
    counts = [r["n_iter"] for r in runs.values() if r["n_iter"] is not None]
    return f"{median(counts):g}" if counts else "–"


def _digits(value: float, digits: int = 3) -> str:
    """Format a number with this many significant digits."""
    size = math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{max(0, digits - 1 - size)}f}"


def _caption(text: str, seeds: int) -> Paragraph:
    return Paragraph(f"{text}; {seeds} seed{'s' * (seeds > 1)}.")
