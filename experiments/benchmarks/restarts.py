"""Is there anything better than restarts? `python -m experiments.benchmarks.restarts`.

The start of every fit is k-means on a sample of at most 10,000 to 20,000 points: ten
restarts of greedy k-means++ and Lloyd. Here two others get the time that these take, on
the very same points:

* local search (LS++, Lattanzi and Sohler 2019): a point drawn by its distance takes the
  place of a center wherever that lowers the error, then Lloyd;
* breathing (Fritzke 2020): five centers more where the error is largest, Lloyd, five
  fewer where they are missed least, Lloyd; four, three, ... when that does not help.

What counts is the lowest error at the end of that time, which is that of the processor
and of one thread. Each run is a line in results/restarts.jsonl as soon as it is there,
and results/restarts.md is written from these lines. Real data need AKKM_DATA; without
it the others are run.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances
from threadpoolctl import threadpool_limits

from akkm import ApproxKernelKMeans, SparseKernelKMeans
from akkm.approx import seeding
from akkm.demo import disc_in_ring
from experiments.benchmarks import beyond

Array = NDArray[Any]
Record = dict[str, Any]
Runs = Iterator[float]  # errors, forever

_RESULTS = Path(__file__).parent / "results"
_RESTARTS, _BREATHS = 10, 5


def blobs() -> beyond.Data:
    X, y = make_blobs(10_000, 10, centers=50, cluster_std=2.0, random_state=0)
    return X, y, 50


def disc() -> beyond.Data:
    return *disc_in_ring(10_000, np.random.default_rng(0)), 2


def covtype() -> beyond.Data:
    X, y, C = beyond.covtype()
    rows = np.random.default_rng(0).choice(len(X), 10_000, replace=False)
    return X[rows], y[rows], C


# Rows, whether they are real, and the number of clusters.
DATA: dict[str, tuple[Callable[[], beyond.Data], bool]] = {
    "digits": (beyond.digits, False),
    "50 blobs": (blobs, False),
    "disc in a ring": (disc, False),
    "MNIST 10,000": (lambda: beyond.mnist(10_000), True),
    "Cover Type 10,000": (covtype, True),
}
SPACES = {"aKKm": ApproxKernelKMeans, "sparse": SparseKernelKMeans}


class _Caught(Exception):
    """Points on their way to the restarts."""


def points_of(space: str, X: Array, C: int) -> Array:
    """The points (s, q) that an estimator's restarts see."""
    usual = seeding._restart

    def catch(points: Array, *_: Any) -> KMeans:
        raise _Caught(points)

    seeding._restart = catch
    try:
        SPACES[space](C, random_state=0, n_jobs=1).fit(X)
    except _Caught as caught:
        return caught.args[0]
    finally:
        seeding._restart = usual
    raise AssertionError("no restart was made")


def lloyd(X: Array, C: int, init: Any, rng: np.random.Generator) -> KMeans:
    seed = int(rng.integers(2**31))
    return KMeans(C, init=init, n_init=1, tol=0, random_state=seed).fit(X)


def plain(X: Array, C: int, rng: np.random.Generator) -> Runs:
    while True:
        fit = lloyd(X, C, "k-means++", rng)
        yield fit.inertia_


def local_search(X: Array, C: int, rng: np.random.Generator) -> Runs:
    while True:
        centers = kmeans_plusplus(X, C, random_state=int(rng.integers(2**31)))[0]
        D = pairwise_distances(X, centers, metric="sqeuclidean")
        for _ in range(C):
            near = np.partition(D, 1, axis=1)[:, :2] if C > 1 else np.hstack([D, D])
            owner, cost = D.argmin(axis=1), near[:, 0].sum()
            if not cost > 0:  # all points are on centers
                break
            drawn = rng.choice(len(X), p=near[:, 0] / cost)
            new = pairwise_distances(X, X[[drawn]], metric="sqeuclidean")[:, 0]
            kept = np.minimum(new, near[:, 0])
            # Without its center a row goes to the next one, or to the new one.
            loss = np.bincount(owner, np.minimum(new, near[:, 1]) - kept, minlength=C)
            worst = int(loss.argmin())
            if kept.sum() + loss[worst] < cost:
                D[:, worst], centers[worst] = new, X[drawn]
        fit = lloyd(X, C, centers, rng)
        yield fit.inertia_


def breathing(X: Array, C: int, rng: np.random.Generator) -> Runs:
    while True:
        best = lloyd(X, C, "k-means++", rng)
        yield best.inertia_
        breath = min(_BREATHS, C)
        while breath:
            centers = best.cluster_centers_
            far = pairwise_distances(X, centers, metric="sqeuclidean").min(axis=1)
            error = np.bincount(best.labels_, far, minlength=C)
            split = centers[np.argsort(-error)[:breath]]
            jump = 0.01 * np.sqrt(far.mean()) * rng.standard_normal(split.shape)
            more = lloyd(X, C + breath, np.vstack([centers, split + jump]), rng)
            fit = lloyd(X, C, _without(X, more.cluster_centers_, breath), rng)
            if fit.inertia_ < best.inertia_ * (1 - 1e-9):
                best = fit
                yield best.inertia_
            else:
                breath -= 1


def _without(X: Array, centers: Array, count: int) -> Array:
    """Centers without those that are missed least, no two of them side by side."""
    D = pairwise_distances(X, centers, metric="sqeuclidean")
    near = np.partition(D, 1, axis=1)[:, :2]
    missed = np.bincount(
        D.argmin(axis=1), near[:, 1] - near[:, 0], minlength=len(centers)
    )
    apart = pairwise_distances(centers)
    frozen = np.zeros(len(centers), dtype=bool)
    gone: list[int] = []
    for c in np.argsort(missed):
        if len(gone) < count and not frozen[c]:
            gone.append(int(c))
            if len(gone) + frozen.sum() < len(centers) - count:
                frozen[np.argsort(apart[c])[1]] = True
    for c in np.argsort(missed):
        if len(gone) < count and int(c) not in gone:
            gone.append(int(c))
    return np.delete(centers, gone, axis=0)


OTHERS = {"local search": local_search, "breathing": breathing}


def run(X: Array, C: int, seed: int) -> Record:
    """The lowest error of each way, in the time of ten restarts."""
    runs = plain(X, C, np.random.default_rng(seed))
    start = process_time()
    found: Record = {"ten restarts": min(next(runs) for _ in range(_RESTARTS))}
    seconds = process_time() - start
    for name, way in OTHERS.items():
        runs = way(X, C, np.random.default_rng(seed))
        start, error = process_time(), next(runs)
        while True:
            new = next(runs)
            if process_time() - start > seconds:
                break
            error = min(error, new)
        found[name] = error
    return found | {"seconds": round(seconds, 3)}


def page(lines: list[Record]) -> str:
    text = "# Better than restarts?\n\nWritten by `python -m experiments.benchmarks.restarts` from "
    text += "`restarts.jsonl`; not by hand.\n\nThe lowest error in the time of ten "
    text += "restarts, relative to theirs (below 1 is better), mean over seeds; and in "
    text += "how many seeds it is lower, equal (to 1e-6) or higher.\n\n"
    text += "| points | clusters | seconds | local search | breathing | seeds |\n"
    text += "|---|---:|---:|---:|---:|---:|\n"
    for data in DATA:
        for space in SPACES:
            runs = [r for r in lines if (r["data"], r["space"]) == (data, space)]
            if not runs:
                continue
            cells = [_cell(runs, name) for name in OTHERS]
            seconds = mean(r["seconds"] for r in runs)
            text += f"| {data}, {space} | {runs[0]['C']} | {seconds:.2f} | "
            text += f"{' | '.join(cells)} | {len(runs)} |\n"
    return text


def _cell(runs: list[Record], name: str) -> str:
    # Points that all lie on centers have no error at all.
    ratios = np.array([(r[name] + 1e-9) / (r["ten restarts"] + 1e-9) for r in runs])
    lower, higher = int((ratios < 1 - 1e-6).sum()), int((ratios > 1 + 1e-6).sum())
    even = len(ratios) - lower - higher
    return f"{ratios.mean():.5f} ({lower}, {even}, {higher})"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.benchmarks.restarts")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    path = _RESULTS / "restarts.jsonl"
    kept = path.read_text().splitlines() if path.exists() else []
    lines: list[Record] = [json.loads(line) for line in kept]
    done = {(r["data"], r["space"], r["seed"]) for r in lines}
    for data, (make, real) in DATA.items():
        if real and "AKKM_DATA" not in os.environ:
            continue
        X, _, C = make()
        for space in SPACES:
            left = [s for s in range(given.seeds) if (data, space, s) not in done]
            points = points_of(space, X, C) if left else None
            for seed in left:
                about = {"data": data, "space": space, "seed": seed, "C": C}
                with threadpool_limits(1):
                    lines.append(about | run(points, C, seed))
                with path.open("a") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
                print(lines[-1], flush=True)
    (_RESULTS / "restarts.md").write_text(page(lines))


if __name__ == "__main__":
    main()
