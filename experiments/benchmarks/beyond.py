"""Compare the quality, processor time and memory of all clustering methods.

Each run has its own process. The page results/beyond.md and the tables in
docs/which-method.md are written from the stored records. Real data sets are used only
if AKKM_DATA is set. A contestant is a method that takes part in the comparison.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from statistics import mean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.benchmarks import DOCS, RESULTS
from experiments.harness.costs import costs, machine, machines
from experiments.harness.pages import (
    Block,
    Heading,
    Paragraph,
    ResultTable,
    markdown,
    markdown_table,
    mean_and_deviation,
    write_file,
)
from experiments.harness.runner import in_new_process, run_missing
from experiments.harness.store import JsonLines, Record

Array = NDArray[Any]
Data = tuple[Array, Array, int]  # rows, classes, number of clusters

_GUIDE = DOCS / "which-method.md"
_BEGIN, _END = "<!-- written by experiments bench beyond -->", "<!-- end -->"
# Number of seconds after which a run is stopped.
_TIMEOUT = 3600
# Older records have no field "machine". They were measured on the following machine.
_MACHINE = (
    "AMD EPYC, 2 cores; Python 3.11.7, numpy 2.4.6, scipy 1.17.1, scikit-learn 1.9.1, "
    "tslearn 0.10.0"
)


def digits() -> Data:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X.astype(np.float32), y, 10


def real(name: str) -> Data:
    from experiments.datasets import load

    data = load(name)
    return data.X, data.classes, data.n_clusters


def mnist(n: int) -> Data:
    X, y, n_clusters = real("mnist")
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    return X[rows], y[rows], n_clusters


def moons() -> Data:
    from sklearn.datasets import make_moons

    X, y = make_moons(1_000_000, noise=0.07, random_state=0)
    return X.astype(np.float32), y, 2


def rings() -> Data:
    from sklearn.datasets import make_circles

    X, y = make_circles(1_000_000, factor=0.5, noise=0.05, random_state=0)
    return X.astype(np.float32), y, 2


def spirals() -> Data:
    rng = np.random.default_rng(0)
    angle = 3 * np.pi * np.sqrt(rng.random(1_000_000))
    y = rng.integers(2, size=len(angle))
    turned = angle + np.pi * y
    X = angle[:, None] * np.column_stack([np.cos(turned), np.sin(turned)])
    return (X + rng.normal(scale=0.3, size=X.shape)).astype(np.float32), y, 2


# For each data set: a function that returns the data, and whether this function needs
# AKKM_DATA.
DATA: dict[str, tuple[Callable[[], Data], bool]] = {
    "digits": (digits, False),
    "MNIST 1,000": (lambda: mnist(1_000), True),
    "MNIST 10,000": (lambda: mnist(10_000), True),
    "MNIST 70,000": (lambda: mnist(70_000), True),
    "Cover Type": (lambda: real("covtype"), True),
    "KDD 10 %": (lambda: real("kddcup99"), True),
    "moons, 1e6": (moons, False),
    "rings, 1e6": (rings, False),
    "spirals, 1e6": (spirals, False),
}


def _akkm(name: str, **options: Any) -> Callable[[Array, int, int], Array]:
    def fit(X: Array, n_clusters: int, seed: int) -> Array:
        import akkm

        model = getattr(akkm, name)(n_clusters, random_state=seed, **options)
        return model.fit(X).labels_

    return fit


def kmeans(X: Array, n_clusters: int, seed: int) -> Array:
    from sklearn.cluster import KMeans

    return KMeans(n_clusters, n_init=10, random_state=seed).fit(X).labels_


def spectral(X: Array, n_clusters: int, seed: int) -> Array:
    from sklearn.cluster import SpectralClustering

    options = {"affinity": "nearest_neighbors", "random_state": seed}
    return SpectralClustering(n_clusters, **options).fit(X).labels_


def hdbscan(X: Array, n_clusters: int, seed: int) -> Array:
    from sklearn.cluster import HDBSCAN

    return HDBSCAN(copy=False).fit(X).labels_


def umap_hdbscan(X: Array, n_clusters: int, seed: int) -> Array:
    """Cluster as UMAP's documentation advises.

    UMAP gets no seed, because with a seed it uses only one core.
    """
    from sklearn.cluster import HDBSCAN
    from umap import UMAP

    embedded = UMAP(n_neighbors=30, min_dist=0.0).fit_transform(X)
    least = max(5, min(500, len(X) // 140))
    return HDBSCAN(min_samples=10, min_cluster_size=least).fit(embedded).labels_


# Each method, and the largest number of rows on which it is run. With more rows, ten
# seeds would take too long.
CONTESTANTS: dict[str, tuple[Callable[[Array, int, int], Array], float]] = {
    "k-means": (kmeans, np.inf),
    "aKKm": (_akkm("ApproxKernelKMeans"), np.inf),
    "Nyström spectral": (_akkm("NystroemSpectralClustering"), np.inf),
    "SpectralClustering": (spectral, 20_000),
    "HDBSCAN": (hdbscan, 20_000),
    "UMAP + HDBSCAN": (umap_hdbscan, 100_000),
    "diffusion": (_akkm("DiffusionKernelKMeans"), np.inf),
    "sparse": (_akkm("SparseKernelKMeans"), np.inf),
    "ensemble of 20 sparse": (_akkm("ConsensusKernelKMeans"), 100_000),
}
# Number of rows of the warm-up fit; methods that are not listed get 5,000 rows.
# diffusion gets more, because it uses another algorithm above 20,000 rows.
_WARM_UP = {"diffusion": 20_500}
# Methods without randomness are run with one seed only.
_DETERMINISTIC = ("HDBSCAN",)


def measure(data: str, contestant: str, seed: int) -> Record:
    """Measure one run in a new process."""
    run = {"data": data, "contestant": contestant, "seed": seed}
    return in_new_process(measure_here, timeout=_TIMEOUT, **run)


def measure_here(data: str, contestant: str, seed: int) -> Record:
    """Measure one run in this process."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    X, y, n_clusters = DATA[data][0]()
    fit, most = CONTESTANTS[contestant]
    if len(X) > most:
        return {"skipped": f"more than {most:,.0f} rows"}
    # Start with a smaller fit, so that imports, compilation and the start of threads
    # are not measured. The smaller fit has enough rows to use the same algorithm as the
    # measured fit.
    order = np.random.default_rng(0).permutation(len(X))
    fit(X[order[: _WARM_UP.get(contestant, 5_000)]], n_clusters, seed)
    with costs() as spent:
        labels = fit(X, n_clusters, seed)
    return {
        "seconds": spent.seconds,
        "processor_seconds": spent.cpu_seconds,
        "peak_mb": spent.peak_bytes / 2**20,
        "above_data_mb": spent.above_bytes / 2**20,
        "nmi": float(normalized_mutual_info_score(y, labels)),
        "ari": float(adjusted_rand_score(y, labels)),
        "clustered": float((labels >= 0).mean()),
        "machine": machine(),
    }


def runs(only: Sequence[str], seeds: int) -> Iterator[Record]:
    """Yield the runs on available data; `only` selects data sets or contestants."""
    for seed, data, contestant in product(range(seeds), DATA, CONTESTANTS):
        is_chosen = not only or data in only or contestant in only
        is_available = not DATA[data][1] or "AKKM_DATA" in os.environ
        is_repeated = seed > 0 and contestant in _DETERMINISTIC
        if is_chosen and is_available and not is_repeated:
            yield {"data": data, "contestant": contestant, "seed": seed}


def report(records: JsonLines) -> str:
    """Return the page: one table per data set, with times relative to k-means."""
    blocks: list[Block] = [
        Paragraph(
            "Written by `python -m experiments bench beyond` from `beyond.jsonl`, not "
            "by hand."
        ),
        Paragraph(machines(records.records, _MACHINE)),
        Paragraph(
            "NMI and ARI are means over seeds ± standard deviations. Clustered is the "
            "share of rows that a method assigns to a cluster; for NMI and ARI, the "
            "other rows count as one cluster. Work is the median processor time "
            "of all threads, divided by that of k-means with ten restarts. Peak MB is "
            "the peak memory of the process, data included."
        ),
        Paragraph(
            "aKKm is `ApproxKernelKMeans`, Nyström spectral is "
            "`NystroemSpectralClustering`, diffusion is `DiffusionKernelKMeans`, "
            "sparse is `SparseKernelKMeans`, and the ensemble of 20 sparse is "
            "`ConsensusKernelKMeans`. Methods that would take too long are not run."
        ),
    ]
    head = ["", "NMI", "ARI", "clustered", "work", "peak MB", "seeds"]
    for data in DATA:
        if records.find(data=data):
            base = [
                r["processor_seconds"]
                for r in records.find(data=data, contestant="k-means")
            ]
            unit = median(base) if base else None
            rows = [_row(records, data, name, unit) for name in CONTESTANTS]
            blocks += [Heading(data), ResultTable("", head, rows)]
    return markdown("All methods compared", blocks)


def _row(
    records: JsonLines, data: str, contestant: str, unit: float | None
) -> list[str]:
    stored = records.find(data=data, contestant=contestant)
    good = [r for r in stored if "nmi" in r]
    if not good:
        return [contestant, _missing_reason(stored), *[""] * 5]
    time = median(r["processor_seconds"] for r in good)
    return [
        contestant,
        *(mean_and_deviation([r[name] for r in good]) for name in ("nmi", "ari")),
        f"{mean(r['clustered'] for r in good):.0%}",
        f"{time:.1f} s" if unit is None else f"{time / unit:.2f}",
        f"{max(r['peak_mb'] for r in good):,.0f}",
        str(len(good)),
    ]


def _missing_reason(stored: list[Record]) -> str:
    reasons = (r.get("failed") or f"not run: {r['skipped']}" for r in stored)
    return next(reasons, "not run")


def summary(records: JsonLines) -> str:
    """Return two tables: NMI and processor time of all methods on all data sets."""
    cells: dict[str, Callable[[list[Record]], str]] = {
        "NMI": lambda good: mean_and_deviation([r["nmi"] for r in good]),
        "seconds of processor time": lambda good: (
            f"{median(r['processor_seconds'] for r in good):.1f}"
        ),
    }
    tables = []
    for title, cell in cells.items():
        rows = []
        for contestant in CONTESTANTS:
            row = [contestant]
            for data in DATA:
                stored = records.find(data=data, contestant=contestant)
                good = [r for r in stored if "nmi" in r]
                skipped = any("skipped" in r for r in stored)
                if good:
                    row.append(cell(good))
                else:
                    row.append("–" if skipped else _missing_reason(stored))
            rows.append(row)
        tables.append(markdown_table([title, *DATA], rows))
    return "\n\n".join(tables)


def main(only: Sequence[str] = (), seeds: int = 10) -> None:
    """Run missing measurements; write the page and the tables in which-method.md."""
    records = JsonLines(RESULTS / "beyond.jsonl")
    run_missing(records, runs(only, seeds), measure)
    write_file(RESULTS / "beyond.md", report(records))
    text = _GUIDE.read_text()
    before, after = text.split(_BEGIN)[0], text.split(_END)[1]
    write_file(_GUIDE, f"{before}{_BEGIN}\n\n{summary(records)}\n\n{_END}{after}")
