"""Measure the layers of rows: with walks on a graph, or in a kernel's space."""

from typing import Any

import numpy as np

from akkm.core.threads import Threads
from akkm.layers.curve import LayerCurve, measure_layers
from akkm.layers.point_halves import PointHalves
from akkm.layers.reference import permuted_components
from akkm.layers.walk_halves import FEW_PAIRS, MANY_PAIRS, WalkHalves, sample_graph
from akkm.typing import Array, RowsLike

# Number of rows that are sampled.
SAMPLE = 6_000
# The rows are split twice if there are fewer rows than the first number, and three
# times if there are fewer rows than the second number.
_TWO_SPLITS, _THREE_SPLITS = 5_000, 2_500
# Number of splits of points in a kernel's space.
_POINT_SPLITS = 3
# FEW_PAIRS eigenpairs limit the number of clusters that can be measured. If the best
# number is above this share of the limit, there may be more clusters. All numbers are
# then measured again with MANY_PAIRS eigenpairs.
_NEAR_LIMIT = 0.6


def measure_walk_layers(
    X: RowsLike,
    engine: Threads,
    rng: np.random.Generator,
    *,
    n_neighbors: int,
    metric: str = "euclidean",
    W: Any = None,
    least: int = 2,
    most: int | None = None,
) -> LayerCurve:
    """Measure layers by random walks.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Distinct rows, at most `SAMPLE`.
    engine : Threads
        The threads.
    rng : numpy.random.Generator
        Draws halves and reference rows.
    n_neighbors, metric : int, str
        Parameters of the graph.
    W : CSR array of shape (u, u), optional
        Similarities of all rows, of which X is a sample. By default, a graph of X is
        built.
    least, most : int
        The range of numbers of clusters.

    Returns
    -------
    LayerCurve
        The measurements.
    """
    settings = n_neighbors, metric, engine
    data_rng, reference_rng = rng.spawn(2)
    n_splits = number_of_splits(X.shape[0])
    reference = sample_graph(
        permuted_components(X, reference_rng), *settings, reference_rng
    )
    if W is None:
        W = sample_graph(X, *settings, data_rng)

    def measure(n_pairs: int) -> tuple[LayerCurve, int]:
        data = WalkHalves(W, n_splits, engine, data_rng, n_pairs)
        without = WalkHalves(reference, n_splits, engine, reference_rng, n_pairs)
        return measure_layers(data, without, least, most), min(data.most, without.most)

    curve, limit = measure(FEW_PAIRS)
    limited = limit == FEW_PAIRS // 2 and (most is None or most > limit)
    if limited and curve.numbers[curve.scores.argmax()] > _NEAR_LIMIT * limit:
        curve, _ = measure(MANY_PAIRS)
    return curve


def measure_point_layers(
    points: Array,
    reference: Array | None,
    engine: Threads,
    rng: np.random.Generator,
    *,
    least: int = 2,
    most: int | None = None,
) -> LayerCurve:
    """Measure layers of points (n, q) in the space in which k-means runs.

    `reference` (n, q) contains the points of reference rows. If it is None, the
    reference is made by permuting the principal components of the points.
    """
    if reference is None:
        reference = permuted_components(points, rng)
    # The reference rows may be nearer to each other than the rows of the data. With a
    # total variance of 1 in both, errors are shares of the variance.
    data, without = (
        PointHalves(_with_variance_one(rows), _POINT_SPLITS, engine, rng)
        for rows in (points, reference)
    )
    return measure_layers(data, without, least, most)


def _with_variance_one(points: Array) -> Array:
    """Scale points (n, q) so that the variances of their columns add up to 1."""
    total = float(points.var(axis=0).sum())
    return points / np.sqrt(total) if total > 0 else points


def number_of_splits(n: int) -> int:
    """The number of random splits of n rows: fewer rows need more splits.

    Examples
    --------
    >>> from akkm.layers.measure import number_of_splits
    >>> number_of_splits(1000), number_of_splits(6000)
    (3, 1)
    """
    return 1 + int(n < _TWO_SPLITS) + int(n < _THREE_SPLITS)
