"""Clustering with known classes: quality on MNIST, and the time of constraints.

Each run has its own process. The page results/known.md is written from the stored
records. The quality part needs AKKM_DATA. PCKMeans needs the package
active-semi-supervised-clustering, and is left out if it is not installed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from akkm.atomic_file import AtomicFile
from experiments.benchmarks import CACHE, RESULTS
from experiments.benchmarks.prepared_rows import prepare
from experiments.harness.costs import costs, machine, machines
from experiments.harness.pages import (
    Block,
    Heading,
    Paragraph,
    ResultTable,
    markdown,
    mean_and_deviation,
    write_file,
)
from experiments.harness.runner import in_new_process, run_missing
from experiments.harness.store import JsonLines, Record

Array = NDArray[Any]

# Number of rows of each data set.
DATA = {"MNIST 2,000": 2_000, "MNIST 10,000": 10_000, "MNIST 70,000": 70_000}
COUNTS = (0, 10, 50, 200, 1000)
# Further counts: half of the counts from 50 on. They are measured only for rows that
# `suggest` chooses.
_HALVES = (25, 100, 500)
_ALL_COUNTS = sorted({*COUNTS, *_HALVES})
# Quality is measured on the rows after the first _MOST_KNOWN of a random order. Runs
# with random known rows take these from the first _MOST_KNOWN.
_MOST_KNOWN = max(COUNTS)
_TIMEOUT = 3600
# The time part: rows, clusters, known rows and pairs.
_ROWS, _CLUSTERS, _KNOWN, _PAIRS = 1_000_000, 20, 10_000, 10_000


def _approximate(seed: int) -> Any:
    from akkm import ApproxKernelKMeans

    return ApproxKernelKMeans(10, random_state=seed)


def _diffusion(seed: int) -> Any:
    """Return a model for the graph of neighbours, which `measure_here` builds once."""
    from akkm import DiffusionKernelKMeans

    return DiffusionKernelKMeans(10, metric="precomputed_similarity", random_state=seed)


def _labels(create: Callable[[int], Any]) -> Callable[..., Array]:
    def fit(X: Any, known: dict[int, int], seed: int) -> Array:
        return np.asarray(create(seed).fit(X, known=known).labels_)

    return fit


def _partial_labels(X: Array, known: dict[int, int]) -> Array:
    y = np.full(len(X), -1)
    y[list(known)] = list(known.values())
    return y


def label_spreading(X: Array, known: dict[int, int], seed: int) -> Array:
    from sklearn.semi_supervised import LabelSpreading

    model = LabelSpreading(kernel="knn", n_neighbors=15)
    return model.fit(X, _partial_labels(X, known)).transduction_


def self_training(X: Array, known: dict[int, int], seed: int) -> Array:
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.semi_supervised import SelfTrainingClassifier

    model = SelfTrainingClassifier(KNeighborsClassifier(min(5, len(known))))
    return model.fit(X, _partial_labels(X, known)).predict(X)


def pck_means(X: Array, known: dict[int, int], seed: int) -> Array:
    """Cluster by PCKMeans, with must-link pairs of rows of the same class."""
    from active_semi_clustering.semi_supervised.pairwise_constraints import PCKMeans

    rows = sorted(known)
    pairs = [(a, b) for i, a in enumerate(rows) for b in rows[i + 1 :]]
    same = [pair for pair in pairs if known[pair[0]] == known[pair[1]]]
    apart = [pair for pair in pairs if known[pair[0]] != known[pair[1]]]
    np.random.seed(seed)  # noqa: NPY002 (PCKMeans uses the global generator)
    model = PCKMeans(n_clusters=10, max_iter=20)
    model.fit(X, ml=same, cl=apart)
    return np.asarray(model.labels_)


# Each method, the largest number of rows and of known rows on which it is run, and
# whether it needs known rows.
CONTESTANTS: dict[str, tuple[Any, int, int, bool]] = {
    "approximate": (_labels(_approximate), 10**9, 10**9, False),
    "diffusion": (_labels(_diffusion), 10**9, 10**9, False),
    "LabelSpreading": (label_spreading, 10_000, 10**9, True),
    "SelfTraining(KNN)": (self_training, 10_000, 10**9, True),
    "PCKMeans": (pck_means, 2_000, 200, True),
}
_SUGGESTING = {"approximate": _approximate, "diffusion": _diffusion}


def mnist(n: int) -> tuple[Array, Array]:
    """Return n random rows and their classes from 0 to 9."""
    from experiments.datasets import load

    data = load("mnist")
    rows = np.random.default_rng(0).permutation(len(data.X))[:n]
    classes = np.unique(np.asarray(data.classes), return_inverse=True)[1]
    return data.X[rows], classes[rows]


def neighbours(X: Array) -> Any:
    """Return the graph of neighbours of the rows; it is computed once per size."""
    from akkm import neighbor_graph

    path = CACHE / f"mnist-graph-{len(X)}.npz"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        with AtomicFile(path) as file:
            sparse.save_npz(file, neighbor_graph(X, random_state=0))
    return sparse.load_npz(path)


def accuracy(y: Array, labels: Array) -> float:
    """Return the share of rows in the right class.

    Clusters are matched with classes one to one, so that this share is largest.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.benchmarks.known import accuracy
    >>> accuracy(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]))
    0.75
    """
    from scipy.optimize import linear_sum_assignment

    counts = np.zeros((y.max() + 1, max(labels.max(), y.max()) + 1))
    np.add.at(counts, (y, labels), 1)
    matched = linear_sum_assignment(-counts)
    return float(counts[matched].sum() / len(y))


def measure(**run: Any) -> Record:
    """Measure one run in a new process."""
    function = measure_time if run["data"] == "time" else measure_here
    return in_new_process(function, timeout=_TIMEOUT, **run)


def measure_here(
    data: str, contestant: str, chosen: str, known: int, seed: int
) -> Record:
    """Measure the quality of one run, on rows that are not known."""
    from sklearn.metrics import normalized_mutual_info_score

    X, y = mnist(DATA[data])
    order = np.random.default_rng(seed).permutation(len(X))
    rows = order[:known]
    if contestant == "diffusion":
        X = neighbours(X)
    if chosen == "suggest":
        rows = _SUGGESTING[contestant](seed).fit(X).suggest(X, known)
    others = np.setdiff1d(order[_MOST_KNOWN:], rows)
    fit = CONTESTANTS[contestant][0]
    with costs() as spent:
        labels = fit(X, {int(i): int(y[i]) for i in rows}, seed)
    return {
        "nmi": float(normalized_mutual_info_score(y[others], labels[others])),
        "accuracy": accuracy(y[others], labels[others]),
        "seconds": spent.seconds,
        "processor_seconds": spent.cpu_seconds,
        "machine": machine(),
    }


def measure_time(
    data: str, contestant: str, chosen: str, known: int, seed: int
) -> Record:
    """Measure a fit of a million rows with and without constraints."""
    import akkm

    X = np.load(prepare("mixture", _ROWS))
    rng = np.random.default_rng(0)
    means = 2 * rng.standard_normal((_CLUSTERS, X.shape[1]), dtype=np.float32)
    y = rng.integers(_CLUSTERS, size=_ROWS)  # as in `prepare`
    assert np.linalg.norm(X[:9] - means[y[:9]], axis=1).max() < 2 * X.shape[1] ** 0.5
    rows = np.random.default_rng(1 + seed).permutation(_ROWS)
    pairs = rows[_KNOWN : _KNOWN + 2 * _PAIRS].reshape(-1, 2)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    constraints = {
        "known": {int(i): int(y[i]) for i in rows[:_KNOWN]},
        "must_link": pairs[same],
        "cannot_link": pairs[~same],
    }
    found: Record = {}
    akkm.ApproxKernelKMeans(_CLUSTERS, random_state=seed).fit(X[:30_000])
    for name, given in (("plain", {}), ("constrained", constraints)):
        with costs() as spent:
            akkm.ApproxKernelKMeans(_CLUSTERS, random_state=seed).fit(X, **given)
        found[f"{name}_processor_seconds"] = spent.cpu_seconds
        found[f"{name}_seconds"] = spent.seconds
    return found | {"machine": machine()}


def runs(only: Sequence[str], seeds: int) -> Iterator[Record]:
    """Yield the runs on available data; `only` selects data sets or contestants."""
    for seed in range(seeds):
        if not only or "time" in only:
            yield {
                **{"data": "time", "contestant": "approximate", "chosen": "random"},
                **{"known": _KNOWN, "seed": seed},
            }
        for data, contestant, known in product(DATA, CONTESTANTS, _ALL_COUNTS):
            _, most, most_known, needs = CONTESTANTS[contestant]
            if only and not {data, contestant} & set(only):
                continue
            if "AKKM_DATA" not in os.environ or DATA[data] > most:
                continue
            if known > most_known or (needs and not known):
                continue
            run = {"data": data, "contestant": contestant, "known": known}
            if known in COUNTS:
                yield {**run, "chosen": "random", "seed": seed}
            if known and contestant in _SUGGESTING:
                yield {**run, "chosen": "suggest", "seed": seed}


def report(records: JsonLines) -> str:
    """Return the page: tables of NMI and accuracy, and the time of constraints."""
    blocks: list[Block] = [
        Paragraph(
            "Written by `python -m experiments bench known` from `known.jsonl`, not by "
            "hand."
        ),
        Paragraph(machines(records.records, "")),
        Paragraph(
            "NMI and accuracy are means over seeds ± standard deviations, on rows "
            "whose class was not given. Columns are numbers of known rows, chosen at "
            'random or by `suggest`. "–" means not run; a number without ± is from one '
            "seed."
        ),
        Paragraph(
            "The constant of `known_weight` was chosen on 10,000 of these MNIST rows, "
            "on digits, on USPS and on moons. In `ApproxKernelKMeans`, the weight of "
            "rows to which classes are spread was chosen on 10,000 MNIST rows (seed "
            "0), spleen cells (flow cytometry) and moons. In `DiffusionKernelKMeans`, "
            "the steps that spread classes along the graph, and their constants, were "
            "chosen after seeing results for all 70,000 rows (seeds 0 to 3), and on "
            "10,000 rows, digits, USPS, Dry Bean, spleen cells, Stack Overflow, moons, "
            "rings and blobs. So these figures are optimistic. `DiffusionKernelKMeans` "
            "gets the graph of neighbours, which is built once."
        ),
    ]
    lines = [(c, "random") for c in CONTESTANTS] + [(c, "suggest") for c in _SUGGESTING]
    for data, (measured, title) in product(
        DATA, (("nmi", "NMI"), ("accuracy", "accuracy"))
    ):
        rows = []
        for contestant, chosen in lines:
            cells = []
            for known in _ALL_COUNTS:
                kind = "random" if not known else chosen
                good = records.find(
                    data=data, contestant=contestant, chosen=kind, known=known
                )
                cells.append(
                    mean_and_deviation([r[measured] for r in good if measured in r])
                )
            rows.append([f"{contestant}, {chosen}", *cells])
        if any(cell != "–" for row in rows for cell in row[1:]):
            head = ["", *(f"{known:,}" for known in _ALL_COUNTS)]
            blocks += [Heading(f"{data}: {title}"), ResultTable("", head, rows)]
    times = [r for r in records.find(data="time") if "plain_seconds" in r]
    if times:
        ratios = [
            r["constrained_processor_seconds"] / r["plain_processor_seconds"]
            for r in times
        ]
        blocks += [
            Heading("Time of constraints"),
            Paragraph(
                f"{_ROWS:,} rows, {_CLUSTERS} clusters, {_KNOWN:,} known rows and "
                f"{_PAIRS:,} pairs: {mean_and_deviation(ratios)} times the processor "
                f"time of the fit without constraints (number of seeds: {len(times)})."
            ),
        ]
    return markdown("Known classes and pairs", blocks)


def main(only: Sequence[str] = (), seeds: int = 10) -> None:
    """Run missing measurements and write the page."""
    records = JsonLines(RESULTS / "known.jsonl")
    run_missing(records, runs(only, seeds), measure)
    write_file(RESULTS / "known.md", report(records))
