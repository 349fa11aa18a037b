"""The space in which a model found clusters, and this space's two main directions."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from akkm.core.eigenpairs import largest_eigenpairs
from akkm.core.gram import Gram, factor
from akkm.core.kernel_matrix import symmetric
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.inspect._sample import RowSample
from akkm.kernels import Kernel, Linear, Precomputed, PrecomputedStrip
from akkm.typing import Array, RowsLike

# Maximum number of spanning points, enough to determine the two directions well.
_MAX_POINTS = 512
_TILE_ROWS = 1024


@dataclass(frozen=True)
class Space:
    """Rows, a kernel, and points whose images span a part of the kernel's space."""

    X: RowsLike  # the rows (n, d), or their embedding (n, q)
    kernel: Kernel
    points: RowsLike  # (p, d), or column numbers of a precomputed kernel
    gram: Gram


@dataclass(frozen=True)
class MapPlane:
    """Sampled rows, projected onto the two leading directions of kernel PCA.

    Parameters
    ----------
    sample : RowSample
        The projected rows.
    xy : float array of shape (s, 2)
        Their coordinates.
    share : float
        Share of the variance that the two directions explain, within the span of the
        model's landmarks.

    Examples
    --------
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.inspect import Inspection
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> model = ApproxKernelKMeans(2, kernel="linear", random_state=0).fit(X)
    >>> Inspection(model, X).map.xy[:, 0].round(1)
    array([-5.5, -4.5,  4.5,  5.5])
    """

    sample: RowSample
    xy: Array
    share: float


def space_of(model: Any, X: RowsLike) -> Space:
    """The space of a model that was fitted to the rows X."""
    if hasattr(model, "embedding_"):
        axes = np.eye(model.embedding_.shape[1])
        return Space(model.embedding_, Linear(), axes, factor(axes))
    if hasattr(model, "members_"):
        return space_of(model.members_[0], X)
    rows, points = _spanning_points(model, X)
    strip = Strip(rows, model.kernel_, points, np.float64)
    return Space(X, model.kernel_, points, factor(symmetric(strip.kernel_rows(rows))))


def _spanning_points(model: Any, X: RowsLike) -> tuple[RowsLike, RowsLike]:
    """At most 512 landmarks, leaders or rows: as rows, and as points for the kernel.

    For a precomputed kernel, the points are column numbers.
    """
    kernel = model.kernel_
    if isinstance(kernel, Precomputed):
        indices: Any = getattr(model, "landmark_indices_", None)
        if indices is None:
            indices = getattr(model, "leader_indices_", np.arange(X.shape[0]))
        chosen = _choose(len(indices))
        strip = isinstance(kernel, PrecomputedStrip)
        return X[indices[chosen]], chosen if strip else indices[chosen]
    points: Any = getattr(model, "landmarks_", None)
    if points is None:
        points = getattr(model, "leaders_", X)
    points = points[_choose(points.shape[0])]
    return points, points


def _choose(m: int) -> Array:
    """At most 512 of the numbers 0 to m - 1, in ascending order."""
    if m <= _MAX_POINTS:
        return np.arange(m)
    return np.sort(np.random.default_rng(0).choice(m, _MAX_POINTS, replace=False))


def project(model: Any, X: RowsLike, sample: RowSample) -> MapPlane:
    """Weighted kernel PCA of the sampled rows of X (n, d)."""
    # One thread, because BLAS threads would wait for one another on a busy machine.
    with Threads(1):
        space, w = space_of(model, X), sample.weights / sample.weights.sum()
        strip = Strip(space.X, space.kernel, space.points, np.float64)
        coordinates = np.concatenate(
            [
                strip.kernel_rows(space.X[sample.rows[s : s + _TILE_ROWS]])
                @ space.gram.whitener
                for s in range(0, len(sample.rows), _TILE_ROWS)
            ]
        )  # (s, r)
        coordinates -= w @ coordinates
        covariance = (coordinates.T * w) @ coordinates
        total, r = float(np.trace(covariance)), len(covariance)
        values, vectors = largest_eigenpairs(covariance, min(r, 2))
        axes = np.zeros((r, 2))
        axes[:, : len(values)] = vectors[:, ::-1]
        xy = coordinates @ axes
        # The sign of an axis is arbitrary; fix it, so that maps are reproducible.
        xy *= np.where((xy**3 * w[:, None]).sum(axis=0) < 0, -1, 1)
        share = float(values.clip(0).sum() / total) if total > 0 else 1.0
        return MapPlane(sample, xy, share)
