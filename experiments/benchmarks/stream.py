"""Compare `partial_fit` on batches with `fit` on all rows.

The first part clusters generated rows in batches of 250. It prints the processor time
of `partial_fit`, divided by that of `fit`.

The second part runs only if AKKM_DATA is set. It clusters Cover Type in 50 batches,
once in the order of the file and once shuffled, and all rows at once with the same
kernel. It prints how much larger the clustering error is with batches.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from akkm import ApproxKernelKMeans
from experiments.benchmarks.prepared_rows import prepare

# For each data set of the first part: numbers of columns, clusters and landmarks.
_GENERATED = ((10, 10, "auto"), (10, 10, 500), (20, 10, 300), (50, 20, 500))
_ROWS, _BATCH = 100_000, 250


def processor_time(d: int, n_clusters: int, m: Any) -> tuple[float, float]:
    """Return the seconds of `fit`, and of `partial_fit` in batches of 250 rows.

    Both run on one thread; each time is the shortest of three runs.
    """
    X, _ = make_blobs(_ROWS, d, centers=n_clusters, cluster_std=3.0, random_state=0)
    X = X.astype(np.float32)

    def stream(model: Any) -> None:
        for start in range(0, _ROWS, _BATCH):
            model.partial_fit(X[start : start + _BATCH])

    def seconds(run: Any) -> float:
        model = ApproxKernelKMeans(n_clusters, n_landmarks=m, random_state=0, n_jobs=1)
        started = time.process_time()
        run(model)
        return time.process_time() - started

    whole = min(seconds(lambda model: model.fit(X)) for _ in range(3))
    return whole, min(seconds(stream) for _ in range(3))


def main() -> None:
    """Measure, and print one line per setting, and one per seed and order."""
    for d, n_clusters, m in _GENERATED:
        whole, batches = processor_time(d, n_clusters, m)
        print(
            f"{d} columns, {n_clusters} clusters, {m} landmarks: "
            f"{batches / whole:.1f} times the processor time of fit",
            flush=True,
        )
    if "AKKM_DATA" not in os.environ:
        return
    X = np.load(prepare("covtype", 581_012))
    for seed in range(2):
        settings: Any = {"n_clusters": 7, "n_landmarks": 500, "random_state": seed}
        full: Any = ApproxKernelKMeans(**settings).fit(X)
        for order in ("of the file", "shuffled"):
            rows = np.arange(len(X))
            if order == "shuffled":
                rows = np.random.default_rng(0).permutation(rows)
            model = ApproxKernelKMeans(**settings, gamma=full.kernel_.gamma)
            for batch in np.array_split(rows, 50):
                model.partial_fit(X[batch])
            increase = model.score(X) / full.score(X) - 1
            print(f"seed {seed}, order {order}: {increase:+.2%}", flush=True)
