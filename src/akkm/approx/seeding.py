"""Initialisation: centers from samples, before the first sweep over all rows."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning

from akkm.approx.factored import Factored
from akkm.core.gram import Centers, Gram
from akkm.core.lloyd import lloyd
from akkm.core.nearest import require_finite
from akkm.core.parts import Part
from akkm.core.strip import Strip
from akkm.core.threads import Threads, thread_pools
from akkm.rows import as_rows, chunks
from akkm.silence import ignore_warnings
from akkm.typing import Array, RowsLike

# Minimum number of rows of the first sample.
_SAMPLE = 10_000
# Minimum number of rows per cluster in the first sample.
_PER_CLUSTER = 20
# Factor by which each further sample is larger than the previous one.
_GROWTH = 8
# Number of leading coordinates in which k-means runs: two per cluster, within these
# limits.
_MIN_COORDINATES, _MAX_COORDINATES = 64, 256
# Runs of k-means on the first sample take at most this share of the multiplications of
# one pass over all rows, or at most _MULTIPLICATIONS if that is more.
_SHARE = 0.5
_MULTIPLICATIONS = 5e10
# Minimum and maximum number of iterations of a run.
_MIN_ITERATIONS, _MAX_ITERATIONS = 5, 300
# Expected number of iterations of a run that is initialised by k-means++.
_EXPECTED_ITERATIONS = 15
# k-means on the sample computes in float32 if there are more clusters than this, or if
# the kernel rows are float32 and the sample has at least _SAMPLE rows.
_MANY_CLUSTERS = 100
# To break ties, initial centers are moved towards the mean, by different shares of the
# way: from 0 for the first center to _TIE for the last one.
_TIE = 1e-9
# Breathing adds, and then removes, at most this many centers at a time: _BREATH, or the
# share _BREATH_SHARE of the clusters if that is more.
_BREATH, _BREATH_SHARE = 5, 1 / 20
# Breathing: an added center is a copy of a cluster's center plus Gaussian noise. The
# standard deviation of the noise, per coordinate, is this number times the root mean
# squared error.
_NUDGE = 0.01
# Breathing: smallest relative decrease of the error that counts as an improvement.
_SAME = 1e-9
# Maximum number of bytes for the cached kernel rows of a sample. `cache_size` does not
# apply to samples.
STORED_BYTES = 256 * 2**20
# Maximum number of bytes of a sample's rows, so that they fit in memory. The first
# sample may be larger.
_MAX_SAMPLE_BYTES = 128 * 2**20


def initial_centers(
    factored: Factored,
    engine: Threads,
    n_clusters: int,
    weights: Array | None,
    n_init: int,
    rng: np.random.Generator,
    tol: float = 0.0,
) -> Centers:
    """Return centers found on growing samples of the rows.

    The first sample has 10,000 rows or 20 rows per cluster, whichever is more. If there
    are at most twice as many rows in total, the sample has all rows. k-means++ and
    k-means run `n_init` times in the leading coordinates of the landmarks' span, and
    the best run is improved by breathing. With many clusters, there are fewer runs, to
    limit their cost. Starting from the labels of the best run, Lloyd's algorithm
    iterates in the whole span. It then continues on further samples, each eight times
    as large as the previous one. A further sample has less than half of the rows, and
    at most 128 MB. Lloyd's algorithm ends if an iteration decreases the error by less
    than the share `tol`.

    The numbering of the clusters and the draws of k-means++ do not depend on the order
    of the sample's rows.
    """
    strip, gram = factored.strip, factored.gram
    drawn, sizes = draw_sample(strip.X, n_clusters, weights, rng)
    seeds = rng.integers(2**31, size=n_init)
    centers: Centers | None = None
    # Rows that are not in memory are read only once, for all samples.
    ordered = np.sort(drawn)
    sample = strip.subset(ordered)
    for size in sizes:
        rows = np.sort(drawn[:size])
        part = sample.subset(np.searchsorted(ordered, rows))
        weight = None if weights is None else weights[rows]
        labels = None
        if centers is None:
            if part.nbytes <= STORED_BYTES:
                part.compute_all(engine)
            labels = best_labels(part, gram, engine, n_clusters, weight, seeds, strip.n)
        part.use_cache(STORED_BYTES)
        centers = lloyd(
            Part.of(part, gram, engine, labels=labels, weights=weight),
            gram,
            factored.probes,
            dtype=part.dtype,
            centers=centers,
            n_clusters=n_clusters,
            tol=tol,
        ).centers
    assert centers is not None
    return centers


def prefetch_sample(
    X: RowsLike, n_clusters: int, weights: Array | None, rng: np.random.Generator
) -> None:
    """Announce the rows that `initial_centers` will read, without advancing `rng`.

    If the rows are in files, one pass then reads both the sample and the landmarks.
    """
    rows = as_rows(X)
    if not rows.in_memory:
        rows.prefetch_gather(draw_sample(X, n_clusters, weights, deepcopy(rng))[0])


def draw_sample(
    X: RowsLike, n_clusters: int, weights: Array | None, rng: np.random.Generator
) -> tuple[Array, list[int]]:
    """Draw the largest sample; return its row numbers (s,) and all samples' sizes.

    Each smaller sample consists of the first rows of the largest sample.
    """
    positive = None if weights is None else np.flatnonzero(weights > 0)
    count = X.shape[0] if positive is None else len(positive)
    sizes = _sample_sizes(count, n_clusters, X.shape[1] * X.dtype.itemsize)
    if sizes[-1] < count:
        drawn = rng.choice(count, sizes[-1], replace=False)
    else:
        drawn = np.arange(count)
    return drawn if positive is None else positive[drawn], sizes


def sample_bytes(
    n: int, n_clusters: int, row_bytes: float, kernel_row_bytes: float
) -> float:
    """Upper bound on the bytes of samples drawn from n rows, with their kernel rows.

    Examples
    --------
    >>> from akkm.approx.seeding import sample_bytes
    >>> sample_bytes(1000, 3, 4, 400)  # two copies of all rows, and their kernel rows
    408000
    """
    size = _sample_sizes(n, n_clusters, row_bytes)[-1]
    return 2 * size * row_bytes + min(STORED_BYTES, size * kernel_row_bytes)


def _sample_sizes(n: int, n_clusters: int, row_bytes: float) -> list[int]:
    size = max(_SAMPLE, _PER_CLUSTER * n_clusters)
    if n <= 2 * size:
        return [n]
    sizes: list[int] = []
    most = _MAX_SAMPLE_BYTES / max(row_bytes, 1)
    while 2 * size < n and (not sizes or size <= most):
        sizes.append(size)
        size *= _GROWTH
    return sizes


def leading_coordinates(
    part: Strip, gram: Gram, engine: Threads, n_clusters: int
) -> Array:
    """Return the leading whitened coordinates (n, q) of the strip's rows, float64."""
    q = int(np.clip(2 * n_clusters, _MIN_COORDINATES, _MAX_COORDINATES))
    leading = gram.whitener[:, :q].astype(part.dtype)
    # scikit-learn's k-means++ is faster in float64.
    coordinates = np.empty((part.n, leading.shape[1]))

    def project(chunk: slice) -> None:
        for rows, phi in part.tiles(chunk):
            with np.errstate(over="ignore", invalid="ignore"):
                coordinates[rows] = phi @ leading
            require_finite(coordinates[rows], part.dtype)

    engine.for_each(project, chunks(part.n))
    return coordinates


def best_labels(
    part: Strip,
    gram: Gram,
    engine: Threads,
    n_clusters: int,
    weights: Array | None,
    seeds: Array,
    n_rows: int,
) -> Array:
    """Return labels (n,) of the best k-means run in the leading coordinates.

    `n_rows` is the number of all rows. The cost of one pass over them limits the number
    of runs and iterations.
    """
    coordinates = leading_coordinates(part, gram, engine, n_clusters)
    if not coordinates.shape[1]:  # every image is zero
        return np.zeros(part.n, dtype=np.int32)

    # Sort rows by value, so that equal rows are adjacent. k-means++ then draws the same
    # points for every order of the rows, and a weight of 2 has the same effect as a row
    # given twice.
    mean = np.average(coordinates, axis=0, weights=weights)
    rank = _rank(coordinates, mean)
    order = np.argsort(rank, kind="stable")
    # There can't be more clusters than distinct rows. Distinct rows are counted only if
    # there are few distinct ranks, because counting rows is slow.
    distinct = len(np.unique(np.round(rank / max(np.abs(rank).max(), 1e-300), 9)))
    few = distinct < 2 * n_clusters
    most = _distinct(coordinates) if few else n_clusters
    precise = coordinates[order]
    rough = part.dtype == np.float32 and part.n >= _SAMPLE
    X = precise.astype(np.float32) if rough or n_clusters > _MANY_CLUSTERS else precise
    w = None if weights is None else weights[order]

    # Costs are measured in iterations over the sample. k-means++ compares each row with
    # 2 + log C candidates for each center.
    left = _affordable_iterations(X, n_rows, part.m, n_clusters)
    drawing = 2 + int(np.log(n_clusters))
    n_runs = int(np.clip(left / 2 // (drawing + _EXPECTED_ITERATIONS), 1, len(seeds)))

    def run(init: Array, count: int, max_iter: float) -> KMeans:
        """Run scikit-learn's k-means on one thread, so that it is reproducible."""
        max_iter = int(np.clip(max_iter, _MIN_ITERATIONS, _MAX_ITERATIONS))
        with thread_pools().limit(limits=1, user_api="openmp"):
            fit = KMeans(count, init=init, n_init=1, max_iter=max_iter, tol=0)
            return fit.fit(X, sample_weight=w)

    def restart(seed: Any) -> KMeans:
        count = min(n_clusters, most)
        drawn = kmeans_plusplus(
            precise, count, sample_weight=w, random_state=int(seed)
        )[0]
        return run(_break_ties(drawn, mean), count, left / 2 / n_runs - drawing)

    # Ignore k-means' warnings of empty clusters in each run: the fit warns once, at the
    # end.
    with ignore_warnings(ConvergenceWarning):
        runs = list(engine.map(restart, seeds[:n_runs]))
        best = min(runs, key=lambda fit: fit.inertia_)
        left -= sum(drawing + fit.n_iter_ for fit in runs)
        if not few and n_clusters > 1 and len(seeds) > 1:
            best = _breathe(best, run, X, w, int(seeds[0]), left)
    numbered = np.argsort(-_rank(best.cluster_centers_, mean), kind="stable")
    number = np.empty(len(numbered), dtype=np.int32)
    number[numbered] = np.arange(len(numbered))
    labels = np.empty(part.n, dtype=np.int32)
    labels[order] = number[best.labels_]
    return labels


def _rank(points: Array, mean: Array) -> Array:
    """Return a sort key (b,) of points (b, q) that is invariant to rotations."""
    return points @ mean + np.einsum("ij,ij->i", points, points)


def _break_ties(centers: Array, mean: Array) -> Array:
    """Move each center (C, q) by a different tiny share of its way to the mean.

    Images of rows in different components are orthogonal. So if a component has no
    center, its rows are equally far from all centers. Without these moves, rounding
    errors would decide to which centers they go.
    """
    shares = _TIE * np.linspace(0, 1, len(centers))[:, None]
    return centers + shares * (mean - centers)


def _distinct(points: Array) -> int:
    """Count distinct points (b, q); rounding errors do not make points distinct."""
    unit = max(np.abs(points).max(), 1e-300)
    return len(np.unique(np.round(points / unit, 9), axis=0))


def _affordable_iterations(X: Array, n_rows: int, m: int, n_clusters: int) -> float:
    """Return how many iterations of k-means on points X (n, q) are affordable.

    A pass over all rows computes `n_rows` times m times C products.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.approx.seeding import _affordable_iterations
    >>> X = np.empty((10_000, 256))
    >>> round(_affordable_iterations(X, 1_000_000, 1_600, 400))
    312
    """
    one_pass = n_rows * m * n_clusters
    return max(_SHARE * one_pass, _MULTIPLICATIONS) / (X.size * n_clusters)


def _breathe(
    best: KMeans,
    run: Callable[[Array, int, float], KMeans],
    X: Array,
    weights: Array | None,
    seed: int,
    left: float,
) -> KMeans:
    """Improve a run by adding centers and removing the same number (Fritzke 2020).

    New centers split the clusters with the largest error. The centers whose removal
    increases the error least are then removed, if possible without removing two
    neighbouring centers. If the error does not decrease, the next attempt adds fewer
    centers. `left` is the number of iterations that are affordable.
    """
    rng = np.random.default_rng(seed)
    w = np.ones(len(X)) if weights is None else weights
    n_clusters = len(best.cluster_centers_)
    breath = min(max(_BREATH, int(_BREATH_SHARE * n_clusters)), n_clusters)
    while breath and best.inertia_ > 0 and left > 2 * _MIN_ITERATIONS:
        centers, labels = best.cluster_centers_, best.labels_
        error = w * ((X - centers[labels]) ** 2).sum(axis=1)
        worst = np.argsort(-np.bincount(labels, error, n_clusters), kind="stable")
        split = centers[worst[:breath]]
        away = _NUDGE * np.sqrt(best.inertia_ / w.sum())
        split = split + away * rng.standard_normal(split.shape)
        more = run(np.vstack([centers, split]), n_clusters + breath, left / 2)
        kept = _centers_to_keep(X, w, more.cluster_centers_, breath)
        fit = run(more.cluster_centers_[kept], n_clusters, left - more.n_iter_)
        left -= 1 + more.n_iter_ + fit.n_iter_  # 1 for the choice of centers
        if fit.inertia_ < best.inertia_ * (1 - _SAME):
            best = fit
        else:
            breath -= 1 if breath <= _BREATH else breath // 2
    return best


def _centers_to_keep(X: Array, w: Array, centers: Array, count: int) -> Array:
    """Return a mask (C,) of the centers to keep: all but `count` centers.

    The removed centers are those whose removal increases the error least.
    """
    lengths = np.einsum("ij,ij->i", centers, centers)
    scores = lengths - 2 * X @ centers.T
    near = np.partition(scores, 1, axis=1)
    loss = np.bincount(
        scores.argmin(axis=1), w * (near[:, 1] - near[:, 0]), len(centers)
    )
    apart = lengths[:, None] + lengths - 2 * centers @ centers.T
    np.fill_diagonal(apart, np.inf)
    kept = np.ones(len(centers), dtype=bool)
    spared = np.zeros(len(centers), dtype=bool)  # neighbours of removed centers
    order = np.argsort(loss, kind="stable")
    for c in np.concatenate([order, order]):  # the second pass also removes neighbours
        if (~kept).sum() < count and kept[c] and not spared[c]:
            kept[c] = False
            spared[apart[c].argmin()] = True
        if c == order[-1]:
            spared[:] = False
    return kept
