"""The paper's first data set, images: `python -m experiments.benchmarks.images`.

AKKM_DATA names the folder with imagenet12/imagenet12.tar.gz, AKKM_CACHE one outside of
the project where it is unpacked and features are kept. Each measurement is a line in
results/images.jsonl as soon as it is there; one that is there is not made again. The
tables are written from these lines to results/images.md.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import mean, median, stdev
from time import perf_counter, thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans

from akkm import ApproxKernelKMeans, KernelKMeans, TwoStepKernelKMeans
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.images import SpatialPyramid
from akkm.kernels import Intersection
from akkm.metrics import adjusted_rand_index, nmi
from experiments.benchmarks.methods import Lines
from experiments.benchmarks.run_one import machine
from experiments.datasets.image_rows import (
    image_classes,
    image_files,
    image_kernel,
    pyramids,
)

Array = NDArray[Any]

_RESULTS = Path(__file__).parent / "results"
_C, _SEEDS, _M = 12, range(10), 1000
_SIZES = (100, 200, 500, 1000, 2000, 5000)
# Rows that NumPy's way is timed on.
_SLOW_ROWS = 100
# The paper's: seconds for kernel values of 20,000 rows by m landmarks (Table 2), and
# ARI to kernel k-means (Table 3).
_PAPER_SECONDS = {100: 203.65, 200: 527.11, 500: 810.03, 1000: 1564.26, 2000: 3867.10,
                  5000: 14165.98}  # fmt: skip
_PAPER_ROWS = 20_000
_PAPER_ARI = {
    "aKKm": dict(zip(_SIZES, (0.71, 0.71, 0.75, 0.77, 0.78, 0.84), strict=True)),
    "tKKm": dict(zip(_SIZES, (0.28, 0.34, 0.51, 0.58, 0.59, 0.68), strict=True)),
}


def make_features(cache: Path) -> None:
    """A process of its own, so that its peak of memory is that of this alone."""
    import json

    paths = image_files()
    start = perf_counter()
    steps = SpatialPyramid(random_state=0, verbose=1).fit(paths)
    learned = perf_counter() - start
    X = steps.transform(paths)
    took = perf_counter() - start - learned
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sparse.save_npz(cache / "unfinished.npz", X, compressed=False)
    os.replace(cache / "unfinished.npz", cache / "pyramids.npz")
    record = {
        "of": "features",
        "rows": X.shape[0],
        "columns": X.shape[1],
        "entries": X.nnz,
        "learning": learned,
        "describing": took,
        "peak MB": peak,
        "machine": machine(),
    }
    print(json.dumps(record))


def measure_features(lines: Lines, cache: Path) -> None:
    """Time and memory from files to rows."""
    import json

    if lines.find(of="features") and (cache / "pyramids.npz").exists():
        return
    command = [sys.executable, "-m", "benchmarks.images", "features"]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    lines.add(json.loads(said.stdout.splitlines()[-1]))


def measure_kernel(lines: Lines, cache: Path) -> None:
    """Kernel rows for 1,000 landmarks, and the same by NumPy, one after the other."""
    X = pyramids()
    for seed in range(3):
        if lines.find(of="kernel", seed=seed):
            continue
        rows = np.random.default_rng(seed).choice(X.shape[0], _M, replace=False)
        dense = X[rows].toarray()
        few = X[:_SLOW_ROWS].toarray()
        Intersection()(X[:50], X[:50])  # compiled
        record: dict[str, Any] = {"of": "kernel", "seed": seed}
        for name, n_jobs in (("seconds", None), ("seconds, 1 thread", 1)):
            with Threads(n_jobs) as engine:
                start, worked = perf_counter(), thread_time()
                strip = Strip(X, Intersection(), X[rows], np.float32)
                strip.hold(engine)
                record[name] = perf_counter() - start
        # Of one thread: the processor's time, which other programs do not lengthen.
        record["worked"] = thread_time() - worked
        start, worked = perf_counter(), thread_time()
        slow = np.array([np.minimum(x, dense).sum(axis=1) for x in few])
        record["numpy"] = (perf_counter() - start) * X.shape[0] / _SLOW_ROWS
        record["numpy worked"] = (thread_time() - worked) * X.shape[0] / _SLOW_ROWS
        np.testing.assert_allclose(strip.kernel_rows(X[:_SLOW_ROWS], np.float32), slow,
                                   rtol=1e-4)  # fmt: skip
        lines.add(record)


def _model(method: str, m: int, **settings: Any) -> Any:
    kind = {"aKKm": ApproxKernelKMeans, "tKKm": TwoStepKernelKMeans}.get(method)
    if kind is None:
        return KernelKMeans(_C, kernel="precomputed", **settings)
    return kind(_C, kernel="precomputed", n_landmarks=m, **settings)


def measure_quality(lines: Lines, cache: Path) -> None:
    """NMI with the synsets; one start by k-means++ each."""
    y = image_classes()
    for seed in _SEEDS:
        for method in ("aKKm", "tKKm", "exact", "k-means"):
            about = {"of": "quality", "method": method, "seed": seed}
            if lines.find(**about):
                continue
            if method == "k-means":
                X = pyramids().toarray()
                labels = KMeans(_C, n_init=1, random_state=seed).fit(X).labels_
            else:
                model = _model(method, _M, n_init=1, random_state=seed)
                labels = model.fit(image_kernel()).labels_
            lines.add({**about, "nmi": nmi(y, labels)})


def measure_fit(lines: Lines, cache: Path) -> None:
    """A whole fit from the rows, with the defaults, and its NMI."""
    X, y = pyramids(), image_classes()
    for seed in _SEEDS:
        if lines.find(of="fit", seed=seed):
            continue
        model = ApproxKernelKMeans(
            _C, kernel="intersection", n_landmarks=_M, random_state=seed
        )
        start = perf_counter()
        labels = model.fit(X).labels_
        took = perf_counter() - start
        lines.add({"of": "fit", "seed": seed, "seconds": took, "nmi": nmi(y, labels)})


def measure_agreement(lines: Lines, cache: Path) -> None:
    """ARI to exact kernel k-means; all start from the same random labels."""
    y = image_classes()
    for seed in _SEEDS:
        wanted = [(method, m) for m in _SIZES for method in ("aKKm", "tKKm")]
        about = {"of": "agreement", "seed": seed}
        if all(lines.find(**about, method=name, m=m) for name, m in wanted):
            continue
        init = np.random.default_rng(seed).integers(_C, size=len(y))
        K = image_kernel()
        exact = _model("exact", 0, init=init).fit(K).labels_
        for method, m in wanted:
            if lines.find(**about, method=method, m=m):
                continue
            model = _model(method, m, init=init, random_state=seed)
            labels = model.fit(K).labels_
            ari = adjusted_rand_index(exact, labels)
            scores = {"ari": ari, "nmi": nmi(y, labels), "exact nmi": nmi(y, exact)}
            lines.add({**about, "method": method, "m": m, **scores})


def report(lines: Lines) -> str:
    """The page."""
    text = [
        "# Images",
        "Written by `python -m experiments.benchmarks.images` from `images.jsonl`; not by hand.",
        "12,000 gray images of 224 x 224 pixels from 12 ImageNet synsets, 1,000 each "
        "(the paper had 20,000 from 12 synsets). Spatial pyramids of four levels, 200 "
        "visual words, histogram intersection.",
        *_features_text(lines),
        *_kernel_text(lines),
        *_quality_text(lines),
        *_agreement_text(lines),
    ]
    return "\n\n".join(text) + "\n"


def _features_text(lines: Lines) -> list[str]:
    found = lines.find(of="features")
    if not found:
        return []
    last = found[-1]
    total = last["learning"] + last["describing"]
    return [
        last["machine"],
        "## Features",
        f"{last['rows']:,} images to {last['columns']:,} columns, "
        f"{last['entries'] / last['rows']:,.0f} entries in a row: {total:,.0f} s "
        f"({last['learning']:,.0f} s for the vocabulary, "
        f"{1000 * last['describing'] / last['rows']:.0f} ms per image), peak memory "
        f"{last['peak MB']:,.0f} MB. The paper's took 24,236 s for 20,000 images.",
    ]


def _kernel_text(lines: Lines) -> list[str]:
    found = lines.find(of="kernel")
    if not found:
        return []
    n = lines.find(of="features")[-1]["rows"]
    pairs = n * _M
    paper = _PAPER_SECONDS[_M] / (_PAPER_ROWS * _M)
    names = {
        "akkm, all threads": "seconds",
        "akkm, one thread": "seconds, 1 thread",
        "`np.minimum(x, Z).sum(axis=1)`": "numpy",
        "akkm, one thread, processor's time": "worked",
        "`np.minimum(x, Z).sum(axis=1)`, processor's time": "numpy worked",
    }
    rows = []
    for name, key in names.items():
        reference = "numpy worked" if "worked" in key else "numpy"
        took = median(record[key] for record in found)
        slower = median(record[reference] / record[key] for record in found)
        rows.append(
            f"| {name} | {took:,.2f} | {1e6 * took / pairs:.3f} | {slower:,.1f} | "
            f"{paper / (took / pairs):,.0f} |"
        )
    return [
        "## Kernel rows",
        f"{n:,} rows against {_M:,} landmarks; medians of {len(found)} runs, side by "
        f"side. NumPy's is timed on {_SLOW_ROWS} rows. The paper's is "
        f"{1e6 * paper:.0f} µs per pair.",
        "| | s | µs per pair | times as fast as NumPy | as the paper |\n"
        "|---|---:|---:|---:|---:|\n" + "\n".join(rows),
    ]


def _spread(values: list[float]) -> str:
    if len(values) < 2:
        return f"{values[0]:.3f}" if values else "–"
    return f"{mean(values):.3f} ± {stdev(values):.3f}"


def _quality_text(lines: Lines) -> list[str]:
    names = {
        "aKKm": f"aKKm, m = {_M:,}",
        "exact": "exact kernel k-means",
        "tKKm": f"two-step kernel k-means, m = {_M:,}",
        "k-means": "k-means on the pyramids",
    }
    rows = []
    for method, name in names.items():
        found = lines.find(of="quality", method=method)
        if found:
            values = [record["nmi"] for record in found]
            rows.append(f"| {name} | {_spread(values)} | {len(found)} |")
    fits = lines.find(of="fit")
    if fits:
        values = [record["nmi"] for record in fits]
        took = median(record["seconds"] for record in fits)
        name = f"aKKm, m = {_M:,}, best of ten starts (the default), {took:.1f} s a fit"
        rows.append(f"| {name} | {_spread(values)} | {len(fits)} |")
    if not rows:
        return []
    return [
        "## NMI with the synsets",
        "One start by k-means++ per seed, unless said otherwise; mean and standard "
        "deviation over seeds.",
        "| | NMI | seeds |\n|---|---:|---:|\n" + "\n".join(rows),
    ]


def _agreement_text(lines: Lines) -> list[str]:
    rows = []
    for m in _SIZES:
        cells = [f"{m:,}"]
        for method in ("aKKm", "tKKm"):
            found = lines.find(of="agreement", method=method, m=m)
            cells += [
                _spread([record["ari"] for record in found]),
                f"{_PAPER_ARI[method][m]:.2f}",
                _spread([record["nmi"] for record in found]),
            ]
        rows.append("| " + " | ".join(cells) + " |")
    found = lines.find(of="agreement")
    if not found:
        return []
    exact = {record["seed"]: record["exact nmi"] for record in found}
    return [
        "## Agreement with exact kernel k-means",
        "ARI to the labels of exact kernel k-means, all from the same random labels "
        f"(the paper's start); mean and standard deviation over {len(exact)} seeds. "
        f"NMI with the synsets of the exact ones: {_spread(list(exact.values()))}.",
        "| m | aKKm | paper | NMI | tKKm | paper | NMI |\n"
        "|---:|---:|---:|---:|---:|---:|---:|\n" + "\n".join(rows),
    ]


def main() -> None:
    data, cache = os.environ.get("AKKM_DATA"), os.environ.get("AKKM_CACHE")
    if data is None or cache is None:
        raise SystemExit(
            "Set AKKM_DATA to the folder with imagenet12/imagenet12.tar.gz, and "
            "AKKM_CACHE to one where it may be unpacked."
        )
    cached = Path(cache)
    if sys.argv[1:] == ["features"]:
        make_features(cached)
        return
    lines = Lines(_RESULTS / "images.jsonl")
    steps = (measure_features, measure_kernel, measure_quality, measure_fit,
             measure_agreement)  # fmt: skip
    for measure in steps:
        measure(lines, cached)
        (_RESULTS / "images.md").write_text(report(lines))


if __name__ == "__main__":
    main()
