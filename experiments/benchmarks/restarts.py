"""Measure whether other algorithms beat restarts of k-means in the same time.

The baseline is k-means on a sample of at most 20,000 rows: ten restarts of greedy
k-means++ and Lloyd. Two other algorithms get the same points and as much processor time
as the ten restarts took, with one thread:

* local search (LS++, Lattanzi and Sohler 2019): draw points with probabilities
  proportional to their squared distances to the centers, and replace a center by one of
  these points if this lowers the error; then run Lloyd;
* breathing (Fritzke 2020): add five centers where the error is largest, run Lloyd,
  remove the five centers whose removal raises the error least, and run Lloyd again. If
  the error does not fall, continue with four centers, three, and so on.

The results are the lowest errors reached in that time. Real data sets are used only if
AKKM_DATA is set.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from statistics import mean
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances
from threadpoolctl import threadpool_limits

from akkm import ApproxKernelKMeans, SparseKernelKMeans
from experiments.benchmarks import RESULTS, beyond
from experiments.benchmarks.width import disc_in_ring
from experiments.harness.pages import Paragraph, ResultTable, markdown, write_file
from experiments.harness.runner import run_missing
from experiments.harness.store import JsonLines, Record

Array = NDArray[Any]
Runs = Iterator[float]  # endless iterator over the final errors of runs

# Number of restarts of the baseline.
_RESTARTS = 10
# Number of centers that breathing adds and removes at first.
_BREATHS = 5


def blobs() -> beyond.Data:
    X, y = make_blobs(10_000, 10, centers=50, cluster_std=2.0, random_state=0)
    return X, y, 50


def disc() -> beyond.Data:
    return *disc_in_ring(10_000, np.random.default_rng(0)), 2


def covtype() -> beyond.Data:
    X, y, C = beyond.real("covtype")
    rows = np.random.default_rng(0).choice(len(X), 10_000, replace=False)
    return X[rows], y[rows], C


# For each data set: a function that returns the data, and whether the data are real.
DATA: dict[str, tuple[Callable[[], beyond.Data], bool]] = {
    "digits": (beyond.digits, False),
    "50 blobs": (blobs, False),
    "disc in a ring": (disc, False),
    "MNIST 10,000": (lambda: beyond.mnist(10_000), True),
    "Cover Type 10,000": (covtype, True),
}
SPACES = {"aKKm": ApproxKernelKMeans, "sparse": SparseKernelKMeans}


class _CaughtPoints(Exception):
    """Carries the points that a fit passes to its first k-means run."""


@lru_cache(maxsize=1)
def points_of(space: str, data: str) -> tuple[Array, int]:
    """Return the points on which an estimator runs k-means, and the number of clusters.

    The points (s, q) are q coordinates of each of s rows.
    """
    X, _, C = DATA[data][0]()

    def catch(self: KMeans, points: Array, *_: Any, **__: Any) -> KMeans:
        raise _CaughtPoints(points)

    try:
        with patch.object(KMeans, "fit", catch):
            SPACES[space](C, random_state=0, n_jobs=1).fit(X)
    except _CaughtPoints as caught:
        return caught.args[0], C
    raise AssertionError("The fit did not call KMeans.fit.")


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
            nearest_two = (
                np.partition(D, 1, axis=1)[:, :2] if C > 1 else np.hstack([D, D])
            )
            owner, cost = D.argmin(axis=1), nearest_two[:, 0].sum()
            if not cost > 0:  # all points are on centers
                break
            drawn = rng.choice(len(X), p=nearest_two[:, 0] / cost)
            new = pairwise_distances(X, X[[drawn]], metric="sqeuclidean")[:, 0]
            kept = np.minimum(new, nearest_two[:, 0])
            # Points that lose their center go to their second nearest center or to the
            # new one.
            loss = np.bincount(
                owner, np.minimum(new, nearest_two[:, 1]) - kept, minlength=C
            )
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
    """Return the centers that remain after `count` of them are removed.

    The centers whose removal raises the error least are removed. If possible, the
    nearest neighbour of a removed center remains.
    """
    D = pairwise_distances(X, centers, metric="sqeuclidean")
    nearest_two = np.partition(D, 1, axis=1)[:, :2]
    missed = np.bincount(
        D.argmin(axis=1), nearest_two[:, 1] - nearest_two[:, 0], minlength=len(centers)
    )
    distances = pairwise_distances(centers)
    frozen = np.zeros(len(centers), dtype=bool)
    removed: list[int] = []
    for c in np.argsort(missed):
        if len(removed) < count and not frozen[c]:
            removed.append(int(c))
            if len(removed) + frozen.sum() < len(centers) - count:
                frozen[np.argsort(distances[c])[1]] = True
    for c in np.argsort(missed):
        if len(removed) < count and int(c) not in removed:
            removed.append(int(c))
    return np.delete(centers, removed, axis=0)


ALTERNATIVES = {"local search": local_search, "breathing": breathing}


def measure(data: str, space: str, seed: int) -> Record:
    """Return the lowest error of each algorithm in the time of ten restarts."""
    X, C = points_of(space, data)
    with threadpool_limits(1):
        runs = plain(X, C, np.random.default_rng(seed))
        start = process_time()
        errors: Record = {"ten restarts": min(next(runs) for _ in range(_RESTARTS))}
        seconds = process_time() - start
        for name, algorithm in ALTERNATIVES.items():
            runs = algorithm(X, C, np.random.default_rng(seed))
            start, error = process_time(), next(runs)
            while True:
                new = next(runs)
                if process_time() - start > seconds:
                    break
                error = min(error, new)
            errors[name] = error
    return {"C": C, **errors, "seconds": round(seconds, 3)}


def report(records: JsonLines) -> str:
    """Return the whole page as Markdown."""
    rows = []
    for data, space in product(DATA, SPACES):
        runs = records.find(data=data, space=space)
        if runs:
            seconds = mean(r["seconds"] for r in runs)
            cells = [_cell(runs, name) for name in ALTERNATIVES]
            row = [f"{data}, {space}", str(runs[0]["C"]), f"{seconds:.2f}", *cells]
            rows.append([*row, str(len(runs))])
    head = ["points", "clusters", "seconds", *ALTERNATIVES, "seeds"]
    return markdown(
        "Better than restarts?",
        [
            Paragraph(
                "Written by `python -m experiments bench restarts` from "
                "`restarts.jsonl`, not by hand."
            ),
            Paragraph(
                "The first column names a data set and an estimator: aKKm is "
                "`ApproxKernelKMeans`, and sparse is `SparseKernelKMeans`. k-means "
                "runs on the points that this estimator computes from the data. The "
                "column seconds shows the time of ten restarts. The columns local "
                "search and breathing show the lowest error that the algorithm "
                "reaches in this time, divided by the lowest error of the ten "
                "restarts. Values are means over seeds. A value below 1 is better "
                "than restarts. The numbers in brackets count the seeds in which the "
                "error is lower, equal (to 1e-6) and higher."
            ),
            ResultTable("", head, rows),
        ],
    )


def _cell(runs: list[Record], name: str) -> str:
    # Add 1e-9 to both errors: they are zero if all points lie on centers.
    ratios = np.array([(r[name] + 1e-9) / (r["ten restarts"] + 1e-9) for r in runs])
    lower, higher = int((ratios < 1 - 1e-6).sum()), int((ratios > 1 + 1e-6).sum())
    equal = len(ratios) - lower - higher
    return f"{ratios.mean():.5f} ({lower}, {equal}, {higher})"


def main(seeds: int = 5) -> None:
    """Run the missing measurements and write the page."""
    records = JsonLines(RESULTS / "restarts.jsonl")
    runs = [
        {"data": data, "space": space, "seed": seed}
        for data, space, seed in product(DATA, SPACES, range(seeds))
        if not DATA[data][1] or "AKKM_DATA" in os.environ
    ]
    run_missing(records, runs, measure)
    write_file(RESULTS / "restarts.md", report(records))
