"""Measure how many clusters `n_clusters="auto"` finds on many data sets.

All data are generated or come with scikit-learn. The rule that estimates the number was
chosen on the data sets PLANTED and NO_CLUSTERS and on digits, with seeds below 10. All
other data sets and seeds test the rule. There is one exception: one threshold
(`_TIGHT_SHARE` in akkm.diffusion.estimate_k) was also chosen on three data sets of
HELD_OUT: moons with few rows, blobs of three spreads and stretched blobs.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from akkm import DiffusionKernelKMeans, SparseKernelKMeans
from experiments.benchmarks import RESULTS
from experiments.harness.pages import (
    Block,
    Heading,
    Paragraph,
    ResultTable,
    markdown,
    write_file,
)
from experiments.harness.runner import run_missing
from experiments.harness.store import JsonLines, Record

Array = NDArray[Any]

METHODS = {"sparse": SparseKernelKMeans, "diffusion": DiffusionKernelKMeans}


def mixture(C: int, d: int, apart: float, seed: int, n: int = 0) -> Array:
    """Return rows of C unit Gaussians whose centers are at least `apart` apart."""
    rng = np.random.default_rng([seed, C, d])
    side = apart * (3 * C) ** (1 / d)
    centers = rng.random((1, d)) * side
    while len(centers) < C:
        new = rng.random(d) * side
        if np.linalg.norm(centers - new, axis=1).min() >= apart:
            centers = np.vstack([centers, new])
    rows = centers[rng.integers(C, size=n or max(2000, 150 * C))]
    return rows + rng.standard_normal(rows.shape)


def rings(radii: tuple[float, ...], seed: int) -> Array:
    rng = np.random.default_rng([seed, len(radii)])
    shares = np.array(radii) / sum(radii)
    radius = rng.choice(radii, 3000, p=shares)
    angle = rng.random(3000) * 2 * np.pi
    X = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return X + 0.05 * rng.standard_normal(X.shape)


def spirals(seed: int) -> Array:
    rng = np.random.default_rng(seed)
    arm, along = rng.integers(3, size=3000), np.sqrt(0.05 + 0.95 * rng.random(3000))
    angle = 2 * np.pi * (along + arm / 3)
    X = along[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return X + 0.015 * rng.standard_normal(X.shape)


def moons(noise: float, seed: int, n: int = 3000) -> Array:
    return datasets.make_moons(n, noise=noise, random_state=seed)[0]


def uniform(d: int, seed: int) -> Array:
    return np.random.default_rng(seed).random((3000, d))


def rectangle(seed: int) -> Array:
    return np.random.default_rng(seed).random((3000, 2)) * [4.0, 1.0]


def bell(d: int, seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal((3000, d))


def unequal_sizes(seed: int) -> Array:
    sizes, centers = [2000, 500, 200, 100, 50], 10 * np.eye(5)[:, :4]
    return datasets.make_blobs(sizes, centers=centers, random_state=seed)[0]


def unequal_spreads(seed: int) -> Array:
    centers, spread = [[-6, 0], [0, 0], [9, 0]], [0.5, 1.0, 2.5]
    blobs = datasets.make_blobs(
        2000, centers=np.array(centers), cluster_std=spread, random_state=seed
    )
    return blobs[0]


def box(seed: int) -> Array:
    options = {"n_features": 3, "centers": 7, "center_box": (-20, 20)}
    return datasets.make_blobs(2500, random_state=seed, **options)[0]


def rings_and_blobs(seed: int) -> Array:
    rng = np.random.default_rng(seed)
    two = 4 * datasets.make_circles(3000, factor=0.5, noise=0.03, random_state=seed)[0]
    one = rng.normal((9, 0), 0.5, size=(1000, 2))
    other = rng.normal((9, 5), 0.3, size=(500, 2))
    return np.vstack([two, one, other])


def stretched(seed: int) -> Array:
    """Return three well separated blobs that are stretched in the same direction."""
    centers = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
    X = datasets.make_blobs(2000, centers=centers, random_state=seed)[0]
    return X @ np.array([[0.6, -0.6], [-0.4, 0.8]])


def real(load: Callable[..., Any], seed: int) -> Array:
    X = load(return_X_y=True)[0]
    return X if load is datasets.load_digits else StandardScaler().fit_transform(X)


# For each data set: a function from seed to rows, and the number of planted clusters.
PLANTED: dict[str, tuple[Callable[[int], Array], int]] = (
    {
        f"{C} Gaussians, {d} columns, {apart} apart": (partial(mixture, C, d, apart), C)
        for d, apart in ((2, 10), (2, 6), (10, 8), (50, 14))
        for C in (2, 3, 5, 10, 20, 30)
    }
    | {
        f"3 Gaussians, {n} rows of {d} columns, 10 apart": (
            partial(mixture, 3, d, 10, n=n),
            3,
        )
        for d in (2, 5)
        for n in (150, 500)
    }
    | {
        "2 rings": (partial(rings, (0.5, 1.0)), 2),
        "3 rings": (partial(rings, (0.4, 0.8, 1.2)), 3),
        "moons": (partial(moons, 0.05), 2),
        "moons, more noise": (partial(moons, 0.08), 2),
        "3 spirals": (spirals, 3),
    }
)
# Data sets without clusters; their number of clusters counts as 1.
NO_CLUSTERS: dict[str, tuple[Callable[[int], Array], int]] = {
    f"uniform, {d} columns": (partial(uniform, d), 1) for d in (2, 3, 10)
} | {
    "uniform, 4 by 1": (rectangle, 1),
    "one Gaussian, 2 columns": (partial(bell, 2), 1),
    "one Gaussian, 10 columns": (partial(bell, 10), 1),
}
# Data sets that test the rule. The docstring of this module names three of them that
# also helped to choose a threshold.
HELD_OUT: dict[str, tuple[Callable[[int], Array], int]] = {
    "5 blobs of 2,000 to 50 rows": (unequal_sizes, 5),
    "3 blobs, spread 0.5 to 2.5": (unequal_spreads, 3),
    "3 stretched blobs": (stretched, 3),
    "7 blobs in a box, 3 columns": (box, 7),
    "2 rings beside 2 blobs": (rings_and_blobs, 4),
    "moons of 1,000 rows": (partial(moons, 0.05, n=1000), 2),
    "moons of 500 rows": (partial(moons, 0.05, n=500), 2),
}
# Real data sets with their number of classes. The classes need not be clusters.
REAL: dict[str, tuple[Callable[[int], Array], int]] = {
    "digits": (partial(real, datasets.load_digits), 10),
    "iris": (partial(real, datasets.load_iris), 3),
    "wine": (partial(real, datasets.load_wine), 3),
    "breast cancer": (partial(real, datasets.load_breast_cancer), 2),
}
DATA = PLANTED | NO_CLUSTERS | HELD_OUT | REAL


def measure(data: str, method: str, seed: int) -> Record:
    """Estimate the number of clusters of one data set."""
    X = DATA[data][0](seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = METHODS[method]("auto", random_state=seed, n_jobs=1).fit(X)
    evidence = model.evidence_
    return {
        "found": evidence.n_clusters,
        "sure": evidence.sure,
        "gap": round(float(evidence.gaps.max(initial=0)), 3),
    }


def report(records: JsonLines) -> str:
    """Return the page: for each estimate, the number of sure and of unsure seeds."""
    return markdown(
        "How many clusters?",
        [
            Paragraph(
                "Written by `python -m experiments bench counting` from "
                "`counting.jsonl`, not by hand. The columns sparse and diffusion are "
                "for `SparseKernelKMeans` and `DiffusionKernelKMeans`. The Gaussians "
                'have standard deviation 1; "10 apart" means that the distance between '
                "any two centers is at least 10. Each seed generates new data. For "
                "real data sets, the seed changes only the random choices of the "
                "method. "
                '"3: 9 + 1" means that the estimate was 3 clusters for ten seeds: nine '
                "of these estimates were sure (`evidence_.sure`), and one was unsure."
            ),
            *_blocks("Planted clusters", "planted", PLANTED, records),
            *_blocks(
                "No clusters: all estimates should be unsure", "", NO_CLUSTERS, records
            ),
            *_blocks("Planted clusters, other data", "planted", HELD_OUT, records),
            *_blocks("Real data, standardised except digits", "classes", REAL, records),
        ],
    )


def _blocks(
    title: str, truth: str, group: dict[str, Any], records: JsonLines
) -> list[Block]:
    rows = []
    for data, (_, C) in group.items():
        cells = [_counts(records.find(data=data, method=method)) for method in METHODS]
        rows.append([data, str(C) if truth else "", *cells])
    table = ResultTable("", ["data", truth, *METHODS], rows, prose=True)
    blocks: list[Block] = [Heading(title), table]
    for method in METHODS if truth == "planted" else ():
        runs = [r for r in records.find(method=method) if r["data"] in group]
        right = [r for r in runs if r["found"] == group[r["data"]][1]]
        n_sure = sum(r["sure"] for r in right)
        n_wrong = sum(r["sure"] for r in runs) - n_sure
        blocks.append(
            Paragraph(
                f"{method}: the estimate is right in {len(right)} of {len(runs)} runs. "
                f"Of the right estimates, {n_sure} are sure. Of the wrong estimates, "
                f"{n_wrong} {'is' if n_wrong == 1 else 'are'} sure."
            )
        )
    return blocks


def _counts(runs: list[Record]) -> str:
    """Return each estimate with its counts of sure and unsure seeds: "3: 9 + 1"."""
    sure = Counter(r["found"] for r in runs if r["sure"])
    unsure = Counter(r["found"] for r in runs if not r["sure"])
    numbers = sorted(sure | unsure, key=lambda k: -sure[k] - unsure[k])
    return ", ".join(f"{k}: {sure[k]} + {unsure[k]}" for k in numbers)


def main(only: Sequence[str] = (), seeds: int = 10) -> None:
    """Run the missing measurements and write the page."""
    records = JsonLines(RESULTS / "counting.jsonl")
    runs = [
        {"data": data, "method": method, "seed": seed}
        for seed, data, method in product(range(seeds), DATA, METHODS)
        if not only or data in only or method in only
    ]
    run_missing(records, runs, measure)
    write_file(RESULTS / "counting.md", report(records))
