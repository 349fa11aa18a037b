"""Sums of kernel rows over the rows to which walks carry the known classes."""

import numpy as np

from akkm.approx.factored import Factored
from akkm.approx.seeding import STORED_BYTES, leading_coordinates
from akkm.core.parts import Stats
from akkm.core.threads import Threads
from akkm.guided.guide import Guidance
from akkm.typing import Array

# Maximum number of rows of the sample, not counting known rows.
_SAMPLE = 20_000
# All classes together weigh this many times as much as all rows.
_CLASS_WEIGHT = 10.0


def class_sums(
    factored: Factored,
    engine: Threads,
    guidance: Guidance,
    n_clusters: int,
    weights: Array | None,
    rng: np.random.Generator,
) -> Stats | None:
    """Return the sums of each class, over a sample of the rows.

    The mean of few known rows says little about a class. So known classes are carried
    to the rows of a sample, by walks on a graph of neighbours, and all rows of a class
    are added.

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
        if classes are not carried (see `Guidance.carries_classes`), or if they reach no
        row of positive weight.
    """
    if not guidance.carries_classes(n_clusters):
        return None
    assert guidance.carry is not None
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
    n_classes = len(found.classes)
    classes = guidance.carry(points, known, given, n_classes, engine, rng)
    weights = np.ones(len(rows)) if weights is None else weights[rows]
    reached = (classes >= 0) & (weights > 0)
    if len(np.unique(classes[reached])) < n_classes:
        return None
    sums = Stats.zeros(n_classes, strip.m)
    for tile, phi in strip.tiles(slice(0, strip.n)):
        kept = reached[tile]
        precise = phi[kept].astype(np.float64)
        sums.add_rows(precise, classes[tile][kept], weights[tile][kept])
    total = factored.strip.n if weights is None else weights.sum()
    scale = _CLASS_WEIGHT * total / sums.counts.sum()
    return Stats(sums.sums * scale, sums.counts * scale)
