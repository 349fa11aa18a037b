"""Measure the quality and time of landmark strategies, MCLA and ensembles.

MCLA, the meta-clustering algorithm, combines the labels of an ensemble. The field `of`
of a record says what was measured. AKKM_DATA must be set. The KDD stand-in consists of
rows drawn from the 10 % file of KDD Cup 99, as many as the full file has.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from statistics import mean, median, stdev
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from akkm import ApproxKernelKMeans, EnsembleKernelKMeans
from akkm.consensus import mcla
from akkm.core.gram import factor
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.kernels import RBF, Kernel, Polynomial
from akkm.landmarks import STRATEGIES, Pool
from akkm.metrics import nmi
from akkm.rows import chunks
from experiments.benchmarks import RESULTS
from experiments.benchmarks.contestants import bare_pass
from experiments.benchmarks.prepared_rows import prepare, require_data
from experiments.benchmarks.tasks import SECTIONS
from experiments.datasets import load
from experiments.harness.costs import machine, machines
from experiments.harness.pages import (
    Block,
    Heading,
    Paragraph,
    ResultTable,
    markdown,
    write_file,
)
from experiments.harness.runner import run_missing
from experiments.harness.store import JsonLines, Record

Array = NDArray[Any]

# Numbers of landmarks.
_SIZES = (175, 250, 350, 500, 700, 1000, 1400, 2000)
_DATA: dict[str, tuple[str, int, Kernel]] = {
    "covtype": ("Cover Type, rbf, sigma 0.35", 581_012, RBF(sigma=0.35)),
    "kdd": (
        "KDD Cup 99 stand-in, polynomial of degree 3",
        4_898_431,
        Polynomial(gamma=1.0, degree=3, coef0=1.0),
    ),
}
# Number of rows on which the trace error is measured. The rows are the same for all
# strategies.
_MEASURED = 20_000
# Older records have no field "machine". They were measured on the following machine.
_MACHINE = (
    "AMD EPYC, 1 cores; Python 3.11.7, numpy 2.4.6, scipy 1.17.1, scikit-learn 1.9.1, "
    "tslearn 0.10.0"
)


def trace_error(X: Array, rows: Array, kernel: Kernel, engine: Threads) -> float:
    """Return tr(K - K_B K̂⁺ K_Bᵀ) / tr(K) over a sample of the rows of X.

    `rows` are the row numbers of the landmarks. K is the kernel matrix of the sample,
    K_B that of the sample with the landmarks, and K̂ that of the landmarks.
    """
    sample = np.random.default_rng(1).choice(len(X), _MEASURED, replace=False)
    Z = X[rows].astype(np.float64)
    strip = Strip(X[np.sort(sample)].astype(np.float64), kernel, Z, np.float64)
    gram = factor(strip.kernel_rows(Z))
    diag = kernel.diag(strip.X)

    def part(chunk: slice) -> float:
        tiles = strip.tiles(chunk)
        return sum(float((diag[r] - gram.squared_norms(phi)).sum()) for r, phi in tiles)

    return sum(engine.map(part, chunks(strip.n))) / float(diag.sum())


def _landmark_runs() -> Iterator[Record]:
    for data, seed, m, strategy in product(_DATA, range(5), _SIZES, STRATEGIES):
        # column-norm computes n x 10,000 kernel values for any m. This is slow, so
        # column-norm is run for one m and one seed only.
        is_slow = strategy == "column-norm" and (m != 1000 or seed)
        is_extra = strategy not in ("uniform", "rpcholesky") and seed > 1
        if not (is_slow or is_extra):
            about = {"of": "landmarks", "data": data, "strategy": strategy}
            yield about | {"m": m, "seed": seed}


def measure_landmarks(of: str, data: str, strategy: str, m: int, seed: int) -> Record:
    """Measure the trace error and the time of a landmark strategy."""
    kernel, X = _DATA[data][2], _rows(data)
    with Threads() as engine:
        pool = Pool(X, kernel, None, engine)
        start = perf_counter()
        rows = STRATEGIES[strategy](pool, m, np.random.default_rng(seed))
        seconds = perf_counter() - start
        error = trace_error(X, rows, kernel, engine)
    return {"seconds": seconds, "error": error, "machine": machine()}


@lru_cache(maxsize=1)
def _rows(data: str) -> Array:
    return np.load(prepare(data, _DATA[data][1]))


def measure_mcla(of: str, seed: int) -> Record:
    """Measure the time of MCLA and, for comparison, of a kernel pass.

    MCLA combines ten noisy copies of a planted partition of n rows, where n is the
    number of rows of the KDD stand-in. The kernel pass computes the kernel values of
    the stand-in's rows with 1,000 landmarks.
    """
    task = next(t for s in SECTIONS if s.name == "kdd" for t in s.tasks if t.m == 1000)
    planted, labelings = _noisy_copies(task.n, 23, 10)
    X = _rows("kdd")
    record: Record = {}
    start = perf_counter()
    bare_pass(task, seed, X)
    record["kernel pass"] = perf_counter() - start
    for partitioner in ("matching", "metis"):
        start = perf_counter()
        consensus = mcla(labelings, 23, partitioner=partitioner, random_state=seed)
        record[partitioner] = perf_counter() - start
        record[f"ARI {partitioner}"] = adjusted_rand_score(planted, consensus.labels)
    return record | {"machine": machine()}


def _noisy_copies(n: int, n_clusters: int, members: int) -> tuple[Array, list[Array]]:
    """Return a partition, and renumbered copies of it with 20 % random labels."""
    rng = np.random.default_rng(0)
    planted = rng.integers(n_clusters, size=n, dtype=np.int32)
    copies = []
    for _ in range(members):
        labels = rng.permutation(n_clusters).astype(np.int32)[planted]
        wrong = rng.random(n) < 0.2
        labels[wrong] = rng.integers(n_clusters, size=wrong.sum(), dtype=np.int32)
        copies.append(labels)
    return planted, copies


_MNIST: dict[str, Any] = {"kernel": "sigmoid", "gamma": 0.0045, "coef0": 0.11}
_MEMBERS: dict[str, tuple[Any, int]] = {
    "single, m = 100": (ApproxKernelKMeans, 100),
    "single, m = 1,000": (ApproxKernelKMeans, 1000),
    "ensemble of 10, m = 100": (EnsembleKernelKMeans, 100),
}


def measure_ensemble(of: str, method: str, seed: int) -> Record:
    """Measure the time of a fit to MNIST, and the NMI of its labels with classes."""
    data = load("mnist")
    estimator, m = _MEMBERS[method]
    model = estimator(10, n_landmarks=m, random_state=seed, **_MNIST)
    start = perf_counter()
    model.fit(data.X)
    seconds = perf_counter() - start
    score = nmi(data.classes, model.labels_)
    return {"seconds": seconds, "nmi": score, "machine": machine()}


def report(records: JsonLines) -> str:
    """Return the whole page as Markdown."""
    blocks: list[Block] = [
        Paragraph(
            "Written by `python -m experiments bench methods` from `methods.jsonl`, "
            "not by hand."
        ),
        Paragraph(machines(records.records, _MACHINE)),
        Heading("Landmark strategies"),
        Paragraph(
            "A column with the name of a strategy shows its relative trace error, "
            f"tr(K - K_B K̂⁺ K_Bᵀ) / tr(K), on {_MEASURED:,} sampled rows. K is the "
            "kernel matrix of the sampled rows, K_B that of the sampled rows with the "
            "landmarks, and K̂ that of the landmarks. Errors are means over seeds: 5 "
            "seeds for uniform and rpcholesky, 1 seed for column-norm, and 2 seeds for "
            'the other strategies. Columns named "s" show median times in seconds.'
        ),
    ]
    for data, (title, n, _) in _DATA.items():
        blocks.append(Heading(f"{title}, {n:,} rows", 3))
        blocks += [_strategies(records, data), _needed(records, data)]
    n_runs = len(records.find(of="mcla"))
    blocks += [
        Heading("MCLA"),
        Paragraph(
            "A partition divides 4,898,431 rows into 23 clusters. MCLA combines ten "
            "copies of this planted partition. In each copy the clusters are "
            "renumbered, and a fifth of the labels are random. matching and metis are "
            "the two algorithms with which MCLA groups clusters. For comparison, one "
            "kernel pass over the same number of rows is timed, with 50 columns and "
            f"m = 1,000 landmarks. Times are medians of {n_runs} runs. Each ARI is the "
            "lowest of these runs."
        ),
        _mcla(records),
        Heading("Ensemble, MNIST, sigmoid kernel"),
        Paragraph("NMI compares clusters with digits. Seconds are median times."),
        _ensemble(records),
    ]
    return markdown("Methods compared", blocks)


def _strategies(records: JsonLines, data: str) -> ResultTable:
    head = ["m", *(name for strategy in STRATEGIES for name in (strategy, "s"))]
    rows = []
    for m in _SIZES:
        row = [f"{m:,}"]
        for strategy in STRATEGIES:
            runs = records.find(of="landmarks", data=data, strategy=strategy, m=m)
            if runs:
                row.append(f"{mean(r['error'] for r in runs):.3g}")
                row.append(_seconds(median(r["seconds"] for r in runs)))
            else:
                row += ["–", "–"]
        rows.append(row)
    return ResultTable("", head, rows)


def _seconds(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}" if value >= 0.01 else "0"


def _needed(records: JsonLines, data: str) -> ResultTable:
    """Return a table: numbers of uniform and rpcholesky landmarks with equal error."""
    errors = {
        s: [
            mean(r["error"] for r in records.find(data=data, strategy=s, m=m))
            for m in _SIZES
        ]
        for s in ("uniform", "rpcholesky")
    }
    rows = []
    falling = np.minimum.accumulate(errors["rpcholesky"])
    for m, error in zip(_SIZES, errors["uniform"], strict=True):
        if error > falling[0]:
            few = _SIZES[0]
            rows.append([f"{m:,}", f"fewer than {few}", f"below {few / m:.0%}"])
        else:
            log = np.interp(-np.log(error), -np.log(falling), np.log(_SIZES))
            rows.append([f"{m:,}", f"{np.exp(log):,.0f}", f"{np.exp(log) / m:.0%}"])
    head = ["uniform landmarks", "rpcholesky landmarks with the same error", "share"]
    return ResultTable("", head, rows)


def _mcla(records: JsonLines) -> ResultTable:
    runs = records.find(of="mcla")
    rows = []
    for name in ("kernel pass", "matching", "metis"):
        seconds = median(r[name] for r in runs)
        ratio = median(r[name] / r["kernel pass"] for r in runs)
        agreement = min((r.get(f"ARI {name}", np.nan) for r in runs), default=np.nan)
        shown = "–" if np.isnan(agreement) else f"{agreement:.5f}"
        rows.append([name, f"{seconds:.2f}", f"{ratio:.2f}", shown])
    head = ["", "seconds", "time / kernel pass", "ARI with the planted partition"]
    return ResultTable("", head, rows)


def _ensemble(records: JsonLines) -> ResultTable:
    rows = []
    for name in _MEMBERS:
        runs = records.find(of="ensemble", method=name)
        values = [r["nmi"] for r in runs]
        cells = [mean(values), stdev(values), min(values), max(values)]
        seconds = median(r["seconds"] for r in runs)
        shown = [f"{value:.4f}" for value in cells]
        rows.append([name, *shown, str(len(runs)), f"{seconds:.1f}"])
    head = ["", "NMI, mean", "standard deviation", "lowest", "highest", "seeds"]
    return ResultTable("", [*head, "seconds"], rows)


def main() -> None:
    """Run the missing measurements and write the page."""
    require_data()
    records = JsonLines(RESULTS / "methods.jsonl")
    members = product(range(10), _MEMBERS)
    ensemble = [{"of": "ensemble", "method": x, "seed": seed} for seed, x in members]
    run_missing(records, ensemble, measure_ensemble)
    copies = [{"of": "mcla", "seed": seed} for seed in range(5)]
    run_missing(records, copies, measure_mcla)
    run_missing(records, _landmark_runs(), measure_landmarks)
    write_file(RESULTS / "methods.md", report(records))
