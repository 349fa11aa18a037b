"""Compare encodings of columns of numbers, by the NMI of clusters and classes.

The first eight tables are generated: 10,000 rows in five clusters, with 6 columns. The
others are data sets of scikit-learn and, if AKKM_DATA is set, Dry Bean. There are four
encodings:

* standard: standard scaling of all values;
* standard, sentinels missing: standard scaling, with sentinels as missing values;
* default: like the previous encoding, but large values are compressed in columns with
  heavy tails;
* robust: sentinels are missing values, and large values are compressed in all columns.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import normalized_mutual_info_score

from akkm.clustering import cluster

Array = NDArray[Any]

ENCODINGS: dict[str, dict[str, str]] = {
    "standard": {"scale": "standard", "sentinels": "keep"},
    "standard, sentinels missing": {"scale": "standard"},
    "default": {},
    "robust": {"scale": "robust"},
}
_SEEDS = 3


def generated(n: int = 10_000) -> Iterator[tuple[str, Array, Array]]:
    """Yield the name, the rows (n, 6) and the clusters (n,) of each generated table."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, n)
    centers = rng.normal(0, 1.5, (5, 6))[y]
    normal = centers + rng.normal(size=centers.shape)
    yield "normal distributions", normal, y
    yield "log-normal distributions", np.exp(normal), y
    X = normal.copy()
    X[:, :2] = np.exp(1.5 * X[:, :2])
    yield "2 of 6 columns log-normal", X, y
    X, some = normal.copy(), rng.random(normal.shape) < 0.005
    X[some] += 50 * rng.standard_cauchy(int(some.sum()))
    yield "outliers in 0.5 % of cells", X, y
    X = normal.copy()
    X[:, 0] = np.where(rng.random(n) < 0.9, 0, np.exp(2 * X[:, 0]))
    yield "a column with 90 % zeros", X, y
    yield "t-distributions", centers + rng.standard_t(3, centers.shape), y
    whole = np.abs(10 * normal + 60).round()
    for value, share in ((9999.0, 0.01), (-1.0, 0.02)):
        X = whole.copy()
        X[rng.random(X.shape) < share] = value
        yield f"{value:.0f} in {share:.0%} of cells", X, y


def known() -> Iterator[tuple[str, Array, Array]]:
    """Yield the name, the rows (n, d) and the classes (n,) of each real data set."""
    for name, load in (
        ("wine", load_wine),
        ("iris", load_iris),
        ("breast cancer", load_breast_cancer),
    ):
        data = load()
        yield name, data.data, data.target
    folder = os.environ.get("AKKM_DATA")
    if folder:
        beans = np.load(Path(folder, "tables", "dry_bean.npz"))
        yield "Dry Bean", beans["X"].astype(float), beans["y"]


def measure(X: Array, y: Array, encoding: dict[str, Any]) -> float:
    """Return the mean NMI of clusters and classes (n,) over a few seeds."""
    table = pa.table({f"x{j}": column for j, column in enumerate(X.T)})
    scores = [
        normalized_mutual_info_score(
            y, cluster(table, len(np.unique(y)), random_state=seed, **encoding).labels
        )
        for seed in range(_SEEDS)
    ]
    return float(np.mean(scores))


def main() -> None:
    """Measure all encodings, and print one line per table."""
    print(f"| table | {' | '.join(ENCODINGS)} |")
    print("| --- |" + " ---: |" * len(ENCODINGS))
    with warnings.catch_warnings(action="ignore"):
        for name, X, y in (*generated(), *known()):
            scores = [measure(X, y, encoding) for encoding in ENCODINGS.values()]
            cells = " | ".join(f"{score:.2f}" for score in scores)
            print(f"| {name} | {cells} |", flush=True)
