"""Measure the NMI that each rule for the kernel width gives on eight small data sets.

All data are generated or come with scikit-learn. The benchmark takes about two minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_wine, make_blobs, make_moons
from sklearn.preprocessing import StandardScaler

from akkm import ApproxKernelKMeans, NystroemSpectralClustering
from akkm.metrics import nmi
from experiments.harness.pages import markdown_table

Array = NDArray[Any]

# Values of the parameter gamma that name a rule for the kernel width.
RULES = ("scale", "median", "neighbors")
# Number of seeds.
SEEDS = 5


def disc_in_ring(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return points X (n, 2) in a disc (y = 0) and in a ring around it (y = 1)."""
    y = rng.integers(2, size=n)
    radius = y + rng.normal(scale=0.12, size=n)
    angle = rng.uniform(0, 2 * np.pi, size=n)
    X = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
    return X.astype(np.float32), y


def data() -> Iterator[tuple[str, Array, Array]]:
    """Yield the name, rows (n, d) and classes (n,) of each data set."""
    rng = np.random.default_rng(0)
    yield "disc in a ring", *disc_in_ring(10_000, rng)
    yield "two moons", *make_moons(10_000, noise=0.06, random_state=0)
    few = make_blobs(10_000, 20, centers=5, cluster_std=4.0, random_state=0)
    yield "5 blobs, 20 columns", *few[:2]
    many = make_blobs(10_000, 2, centers=50, cluster_std=0.2, random_state=0)
    yield "50 small blobs, 2 columns", *many[:2]
    X, y = few[:2]
    yield (
        "5 blobs, half of the rows copies",
        X[np.arange(10_000) // 2],
        np.repeat(y[:5000], 2),
    )
    far = X.copy()
    far[:100] += 1000 * rng.standard_normal((100, 20))
    yield "5 blobs, 1 % far outliers", far, y
    yield "wine, standardised", *_standard(load_wine(return_X_y=True))
    X, y = load_digits(return_X_y=True)
    yield "digits", X / 16, y


def _standard(data: tuple[Array, Array]) -> tuple[Array, Array]:
    return StandardScaler().fit_transform(data[0]), data[1]


def main() -> None:
    """Measure all methods and rules, and print a table."""
    methods = (ApproxKernelKMeans, NystroemSpectralClustering)
    head = [f"{m.__name__}, {rule}" for m in methods for rule in RULES]
    rows = []
    for name, X, y in data():
        cells, gammas = [], []
        for method in methods:
            for rule in RULES:
                fits: list[Any] = [
                    method(len(np.unique(y)), gamma=rule, random_state=seed).fit(X)
                    for seed in range(SEEDS)
                ]
                cells.append(f"{np.mean([nmi(y, fit.labels_) for fit in fits]):.2f}")
                gammas.append(f"{fits[0].kernel_.rate:.3g}")
        widths = ", ".join(gammas[: len(RULES)])
        rows.append([name, *cells, widths])
    print(markdown_table(["data", *head, "gammas"], rows))
