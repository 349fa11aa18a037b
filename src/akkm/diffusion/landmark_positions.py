"""Place landmarks so that every row is near one, with only a few in dense regions."""

import numpy as np
from scipy import sparse

from akkm.core.threads import Threads
from akkm.diffusion.landmark_ties import tie_rows
from akkm.landmarks import number_of_landmarks
from akkm.typing import Array, RowsLike

# Minimum number of candidate rows.
_CANDIDATES = 10_000
# Minimum number of candidate rows per landmark.
_PER_LANDMARK = 5
# The share of the landmarks that is drawn in each round.
_ROUNDS = (1 / 16, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
# Iterations of k-means that move landmarks to means of candidates.
_ITERATIONS = 3
# Squared distances below this share of their mean are zero up to rounding.
_SAME = 1e-9


def resolve_n_landmarks(n_landmarks: int | str, n: int, n_clusters: int | None) -> int:
    """The number of landmarks m for n rows.

    "auto" is a quarter of n, but at most 1,000. It is raised to 8 landmarks per cluster
    if that is more. If the number of clusters is to be estimated (`n_clusters=None`),
    "auto" is a sixth of n, but at most 1,000. With fewer landmarks, more rows are tied
    to each pair of neighbouring landmarks. This keeps long clusters connected.

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
    X: RowsLike,
    m: int,
    weights: Array | None,
    engine: Threads,
    rng: np.random.Generator,
) -> RowsLike:
    """Return at most m distinct points, so that every row of X (n, d) is near a point.

    Points are drawn from candidate rows in several rounds. The probability of a row is
    proportional to its weight times its squared distance to the nearest point drawn in
    earlier rounds (Bahmani et al. 2012). So a dense group of almost equal rows gets few
    landmarks. A few iterations of k-means then move the points to means of candidates.
    """
    size = max(_CANDIDATES, _PER_LANDMARK * m)
    C, w = distinct_candidates(X, size, weights, rng)
    if C.shape[0] <= m:
        return C
    points = C[_draw_distant(C, w, m, engine, rng)]
    for _ in range(_ITERATIONS):
        nearest = tie_rows(C, points, 1, engine).indices[:, 0]
        points = weighted_means(C, w, nearest, points.shape[0])
    return points


def distinct_candidates(
    X: RowsLike, size: int, weights: Array | None, rng: np.random.Generator
) -> tuple[RowsLike, Array]:
    """Distinct rows (c, d) of a sample of `size` rows, and the weight of each (c,).

    Rows are sorted by a random projection, so their order in X does not matter.
    """
    w = np.ones(X.shape[0]) if weights is None else weights
    drawn = np.flatnonzero(w > 0)
    direction = rng.standard_normal(X.shape[1])
    if len(drawn) > size:
        drawn = np.sort(rng.choice(drawn, size, replace=False))
    C = X[drawn]
    projection = project(C, direction)
    _, first, which = np.unique(projection, return_index=True, return_inverse=True)
    return C[first], np.bincount(which, w[drawn])


def project(X: RowsLike, direction: Array) -> Array:
    """Return x · direction of each row of X (n, d), in float64: (n,).

    Each row is summed on its own, so the projections of equal rows agree to the last
    bit.
    """
    if sparse.issparse(X):
        return np.asarray(X.astype(np.float64) @ direction)
    blocks = [X[i : i + 512].astype(np.float64) for i in range(0, len(X), 512)]
    return np.concatenate([(block * direction).sum(axis=1) for block in blocks])


def _draw_distant(
    C: RowsLike, w: Array, m: int, engine: Threads, rng: np.random.Generator
) -> Array:
    """Positions of at most m candidates, far from one another."""
    drawn = new = rng.choice(len(w), 1, p=w / w.sum())
    distance = np.full(len(w), np.inf)
    for share in _ROUNDS:
        np.minimum(distance, tie_rows(C, C[new], 1, engine).squared[:, 0], out=distance)
        chance = np.where(distance > _SAME * distance.mean(), w * distance, 0)
        size = min(int(np.ceil(share * m)), m - len(drawn), int((chance > 0).sum()))
        if not size:
            break
        new = rng.choice(len(w), size, replace=False, p=chance / chance.sum())
        drawn = np.concatenate([drawn, new])
    return np.sort(drawn)


def weighted_means(C: RowsLike, w: Array, group: Array, n_groups: int) -> RowsLike:
    """Weighted means (g, d) of the candidates in each group that is not empty."""
    total = np.bincount(group, w, minlength=n_groups)
    share = sparse.csr_array(
        (w / total[group], (group, np.arange(len(w)))), (n_groups, len(w))
    )
    return (share[np.flatnonzero(total > 0)] @ C).astype(C.dtype)
