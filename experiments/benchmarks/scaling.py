"""Growth of the processor time with n, d, m and C, compared with the bare cost.

Rows are a mixture of C Gaussians in d dimensions, in float32. One of the four sizes
varies at a time; the others are those of `_BASE`. All methods of a table row run in the
same process, on one thread. The bare cost is one pass over the kernel values of all
rows and one product with an m x C matrix. The methods:

* `ApproxKernelKMeans` with m landmarks;
* scikit-learn's `Nystroem` with m components, followed by `KMeans` or
  `MiniBatchKMeans`;
* `MiniBatchKMeans` and faiss k-means (25 iterations, all rows) of the rows themselves.
  These two methods solve another problem, without a kernel.

The part "threads" compares the elapsed time on one and on two threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.benchmarks import DOCS, RESULTS
from experiments.benchmarks.many_clusters import bare_seconds, mixture
from experiments.harness.costs import machine, machines
from experiments.harness.pages import (
    Block,
    Paragraph,
    ResultTable,
    markdown,
    write_file,
)
from experiments.harness.runner import in_new_process, run_missing
from experiments.harness.store import JsonLines, Record

Array = NDArray[Any]

_BASE = {"n": 50_000, "d": 64, "m": 500, "C": 50}
_SIZES: dict[str, tuple[int, ...]] = {
    "n": (25_000, 50_000, 100_000, 200_000),
    "d": (16, 64, 256, 1024),
    "m": (125, 250, 500, 1_000),
    "C": (10, 50, 250),
}
_THREADS = (1, 2)
# Contestants with Nyström features need n m C multiplications per iteration. They are
# left out above this number, because they would take many minutes.
_MOST_PRODUCTS = 5e9
AKKM, BARE = "akkm", "bare cost"
KMEANS, MINIBATCH = "Nystroem + KMeans", "Nystroem + MiniBatchKMeans"
PLAIN, FAISS = "MiniBatchKMeans, no kernel", "faiss k-means, no kernel"
_METHODS = (BARE, AKKM, KMEANS, MINIBATCH, PLAIN, FAISS)


def akkm(X: Array, m: int, C: int, gamma: float) -> None:
    """Fit ApproxKernelKMeans."""
    from akkm import ApproxKernelKMeans

    ApproxKernelKMeans(C, gamma=gamma, n_landmarks=m, random_state=0).fit(X)


def nystroem(X: Array, m: int, C: int, gamma: float, name: str) -> None:
    """Fit a clusterer of scikit-learn to the features of Nystroem."""
    from sklearn import cluster
    from sklearn.kernel_approximation import Nystroem

    features = Nystroem(gamma=gamma, n_components=m, random_state=0).fit_transform(X)
    getattr(cluster, name)(C, random_state=0).fit(features)


def plain(X: Array, C: int) -> None:
    """Fit MiniBatchKMeans to the rows."""
    from sklearn.cluster import MiniBatchKMeans

    MiniBatchKMeans(C, random_state=0).fit(X)


def faiss_kmeans(X: Array, C: int) -> None:
    """Fit faiss k-means to all rows."""
    import faiss

    faiss.omp_set_num_threads(1)
    trainer = faiss.Kmeans(X.shape[1], C, seed=0, max_points_per_centroid=len(X))
    trainer.train(X)


def growth(n: int, d: int, m: int, C: int) -> Record:
    """Return the processor seconds of each method."""
    X = mixture(n, d, C, 2.0)
    gamma = 1 / (d * float(X[:10_000].var()))
    large = float(n) * m * C > _MOST_PRODUCTS
    fits: dict[str, Callable[[Array, int, int], Any]] = {
        BARE: lambda X, m, C: bare_seconds(X, m, "rbf", C, {"gamma": gamma}),
        AKKM: lambda X, m, C: akkm(X, m, C, gamma),
        PLAIN: lambda X, m, C: plain(X, C),
        FAISS: lambda X, m, C: faiss_kmeans(X, C),
    }
    if not large:
        fits[KMEANS] = lambda X, m, C: nystroem(X, m, C, gamma, "KMeans")
        fits[MINIBATCH] = lambda X, m, C: nystroem(X, m, C, gamma, "MiniBatchKMeans")
    record: Record = {}
    for name, fit in fits.items():
        fit(X[:500], 50, 3)  # a small fit first, to import and to start threads
        started = process_time()
        fit(X, m, C)
        record[name] = process_time() - started
    return record


def threads(count: int) -> Record:
    """Return the elapsed seconds of a fit on `count` threads, with the base sizes."""
    from akkm import ApproxKernelKMeans

    X = mixture(4 * _BASE["n"], _BASE["d"], _BASE["C"], 2.0)
    gamma = 1 / (X.shape[1] * float(X[:10_000].var()))
    settings: Any = {"gamma": gamma, "random_state": 0, "n_jobs": count}
    ApproxKernelKMeans(3, n_landmarks=50, **settings).fit(X[:500])
    started = perf_counter()
    ApproxKernelKMeans(_BASE["C"], n_landmarks=_BASE["m"], **settings).fit(X)
    return {"seconds": perf_counter() - started}


def main(only: Sequence[str] = ()) -> None:
    """Run the missing measurements, write the page and draw the picture."""
    records = JsonLines(RESULTS / "scaling.jsonl")

    def measure(part: str, value: int) -> Record:
        if part == "threads":
            record = in_new_process(threads, count=value)
        else:
            record = in_new_process(growth, **(_BASE | {part: value}))
        return record | {"machine": machine()}

    parts = {**_SIZES, "threads": _THREADS}
    run_missing(
        records,
        [
            {"part": part, "value": value}
            for part, values in parts.items()
            for value in values
            if not only or part in only
        ],
        measure,
    )
    write_file(RESULTS / "scaling.md", report(records))
    if all(_runs(records, part) for part in _SIZES):
        draw(records)


def _runs(records: JsonLines, part: str) -> list[Record]:
    """Return the successful records of a part, by size."""
    found = [r for r in records.find(part=part) if "failed" not in r]
    return sorted(found, key=lambda record: record["value"])


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope of the line fitted to the logarithms.

    Examples
    --------
    >>> from experiments.benchmarks.scaling import slope
    >>> round(slope([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _points(runs: Sequence[Record], method: str) -> tuple[list[int], list[float]]:
    """Return the sizes and seconds of those runs in which a method was measured."""
    measured = [record for record in runs if method in record]
    return [r["value"] for r in measured], [r[method] for r in measured]


def report(records: JsonLines) -> str:
    """Return the page: one table of seconds and slopes per size."""
    good = [r for r in records.records if "failed" not in r]
    text = (
        "Written by `python -m experiments bench scaling` from `scaling.jsonl`, not by "
        f"hand. Measured on: {machines(good, machine())}. The module's docstring "
        "describes rows and methods. The other sizes are n = 50,000, d = 64, m = 500 "
        "and C = 50. The last row of a table has the slope of a line fitted to the "
        "logarithms: a slope of 1 means that the time is proportional to the size. "
        "Missing entries were left out, because they would take many minutes."
    )
    blocks: list[Block] = [Paragraph(text)]
    for part in _SIZES:
        runs = _runs(records, part)
        rows = [
            [
                f"{record['value']:,}",
                *(f"{record[name]:.2f}" if name in record else "" for name in _METHODS),
                f"{record[AKKM] / record[BARE]:.2f}",
            ]
            for record in runs
        ]
        points = [_points(runs, name) for name in _METHODS]
        slopes = [f"{slope(*p):.2f}" if len(p[0]) > 1 else "" for p in points]
        columns = [part, *_METHODS, "akkm / bare cost"]
        title = f"Processor seconds, by {part}"
        blocks.append(ResultTable(title, columns, [*rows, ["slope", *slopes, ""]]))
    times = {r["value"]: r["seconds"] for r in _runs(records, "threads")}
    cells = [[str(k), f"{s:.2f}", f"{times[1] / s:.2f}"] for k, s in times.items()]
    columns = ["threads", "seconds", "speed-up"]
    blocks.append(ResultTable("Elapsed time of akkm, n = 200,000", columns, cells))
    return markdown("Growth of the time with each size", blocks)


def draw(records: JsonLines) -> None:
    """Draw one panel of curves per size."""
    from matplotlib import pyplot

    marks = dict(zip(_METHODS, ("k--", "o-", "s-", "^-", "v:", "D:"), strict=True))
    figure, axes = pyplot.subplots(
        1, 4, figsize=(13, 4.2), layout="constrained", sharey=True
    )
    for ax, part in zip(axes, _SIZES, strict=True):
        runs = _runs(records, part)
        for name in _METHODS:
            sizes, seconds = _points(runs, name)
            label = f"{name} ({slope(sizes, seconds):.2f})" if len(sizes) > 1 else name
            ax.loglog(sizes, seconds, marks[name], label=label, markersize=5)
        ax.set(xlabel=part)
        ax.grid(alpha=0.3)
        ax.legend(fontsize=7, loc="upper left", title="slope in brackets")
    axes[0].set(ylabel="processor seconds")
    figure.savefig(DOCS / "scaling.png", dpi=90)
