"""Markdown tables, computed from the raw results."""

from __future__ import annotations

import math
from statistics import mean, median

import numpy as np

from experiments.benchmarks.contestants import fits, memory_needed
from experiments.benchmarks.errors import EXACT_ROWS
from experiments.benchmarks.results import Record, Results
from experiments.benchmarks.tasks import AKKM, BARE, KMEANS, Section, Task

_HEAD = """\
# Benchmarks

Written by `python -m experiments.benchmarks` from `raw.jsonl`; not by hand.

Each run is a process of its own; contestants take turns, seed by seed. Seconds are
those of `fit`, end to end, after a small fit to warm up. Memory above the data is the
peak during `fit` less what was in use before it, the data included. Ratios are made
per seed. Seconds, memory, ratios and iterations are medians over seeds, errors are
means. Errors are the same function for all: on sampled rows, that of exact kernel
k-means; on all rows, that in the span of landmarks which are no contestant's own.
Iterations of akkm are those over all rows; it did others before, on samples. The bare
pass is one GEMM and one elementwise function over all rows on all cores, nothing else.
"""
_LETTERS = {"n": "n", "m": "m", "n_clusters": "C"}
_SECONDS, _MEMORY, _PEAK = "seconds", "peak_above_data_bytes", "peak_bytes"

Runs = dict[int, Record]


def report(results: Results, sections: tuple[Section, ...]) -> str:
    """The whole page."""
    good = [r for r in results.records.values() if "failed" not in r]
    machines = sorted({f"- {r['date']}: {r['machine']}\n" for r in good})
    parts = [_HEAD, "".join(machines)]
    for section in sections:
        if any(results.good(t, c) for t in section.tasks for c in t.contestants):
            parts.append(f"## {section.title}\n")
            if section.note:
                parts.append(f"{section.note}\n")
            if section.vary:
                parts.append(_growth(results, section, section.vary))
            else:
                parts += [_comparison(results, task) for task in section.tasks]
    return "\n".join(parts)


def _comparison(results: Results, task: Task) -> str:
    """Contestants side by side."""
    first = task.contestants[0]
    reference, bare = results.good(task, first), results.good(task, BARE)
    head = [
        "contestant",
        "seconds",
        f"time / {first}",
        "time / bare pass",
        "peak MB above data",
        f"memory / {first}",
        "peak MB in all",
        f"error, exact kernel, {min(task.n, EXACT_ROWS):,} rows",
        "error, Nyström, all rows",
        "iterations",
    ]
    rows = []
    for contestant in task.contestants:
        runs = results.good(task, contestant)
        cells = [_absence(results, task, contestant), *[""] * (len(head) - 2)]
        if runs:
            cells = [
                _figure(_median(runs, _SECONDS)),
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
        caption += f"; KMeans n_init {task.restarts}, akkm's its default"
    return _table(caption, task.seeds, head, rows)


def _growth(results: Results, section: Section, vary: str) -> str:
    """What akkm takes as one size grows."""
    head = [
        _LETTERS[vary],
        "seconds",
        "µs per row",
        "to the first",
        "peak MB above data",
        "iterations",
        f"seconds, {KMEANS}",
        "time / akkm",
    ]
    rows, costs = [], []
    first = section.tasks[0]
    reference = results.good(first, AKKM)
    for task in section.tasks:
        if runs := results.good(task, AKKM):
            beside = results.good(task, KMEANS)
            costs.append(1e6 * _median(runs, _SECONDS) / task.n)
            rows.append(
                [
                    f"{getattr(task, vary):,}",
                    _figure(_median(runs, _SECONDS)),
                    _figure(costs[-1]),
                    _ratio(runs, reference, _SECONDS, first.n / task.n),
                    f"{_median(runs, _MEMORY) / 1e6:,.0f}",
                    _iterations(runs),
                    _figure(_median(beside, _SECONDS)) if beside else "–",
                    _ratio(beside, runs, _SECONDS),
                ]
            )
    others = {k: v for k, v in _LETTERS.items() if k != vary}
    fixed = ", ".join(f"{v} = {getattr(first, k):,}" for k, v in others.items())
    caption = f"{fixed}; Gaussian mixture, 20 components in 100 dimensions"
    span = f"\nµs per row, largest / smallest: {max(costs) / min(costs):.2f}.\n"
    if vary == "n" and len(costs) > 2:
        span += _line([task.n for task in section.tasks], costs)
    return _table(caption, first.seeds, head, rows) + span


def _line(sizes: list[int], costs: list[float]) -> str:
    """The best seconds = a + b n, by relative deviations."""
    seconds = np.array(costs) * sizes[: len(costs)] / 1e6
    design = np.c_[np.ones(len(costs)), sizes[: len(costs)]] / seconds[:, None]
    (a, b), *_ = np.linalg.lstsq(design, np.ones(len(costs)))
    off = design @ (a, b)
    return (
        f"A line fits: {a:.2f} s + {1e6 * b:.2f} µs per row, measured times being "
        f"{1 / off.max():.2f} to {1 / off.min():.2f} of it.\n"
    )


def _absence(results: Results, task: Task, contestant: str) -> str:
    if not fits(task, contestant):
        return f"does not fit: {memory_needed(task, contestant) / 1e9:.0f} GB needed"
    runs = results.find(task, contestant).values()
    failures = [run["failed"] for run in runs if "failed" in run]
    return f"failed: {failures[0]}" if failures else "not run"


def _median(runs: Runs, field: str) -> float:
    return median(record[field] for record in runs.values())


def _ratio(runs: Runs, reference: Runs, field: str, factor: float = 1) -> str:
    """The median of the ratios seed by seed."""
    pairs = [(runs[s][field], reference[s][field]) for s in runs if s in reference]
    ratios = [factor * value / unit for value, unit in pairs if unit > 0]
    return _figure(median(ratios)) if ratios else "–"


def _error(runs: Runs, field: str) -> str:
    values = [record[field] for record in runs.values() if field in record]
    return _figure(mean(values), digits=6) if values else "–"


def _iterations(runs: Runs) -> str:
    counts = [r["n_iter"] for r in runs.values() if r["n_iter"] is not None]
    return f"{median(counts):g}" if counts else "–"


def _figure(value: float, digits: int = 3) -> str:
    """A number with so many digits that count."""
    size = math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{max(0, digits - 1 - size)}f}"


def _table(caption: str, seeds: int, head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    body = "".join("| " + " | ".join(line) + " |\n" for line in lines)
    return f"{caption}; {seeds} seed{'s' * (seeds > 1)}.\n\n{body}"
