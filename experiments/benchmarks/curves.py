"""Draw the curves of docs/benchmarks.md from stored results; nothing is measured.

The first picture shows processor time and NMI of methods by the number of rows, on
MNIST. The second shows time and memory of the diffusion method up to a million rows,
and the error of landmark strategies by the number of landmarks.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import mean
from typing import Any

from matplotlib import pyplot
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from experiments.benchmarks import DOCS, RESULTS
from experiments.harness.store import JsonLines, Record

# Colours that can be told apart with any kind of colour vision (Okabe and Ito).
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "black")
_SIZES = {"MNIST 1,000": 1_000, "MNIST 10,000": 10_000, "MNIST 70,000": 70_000}
_METHODS = {
    "diffusion": "DiffusionKernelKMeans",
    "sparse": "SparseKernelKMeans",
    "aKKm": "ApproxKernelKMeans",
    "k-means": "k-means, ten restarts",
    "SpectralClustering": "SpectralClustering",
    "HDBSCAN": "HDBSCAN",
    "UMAP + HDBSCAN": "UMAP + HDBSCAN",
}
_STRATEGIES = ("uniform", "diagonal", "leverage", "k-means", "rpcholesky")


def _stored(name: str, **fields: str) -> list[Record]:
    return JsonLines(RESULTS / f"{name}.jsonl").find(**fields)


def _means(records: list[Record], x: str, y: str) -> tuple[list[float], list[float]]:
    """Return the values of x, and the mean of y at each of them."""
    groups = defaultdict(list)
    for record in records:
        groups[record[x]].append(record[y])
    return sorted(groups), [mean(groups[key]) for key in sorted(groups)]


def methods() -> None:
    """Draw time and NMI of all methods by the number of rows."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4.4))
    for colour, (method, name) in zip(_COLOURS, _METHODS.items(), strict=True):
        own = [
            {**record, "rows": _SIZES[record["data"]]}
            for record in _stored("beyond", contestant=method)
            if record["data"] in _SIZES and "nmi" in record
        ]
        style = "o-" if name.endswith("KernelKMeans") else "s--"
        left.plot(*_means(own, "rows", "processor_seconds"), style, color=colour)
        right.plot(*_means(own, "rows", "nmi"), style, color=colour, label=name)
    left.set(xscale="log", yscale="log", ylabel="seconds of processor time")
    right.set(xscale="log", ylabel="NMI with the digits", ylim=(0, 1))
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    _finish(figure, "benchmarks-methods.png")


def growth() -> None:
    """Draw time and memory by rows, and the error of landmarks by their number."""
    records = _stored("graphs", part="growth")
    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.6))
    for ax in axes:
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.margins(x=0.1)
    gigabytes = [{**one, "gigabytes": one["peak_bytes"] / 1e9} for one in records]
    axes[0].plot(*_means(records, "size", "cpu_seconds"), "o-", color=_COLOURS[0])
    axes[0].set(ylabel="seconds of processor time", ylim=0)
    axes[1].plot(*_means(gigabytes, "size", "gigabytes"), "o-", color=_COLOURS[0])
    axes[1].set(ylabel="peak memory, GB", ylim=0)
    for colour, strategy in zip(_COLOURS, _STRATEGIES, strict=False):
        own = _stored("methods", of="landmarks", data="covtype", strategy=strategy)
        axes[2].plot(*_means(own, "m", "error"), "o-", color=colour, label=strategy)
    axes[2].set(ylim=0, ylabel="unexplained part of the kernel")
    axes[2].legend(frameon=False)
    _finish(figure, "benchmarks-growth.png", ("rows", "rows", "landmarks"))


def _finish(figure: Any, name: str, labels: tuple[str, ...] = ("rows", "rows")) -> None:
    for ax, label in zip(figure.axes, labels, strict=True):
        ax.set_xlabel(label)
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.3)
    figure.set_layout_engine("constrained")
    figure.savefig(DOCS / name, dpi=90)


def main() -> None:
    """Draw both pictures."""
    methods()
    growth()
