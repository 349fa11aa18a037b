"""The page of tables that `experiments.benchmarks.graphs` writes."""

from __future__ import annotations

import numpy as np

from experiments.harness.pages import Paragraph, ResultTable, markdown
from experiments.harness.store import JsonLines, Record


def report(records: JsonLines) -> str:
    """Return the page: one table per part that was measured."""
    tables = [
        _search_table(records),
        _size_table("growth", "Distorted digits", "rows", records),
        _mnist_table(records),
        _size_table("table", "A table of numbers and categories", "rows", records),
        _size_table("clusters", "22,500 x 256 embeddings", "clusters", records),
        _quality_table(records),
        _placing_table(records),
    ]
    last = Paragraph(
        "Cover Type and KDD Cup 99 are clustered through landmarks. There, the fit "
        "itself ties each row to its nearest landmarks, exactly as `predict` does, "
        "and takes few other steps. So the cost of a new row is a large share of "
        "the fit's cost per row, although both are low."
    )
    machines = dict.fromkeys(run["machine"] for run in records.records)
    text = (
        "Written by `python -m experiments bench graphs` from `graphs.jsonl`, not by "
        f"hand. Measured on: {'; or on: '.join(machines)}. Each fit has its own "
        "process. Times depend on the machine: compare only those of one table, or "
        "of one data set."
    )
    measured = [table for table in tables if table.rows]
    return markdown(
        "Neighbour graphs and DiffusionKernelKMeans", [Paragraph(text), *measured, last]
    )


def _costs(run: Record) -> list[str]:
    spent = run["cpu_seconds"] - run.get("not_counted", 0)
    return [f"{spent:.1f}", f"{run['seconds']:.1f}", f"{run['peak_bytes'] / 1e9:.2f}"]


_COSTS = ["CPU seconds", "seconds", "peak memory, GB"]


def _search_table(records: JsonLines) -> ResultTable:
    rows = []
    for run in records.find(part="search"):
        if "failed" in run:
            continue
        compilation = f"{run['compilation']:.1f}" if "compilation" in run else "none"
        start = [f"1,000,000 x {run['size']}", run["method"], f"{run['recall']:.3f}"]
        rows.append([*start, *_costs(run), compilation])
    columns = ["rows", "method", "recall", *_COSTS, "CPU seconds of compilation"]
    title = "15 neighbours of each row, near 1,000 manifolds of 12 dimensions"
    return ResultTable(title, columns, rows)


def _size_table(part: str, title: str, name: str, records: JsonLines) -> ResultTable:
    runs = [run for run in records.find(part=part) if "failed" not in run]
    runs.sort(key=lambda run: run["size"])
    rows = []
    for run in runs:
        growth = _growth(name, runs[0], run)
        silence = f"{run['silence']:.1f}"
        rows.append(
            [f"{run['size']:,}", f"{run['nmi']:.3f}", *_costs(run), growth, silence]
        )
    columns = [
        name,
        "NMI",
        *_COSTS,
        "growth of CPU time",
        "longest time without output",
    ]
    return ResultTable(title, columns, rows)


def _growth(name: str, first: Record, run: Record) -> str:
    """Return how processor time grew since the first run; empty for the first run.

    If the number of rows grew, the result is a power of n, else a factor.
    """
    if run is first:
        return ""
    ratio = run["cpu_seconds"] / first["cpu_seconds"]
    if name == "rows":
        return f"n^{np.log(ratio) / np.log(run['size'] / first['size']):.2f}"
    return f"x {ratio:.2f}"


def _mnist_table(records: JsonLines) -> ResultTable:
    rows = []
    for run in records.find(part="mnist"):
        if "failed" in run:
            continue
        share = f"{run.get('coverage', 0.94):.1%}"
        scores = [f"{run['nmi']:.3f}", _score(run, "ari")]
        scores += [share, f"{run['nmi_at_94']:.3f}", _score(run, "ari_at_94")]
        rows.append([run["method"], str(run["seed"]), *scores, *_costs(run)])
    columns = ["method", "seed", "NMI", "ARI", "labelled rows", "their NMI"]
    columns += ["their ARI", *_COSTS]
    title = "MNIST (akkm: 10 clusters given; EVoC: number not given, compiled before)"
    return ResultTable(title, columns, rows)


def _score(run: Record, field: str) -> str:
    """A score with three digits, or nothing if it was not measured."""
    return f"{run[field]:.3f}" if field in run else ""


def _quality_table(records: JsonLines) -> ResultTable:
    found: dict[str, dict[str, list[Record]]] = {}
    for run in records.find(part="quality"):
        if "failed" not in run:
            methods = found.setdefault(run["data"], {"akkm": [], "KMeans": []})
            methods[run["method"]].append(run)
    rows = []
    for data, methods in found.items():
        if not all(methods.values()):
            continue
        means = [np.mean([r["nmi"] for r in methods[m]]) for m in ("akkm", "KMeans")]
        cpu = [np.mean([r["cpu_seconds"] for r in runs]) for runs in methods.values()]
        count = str(min(map(len, methods.values())))
        cells = [f"{means[0]:.3f}", f"{means[1]:.3f}", f"{means[0] - means[1]:+.3f}"]
        rows.append([data, count, *cells, *(f"{value:.1f}" for value in cpu)])
    columns = ["data", "seeds", "NMI", "NMI of KMeans(n_init=10)", "difference"]
    columns += ["CPU seconds", "CPU seconds of KMeans"]
    return ResultTable("Number of clusters given, means over seeds", columns, rows)


def _placing_table(records: JsonLines) -> ResultTable:
    rows = []
    for run in records.find(part="placing"):
        if "failed" not in run:
            micro = [f"{1e6 * run[field]:.1f}" for field in ("fit", "predict")]
            ratio = f"{run['predict'] / run['fit']:.3f}"
            equal = "yes" if run["labels_equal_predict"] else "no"
            scores = [f"{run[field]:.3f}" for field in ("nmi_fit", "nmi_new")]
            rows.append([run["data"], *micro, ratio, equal, *scores])
    columns = ["data", "fit, CPU µs per row", "predict, CPU µs per new row", "ratio"]
    columns += ["`labels_` equals `predict`", "NMI of the fit", "NMI of new rows"]
    return ResultTable("New rows", columns, rows)
