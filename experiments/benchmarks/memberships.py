"""Measure whether memberships are calibrated, on real data.

The rows are split at random into two halves. Each half is clustered on its own, with
its own seed and the same number of clusters, which is the number of classes. The second
model predicts the clusters of the first half. Its clusters are matched one to one with
those of the first model, so that as many rows as possible agree.

For each row of the first half and each cluster, the first model states a membership.
Consider all pairs of a row and a cluster with a membership of about p. For a share p of
these pairs, the second model should put the row into the cluster.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from akkm import ApproxKernelKMeans, DiffusionKernelKMeans, SparseKernelKMeans
from experiments.benchmarks import RESULTS
from experiments.benchmarks.unknown_k import DATA, rows_of
from experiments.harness.pages import Paragraph, ResultTable, markdown, write_file
from experiments.harness.runner import run_missing
from experiments.harness.store import JsonLines, Record

Array = NDArray[Any]

METHODS: dict[str, Callable[..., Any]] = {
    "DiffusionKernelKMeans": DiffusionKernelKMeans,
    "SparseKernelKMeans": SparseKernelKMeans,
    "ApproxKernelKMeans": ApproxKernelKMeans,
}
# Number of bins of memberships.
BINS = 10
# Bins with fewer pairs, over all seeds, are left out of the page.
_FEW = 300


def measure(data: str, method: str, seed: int) -> Record:
    """Fit both halves; return pairs, mean membership and share per bin."""
    X, y = rows_of(data)
    order = np.random.default_rng(seed).permutation(len(X))
    half = np.sort(order[: len(X) // 2]), np.sort(order[len(X) // 2 :])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, second = (
            METHODS[method](int(y.max()) + 1, random_state=each, n_jobs=1).fit(X[rows])
            for each, rows in zip((2 * seed, 2 * seed + 1), half, strict=True)
        )
        memberships = first.memberships(X[half[0]]).toarray()
        found = matched(first.labels_, second.predict(X[half[0]]), len(memberships.T))
    return {
        "stay": round(float((found == first.labels_).mean()), 4),
        "bins": calibration(memberships, found),
    }


def matched(labels: Array, others: Array, C: int) -> Array:
    """Rename the clusters of `others` (n,) so that most rows agree with `labels`."""
    names = np.arange(C)
    both = np.concatenate([labels, names]), np.concatenate([others, names])
    counts = contingency_matrix(*both) - np.eye(C, dtype=int)
    name, other = linear_sum_assignment(-counts)
    return name[np.argsort(other)][others]


def calibration(memberships: Array, found: Array) -> list[list[float]]:
    """For each bin: number of pairs, mean membership, and share that was found.

    `memberships` (n, C) are those of one fit, and `found` (n,) are the clusters in the
    other fit.
    """
    hit = found[:, None] == np.arange(memberships.shape[1])
    place = np.minimum((memberships * BINS).astype(int), BINS - 1)
    bins = []
    for b in range(BINS):
        inside = (place == b) & (memberships > 0)
        n = int(inside.sum())
        mean = memberships[inside].mean() if n else 0.0
        share = hit[inside].mean() if n else 0.0
        bins.append([n, round(float(mean), 4), round(float(share), 4)])
    return bins


def report(records: JsonLines) -> str:
    """Return the page: shares per bin, pooled over seeds."""
    rows = []
    for data, method in product(DATA, METHODS):
        runs = records.find(data=data, method=method)
        if not runs:
            continue
        bins = np.array([run["bins"] for run in runs])  # (seeds, BINS, 3)
        pairs = bins[:, :, 0].sum(axis=0)
        weights = bins[:, :, :1] / np.maximum(pairs, 1)[:, None]
        mean, share = (weights * bins[:, :, 1:]).sum(axis=0).T
        enough = pairs >= _FEW
        cells = [
            f"{m:.2f}: {s:.2f}" if e else ""
            for m, s, e in zip(mean, share, enough, strict=True)
        ]
        largest = np.abs(mean - share)[enough].max()
        stay = np.mean([run["stay"] for run in runs])
        rows.append([data, method, f"{stay:.2f}", *cells, f"{largest:.2f}"])
    text = (
        "Written by `python -m experiments bench memberships` from "
        "`memberships.jsonl`, not by hand. The rows are split at random into two "
        "halves, which are clustered independently, with the number of classes. "
        '"0.25: 0.31" describes the pairs of a row and a cluster with memberships from '
        "0.2 to 0.3, whose mean is 0.25. For a share of 0.31 of these pairs, the fit "
        "to the other half puts the row into this cluster, too. The column stay "
        "contains the share of the rows that stay in their cluster. The last column is "
        "the largest difference between mean and share. Bins with fewer than "
        f"{_FEW} pairs over all seeds are left out."
    )
    columns = ["data", "method", "stay", *(f"{b / BINS:.1f}" for b in range(BINS))]
    table = ResultTable("", [*columns, "largest difference"], rows, prose=True)
    return markdown("Calibration of memberships", [Paragraph(text), table])


def main(only: Sequence[str] = (), seeds: int = 3) -> None:
    """Run the missing measurements and write the page."""
    records = JsonLines(RESULTS / "memberships.jsonl")
    runs = [
        {"data": data, "method": method, "seed": seed}
        for method, seed, data in product(METHODS, range(seeds), DATA)
        if not only or data in only or method in only
    ]
    run_missing(records, runs, measure)
    write_file(RESULTS / "memberships.md", report(records))
