"""Better clusters: every method beside the others, `python -m experiments.benchmarks.beyond`.

A run is a process of its own (`python -m experiments.benchmarks.beyond one ...`), so its peak
memory is its own. Each is a line in results/beyond.jsonl as soon as it is there; one
that is there is not made again. The page results/beyond.md, and the tables in
docs/which-method.md, are written from these lines. Real data need AKKM_DATA; without it
the others are run. `--only WORD ...` (data sets or contestants) and `--seeds N` run
less.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median, stdev
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Record = dict[str, Any]
Data = tuple[Array, Array, int]  # rows, classes, number of clusters

_RESULTS = Path(__file__).parent / "results"
_GUIDE = Path(__file__).parent.parent / "docs" / "which-method.md"
_BEGIN, _END = "<!-- written by benchmarks.beyond -->", "<!-- end -->"
_TIMEOUT = 3600


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


DATA: dict[str, tuple[Callable[[], Data], bool]] = {  # and whether it needs AKKM_DATA
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
    """As UMAP's documentation advises for clustering; all cores, so no seed."""
    from sklearn.cluster import HDBSCAN
    from umap import UMAP

    embedded = UMAP(n_neighbors=30, min_dist=0.0).fit_transform(X)
    least = max(5, min(500, len(X) // 140))
    return HDBSCAN(min_samples=10, min_cluster_size=least).fit(embedded).labels_


# And the most rows of which ten seeds can be had in time and memory.
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
# Rows to warm up with, where 5,000 are too few for the way that more rows take.
_WARM_UP = {"diffusion": 20_500}
# These know no chance.
_ONE_SEED = ("HDBSCAN",)


def run_one(data: str, contestant: str, seed: int) -> Record:
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    X, y, n_clusters = DATA[data][0]()
    fit, most = CONTESTANTS[contestant]
    if len(X) > most:
        return {"skipped": f"more than {most:,.0f} rows"}
    # Imports, thread pools and compilers are nobody's fault: as many rows as make
    # each take the way that it takes with all of them.
    few = np.random.default_rng(0).permutation(len(X))[
        : _WARM_UP.get(contestant, 5_000)
    ]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fit(X[few], n_clusters, seed)
    start, worked = perf_counter(), process_time()
    labels = fit(X, n_clusters, seed)
    seconds, worked = perf_counter() - start, process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = labels >= 0
    return {
        "seconds": seconds,
        "processor_seconds": worked,
        "peak_mb": peak / 1024,
        "above_data_mb": (peak - before) / 1024,
        "nmi": float(normalized_mutual_info_score(y, labels)),
        "ari": float(adjusted_rand_score(y, labels)),
        "clustered": float(found.mean()),
    }


def _all(lines: list[Record], path: Path, only: list[str], seeds: int) -> None:
    done = {(r["data"], r["contestant"], r["seed"]) for r in lines}
    for seed in range(seeds):
        for data, (_, real) in DATA.items():
            for contestant in CONTESTANTS:
                about = {"data": data, "contestant": contestant, "seed": seed}
                wanted = not only or data in only or contestant in only
                absent = real and "AKKM_DATA" not in os.environ
                if not wanted or absent or tuple(about.values()) in done:
                    continue
                if seed and contestant in _ONE_SEED:
                    continue
                lines.append(about | _process(data, contestant, seed))
                with path.open("a") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
                print(lines[-1], flush=True)


def _process(data: str, contestant: str, seed: int) -> Record:
    order = ["-m", "benchmarks.beyond", "one", data, contestant, str(seed)]
    try:
        ended = subprocess.run(
            [sys.executable, *order], capture_output=True, text=True, timeout=_TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"longer than {_TIMEOUT} s"}
    if ended.returncode:
        return {"failed": (ended.stderr.strip().splitlines() or ["killed"])[-1]}
    return dict(json.loads(ended.stdout.splitlines()[-1]))


def page(lines: list[Record]) -> str:
    """One table per data set; times relative to k-means'."""
    from experiments.benchmarks.run_one import machine

    text = "# Every method beside the others\n\nWritten by `python -m "
    text += f"benchmarks.beyond` from `beyond.jsonl`; not by hand.\n\n{machine()}\n\n"
    text += "Means over seeds ± standard deviation; work, in seconds of processor time "
    text += "of all threads, relative to k-means with ten restarts, medians; peak "
    text += "memory of the process, data included. Rows that a method leaves out count "
    text += "as a cluster of their own.\n"
    for data in DATA:
        of_data = [r for r in lines if r["data"] == data]
        if not of_data:
            continue
        text += f"\n## {data}\n\n| | NMI | ARI | clustered | work | peak MB | seeds |\n"
        text += "|---|---:|---:|---:|---:|---:|---:|\n"
        base = [r["processor_seconds"] for r in of_data if r["contestant"] == "k-means"]
        for contestant in CONTESTANTS:
            text += _line(contestant, of_data, median(base) if base else None)
    return text


def _line(contestant: str, of_data: list[Record], base: float | None) -> str:
    runs = [r for r in of_data if r["contestant"] == contestant]
    good = [r for r in runs if "nmi" in r]
    if not good:
        return f"| {contestant} | {_why_not(runs)} | | | | | |\n"
    time = median(r["processor_seconds"] for r in good)
    cells = [_spread([r[name] for r in good]) for name in ("nmi", "ari")]
    cells += [f"{mean(r['clustered'] for r in good):.0%}"]
    cells.append(f"{time:.1f} s" if base is None else f"{time / base:.2f}")
    cells += [f"{max(r['peak_mb'] for r in good):,.0f}", str(len(good))]
    return f"| {contestant} | {' | '.join(cells)} |\n"


def _spread(values: list[float]) -> str:
    return f"{mean(values):.3f}" + (f" ± {stdev(values):.3f}" if values[1:] else "")


def _why_not(runs: list[Record]) -> str:
    return next((r.get("failed") or r["skipped"] for r in runs), "not run")


def summary(lines: list[Record]) -> str:
    """NMI, and processor time in seconds, of all contestants on all data sets."""
    text = ""
    for title, cell in (
        ("NMI", lambda good: _spread([r["nmi"] for r in good])),
        (
            "seconds of processor time",
            lambda good: f"{median(r['processor_seconds'] for r in good):.1f}",
        ),
    ):
        text += f"| {title} | {' | '.join(DATA)} |\n|---|{'---:|' * len(DATA)}\n"
        for contestant in CONTESTANTS:
            cells = []
            for data in DATA:
                about = {"data": data, "contestant": contestant}
                runs = [r for r in lines if about.items() <= r.items()]
                good = [r for r in runs if "nmi" in r]
                too_many = any("skipped" in r for r in runs)
                why_not = "–" if good or too_many else _why_not(runs)
                cells.append(cell(good) if good else why_not)
            text += f"| {contestant} | {' | '.join(cells)} |\n"
        text += "\n"
    return text


def _tell(lines: list[Record]) -> None:
    """Write the page, and the tables that the guide has of it."""
    (_RESULTS / "beyond.md").write_text(page(lines))
    text = _GUIDE.read_text()
    before, after = text.split(_BEGIN)[0], text.split(_END)[1]
    _GUIDE.write_text(f"{before}{_BEGIN}\n\n{summary(lines)}{_END}{after}")


def main() -> None:
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(run_one(sys.argv[2], sys.argv[3], int(sys.argv[4]))))
        return
    parser = argparse.ArgumentParser(prog="python -m experiments.benchmarks.beyond")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    path = _RESULTS / "beyond.jsonl"
    kept = path.read_text().splitlines() if path.exists() else []
    lines: list[Record] = [json.loads(line) for line in kept]
    _all(lines, path, given.only, given.seeds)
    _tell(lines)


if __name__ == "__main__":
    main()
