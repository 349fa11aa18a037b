"""Processor time of fits as multiples of the bare cost: many clusters, wide rows.

The bare cost is the processor time to compute the kernel values of all rows and m
points once. For mixtures of Gaussians, it also includes one product of these values
with an m x C matrix. For half of the rows, the bare cost is measured before the fit,
and for the other half after it, in the same process. So both costs are measured under
the same conditions.

The parts `clusters` and `minibatch` have 1,000,000 rows of 64 columns and 2,000
landmarks. The rows are drawn from as many Gaussians as there are clusters. In
`overlapping`, the Gaussians overlap. `natural` divides rows from 20 Gaussians into 20
clusters, and into 40 clusters with and without `tol`. `wide` has 1,000,000 rows of 768
columns. `real` clusters real data sets, and needs AKKM_DATA.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from akkm import ApproxKernelKMeans
from akkm.kernels import resolve
from experiments.benchmarks import CACHE, RESULTS
from experiments.benchmarks.contestants import FILLS
from experiments.benchmarks.errors import nystroem_error
from experiments.benchmarks.prepared_rows import prepare
from experiments.benchmarks.tasks import SECTIONS
from experiments.harness.costs import cores, costs, machine, machines
from experiments.harness.pages import Paragraph, ResultTable, markdown, write_file
from experiments.harness.runner import in_new_process, run_missing
from experiments.harness.store import JsonLines, Record

Array = NDArray[Any]

_BLOCK_ROWS = 1024
_ROWS, _LANDMARKS = 1_000_000, 2_000
# Errors are computed on every fifth row: a matrix of n x C entries would not fit.
_ERROR_STEP = 5
_WIDE_CLUSTERS, _WIDE_LANDMARKS = 100, 1_000
# Older records have no field "machine". They were measured on the following machine.
_MACHINE = (
    "AMD EPYC, 2 cores; Python 3.11.7, numpy 2.4.6, scipy 1.17.1, scikit-learn 1.9.1"
)


def mixture(n: int, d: int, count: int, spread: float, dtype: str = "float32") -> Array:
    """Return n rows drawn from `count` Gaussians of unit variance.

    The centers of the Gaussians have standard deviation `spread`. Rows are generated in
    blocks, so that hardly any memory is needed besides the result.
    """
    rng = np.random.default_rng(0)
    centers = np.float32(spread) * rng.standard_normal((count, d), dtype=np.float32)
    X = np.empty((n, d), dtype=dtype)
    for start in range(0, n, 10_000):
        block = X[start : start + 10_000]
        noise = rng.standard_normal(block.shape, dtype=np.float32)
        block[:] = centers[rng.integers(count, size=len(block))] + noise
    return X


def bare_seconds(X: Array, m: int, kernel: str, C: int, params: Any) -> float:
    """Processor time of one pass over the kernel values of rows X and m of these rows.

    If C > 0, it includes a product of these values with an m x C matrix.
    """
    rng = np.random.default_rng(0)
    Z = X[rng.choice(len(X), m, replace=False)].astype(np.float32)
    A = rng.standard_normal((m, C), dtype=np.float32)

    def work(thread: int) -> None:
        fill = FILLS[kernel](Z, **params)
        out = np.empty((_BLOCK_ROWS, m), dtype=np.float32)
        for start in range(0, len(X), _BLOCK_ROWS)[thread :: cores()]:
            rows = X[start : start + _BLOCK_ROWS].astype(np.float32, copy=False)
            fill(rows, out[: len(rows)])
            if C:
                out[: len(rows)] @ A

    started = process_time()
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(cores()) as pool:
        list(pool.map(work, range(cores())))
    return process_time() - started


def compare(
    X: Array, fit: Callable[[], Any], m: int, kernel: str, C: int, params: Any
) -> tuple[Record, Any]:
    """Return the bare cost and the costs of the fit, and the fitted model."""
    half = len(X) // 2
    bare = bare_seconds(X[:half], m, kernel, C, params)
    with costs() as spent:
        model = fit()
    bare += bare_seconds(X[half:], m, kernel, C, params)
    record = {
        "bare": bare,
        "cpu_seconds": spent.cpu_seconds,
        "ratio": spent.cpu_seconds / bare,
        "above_bytes": spent.above_bytes,
    }
    return record, model


def _default_gamma(X: Array) -> float:
    few = X[:10_000].astype(np.float64)
    return float(1 / (X.shape[1] * few.var()))


def _error(X: Array, labels: Any, gamma: float) -> float:
    few = X[::_ERROR_STEP]
    kernel = resolve("rbf", few, gamma=gamma)
    return nystroem_error(few, np.asarray(labels)[::_ERROR_STEP], kernel, _LANDMARKS)


def clusters(size: int, seed: int, spread: float = 2.0) -> Record:
    """Fit a mixture of `size` Gaussians with as many clusters."""
    X = mixture(_ROWS, 64, size, spread)
    gamma = _default_gamma(X)
    model = ApproxKernelKMeans(
        size, gamma=gamma, n_landmarks=_LANDMARKS, random_state=seed
    )
    record, model = compare(
        X, lambda: model.fit(X), _LANDMARKS, "rbf", size, {"gamma": gamma}
    )
    history = model.history_[:, 1] / _ROWS
    record["passes"] = float(history.sum())
    return record | {"error": _error(X, model.labels_, gamma)}


def overlapping(size: int, seed: int) -> Record:
    """Fit a mixture of `size` Gaussians that overlap."""
    return clusters(size, seed, spread=0.5)


def minibatch(size: int, seed: int) -> Record:
    """Fit Nystroem + MiniBatchKMeans to the rows of `clusters`.

    The features are computed in blocks, in float32. They take 8 GB, in a file that is
    mapped to memory. k-means ends after 100 batches without improvement.
    """
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.kernel_approximation import Nystroem

    X = mixture(_ROWS, 64, size, 2.0)
    gamma = _default_gamma(X)
    options: Any = {"n_components": _LANDMARKS, "random_state": seed}
    CACHE.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=CACHE) as folder:
        with costs() as spent:
            nystroem = Nystroem(gamma=gamma, **options).fit(X)
            features = np.lib.format.open_memmap(
                f"{folder}/features.npy", "w+", np.float32, (len(X), _LANDMARKS)
            )
            for start in range(0, len(X), 10_000):
                rows = slice(start, start + 10_000)
                features[rows] = nystroem.transform(X[rows])
            model = MiniBatchKMeans(
                size, max_iter=100, max_no_improvement=100, random_state=seed
            ).fit(features)
        del features
    return {
        "cpu_seconds": spent.cpu_seconds,
        "above_bytes": spent.above_bytes,
        "n_iter": model.n_iter_,
        "n_steps": model.n_steps_,
        "error": _error(X, model.labels_, gamma),
    }


def natural(size: int, seed: int) -> Record:
    """Cluster rows of 20 Gaussians into 20 clusters, and into `size` clusters.

    The fit with `size` clusters is run with `tol` and without. "ratio" compares its
    processor time with that of the fit with 20 clusters, both with `tol`. "excess" is
    the relative increase of the error that `tol` causes.
    """
    X = mixture(200_000, 32, 20, 2.0)
    settings: Any = {
        "gamma": _default_gamma(X),
        "n_landmarks": 1_000,
        "random_state": seed,
    }
    record: Record = {}
    for name, C, tol in (("20", 20, 1e-4), ("tol", size, 1e-4), ("full", size, 0.0)):
        model = ApproxKernelKMeans(C, tol=tol, **settings)
        with costs() as spent:
            model.fit(X)
        record[f"cpu_{name}"] = spent.cpu_seconds
        record[f"error_{name}"] = model.inertia_
    record["ratio"] = record["cpu_tol"] / record["cpu_20"]
    record["excess"] = record["error_tol"] / record["error_full"] - 1
    return record


def wide(size: str, seed: int) -> Record:
    """Fit rows of 768 columns; `size` is a precision and a kernel."""
    dtype, kernel = size.split()
    X = mixture(_ROWS, 768, _WIDE_CLUSTERS, 1.0, dtype)
    params: Any = {"gamma": _default_gamma(X)} if kernel == "rbf" else {}
    model = ApproxKernelKMeans(
        _WIDE_CLUSTERS,
        kernel=kernel,
        n_landmarks=_WIDE_LANDMARKS,
        random_state=seed,
        **params,
    )
    return compare(X, lambda: model.fit(X), _WIDE_LANDMARKS, kernel, 0, params)[0]


def real(size: str, seed: int) -> Record:
    """Fit a real data set of the speed benchmark with its largest m up to 2,000."""
    section = next(section for section in SECTIONS if section.name == size)
    task = max((t for t in section.tasks if t.m <= 2_000), key=lambda t: t.m)
    X = np.load(prepare(task.data, task.n))
    params: Any = task.params
    model = ApproxKernelKMeans(
        task.n_clusters,
        kernel=task.kernel,
        n_landmarks=task.m,
        random_state=seed,
        **params,
    )
    record, model = compare(X, lambda: model.fit(X), task.m, task.kernel, 0, params)
    return record | {"m": task.m, "error": model.inertia_}


_SIZES: dict[str, tuple[int | str, ...]] = {
    "clusters": (100, 1_000),
    "overlapping": (100, 1_000),
    "minibatch": (1_000,),
    "natural": (40,),
    "wide": ("float32 cosine", "float32 rbf", "float16 cosine", "float16 rbf"),
    "real": ("covtype", "mnist", "kdd"),
}
_SEVERAL_SEEDS = ("natural", "real")


def _runs(seeds: int) -> Iterator[Record]:
    for part, sizes in _SIZES.items():
        for seed in range(seeds if part in _SEVERAL_SEEDS else 1):
            for size in sizes:
                yield {"part": part, "size": size, "seed": seed}


def main(only: Sequence[str] = (), seeds: int = 5) -> None:
    """Run the missing measurements and write the page."""
    records = JsonLines(RESULTS / "many_clusters.jsonl")

    def measure(part: str, **run: Any) -> Record:
        return in_new_process(globals()[part], **run) | {"machine": machine()}

    runs = [
        run for run in _runs(seeds) if not only or {*only} & {*map(str, run.values())}
    ]
    run_missing(records, runs, measure)
    write_file(RESULTS / "many_clusters.md", report(records))


def report(records: JsonLines) -> str:
    """Return the page: one table for all parts with a bare cost, and one for `tol`."""
    runs = [run for run in records.records if "failed" not in run]
    rows = []
    for part in (name for name in _SIZES if name != "natural"):
        for size in _SIZES[part]:
            group = [r for r in runs if (r["part"], r["size"]) == (part, size)]
            if group:
                rows.append([part, str(size), str(len(group)), *_cells(group)])
    columns = ["part", "clusters or data", "seeds", "CPU seconds", "CPU / bare cost"]
    columns += ["memory beyond the data, MB", "error"]
    table = ResultTable("Costs, medians over seeds", columns, rows)
    rows = [
        [str(r["seed"]), f"{r['ratio']:.2f}", f"{r['excess']:+.4%}"]
        for r in runs
        if r["part"] == "natural"
    ]
    title = "20 Gaussians divided into 40 clusters, tol = 1e-4"
    columns = ["seed", "CPU / fit with 20 clusters", "increase of the error by tol"]
    text = (
        "Written by `python -m experiments bench many_clusters` from "
        f"`many_clusters.jsonl`, not by hand. Measured on: {machines(runs, _MACHINE)}. "
        "The docstring "
        "of `many_clusters.py` describes the parts and the bare cost. Errors of "
        "the parts `clusters`, `overlapping` and `minibatch` are computed from the "
        "labels of every fifth row, with the same landmarks for all methods."
    )
    return markdown(
        "Many clusters, wide rows and the bare cost",
        [Paragraph(text), table, ResultTable(title, columns, rows)],
    )


def _cells(group: Sequence[Record]) -> list[str]:
    def median(field: str) -> float:
        return float(np.median([run[field] for run in group]))

    return [
        f"{median('cpu_seconds'):.1f}",
        f"{median('ratio'):.2f}" if "ratio" in group[0] else "",
        f"{median('above_bytes') / 1e6:,.0f}",
        f"{np.mean([r['error'] for r in group]):,.1f}" if "error" in group[0] else "",
    ]
