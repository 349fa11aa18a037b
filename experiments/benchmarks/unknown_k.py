"""Compare methods that are not told the number of clusters, on real data.

For comparison, two methods are told the number ("given k"). Each method may leave rows
without a label. Quality is therefore measured twice: on the rows that the method
labels, and on all rows. In the second case, all rows without a label count as one
cluster. `ClusterLayers` and `DiffusionKernelKMeans` label all rows, and compute how
certain each label is. Their quality is also measured on the most certain rows, for
several shares of the rows. So the two estimators can be compared with EVoC on as many
rows as EVoC labels.

EVoC, fast_hdbscan and umap-learn are optional: `pip install evoc fast_hdbscan
umap-learn`. Methods whose library is missing are left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from akkm import ClusterLayers, DiffusionKernelKMeans
from experiments.benchmarks import RESULTS
from experiments.datasets.files import data_folder
from experiments.datasets.originals import mnist
from experiments.harness.costs import costs
from experiments.harness.pages import Paragraph, ResultTable, markdown, write_file
from experiments.harness.runner import run_missing
from experiments.harness.store import JsonLines, Record

Array = NDArray[Any]
Found = tuple[Array, Array | None]  # labels (n,), and certainties (n,) if known

# Shares of the rows on which quality is measured, if certainties are known.
SHARES = tuple(round(0.5 + 0.02 * i, 2) for i in range(25))
# Shares that the page shows.
_SHOWN = ("0.5", "0.6", "0.7", "0.8", "0.9")


def _stored(place: str, *, scale: bool = False) -> tuple[Array, Array]:
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError(
            f"{place} is needed, but AKKM_DATA is not set. Set AKKM_DATA to a folder "
            "that contains this file, or add --only digits."
        )
    with np.load(folder / place, allow_pickle=False) as file:
        X, y = file["X"].astype(np.float32), file["y"]
    return (StandardScaler().fit_transform(X) if scale else X), y


def _mnist() -> tuple[Array, Array]:
    arrays = mnist()
    return arrays["X"], arrays["classes"]


# For each data set, a function that returns rows and classes.
DATA: dict[str, Callable[[], tuple[Array, Array]]] = {
    "digits": lambda: load_digits(return_X_y=True),
    "StackOverflow": lambda: _stored("embeddings/stackoverflow20.npz"),
    "banking77": lambda: _stored("embeddings/banking77.npz"),
    "USPS": lambda: _stored("tables/usps.npz"),
    "Dry Bean": lambda: _stored("tables/dry_bean.npz", scale=True),
    "flow cytometry": lambda: _stored("tables/flow_spleen.npz", scale=True),
    "MNIST": _mnist,
}


def layers(X: Array, C: int, seed: int) -> Found:
    model = ClusterLayers(random_state=seed, n_jobs=1).fit(X)
    return model.labels_, model.certainty_


def diffusion_given_k(X: Array, C: int, seed: int) -> Found:
    model = DiffusionKernelKMeans(C, random_state=seed, n_jobs=1).fit(X)
    return model.labels_, model.certainty(X)


def k_means_given_k(X: Array, C: int, seed: int) -> Found:
    return KMeans(C, n_init=10, random_state=seed).fit_predict(X), None


def evoc(X: Array, C: int, seed: int) -> Found:
    from evoc import EVoC

    return EVoC(random_state=seed).fit_predict(np.ascontiguousarray(X)), None


def umap_hdbscan(X: Array, C: int, seed: int) -> Found:
    from sklearn.cluster import HDBSCAN

    return HDBSCAN(min_cluster_size=15).fit_predict(_umap(X, seed)), None


def umap_plscan(X: Array, C: int, seed: int) -> Found:
    from fast_hdbscan import PLSCAN

    return PLSCAN().fit_predict(_umap(X, seed)), None


def _umap(X: Array, seed: int) -> Array:
    from umap import UMAP

    points: Array = UMAP(min_dist=0.0, random_state=seed).fit_transform(X)
    return points


# For each method: a function, and the library that it needs.
METHODS: dict[str, tuple[Callable[[Array, int, int], Found], str]] = {
    "ClusterLayers": (layers, "akkm"),
    "EVoC": (evoc, "evoc"),
    "UMAP + HDBSCAN": (umap_hdbscan, "umap"),
    "UMAP + PLSCAN": (umap_plscan, "fast_hdbscan"),
    "DiffusionKernelKMeans, given k": (diffusion_given_k, "akkm"),
    "KMeans, given k": (k_means_given_k, "sklearn"),
}


@cache
def rows_of(data: str) -> tuple[Array, Array]:
    X, y = DATA[data]()
    return X.astype(np.float32), np.unique(y, return_inverse=True)[1]


def measure(data: str, method: str, seed: int) -> Record:
    """Run one method; return number of clusters, quality, coverage and time."""
    X, y = rows_of(data)
    with warnings.catch_warnings(), costs() as spent:
        warnings.simplefilter("ignore")
        labels, certainty = METHODS[method][0](X, int(y.max()) + 1, seed)
    labelled = np.flatnonzero(labels >= 0)
    record: Record = {
        "found": len(np.unique(labels[labelled])),
        "coverage": round(len(labelled) / len(labels), 4),
        "labelled": quality(y[labelled], labels[labelled]),
        "all": quality(y, labels),
        "seconds": round(spent.cpu_seconds, 1),
        "peak_mb": round(spent.above_bytes / 2**20),
    }
    if certainty is not None:
        order = np.argsort(-certainty, kind="stable")
        record["shares"] = {}
        for share in SHARES:
            kept = order[: round(share * len(y))]
            record["shares"][str(share)] = quality(y[kept], labels[kept])
    return record


def quality(classes: Array, labels: Array) -> list[float]:
    """Return NMI and ARI of labels (n,) with the classes (n,)."""
    scores = (normalized_mutual_info_score, adjusted_rand_score)
    return [round(float(score(classes, labels)), 4) for score in scores]


def at_coverage(run: Record, coverage: float) -> list[float]:
    """Return NMI and ARI on the most certain rows, interpolated between the shares."""
    known = {float(share): values for share, values in run["shares"].items()}
    known[1.0] = run["all"]
    shares = sorted(known)
    curves = np.array([known[share] for share in shares]).T
    return [float(np.interp(coverage, shares, curve)) for curve in curves]


def report(records: JsonLines) -> str:
    """Return the page: one table of means over seeds."""
    rows = []
    for data, method in product(DATA, METHODS):
        runs = records.find(data=data, method=method)
        if not runs:
            continue
        labelled = np.mean([run["labelled"] for run in runs], axis=0)
        everything = np.mean([run["all"] for run in runs], axis=0)
        curve = [run["shares"] for run in runs if "shares" in run]
        at_shares = ", ".join(
            f"{float(share):.0%}: {np.mean([c[share][0] for c in curve]):.3f}"
            for share in (_SHOWN if curve else ())
        )
        coverage = {
            run["seed"]: run["coverage"]
            for run in records.find(data=data, method="EVoC")
        }
        compared = [
            at_coverage(run, coverage[run["seed"]])
            for run in runs
            if "shares" in run and run["seed"] in coverage
        ]
        beside = np.mean(compared, axis=0) if compared else []
        rows.append(
            [
                data,
                method,
                ", ".join(str(run["found"]) for run in runs),
                f"{np.mean([run['coverage'] for run in runs]):.0%}",
                " / ".join(f"{value:.3f}" for value in labelled),
                " / ".join(f"{value:.3f}" for value in everything),
                " / ".join(f"{value:.3f}" for value in beside),
                at_shares,
                f"{np.median([run['seconds'] for run in runs]):.1f}",
                f"{np.median([run['peak_mb'] for run in runs]):,.0f}",
            ]
        )
    columns = ["data", "method", "clusters", "coverage", "labelled rows", "all rows"]
    columns += ["at EVoC's coverage", "NMI on the most certain rows"]
    columns += ["CPU seconds", "peak MB"]
    text = (
        "Written by `python -m experiments bench unknown_k` from `unknown_k.jsonl`, "
        "not by hand. The column of clusters lists the number of clusters for each "
        "seed. Coverage is the share of rows with a label. Quality is NMI / ARI with "
        "the classes, on labelled rows and on all rows; on all rows, those without a "
        "label count as one cluster. The column *at EVoC's coverage* contains NMI / "
        "ARI on the most certain rows, as many as EVoC labels with the same seed. "
        "Quality and coverage are means over seeds. Processor time and peak memory are "
        "medians over seeds; compilation affects only the first seed. Memory that was "
        "in use before the run does not count. Of EVoC's layers, the one that it "
        "returns by default is measured."
    )
    return markdown(
        "Unknown number of clusters",
        [Paragraph(text), ResultTable("", columns, rows, prose=True)],
    )


def main(only: Sequence[str] = (), seeds: int = 5) -> None:
    """Run the missing measurements and write the page."""
    records = JsonLines(RESULTS / "unknown_k.jsonl")
    available = [name for name, (_, library) in METHODS.items() if find_spec(library)]
    runs = [
        {"data": data, "method": method, "seed": seed}
        for data, method, seed in product(DATA, available, range(seeds))
        if not only or data in only or method in only
    ]
    run_missing(records, runs, measure)
    write_file(RESULTS / "unknown_k.md", report(records))
