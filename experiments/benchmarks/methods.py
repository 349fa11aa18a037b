"""Landmark strategies, MCLA and the ensemble: `python -m experiments.benchmarks.methods`.

Each measurement is a line in results/methods.jsonl as soon as it is there; one that is
there is not made again. The tables are written from these lines to results/methods.md.
Needs AKKM_DATA.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median, stdev
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from akkm import ApproxKernelKMeans, EnsembleKernelKMeans
from akkm.consensus import mcla
from akkm.core.gram import factor
from akkm.core.strip import Strip, chunks
from akkm.core.threads import Threads
from akkm.kernels import RBF, Kernel, Polynomial
from akkm.landmarks import STRATEGIES, Pool
from akkm.metrics import nmi
from experiments.benchmarks.contestants import bare_pass
from experiments.benchmarks.data import prepare
from experiments.benchmarks.run_one import machine
from experiments.benchmarks.tasks import SECTIONS
from experiments.datasets import load

Array = NDArray[Any]
Record = dict[str, Any]

_RESULTS = Path(__file__).parent / "results"
_SIZES = (175, 250, 350, 500, 700, 1000, 1400, 2000)
_DATA: dict[str, tuple[str, int, Kernel]] = {
    "covtype": ("Cover Type, rbf, sigma 0.35", 581_012, RBF(sigma=0.35)),
    "kdd": (
        "KDD Cup 99 stand-in, polynomial of degree 3",
        4_898_431,
        Polynomial(gamma=1.0, degree=3, coef0=1.0),
    ),
}
# Rows on which the trace error is measured, the same for all.
_MEASURED = 20_000


class Lines:
    """Measurements in a file, by what they are of."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.records: list[Record] = [json.loads(line) for line in lines]

    def find(self, **about: Any) -> list[Record]:
        return [r for r in self.records if about.items() <= r.items()]

    def add(self, record: Record) -> None:
        self.records.append(record)
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(record, flush=True)


def trace_error(X: Array, rows: Array, kernel: Kernel, engine: Threads) -> float:
    """tr(K - K_B K̂⁺ K_Bᵀ) / tr(K), over a sample of the rows X."""
    some = np.random.default_rng(1).choice(len(X), _MEASURED, replace=False)
    Z = X[rows].astype(np.float64)
    strip = Strip(X[np.sort(some)].astype(np.float64), kernel, Z, np.float64)
    gram = factor(strip.precise(Z))
    diag = kernel.diag(strip.X)

    def part(chunk: slice) -> float:
        tiles = strip.tiles(chunk)
        return sum(float((diag[r] - gram.squared_norms(phi)).sum()) for r, phi in tiles)

    return sum(engine.map(part, chunks(strip.n))) / float(diag.sum())


def _plan() -> Iterator[tuple[str, str, int, int]]:
    for data in _DATA:
        for seed in range(5):
            for m in _SIZES:
                for strategy in STRATEGIES:
                    # Its n x 10,000 kernel values are the same for every m.
                    slow = strategy == "column-norm" and (m != 1000 or seed)
                    others = strategy not in ("uniform", "rpcholesky") and seed > 1
                    if not (slow or others):
                        yield data, strategy, m, seed


def measure_landmarks(lines: Lines, folder: Path) -> None:
    """Trace error and time of every strategy."""
    loaded: tuple[str, Array] | None = None
    for data, strategy, m, seed in _plan():
        about = {"of": "landmarks", "data": data, "strategy": strategy}
        about |= {"m": m, "seed": seed}
        if lines.find(**about):
            continue
        _, n, kernel = _DATA[data]
        if loaded is None or loaded[0] != data:
            loaded = data, np.load(prepare(data, n, folder))
        with Threads() as engine:
            pool = Pool(loaded[1], kernel, None, engine)
            start = perf_counter()
            rows = STRATEGIES[strategy](pool, m, np.random.default_rng(seed))
            seconds = perf_counter() - start
            error = trace_error(loaded[1], rows, kernel, engine)
        lines.add({**about, "seconds": seconds, "error": error})


def measure_mcla(lines: Lines, folder: Path) -> None:
    """Ten noisy copies of a planted partition, beside one kernel pass."""
    task = next(t for s in SECTIONS if s.name == "kdd" for t in s.tasks if t.m == 1000)
    planted, labelings = _noisy_copies(task.n, 23, 10)
    X = np.load(prepare("kdd", task.n, folder))
    for seed in range(5):
        if lines.find(of="mcla", seed=seed):
            continue
        record: Record = {"of": "mcla", "seed": seed}
        start = perf_counter()
        bare_pass(task, seed, X)
        record["kernel pass"] = perf_counter() - start
        for partitioner in ("matching", "metis"):
            start = perf_counter()
            found = mcla(labelings, 23, partitioner=partitioner, random_state=seed)
            record[partitioner] = perf_counter() - start
            record[f"ARI {partitioner}"] = adjusted_rand_score(planted, found.labels)
        lines.add(record)


def _noisy_copies(n: int, n_clusters: int, members: int) -> tuple[Array, list[Array]]:
    """A partition, and copies with other names and a fifth of the labels at random."""
    rng = np.random.default_rng(0)
    planted = rng.integers(n_clusters, size=n, dtype=np.int32)
    copies = []
    for _ in range(members):
        labels = rng.permutation(n_clusters).astype(np.int32)[planted]
        wrong = rng.random(n) < 0.2
        labels[wrong] = rng.integers(n_clusters, size=wrong.sum(), dtype=np.int32)
        copies.append(labels)
    return planted, copies


_MNIST = {"kernel": "sigmoid", "gamma": 0.0045, "coef0": 0.11}
_MEMBERS = {
    "single, m = 100": (ApproxKernelKMeans, 100),
    "single, m = 1,000": (ApproxKernelKMeans, 1000),
    "ensemble of 10, m = 100": (EnsembleKernelKMeans, 100),
}


def measure_ensemble(lines: Lines, folder: Path) -> None:
    """NMI with the digits, over ten seeds."""
    data = load("mnist")
    X, classes = data.X, data.classes
    for seed in range(10):
        for name, (method, m) in _MEMBERS.items():
            about = {"of": "ensemble", "method": name, "seed": seed}
            if lines.find(**about):
                continue
            model = method(10, n_landmarks=m, random_state=seed, **_MNIST)
            start = perf_counter()
            model.fit(X)
            seconds = perf_counter() - start
            lines.add(about | {"seconds": seconds, "nmi": nmi(classes, model.labels_)})


def report(lines: Lines) -> str:
    """The page."""
    text = "# Methods beside one another\n\nWritten by `python -m experiments.benchmarks.methods` "
    text += f"from `methods.jsonl`; not by hand.\n\n{machine()}\n"
    text += "\n## Landmark strategies\n\nRelative trace error, tr(K - K_B K̂⁺ K_Bᵀ) / "
    text += f"tr(K), on {_MEASURED:,} sampled rows: mean over 5 seeds for uniform and "
    text += "rpcholesky, 2 for others, 1 for column-norm; seconds are medians.\n"
    for data, (title, n, _) in _DATA.items():
        text += f"\n### {title}, {n:,} rows\n\n" + _strategies(lines, data)
    text += "\n## MCLA\n\n" + _mcla(lines)
    text += "\n## Ensemble, MNIST, sigmoid kernel\n\n" + _ensemble(lines)
    return text


def _strategies(lines: Lines, data: str) -> str:
    text = f"| m | {' | '.join(f'{s} | s' for s in STRATEGIES)} |\n"
    text += "|---:" * (1 + 2 * len(STRATEGIES)) + "|\n"
    for m in _SIZES:
        cells = []
        for strategy in STRATEGIES:
            found = lines.find(of="landmarks", data=data, strategy=strategy, m=m)
            if found:
                cells.append(f"{mean(r['error'] for r in found):.3g}")
                cells.append(_seconds(median(r["seconds"] for r in found)))
            else:
                cells += ["–", "–"]
        text += f"| {m:,} | {' | '.join(cells)} |\n"
    return text + "\n" + _needed(lines, data)


def _seconds(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}" if value >= 0.01 else "0"


def _needed(lines: Lines, data: str) -> str:
    """Landmarks by rpcholesky that have the error of m uniform ones."""
    errors = {
        s: [
            mean(r["error"] for r in lines.find(data=data, strategy=s, m=m))
            for m in _SIZES
        ]
        for s in ("uniform", "rpcholesky")
    }
    text = "| uniform landmarks | rpcholesky landmarks with the same error | share |\n"
    text += "|---:|---:|---:|\n"
    falling = np.minimum.accumulate(errors["rpcholesky"])
    for m, error in zip(_SIZES, errors["uniform"], strict=True):
        if error > falling[0]:
            text += f"| {m:,} | fewer than {_SIZES[0]} | below {_SIZES[0] / m:.0%} |\n"
            continue
        log = np.interp(-np.log(error), -np.log(falling), np.log(_SIZES))
        text += f"| {m:,} | {np.exp(log):,.0f} | {np.exp(log) / m:.0%} |\n"
    return text


def _mcla(lines: Lines) -> str:
    found = lines.find(of="mcla")
    text = (
        "Ten copies of a partition of 4,898,431 rows into 23 clusters, names permuted "
    )
    text += "and a fifth of the labels random; one kernel pass of as many rows of 50 "
    text += f"columns at m = 1,000 beside it. Medians of {len(found)} runs.\n\n"
    text += "| | seconds | time / kernel pass | ARI with the planted partition |\n"
    text += "|---|---:|---:|---:|\n"
    for name in ("kernel pass", "matching", "metis"):
        seconds = median(r[name] for r in found)
        ratio = median(r[name] / r["kernel pass"] for r in found)
        agreement = min((r.get(f"ARI {name}", np.nan) for r in found), default=np.nan)
        shown = "–" if np.isnan(agreement) else f"{agreement:.5f}"
        text += f"| {name} | {seconds:.2f} | {ratio:.2f} | {shown} |\n"
    return text


def _ensemble(lines: Lines) -> str:
    text = "| | NMI, mean | standard deviation | lowest | highest | seeds | seconds |\n"
    text += "|---|---:|---:|---:|---:|---:|---:|\n"
    for name in _MEMBERS:
        found = lines.find(of="ensemble", method=name)
        values = [r["nmi"] for r in found]
        cells = [mean(values), stdev(values), min(values), max(values)]
        shown = " | ".join(f"{value:.4f}" for value in cells)
        seconds = median(r["seconds"] for r in found)
        text += f"| {name} | {shown} | {len(found)} | {seconds:.1f} |\n"
    return text


def main() -> None:
    folder = os.environ.get("AKKM_DATA")
    if folder is None:
        raise SystemExit(
            "Set AKKM_DATA to the folder with covtype/, mnist/, kddcup99/."
        )
    lines = Lines(_RESULTS / "methods.jsonl")
    for measure in (measure_ensemble, measure_mcla, measure_landmarks):
        measure(lines, Path(folder))
    (_RESULTS / "methods.md").write_text(report(lines))


if __name__ == "__main__":
    main()
