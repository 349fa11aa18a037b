"""Landmarks in space: points that are near to all rows, few where rows are crowded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from akkm.core.strip import Rows
from akkm.core.threads import Threads
from akkm.diffusion.landmark_ties import tie_rows
from akkm.landmarks import number_of_landmarks

Array = NDArray[Any]

# Candidates: at least so many, and so many per landmark.
_CANDIDATES, _PER_LANDMARK = 10_000, 5
# Shares of the landmarks that are drawn at a time, far ones first.
_ROUNDS = (1 / 16, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
_ITERATIONS = 3
# Squared distances below this share of the mean are rounding.
_SAME = 1e-9


def resolve_n_landmarks(n_landmarks: int | str, n: int, n_clusters: int | None) -> int:
    """The number of landmarks m for n rows; "auto" is a quarter, at most 1,000.

    `n_clusters=None`, where they are to be counted, makes it a sixth: rows enough to
    tie neighbouring landmarks, so that a long cluster does not come apart.

    Examples
    --------
    >>> from akkm.diffusion.landmark_positions import resolve_n_landmarks
    >>> resolve_n_landmarks("auto", n=10_000, n_clusters=8)
    1000
    """
    if n_landmarks == "auto":
        if n_clusters is None:
            return max(1, min(1000, n // 6))
        return min(n, max(8 * n_clusters, min(1000, n // 4)))
    return number_of_landmarks(n_landmarks, n, n_clusters or 1)


def place_landmarks(
    X: Rows, m: int, weights: Array | None, engine: Threads, rng: np.random.Generator
) -> Rows:
    """At most m distinct points (m, d) that are near to all rows X (n, d).

    Candidates are drawn with a chance in proportion to the squared distance to those
    drawn before, several at a time (Bahmani et al. 2012), and moved to the means of
    the rows nearest to them a few times. A crowd of almost equal rows gets few.
    """
    C, w = distinct_candidates(X, max(_CANDIDATES, _PER_LANDMARK * m), weights, rng)
    if C.shape[0] <= m:
        return C
    points = C[_drawn(C, w, m, engine, rng)]
    for _ in range(_ITERATIONS):
        points = _means(C, w, points, engine)
    return points


def distinct_candidates(
    X: Rows, size: int, weights: Array | None, rng: np.random.Generator
) -> tuple[Rows, Array]:
    """Distinct rows in an order of their own, and how much weight each has."""
    able = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
    key = rng.standard_normal(X.shape[1])
    if len(able) > size:
        able = np.sort(rng.choice(able, size, replace=False))
    C = X[able]
    w = np.ones(len(able)) if weights is None else weights[able]
    # Sums row by row, which for equal rows are equal to the last bit.
    if sparse.issparse(C):
        keys = C.astype(np.float64) @ key
    else:
        keys = np.concatenate([(row * key).sum(axis=1) for row in _blocks(C)])
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return C[first], np.bincount(which, w)


def _blocks(C: Array) -> list[Array]:
    return [C[s : s + 512].astype(np.float64) for s in range(0, len(C), 512)]


def _drawn(
    C: Rows, w: Array, m: int, engine: Threads, rng: np.random.Generator
) -> Array:
    """Positions of at most m candidates, far from one another."""
    drawn = rng.choice(len(w), 1, p=w / w.sum())
    new, far = drawn, np.full(len(w), np.inf)
    for share in _ROUNDS:
        np.minimum(far, tie_rows(C, C[new], 1, engine).squared[:, 0], out=far)
        chance = np.where(far > _SAME * far.mean(), w * far, 0)
        size = min(int(np.ceil(share * m)), m - len(drawn), int((chance > 0).sum()))
        if not size:
            break
        new = rng.choice(len(w), size, replace=False, p=chance / chance.sum())
        drawn = np.concatenate([drawn, new])
    return np.sort(drawn)


def _means(C: Rows, w: Array, points: Rows, engine: Threads) -> Rows:
    """The means of the candidates nearest to each point, of those that have any."""
    owner = tie_rows(C, points, 1, engine).indices[:, 0]
    total = np.bincount(owner, w, minlength=points.shape[0])
    there = np.flatnonzero(total > 0)
    share = sparse.csr_array(
        (w / total[owner], (owner, np.arange(len(w)))), (len(total), len(w))
    )
    means = share[there] @ C
    return means.astype(C.dtype)
