"""Measure features, kernel rows and quality on images.

The images are like those of the paper's first data set. AKKM_DATA names the folder with
imagenet12/imagenet12.tar.gz. AKKM_CACHE names the folder into which the archive is
unpacked, and in which features are cached. aKKm and tKKm are approximate and two-step
kernel k-means. The field `of` of a record says what was measured.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from itertools import product
from statistics import median
from time import perf_counter, thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans

from akkm import ApproxKernelKMeans, KernelKMeans, TwoStepKernelKMeans
from akkm.atomic_file import AtomicFile
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.images import SpatialPyramid
from akkm.kernels import Intersection
from akkm.metrics import adjusted_rand_index, nmi
from experiments.benchmarks import RESULTS
from experiments.datasets.files import cache_folder
from experiments.datasets.image_rows import (
    image_classes,
    image_files,
    image_kernel,
    pyramids,
)
from experiments.harness.costs import costs, machine
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

# Number of clusters, seeds, and number of landmarks.
_C, _SEEDS, _M = 12, range(10), 1000
_SIZES = (100, 200, 500, 1000, 2000, 5000)
# Number of rows on which NumPy is timed.
_SLOW_ROWS = 100
# For each m: the time, in seconds, that the paper gives for computing the kernel values
# of _PAPER_ROWS rows with m landmarks (Table 2).
_PAPER_SECONDS = {100: 203.65, 200: 527.11, 500: 810.03, 1000: 1564.26, 2000: 3867.10,
                  5000: 14165.98}  # fmt: skip
_PAPER_ROWS = 20_000
# Method -> m -> the paper's ARI of this method with kernel k-means (Table 3).
_PAPER_ARI = {
    "aKKm": dict(zip(_SIZES, (0.71, 0.71, 0.75, 0.77, 0.78, 0.84), strict=True)),
    "tKKm": dict(zip(_SIZES, (0.28, 0.34, 0.51, 0.58, 0.59, 0.68), strict=True)),
}


def measure_features(of: str) -> Record:
    """Measure the time and memory to turn image files into rows, in a new process."""
    return in_new_process(make_features)


def make_features() -> Record:
    """Compute and cache the pyramids of all images, and return their costs."""
    paths = image_files()
    with costs() as spent:
        start = perf_counter()
        steps = SpatialPyramid(random_state=0).fit(paths)
        learning = perf_counter() - start
        X = steps.transform(paths)
    with AtomicFile(cache_folder() / "pyramids.npz") as file:
        sparse.save_npz(file, X, compressed=False)
    return {
        "rows": X.shape[0],
        "columns": X.shape[1],
        "entries": X.nnz,
        "learning": learning,
        "describing": spent.seconds - learning,
        "peak MB": spent.peak_bytes / 2**20,
        "machine": machine(),
    }


def measure_kernel(of: str, seed: int) -> Record:
    """Measure the time of kernel rows for 1,000 landmarks, in akkm and in NumPy."""
    X = pyramids()
    rows = np.random.default_rng(seed).choice(X.shape[0], _M, replace=False)
    dense, few = X[rows].toarray(), X[:_SLOW_ROWS].toarray()
    Intersection()(X[:50], X[:50])  # compile the kernel first
    record: Record = {}
    for name, n_jobs in (("seconds", None), ("seconds, 1 thread", 1)):
        with Threads(n_jobs) as engine:
            start, cpu_start = perf_counter(), thread_time()
            strip = Strip(X, Intersection(), X[rows], np.float32)
            strip.compute_all(engine)
            record[name] = perf_counter() - start
    # Unlike elapsed time, processor time does not depend on other programs.
    record["worked"] = thread_time() - cpu_start
    start, cpu_start = perf_counter(), thread_time()
    slow = np.array([np.minimum(x, dense).sum(axis=1) for x in few])
    factor = X.shape[0] / _SLOW_ROWS
    record["numpy"] = (perf_counter() - start) * factor
    record["numpy worked"] = (thread_time() - cpu_start) * factor
    ours = strip.kernel_rows(X[:_SLOW_ROWS], np.float32)
    np.testing.assert_allclose(ours, slow, rtol=1e-4)
    return record


def _model(method: str, m: int, **settings: Any) -> Any:
    kind = {"aKKm": ApproxKernelKMeans, "tKKm": TwoStepKernelKMeans}.get(method)
    if kind is None:
        return KernelKMeans(_C, kernel="precomputed", **settings)
    return kind(_C, kernel="precomputed", n_landmarks=m, **settings)


def measure_quality(of: str, method: str, seed: int) -> Record:
    """Measure the NMI of a method with the synsets. The fit has one k-means++ start."""
    if method == "k-means":
        X = pyramids().toarray()
        labels = KMeans(_C, n_init=1, random_state=seed).fit(X).labels_
    else:
        model = _model(method, _M, n_init=1, random_state=seed)
        labels = model.fit(image_kernel()).labels_
    return {"nmi": nmi(image_classes(), labels)}


def measure_fit(of: str, seed: int) -> Record:
    """Measure the time and NMI of aKKm on the pyramids, with the default n_init."""
    settings: Any = {"kernel": "intersection", "n_landmarks": _M, "random_state": seed}
    X = pyramids()
    start = perf_counter()
    labels = ApproxKernelKMeans(_C, **settings).fit(X).labels_
    took = perf_counter() - start
    return {"seconds": took, "nmi": nmi(image_classes(), labels)}


def measure_agreement(of: str, seed: int, method: str, m: int) -> Record:
    """Measure the ARI of a method with exact kernel k-means.

    Both start from the same random labels.
    """
    y, exact = image_classes(), _exact_labels(seed)
    model = _model(method, m, init=_start(seed), random_state=seed)
    labels = model.fit(image_kernel()).labels_
    ari = adjusted_rand_index(exact, labels)
    return {"ari": ari, "nmi": nmi(y, labels), "exact nmi": nmi(y, exact)}


def _start(seed: int) -> Array:
    return np.random.default_rng(seed).integers(_C, size=len(image_classes()))


@cache
def _exact_labels(seed: int) -> Array:
    return _model("exact", 0, init=_start(seed)).fit(image_kernel()).labels_


def report(records: JsonLines) -> str:
    """Return the whole page as Markdown."""
    blocks: list[Block] = [
        Paragraph(
            "Written by `python -m experiments bench images` from `images.jsonl`, not "
            "by hand."
        ),
        Paragraph(
            "The data are 12,000 gray images of 224 x 224 pixels: 1,000 images from "
            "each of 12 ImageNet synsets (classes). The paper used 20,000 images from "
            "12 synsets. Rows are spatial pyramids of four levels with 200 visual "
            "words. The kernel is histogram intersection."
        ),
        *_features_section(records),
        *_kernel_section(records),
        *_quality_section(records),
        *_agreement_section(records),
    ]
    return markdown("Images", blocks)


def _features_section(records: JsonLines) -> Iterator[Block]:
    for last in records.find(of="features")[-1:]:
        total = last["learning"] + last["describing"]
        yield Paragraph(last["machine"])
        yield Heading("Features")
        yield Paragraph(
            f"{last['rows']:,} images became rows of {last['columns']:,} columns, with "
            f"{last['entries'] / last['rows']:,.0f} nonzero entries on average. This "
            f"took {total:,.0f} s: {last['learning']:,.0f} s for the vocabulary, and "
            f"{1000 * last['describing'] / last['rows']:.0f} ms per image. Peak memory "
            f"was {last['peak MB']:,.0f} MB. In the paper, the features of 20,000 "
            "images took 24,236 s."
        )


def _kernel_section(records: JsonLines) -> Iterator[Block]:
    runs = records.find(of="kernel")
    if not runs:
        return
    n = records.find(of="features")[-1]["rows"]
    pairs = n * _M
    paper = _PAPER_SECONDS[_M] / (_PAPER_ROWS * _M)
    names = {
        "akkm, all threads": "seconds",
        "akkm, one thread": "seconds, 1 thread",
        "`np.minimum(x, Z).sum(axis=1)`": "numpy",
        "akkm, one thread, processor time": "worked",
        "`np.minimum(x, Z).sum(axis=1)`, processor time": "numpy worked",
    }
    rows = []
    for name, key in names.items():
        reference = "numpy worked" if "worked" in key else "numpy"
        took = median(record[key] for record in runs)
        speedup = median(record[reference] / record[key] for record in runs)
        per_pair = took / pairs
        row = [name, f"{took:,.2f}", f"{1e6 * per_pair:.3f}", f"{speedup:,.1f}"]
        rows.append([*row, f"{paper / per_pair:,.0f}"])
    yield Heading("Kernel rows")
    yield Paragraph(
        f"The table shows the time to compute the kernel values of {n:,} rows with "
        f"{_M:,} landmarks. Values are medians of {len(runs)} rounds. NumPy is timed "
        f"on {_SLOW_ROWS} rows, and its time is extrapolated. A pair is a row and a "
        f"landmark. In the paper, a pair took {1e6 * paper:.0f} µs."
    )
    head = ["", "s", "µs per pair", "speed / NumPy", "speed / paper"]
    yield ResultTable("", head, rows)


def _quality_section(records: JsonLines) -> Iterator[Block]:
    groups = {
        f"aKKm, m = {_M:,}": records.find(of="quality", method="aKKm"),
        "exact kernel k-means": records.find(of="quality", method="exact"),
        f"two-step kernel k-means, m = {_M:,}": records.find(
            of="quality", method="tKKm"
        ),
        "k-means on the pyramids": records.find(of="quality", method="k-means"),
    }
    fits = records.find(of="fit")
    if fits:
        took = median(record["seconds"] for record in fits)
        name = f"aKKm, m = {_M:,}, default n_init, {took:.1f} s per fit"
        groups[name] = fits
    rows = [
        [name, mean_and_deviation([record["nmi"] for record in runs]), str(len(runs))]
        for name, runs in groups.items()
        if runs
    ]
    if rows:
        yield Heading("NMI with the synsets")
        yield Paragraph(
            "Values are means and standard deviations over seeds. Each fit has one "
            "k-means++ start, unless noted otherwise."
        )
        yield ResultTable("", ["", "NMI", "seeds"], rows)


def _agreement_section(records: JsonLines) -> Iterator[Block]:
    agreement = records.find(of="agreement")
    if not agreement:
        return
    rows = []
    for m in _SIZES:
        row = [f"{m:,}"]
        for method in ("aKKm", "tKKm"):
            runs = records.find(of="agreement", method=method, m=m)
            row.append(mean_and_deviation([record["ari"] for record in runs]))
            row.append(f"{_PAPER_ARI[method][m]:.2f}")
            row.append(mean_and_deviation([record["nmi"] for record in runs]))
        rows.append(row)
    exact = {record["seed"]: record["exact nmi"] for record in agreement}
    yield Heading("Agreement with exact kernel k-means")
    yield Paragraph(
        "The columns aKKm and tKKm show the ARI with the labels of exact kernel "
        "k-means, each followed by the paper's ARI. The columns NMI show the NMI with "
        "the synsets. As in the paper, methods start from random labels; here, all of "
        "them start from the same labels. Values are means and standard deviations "
        f"over {len(exact)} seeds. The labels of exact kernel k-means have an NMI of "
        f"{mean_and_deviation(list(exact.values()))} with the synsets."
    )
    head = ["m", "aKKm", "paper", "NMI", "tKKm", "paper", "NMI"]
    yield ResultTable("", head, rows)


def main() -> None:
    """Run the missing measurements and write the page."""
    for name in ("AKKM_DATA", "AKKM_CACHE"):
        if not os.environ.get(name):
            raise FileNotFoundError(
                f"{name} is not set. Set AKKM_DATA to the folder with "
                "imagenet12/imagenet12.tar.gz, and AKKM_CACHE to a folder for arrays."
            )
    records = JsonLines(RESULTS / "images.jsonl")
    quality = product(_SEEDS, ("aKKm", "tKKm", "exact", "k-means"))
    agreement = product(_SEEDS, _SIZES, ("aKKm", "tKKm"))
    steps: list[tuple[Any, list[Record]]] = [
        (measure_features, [{"of": "features"}]),
        (measure_kernel, [{"of": "kernel", "seed": seed} for seed in range(3)]),
        (
            measure_quality,
            [{"of": "quality", "method": x, "seed": seed} for seed, x in quality],
        ),
        (measure_fit, [{"of": "fit", "seed": seed} for seed in _SEEDS]),
        (
            measure_agreement,
            [
                {"of": "agreement", "seed": seed, "method": x, "m": m}
                for seed, m, x in agreement
            ],
        ),
    ]
    for measure, runs in steps:
        run_missing(records, runs, measure)
        write_file(RESULTS / "images.md", report(records))
