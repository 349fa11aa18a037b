"""Rows in batches beside all at once: `python -m experiments.benchmarks.stream`.

Cover Type in 50 batches through `partial_fit`, in the order of the file and shuffled,
and the fit to all rows with the same width; prints by how much the error of all rows
is larger.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from akkm import ApproxKernelKMeans
from experiments.benchmarks.data import prepare


def main() -> None:
    """Measure, and print a line for each seed and order."""
    X = np.load(prepare("covtype", 581_012, Path(os.environ["AKKM_DATA"])))
    for seed in range(2):
        settings = {"n_clusters": 7, "n_landmarks": 500, "random_state": seed}
        full = ApproxKernelKMeans(**settings).fit(X)
        for order in ("of the file", "shuffled"):
            rows = np.arange(len(X))
            if order == "shuffled":
                rows = np.random.default_rng(0).permutation(rows)
            model = ApproxKernelKMeans(**settings, gamma=full.kernel_.gamma)
            for batch in np.array_split(rows, 50):
                model.partial_fit(X[batch])
            more = model.score(X) / full.score(X) - 1
            print(f"seed {seed}, order {order}: {more:+.2%}", flush=True)


if __name__ == "__main__":
    main()
