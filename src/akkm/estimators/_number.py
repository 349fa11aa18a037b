"""Choose the number of clusters by how reproducible the clusters are."""

from dataclasses import replace
from typing import Any

import numpy as np

from akkm.approx import factor
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.diffusion.estimate_k import Evidence
from akkm.diffusion.graph_sample import distinct_rows
from akkm.estimators import _checks
from akkm.kernels import Kernel, Precomputed, PrecomputedStrip
from akkm.landmarks import select_landmarks
from akkm.layers.curve import LayerCurve
from akkm.layers.measure import SAMPLE, measure_point_layers, measure_walk_layers
from akkm.layers.reference import permuted_components
from akkm.rows import as_rows, chunks
from akkm.typing import Array, RowsLike

# Number of landmarks, and of leading coordinates, of the kernel's space.
_LANDMARKS, _COORDINATES = 512, 64
# Number of neighbours in the graph, if the estimator has no parameter `n_neighbors`.
_NEIGHBOURS = 15


def measure_by_walks(
    X: RowsLike,
    weights: Array | None,
    engine: Threads,
    rng: np.random.Generator,
    *,
    n_neighbors: int = _NEIGHBOURS,
    metric: str = "euclidean",
    W: Any = None,
    between: tuple[int, int | None] = (2, None),
) -> LayerCurve | None:
    """Measure how reproducible each number of clusters is, by random walks.

    `W` contains the similarities of the rows; by default, they are computed. `between`
    contains the smallest and the largest number of clusters (None: no limit). Returns
    None if there are too few rows.
    """
    rows = distinct_rows(X, weights)
    if len(rows) > SAMPLE:
        rows = rng.choice(rows, SAMPLE, replace=False)
    if len(rows) < _fewest(between):
        return None
    return measure_walk_layers(
        as_rows(X).gather(np.sort(rows)),
        engine,
        rng,
        n_neighbors=n_neighbors,
        metric=metric,
        W=W,
        least=between[0],
        most=between[1],
    )


def measure_in_kernel_space(
    estimator: Any,
    X: RowsLike,
    weights: Array | None,
    kernel: Kernel,
    engine: Threads,
    rng: np.random.Generator,
    between: tuple[int, int | None] = (2, None),
) -> LayerCurve | None:
    """Measure how reproducible each number of clusters is, in the kernel's space.

    Only the leading coordinates are used. `between` contains the smallest and the
    largest number of clusters (None: no limit). Returns None if there are too few rows.
    """
    rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
    if len(rows) < _fewest(between):
        return None
    rows = np.sort(rng.choice(rows, min(len(rows), SAMPLE), replace=False))
    if isinstance(kernel, PrecomputedStrip):  # only the landmarks' columns are known
        given = _checks.landmark_array(estimator.landmarks, X, kernel, 1)
    else:
        m = min(_LANDMARKS, len(rows))
        given = np.sort(rng.choice(rows, m, replace=False))
    landmarks = select_landmarks(
        X,
        kernel,
        engine,
        given=given,
        n_landmarks=len(given),
        n_clusters=1,
        weights=weights,
        rng=rng,
    )
    factored = factor(X, kernel, landmarks, dtype=X.dtype)
    strip, leading = factored.strip.subset(rows), factored.gram.whitener
    leading = leading[:, :_COORDINATES].astype(strip.dtype)

    def project(strip: Strip) -> Array:
        points = np.empty((strip.n, leading.shape[1]), dtype=strip.dtype)

        def fill(chunk: slice) -> None:
            for tile, phi in strip.tiles(chunk):
                points[tile] = phi @ leading

        engine.for_each(fill, chunks(strip.n))
        return points

    points, reference = project(strip), None
    reference_rows = permuted_components(strip.X[:], rng)
    if _accepts(kernel, reference_rows, X.shape[1]):
        reference = project(strip.with_rows(reference_rows))
    return measure_point_layers(
        points, reference, engine, rng, least=between[0], most=between[1]
    )


def _accepts(kernel: Kernel, rows: Array, n_columns: int) -> bool:
    """Whether the kernel is defined for reference rows."""
    if isinstance(kernel, Precomputed) or rows.shape[1] != n_columns:
        return False
    try:
        kernel.check(rows)
    except ValueError:  # the kernel needs non-negative rows
        return False
    return True


def _fewest(between: tuple[int, int | None]) -> int:
    """The smallest number of rows in which `between[0]` clusters can be measured."""
    return 20 * max(2, between[0])


def number_of(curve: LayerCurve | None) -> int:
    """The number of clusters of the finest layer.

    Without layers, it is the most stable number. Without a curve, it is 2.
    """
    if curve is None:
        return 2
    return curve.n_clusters or curve.most_stable


def decide_by_layers(evidence: Evidence, curve: LayerCurve | None) -> Evidence:
    """Replace the number of clusters by that of the finest layer, if there is one."""
    if curve is None or curve.n_clusters is None:
        return evidence
    return replace(
        evidence, n_clusters=curve.n_clusters, sure=curve.sure, why=curve.reason
    )
