"""Measure the neighbour graph and `DiffusionKernelKMeans` for up to a million rows.

Each run has its own process. The parts are:

search
    15 neighbours of each of a million rows, compared with faiss and pynndescent.
growth
    `DiffusionKernelKMeans` on 70,000 to a million distorted digits.
mnist
    MNIST in a new process, compared with EVoC.
table
    A generated table of numbers and categories with 10,000 to 200,000 rows.
clusters
    22,500 rows in 256 columns, with 20 and with 150 clusters.
quality
    NMI for a given number of clusters, compared with k-means, on real data.
placing
    The processor time of `predict` per new row, compared with that of the fit.

EVoC, faiss and pynndescent are optional: `pip install evoc faiss-cpu pynndescent`.
Methods whose library is missing are left out.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from importlib.util import find_spec
from itertools import pairwise
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from akkm import DiffusionKernelKMeans
from akkm.core.threads import Threads
from akkm.diffusion.neighbour_search import search_for
from experiments.benchmarks import RESULTS
from experiments.benchmarks.graph_tables import report
from experiments.benchmarks.unknown_k import DATA
from experiments.datasets import load
from experiments.datasets.distorted import distorted_digits
from experiments.harness.costs import costs, machine
from experiments.harness.pages import write_file
from experiments.harness.runner import in_new_process, run_missing
from experiments.harness.store import JsonLines, Record

Array = NDArray[Any]

_NEIGHBOURS = 15
_CHECKED_ROWS = 500  # rows whose true neighbours are computed
_NEW_ROWS = 10_000  # minimum number of rows that are placed
_REAL = {"MNIST": "mnist", "Cover Type": "covtype", "KDD Cup 99, 10 %": "kddcup99"}
_IMAGES = {"ImageNet, 12 synsets": "imagenet12"}  # spatial pyramids
_SIZES = {
    "growth": (70_000, 140_000, 280_000, 560_000, 1_000_000),
    "table": (10_000, 20_000, 50_000, 100_000, 200_000),
    "clusters": (20, 150),
    "search": (100, 384),
}


def _manifolds(n: int, d: int, seed: int) -> Array:
    """Draw n rows near 1,000 linear manifolds of 12 dimensions in d columns."""
    rng = np.random.default_rng(seed)
    n_parts, inner = 1000, 12
    means = rng.standard_normal((n_parts, d), dtype=np.float32)
    which = np.sort(rng.integers(n_parts, size=n))
    X = 0.05 * rng.standard_normal((n, d), dtype=np.float32)
    X += means[which]
    for rows in np.split(np.arange(n), np.cumsum(np.bincount(which))):
        if len(rows):
            basis = rng.standard_normal((inner, d), dtype=np.float32) / np.sqrt(inner)
            X[rows] += rng.standard_normal((len(rows), inner), dtype=np.float32) @ basis
    return X[rng.permutation(n)]


def _recall(X: Array, indices: Array) -> float:
    """Return the share of true neighbours among `indices` (n, k), on some rows."""
    rows = np.random.default_rng(0).choice(len(X), _CHECKED_ROWS, replace=False)
    lengths = np.einsum("ij,ij->i", X, X)
    D = lengths - 2 * (X[rows] @ X.T)
    D[np.arange(len(rows)), rows] = np.inf
    true = np.argpartition(D, _NEIGHBOURS, axis=1)[:, :_NEIGHBOURS]
    shares = [np.isin(a, indices[i]).mean() for a, i in zip(true, rows, strict=True)]
    return float(np.mean(shares))


def _akkm_search(X: Array, seed: int, wanted: float) -> tuple[Array, Record]:
    rng = np.random.default_rng(seed)
    with Threads(None) as engine:
        search, order = search_for(X, "euclidean", engine, rng)
        found = search.neighbours(_NEIGHBOURS, engine, rng, lambda text: None)[0]
    indices = np.empty_like(found)
    indices[order] = order[found]
    return indices, {}


def _faiss_search(X: Array, seed: int, wanted: float) -> tuple[Array, Record]:
    """Search only as many inverted lists as the wanted recall needs.

    How many it needs is found on some rows.
    """
    import faiss

    n, d = X.shape
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, 2 * int(np.sqrt(n)))
    index.cp.seed = seed
    index.train(X[np.random.default_rng(seed).choice(n, 32 * index.nlist)])
    index.add(X)
    started = process_time()
    rows = np.random.default_rng(1).choice(n, _CHECKED_ROWS, replace=False)
    index.nprobe = index.nlist
    true = index.search(X[rows], _NEIGHBOURS + 1)[1]
    index.nprobe = 1
    while True:
        found = index.search(X[rows], _NEIGHBOURS + 1)[1]
        pairs = zip(true, found, strict=True)
        if np.mean([np.isin(a, b).mean() for a, b in pairs]) >= wanted:
            break
        index.nprobe += 1
    choice = process_time() - started  # not a cost of the search
    found = index.search(X, _NEIGHBOURS + 1)[1]
    return found, {"probes": index.nprobe, "not_counted": choice}


def _pynndescent_search(X: Array, seed: int, wanted: float) -> tuple[Array, Record]:
    """Search twice: the first search, among few rows, only compiles the code."""
    from pynndescent import NNDescent

    clock, started = perf_counter(), process_time()
    NNDescent(X[:5000], n_neighbors=_NEIGHBOURS + 1, random_state=seed)
    compilation = process_time() - started
    record = {"compilation": compilation, "compilation_wall": perf_counter() - clock}
    index = NNDescent(X, n_neighbors=_NEIGHBOURS + 1, random_state=seed)
    return index.neighbor_graph[0], record | {"not_counted": compilation}


_SEARCHES: dict[str, tuple[Callable[..., tuple[Array, Record]], str]] = {
    "akkm": (_akkm_search, "akkm"),
    "faiss": (_faiss_search, "faiss"),
    "pynndescent": (_pynndescent_search, "pynndescent"),
}


def search(size: int, method: str, seed: int, wanted: float) -> Record:
    """Find the neighbours of a million rows in `size` columns."""
    X = _manifolds(1_000_000, size, seed)
    with costs() as spent:
        indices, record = _SEARCHES[method][0](X, seed, wanted)
    record["recall"] = _recall(X, indices)
    return record | _cost_fields(spent) | {"bytes_of_rows": X.nbytes}


def growth(size: int, method: str, seed: int) -> Record:
    """Cluster `size` distorted digits."""
    data = load("mnist")
    X, y = distorted_digits(data.X, data.classes, size, seed)
    del data
    return _fit_record(X, y, 10, seed)


def mnist(size: int, method: str, seed: int) -> Record:
    """Cluster MNIST with akkm, or with EVoC, which estimates the number of clusters."""
    data = load("mnist")
    X, y = np.ascontiguousarray(data.X, dtype=np.float32), data.classes
    if method == "akkm":
        return _fit_record(X, y, 10, seed)
    from evoc import EVoC

    EVoC(random_state=seed).fit_predict(X[:5000])  # compiles
    with costs() as spent:
        labels = EVoC(random_state=seed).fit_predict(X)
    kept = labels >= 0
    return _cost_fields(spent) | {
        "nmi": _nmi(y, labels),
        "nmi_at_94": _nmi(y[kept], labels[kept]),
        "ari": adjusted_rand_score(y, labels),
        "ari_at_94": adjusted_rand_score(y[kept], labels[kept]),
        "coverage": float(kept.mean()),
    }


def table(size: int, method: str, seed: int) -> Record:
    """Cluster a table with 21 columns of numbers and 10 of categories.

    Its encoding has 121 columns.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(8, size=size)
    numbers = rng.normal(0, 1.2, (8, 21))[y] + rng.standard_normal((size, 21))
    shares = rng.dirichlet(np.full(10, 0.5), size=(10, 8)).cumsum(axis=2)
    parts = [numbers]
    for column in shares:
        value = (rng.random(size)[:, None] > column[y][:, :-1]).sum(axis=1)
        parts.append(np.eye(10)[value])
    return _fit_record(np.hstack(parts).astype(np.float32), y, 8, seed)


def clusters(size: int, method: str, seed: int) -> Record:
    """Cluster 22,500 unit vectors in 256 columns; there are `size` clusters."""
    rng = np.random.default_rng(seed)
    y = rng.integers(size, size=22_500)
    X = rng.standard_normal((size, 256))[y] + rng.standard_normal((len(y), 256))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return _fit_record(X.astype(np.float32), y, size, seed)


def quality(data: str, method: str, seed: int) -> Record:
    """Cluster a real data set, for a given number of clusters."""
    if name := (_REAL | _IMAGES).get(data):
        loaded = load(name)
        X, y = loaded.X, loaded.classes
        X = X.toarray() if sparse.issparse(X) else X
    else:
        X, y = DATA[data]()
        y = np.unique(y, return_inverse=True)[1]
    k = int(y.max()) + 1
    if method == "akkm":
        return _fit_record(X, y, k, seed)
    with costs() as spent:
        labels = KMeans(k, n_init=10, random_state=seed).fit_predict(X)
    return _cost_fields(spent) | {"nmi": _nmi(y, labels)}


def placing(data: str, method: str, seed: int) -> Record:
    """Fit 80 % of the rows, predict new rows, and compare the time per row.

    The new rows are the other 20 %, repeated with small changes up to 10,000 rows.
    """
    if data in _REAL:
        loaded = load(_REAL[data])
        X, y = np.asarray(loaded.X, dtype=np.float32), loaded.classes
    else:
        X, y = DATA[data]()
        X = X.astype(np.float32)
    rows = np.random.default_rng(seed).permutation(len(X))
    train, test = np.split(rows, [int(0.8 * len(X))])
    rng = np.random.default_rng(seed)
    new = X[np.resize(test, max(len(test), _NEW_ROWS))]
    new *= 1 + np.float32(1e-5) * rng.standard_normal(new.shape, dtype=np.float32)
    model = DiffusionKernelKMeans(len(np.unique(y)), random_state=seed)
    with costs() as fit:
        model.fit(X[train])
    same = bool((model.predict(X[train]) == model.labels_).all())
    with costs() as predict:
        labels = model.predict(new)
    per_row = fit.cpu_seconds / len(train), predict.cpu_seconds / len(new)
    return {
        "fit": per_row[0],
        "predict": per_row[1],
        "labels_equal_predict": same,
        "nmi_fit": _nmi(y[train], model.labels_),
        "nmi_new": _nmi(y[test], labels[: len(test)]),
    }


def _fit_record(X: Array, y: Array, k: int, seed: int) -> Record:
    """Fit the rows; return costs, NMI and the longest time without output."""
    printed = _Clock()
    model = DiffusionKernelKMeans(k, random_state=seed, verbose=1)
    with costs() as spent, redirect_stdout(printed):
        printed.times.append(perf_counter())
        model.fit(X)
        printed.times.append(perf_counter())
    record = _cost_fields(spent) | {"nmi": _nmi(y, model.labels_)}
    record["ari"] = adjusted_rand_score(y, model.labels_)
    record["neighbours"] = model.n_neighbors_
    record["silence"] = max(b - a for a, b in pairwise(printed.times))
    order = np.argsort(-model.certainty(X), kind="stable")[: round(0.94 * len(y))]
    classes, labels = y[order], model.labels_[order]
    record["ari_at_94"] = adjusted_rand_score(classes, labels)
    return record | {"nmi_at_94": _nmi(classes, labels)}


class _Clock(io.TextIOBase):
    """A stream that stores the times at which something was written."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def write(self, text: str) -> int:
        self.times.append(perf_counter())
        return sys.stderr.write(text)


def _cost_fields(spent: Any) -> Record:
    return {
        "seconds": spent.seconds,
        "cpu_seconds": spent.cpu_seconds,
        "peak_bytes": spent.peak_bytes,
    }


def _nmi(classes: Array, labels: Array) -> float:
    return float(normalized_mutual_info_score(classes, labels))


def _runs(seeds: int) -> Iterator[Record]:
    for size in _SIZES["search"]:
        for method, (_, library) in _SEARCHES.items():
            if find_spec(library):
                yield {"part": "search", "size": size, "method": method, "seed": 0}
    for size in _SIZES["growth"]:
        yield {"part": "growth", "size": size, "method": "akkm", "seed": 0}
    for seed in range(seeds):
        for method in ("akkm", "EVoC") if find_spec("evoc") else ("akkm",):
            yield {"part": "mnist", "size": 70_000, "method": method, "seed": seed}
    for part in ("table", "clusters"):
        for size in _SIZES[part]:
            yield {"part": part, "size": size, "method": "akkm", "seed": 0}
    names = [*DATA, *(name for name in _REAL if name not in DATA)]
    for name in (*names, *_IMAGES):
        for seed in range(seeds):
            for method in ("akkm", "KMeans"):
                yield {"part": "quality", "data": name, "method": method, "seed": seed}
    for name in names:
        yield {"part": "placing", "data": name, "method": "akkm", "seed": 0}


def main(only: Sequence[str] = (), seeds: int = 5) -> None:
    """Run the missing measurements and write the page."""
    records = JsonLines(RESULTS / "graphs.jsonl")

    def measure(part: str, **run: Any) -> Record:
        if part == "search":
            ours = records.find(part=part, size=run["size"], method="akkm")
            run["wanted"] = ours[0]["recall"] if ours else 0.95
        return in_new_process(globals()[part], **run) | {"machine": machine()}

    runs = [run for run in _runs(seeds) if not only or {*only} & {*run.values()}]
    run_missing(records, runs, measure)
    write_file(RESULTS / "graphs.md", report(records))
