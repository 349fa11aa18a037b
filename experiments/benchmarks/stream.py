"""Compare `partial_fit` on batches with `fit` on all rows.

AKKM_DATA must be set. The benchmark clusters Cover Type in 50 batches, once in the
order of the file and once shuffled. It also clusters all rows at once with the same
kernel. It prints how much larger the clustering error is with batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from akkm import ApproxKernelKMeans
from experiments.benchmarks.prepared_rows import prepare


def main() -> None:
    """Measure, and print one line per seed and order."""
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
