"""Sum the kernel rows of each class, after random walks have spread known classes."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from akkm.approx.factored import Factored
from akkm.approx.seeding import STORED_BYTES, best_labels, leading_coordinates
from akkm.core.parts import Stats
from akkm.core.threads import Threads
from akkm.guided.guide import Guidance
from akkm.typing import Array

# Maximum number of rows of the sample, not counting known rows.
_SAMPLE = 20_000
# Total weight of the sums of all classes, relative to the weight of all rows.
_CLASS_WEIGHT = 10.0
# Known rows are divided into this many parts. Each part is left out once, to test
# whether walks predict its classes.
_PARTS = 5
# Number of k-means runs on the sample, to see how well clusters predict known classes.
_RUNS = 4
# Number of points of a cluster that stand for a class without a known row.
_TYPICAL = 5


def class_sums(
    factored: Factored,
    engine: Threads,
    guidance: Guidance,
    n_clusters: int,
    weights: Array | None,
    rng: np.random.Generator,
) -> Stats | None:
    """Return the sums of each class, over a sample of the rows.

    The mean of few known rows says little about a class. So random walks on a graph of
    neighbours spread the known classes to a sample of rows, and all rows of a class are
    added. Clusters that were found without known classes stand for the classes that
    have no known row: walks start at their typical rows.

    Rows may also be neighbours for reasons unrelated to the classes. So known rows are
    left out in turn, and their classes are predicted in two ways: by the spread classes
    and by clusters. The result is None unless the spread classes predict more of them
    correctly.

    Parameters
    ----------
    factored : Factored
        Rows and landmarks.
    engine : Threads
        Threads that compute kernel rows.
    guidance : Guidance
        The constraints.
    n_clusters : int
        Number of clusters.
    weights : array of shape (n,) or None
        Weights of the rows.
    rng : numpy.random.Generator
        Random numbers that choose the sample.

    Returns
    -------
    Stats or None
        Sums by class, scaled so that their weight is ten times that of all rows. None
        if classes are not spread (see `Guidance.may_carry_classes`), if clusters
        predict at least as many left-out classes correctly, or if a class reaches no
        row of positive weight.
    """
    if not guidance.may_carry_classes(n_clusters):
        return None
    assert guidance.walks is not None
    found = guidance.constraints
    drawn = np.arange(found.n) if weights is None else np.flatnonzero(weights > 0)
    if len(drawn) > _SAMPLE:
        drawn = rng.choice(drawn, _SAMPLE, replace=False)
    rows = np.union1d(drawn, found.known_rows)
    strip = factored.strip.subset(rows)
    if strip.nbytes <= STORED_BYTES:
        strip.compute_all(engine)
    points = leading_coordinates(strip, factored.gram, engine, n_clusters)
    known = np.searchsorted(rows, found.known_rows)
    given = found.known[found.known >= 0]
    walks = guidance.walks(points, n_clusters, engine, rng)
    seeds = rng.integers(2**31, size=_RUNS)
    own = None if weights is None else weights[rows]
    labels = best_labels(strip, factored.gram, engine, n_clusters, own, seeds, found.n)
    part = parts_of_classes(given, rng)
    if not _walks_predict_better(points, walks, labels, known, given, part):
        return None
    typical, others = _typical_of_other_clusters(points, labels, known, given)
    classes = walks.carry(np.append(known, typical), np.append(given, others))
    own = np.ones(len(rows)) if own is None else own
    reached = (classes >= 0) & (own > 0)
    if len(np.unique(classes[reached])) < n_clusters:
        return None
    sums = Stats.zeros(n_clusters, strip.m)
    for tile, phi in strip.tiles(slice(0, strip.n)):
        kept = reached[tile]
        precise = phi[kept].astype(np.float64)
        sums.add_rows(precise, classes[tile][kept], own[tile][kept])
    total = factored.strip.n if weights is None else weights.sum()
    scale = _CLASS_WEIGHT * total / sums.counts.sum()
    return Stats(sums.sums * scale, sums.counts * scale)


def parts_of_classes(classes: Array, rng: np.random.Generator) -> Array:
    """Divide known rows into parts that are left out in turn.

    Parameters
    ----------
    classes : int array of shape (b,)
        Classes of the known rows.
    rng : numpy.random.Generator
        Random numbers that choose the parts.

    Returns
    -------
    int array of shape (b,)
        The part of each row. Every class has rows outside each part. If a class has
        only one known row, this row has part -1, and is never left out.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.approx.class_sums import parts_of_classes
    >>> classes = np.array([0, 0, 0, 1])
    >>> sorted(parts_of_classes(classes, np.random.default_rng(0)).tolist())
    [-1, 0, 1, 2]
    """
    part = np.full(len(classes), -1)
    for name in np.unique(classes):
        rows = rng.permutation(np.flatnonzero(classes == name))
        if len(rows) > 1:
            part[rows] = np.arange(len(rows)) % _PARTS
    return part


def _matched_classes(labels: Array, known: Array, classes: Array) -> Array:
    """Match the clusters `labels` with classes one to one, by known points.

    Returns the class (C,) of each cluster, or -1 for clusters that are left over.
    """
    counts = np.zeros((labels.max() + 1, classes.max() + 1))
    np.add.at(counts, (labels[known], classes), 1)
    owner = np.full(len(counts), -1)
    clusters, own = linear_sum_assignment(counts, maximize=True)
    owner[clusters] = own
    return owner


def _typical_of_other_clusters(
    points: Array, labels: Array, known: Array, classes: Array
) -> tuple[Array, Array]:
    """Return points (t,) that stand for classes without a known row, and their classes.

    The clusters `labels` are matched with the classes that have known rows. Each of the
    other clusters stands for one of the other classes: its points nearest to its mean
    count as known. The numbers of these classes follow those of the classes that have
    known rows.
    """
    n_classes = classes.max() + 1
    others = np.flatnonzero(_matched_classes(labels, known, classes) < 0)
    rows = []
    for cluster in others:
        own = np.flatnonzero(labels == cluster)
        squared = ((points[own] - points[own].mean(axis=0)) ** 2).sum(axis=1)
        rows.append(own[np.argsort(squared, kind="stable")[:_TYPICAL]])
    names = [np.full(len(own), n_classes + i) for i, own in enumerate(rows)]
    none = np.empty(0, dtype=np.int64)
    return np.concatenate([none, *rows]), np.concatenate([none, *names])


def _walks_predict_better(
    points: Array, walks: Any, labels: Array, known: Array, classes: Array, part: Array
) -> bool:
    """Whether walks predict the classes of left-out known rows better than clusters do.

    Walks predict the class with the nearest mean. The mean of a class is that of all
    rows to which the class was spread, in the leading coordinates `points`. For the
    other prediction, the clusters `labels` are matched with the classes, one to one.
    """
    by_walks = by_clusters = 0
    for left_out in (part == number for number in range(part.max() + 1)):
        rows, names = known[~left_out], classes[~left_out]
        owner = _matched_classes(labels, rows, names)
        by_clusters += np.sum(owner[labels[known[left_out]]] == classes[left_out])
        typical, others = _typical_of_other_clusters(points, labels, rows, names)
        carried = walks.carry(np.append(rows, typical), np.append(names, others))
        spread = np.unique(carried[carried >= 0])
        if not spread.size:  # no walk reaches a point
            continue
        means = np.stack([points[carried == name].mean(axis=0) for name in spread])
        squared = (means**2).sum(axis=1) - 2 * points[known[left_out]] @ means.T
        by_walks += np.sum(spread[squared.argmin(axis=1)] == classes[left_out])
    return bool(by_walks > by_clusters)
