"""Start: where the centers are before the first sweep over all rows."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import ThreadpoolController

from akkm.engines import Threads, quiet
from akkm.gram import Centers, Gram
from akkm.lloyd import lloyd
from akkm.nearest import Probes, require_finite
from akkm.parts import Part
from akkm.sources import Rows, Strip, chunks

Array = NDArray[Any]

# Rows of the smallest sample, and by how much each next one is larger.
_SAMPLE, _PER_CLUSTER, _GROWTH = 10_000, 20, 8
# Leading coordinates in which the restarts are compared: two per cluster, within these.
_LEAST_COORDINATES, _MOST_COORDINATES = 64, 256
# Kernel rows of the smallest sample are kept if they fit, whatever the cache.
_HELD_BYTES = 256 * 2**20
# Larger samples than this would not fit where rows are not in memory.
_MOST_BYTES = 128 * 2**20


def warm_start(
    strip: Strip,
    gram: Gram,
    probes: Probes,
    engine: Threads,
    *,
    n_clusters: int,
    weights: Array | None,
    n_init: int,
    rng: np.random.Generator,
) -> Centers:
    """Centers that are good for growing samples of the rows.

    On about 10,000 rows, the best of `n_init` runs of k-means++ and k-means in the
    leading coordinates of the landmarks' span; from its labels, Lloyd in the whole
    span; then on samples eight times as large each, as long as these are much smaller
    than the data. Clusters are numbered, and rows drawn, in an order that does not
    depend on that of the rows.
    """
    drawn, sizes = draw(strip.X, n_clusters, weights, rng)
    seeds = rng.integers(2**31, size=n_init)
    centers: Centers | None = None
    # Rows that are not in memory are fetched once.
    ordered = np.sort(drawn)
    sample = strip.subset(ordered)
    for size in sizes:
        rows = np.sort(drawn[:size])
        part = sample.subset(np.searchsorted(ordered, rows))
        weight = None if weights is None else weights[rows]
        labels = None
        if centers is None:
            if part.bytes <= _HELD_BYTES:
                part.hold(engine)
            labels = _best_labels(part, gram, engine, n_clusters, weight, seeds)
        part.keep(_HELD_BYTES)
        centers = lloyd(
            Part.of(part, gram, engine, labels=labels, weights=weight),
            gram,
            probes,
            dtype=part.dtype,
            centers=centers,
            n_clusters=n_clusters,
        ).centers
    assert centers is not None
    return centers


def draw(
    X: Rows, n_clusters: int, weights: Array | None, rng: np.random.Generator
) -> tuple[Array, list[int]]:
    """Rows (s,) to start from, in the order of their use, and the samples' sizes."""
    able = None if weights is None else np.flatnonzero(weights > 0)
    count = X.shape[0] if able is None else len(able)
    sizes = _sample_sizes(count, n_clusters, X)
    if sizes[-1] < count:
        drawn = rng.choice(count, sizes[-1], replace=False)
    else:
        drawn = np.arange(count)
    return drawn if able is None else able[drawn], sizes


def _sample_sizes(n: int, n_clusters: int, X: Rows) -> list[int]:
    size = max(_SAMPLE, _PER_CLUSTER * n_clusters)
    if n <= 2 * size:
        return [n]
    sizes: list[int] = []
    most = _MOST_BYTES / (X.shape[1] * X.dtype.itemsize)
    while 2 * size < n and (not sizes or size <= most):
        sizes.append(size)
        size *= _GROWTH
    return sizes


def _best_labels(
    part: Strip,
    gram: Gram,
    engine: Threads,
    n_clusters: int,
    weights: Array | None,
    seeds: Array,
) -> Array:
    """Labels (n,) of the best of several k-means runs in the leading coordinates."""
    q = int(np.clip(2 * n_clusters, _LEAST_COORDINATES, _MOST_COORDINATES))
    leading = gram.whitener[:, :q].astype(part.dtype)
    # In float64, which scikit-learn's k-means++ is faster with.
    coordinates = np.empty((part.n, leading.shape[1]))

    def project(chunk: slice) -> None:
        for rows, phi in part.tiles(chunk):
            with np.errstate(over="ignore", invalid="ignore"):
                coordinates[rows] = phi @ leading
            require_finite(coordinates[rows], part.dtype)

    for _ in engine.map(project, chunks(part.n)):
        pass
    if not leading.shape[1]:  # every point has the zero image
        return np.zeros(part.n, dtype=np.int32)

    # In an order of their own, equal rows side by side: then k-means++ draws the same
    # points whatever the order of the rows, and a weight of two like a row given twice.
    mean = np.average(coordinates, axis=0, weights=weights)
    rank = _rank(coordinates, mean)
    order = np.argsort(rank, kind="stable")
    # Where fewer rows differ than there are clusters, the others stay empty: k-means
    # would warn of it, and this is told at the end of the fit.
    distinct = len(np.unique(np.round(rank / max(np.abs(rank).max(), 1e-300), 9)))
    few = distinct < 2 * n_clusters
    most = _distinct(coordinates) if few else n_clusters
    run = partial(
        _restart,
        coordinates[order],
        None if weights is None else weights[order],
        min(n_clusters, most),
        ThreadpoolController(),  # to look for the libraries once takes long enough
    )
    with quiet(ConvergenceWarning) if few else nullcontext():
        best = min(engine.map(run, seeds), key=lambda fit: fit.inertia_)
    numbered = np.argsort(-_rank(best.cluster_centers_, mean), kind="stable")
    number = np.empty(len(numbered), dtype=np.int32)
    number[numbered] = np.arange(len(numbered))
    labels = np.empty(part.n, dtype=np.int32)
    labels[order] = number[best.labels_]
    return labels


def _rank(points: Array, mean: Array) -> Array:
    """Something to sort points (b, q) by that turns with them: (b,)."""
    return points @ mean + np.einsum("ij,ij->i", points, points)


def _distinct(points: Array) -> int:
    """How many of the points (b, q) differ by more than rounding."""
    unit = max(np.abs(points).max(), 1e-300)
    return len(np.unique(np.round(points / unit, 9), axis=0))


def _restart(
    X: Array,
    weights: Array | None,
    n_clusters: int,
    libraries: ThreadpoolController,
    seed: int,
) -> KMeans:
    """One run of scikit-learn's k-means, on one thread, so that it is reproducible."""
    with libraries.limit(limits=1, user_api="openmp"):
        fit = KMeans(n_clusters, n_init=1, tol=0, random_state=int(seed))
        return fit.fit(X, sample_weight=weights)
