"""The space that clusters were found in, and its two leading directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from akkm.core.gram import Gram, factor
from akkm.core.kernel_matrix import symmetric
from akkm.core.strip import Rows, Strip
from akkm.core.threads import Threads
from akkm.inspect._sample import Sample
from akkm.kernels import Kernel, Linear, Precomputed, PrecomputedStrip

Array = NDArray[Any]

# Points through which the space is seen: two directions do not need more.
_MOST_POINTS = 512
_TILE_ROWS = 1024


@dataclass(frozen=True)
class Space:
    """Rows as the kernel takes them, and some points whose span is looked at."""

    X: Rows  # (n, d), or their embedding (n, q)
    kernel: Kernel
    points: Rows  # (p, d), or column numbers of a precomputed kernel
    gram: Gram


@dataclass(frozen=True)
class Plane:
    """Rows on the two leading directions of kernel PCA."""

    xy: Array  # (s, 2)
    share: float  # of the variance within the span of the points


def space_of(model: Any, X: Rows) -> Space:
    """The space of a fitted model, for the rows X that it was fitted to."""
    if hasattr(model, "embedding_"):
        # k-means ran on the rows' entries in eigenvectors.
        axes = np.eye(model.embedding_.shape[1])
        return Space(model.embedding_, Linear(), axes, factor(axes))
    if hasattr(model, "members_"):
        return space_of(model.members_[0], X)
    kernel = model.kernel_
    rows, points = _points(model, X)
    strip = Strip(rows, kernel, points, np.float64)
    return Space(X, kernel, points, factor(symmetric(strip.precise(rows))))


def _points(model: Any, X: Rows) -> tuple[Rows, Rows]:
    """Some of the model's landmarks, as rows of data and as the kernel names them."""
    kernel = model.kernel_
    if isinstance(kernel, Precomputed):
        indices: Any = getattr(model, "landmark_indices_", None)
        if indices is None:
            indices = getattr(model, "leader_indices_", np.arange(X.shape[0]))
        some = _some(len(indices))
        strip = isinstance(kernel, PrecomputedStrip)
        return X[indices[some]], some if strip else indices[some]
    Z: Any = getattr(model, "landmarks_", None)
    if Z is None:
        Z = getattr(model, "leaders_", X)
    points = Z[_some(Z.shape[0])]
    return points, points


def _some(m: int) -> Array:
    """Numbers of at most 512 of m points."""
    if m <= _MOST_POINTS:
        return np.arange(m)
    chosen = np.random.default_rng(0).choice(m, _MOST_POINTS, replace=False)
    return np.sort(chosen)


def plane_of(model: Any, X: Rows, sample: Sample) -> Plane:
    """Sampled rows of X on the two leading directions of the model's space."""
    # On a busy machine threads of BLAS would wait for one another.
    with Threads(1):
        return _plane(space_of(model, X), sample)


def _plane(space: Space, sample: Sample) -> Plane:
    """Kernel PCA of the sampled rows, each counted as the rows that it stands for."""
    gram, w = space.gram, sample.weights / sample.weights.sum()
    strip = Strip(space.X, space.kernel, space.points, np.float64)
    coordinates = np.concatenate(
        [
            strip.precise(space.X[sample.rows[s : s + _TILE_ROWS]]) @ gram.whitener
            for s in range(0, len(sample.rows), _TILE_ROWS)
        ]
    )  # (s, r)
    coordinates -= w @ coordinates
    covariance = (coordinates.T * w) @ coordinates
    total = float(np.trace(covariance))
    r = len(covariance)
    values, vectors = linalg.eigh(covariance, subset_by_index=[max(0, r - 2), r - 1])
    axes = np.zeros((r, 2))
    axes[:, : len(values)] = vectors[:, ::-1]
    xy = coordinates @ axes
    # Which end of an axis is which has no meaning; the same page has the same ends.
    xy *= np.where((xy**3 * w[:, None]).sum(axis=0) < 0, -1, 1)
    return Plane(xy, float(values.clip(0).sum() / total) if total > 0 else 1.0)
