"""How many clusters? `n_clusters="auto"` on many data, `python -m experiments.benchmarks.counting`.

Each run is a line in results/counting.jsonl as soon as it is there; one that is there
is not made again. The page results/counting.md is written from these lines. All data
are made here or come with scikit-learn. `--only WORD` (a data set or a method) and
`--seeds N` run less, or more. The rule was chosen on the data of the first two tables,
on digits, and, for the limit of what is cut, on moons of few rows and on blobs of three
spreads and stretched ones; the others had no part in that, nor had seeds from 10 on.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from akkm import DiffusionKernelKMeans, SparseKernelKMeans

Array = NDArray[Any]
Record = dict[str, Any]

_RESULTS = Path(__file__).parent / "results"
METHODS = {"sparse": SparseKernelKMeans, "diffusion": DiffusionKernelKMeans}


def mixture(C: int, d: int, apart: float, seed: int, n: int = 0) -> Array:
    """C Gaussian clusters of standard deviation 1, centers at least so far apart."""
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


def strip(seed: int) -> Array:
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
    """As in scikit-learn's comparison of methods, with centers that are apart."""
    centers = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
    X = datasets.make_blobs(2000, centers=centers, random_state=seed)[0]
    return X @ np.array([[0.6, -0.6], [-0.4, 0.8]])


def real(load: Callable[..., Any], seed: int) -> Array:
    X = load(return_X_y=True)[0]
    return X if load is datasets.load_digits else StandardScaler().fit_transform(X)


# Rows from a seed, and the number of clusters that was planted; 1: none at all.
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
NOTHING: dict[str, tuple[Callable[[int], Array], int]] = {
    f"uniform, {d} columns": (partial(uniform, d), 1) for d in (2, 3, 10)
} | {
    "uniform, 4 by 1": (strip, 1),
    "one Gaussian, 2 columns": (partial(bell, 2), 1),
    "one Gaussian, 10 columns": (partial(bell, 10), 1),
}
FRESH: dict[str, tuple[Callable[[int], Array], int]] = {
    "5 blobs of 2,000 to 50 rows": (unequal_sizes, 5),
    "3 blobs, spread 0.5 to 2.5": (unequal_spreads, 3),
    "3 stretched blobs": (stretched, 3),
    "7 blobs in a box, 3 columns": (box, 7),
    "2 rings beside 2 blobs": (rings_and_blobs, 4),
    "moons of 1,000 rows": (partial(moons, 0.05, n=1000), 2),
    "moons of 500 rows": (partial(moons, 0.05, n=500), 2),
}
# Numbers of classes: nothing says that each is one cluster.
REAL: dict[str, tuple[Callable[[int], Array], int]] = {
    "digits": (partial(real, datasets.load_digits), 10),
    "iris": (partial(real, datasets.load_iris), 3),
    "wine": (partial(real, datasets.load_wine), 3),
    "breast cancer": (partial(real, datasets.load_breast_cancer), 2),
}
DATA = PLANTED | NOTHING | FRESH | REAL


def run(data: str, method: str, seed: int) -> Record:
    X = DATA[data][0](seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = METHODS[method]("auto", random_state=seed, n_jobs=1).fit(X)
    found = model.evidence_
    return {
        "found": found.n_clusters,
        "sure": found.sure,
        "gap": round(float(found.gaps.max(initial=0)), 3),
    }


def _all(lines: list[Record], path: Path, only: str, seeds: int) -> None:
    done = {(r["data"], r["method"], r["seed"]) for r in lines}
    for seed in range(seeds):
        for data in DATA:
            for method in METHODS:
                about = {"data": data, "method": method, "seed": seed}
                if only not in ("", data, method) or tuple(about.values()) in done:
                    continue
                lines.append(about | run(data, method, seed))
                with path.open("a") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
                print(lines[-1], flush=True)


def page(lines: list[Record]) -> str:
    """Four tables: how often a number was found, and how often surely."""
    text = "# How many clusters?\n\nWritten by `python -m experiments.benchmarks.counting` from "
    text += "`counting.jsonl`; not by hand. Each data set is drawn anew for each seed "
    text += '(real ones: landmarks are). "10: 9 + 1" reads: the number 10 was found '
    text += 'surely in 9 seeds, and with an "unsure" in 1.\n'
    text += _table("Planted clusters", "planted", PLANTED, lines)
    text += _table("No clusters: should be unsure", "", NOTHING, lines)
    text += _table("Planted, other than those", "planted", FRESH, lines)
    text += _table(
        "Real, standardised but digits",
        "classes",
        REAL,
        lines,
    )
    return text


def _table(title: str, truth: str, group: dict[str, Any], lines: list[Record]) -> str:
    text = f"\n## {title}\n\n| data | {truth} | {' | '.join(METHODS)} |\n|---|---:"
    text += "|---" * len(METHODS) + "|\n"
    for data, (_, C) in group.items():
        cells = [_told(data, method, lines) for method in METHODS]
        text += f"| {data} | {C if truth else ''} | {' | '.join(cells)} |\n"
    for method in METHODS if truth == "planted" else ():
        runs = [r for r in lines if r["method"] == method and r["data"] in group]
        right = [r for r in runs if r["found"] == group[r["data"]][1]]
        wrong = sum(r["sure"] for r in runs) - sum(r["sure"] for r in right)
        text += f"\n{method}: the planted number in {len(right)} of {len(runs)} runs, "
        text += f"surely in {sum(r['sure'] for r in right)}; surely wrong in {wrong}.\n"
    return text


def _told(data: str, method: str, lines: list[Record]) -> str:
    runs = [r for r in lines if (r["data"], r["method"]) == (data, method)]
    sure = Counter(r["found"] for r in runs if r["sure"])
    unsure = Counter(r["found"] for r in runs if not r["sure"])
    numbers = sorted(sure | unsure, key=lambda k: -sure[k] - unsure[k])
    return ", ".join(f"{k}: {sure[k]} + {unsure[k]}" for k in numbers)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.benchmarks.counting")
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    path = _RESULTS / "counting.jsonl"
    kept = path.read_text().splitlines() if path.exists() else []
    lines: list[Record] = [json.loads(line) for line in kept]
    _all(lines, path, given.only, given.seeds)
    (_RESULTS / "counting.md").write_text(page(lines))


if __name__ == "__main__":
    main()
