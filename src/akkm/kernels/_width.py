"""Rules that choose gamma, the inverse width of a kernel, from the data."""

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise

from akkm.kernels._additive import Chi2
from akkm.kernels._base import squared_norms, to_dense
from akkm.rows import as_rows
from akkm.typing import Array, RowsLike

# gamma="median" measures distances between this many sampled rows. "neighbors" measures
# distances from these rows to the 7th nearest row of a larger sample.
_SAMPLE, _NEIGHBOR_SAMPLE, _NEIGHBOR = 1000, 10_000, 7
# Rows per block for summing moments, and for searching neighbours.
_MOMENT_ROWS, _NEIGHBOR_ROWS = 8192, 250


def gamma_by_rule(
    name: str,
    rule: str | None,
    X: RowsLike,
    weights: Array | None,
    rng: np.random.Generator,
) -> float:
    """Return gamma of the kernel `name` for rows X (n, d), by a rule of `resolve`."""
    if name == "chi2":
        Chi2().check(X)  # a width is meaningless if there are negative entries
    if rule is None:
        return 1.0 if name == "chi2" else 1.0 / X.shape[1]
    if rule == "scale":
        return _scale(name, X, weights)
    if rule not in ("median", "neighbors"):
        raise ValueError(
            f"gamma={rule!r} is not valid; expected a positive number, 'scale', "
            "'median', 'neighbors' or None (1 / d, scikit-learn's 'auto')."
        )
    sample = _sample(X, _SAMPLE, weights, rng)
    if name not in _DISTANCES:  # functions of the dot product
        if rule == "neighbors":
            raise ValueError(
                f"gamma='neighbors' measures distances, and the {name} kernel does not "
                "depend on distances; use 'scale', 'median', None or a number."
            )
        exponents = squared_norms(sample)
    elif rule == "median":
        sample, _ = _centered(name, sample, sample)
        distances = _DISTANCES[name](sample, sample)
        exponents = distances[np.triu_indices_from(distances, k=1)]
    else:
        others = _sample(X, _NEIGHBOR_SAMPLE, weights, rng)
        exponents = _to_neighbors(name, *_centered(name, sample, others))
    typical = float(np.median(exponents)) if exponents.size else 0.0
    return 1.0 / typical if typical > 0 else 1.0


# Distances D of all pairs of rows, for which gamma is 1 / median D. For rbf, D is twice
# the squared distance.
_DISTANCES = {
    "rbf": lambda X, Y: 2.0 * pairwise.euclidean_distances(X, Y, squared=True),
    "laplacian": pairwise.manhattan_distances,
    "chi2": lambda X, Y: -pairwise.additive_chi2_kernel(X, Y),
}


def _scale(name: str, X: RowsLike, weights: Array | None) -> float:
    """Return 1 / (d Var X), or its counterpart in units of the kernel's distance."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, variance = _moments(X, weights)
    if not np.isfinite(variance):
        raise ValueError(
            "The variance of X overflows; scale the columns (e.g. StandardScaler) or "
            "give gamma as a number."
        )
    if variance <= 1e-28 * mean * mean:  # constant, up to rounding
        return 1.0
    if name == "laplacian":
        return float(1.0 / (X.shape[1] * np.sqrt(variance)))
    return float((mean if name == "chi2" else 1.0) / (X.shape[1] * variance))


def _sample(
    X: RowsLike, size: int, weights: Array | None, rng: np.random.Generator
) -> RowsLike:
    """Draw at most `size` rows of positive weight, in proportion to weight."""
    available = X.shape[0] if weights is None else int((weights > 0).sum())
    p = None if weights is None else weights / weights.sum()
    rows = rng.choice(X.shape[0], min(size, available), replace=False, p=p)
    return as_rows(X).gather(np.sort(rows))


def _to_neighbors(name: str, sample: RowsLike, others: RowsLike) -> Array:
    """Return the finite distances from sample rows to their 7th nearest neighbours."""
    found = []
    for start in range(0, sample.shape[0], _NEIGHBOR_ROWS):
        distances = _DISTANCES[name](sample[start : start + _NEIGHBOR_ROWS], others)
        # The row itself and its copies are not neighbours.
        distances[distances <= 1e-12 * distances.max()] = np.inf
        nth = min(_NEIGHBOR, distances.shape[1]) - 1
        found.append(np.partition(distances, nth, axis=1)[:, nth])
    to_nth = np.concatenate(found)
    return to_nth[np.isfinite(to_nth)]


def _centered(name: str, X: RowsLike, Y: RowsLike) -> tuple[RowsLike, RowsLike]:
    """Return both sets of rows as the distance needs them, centered if possible."""
    if name == "chi2":
        return to_dense(X), to_dense(Y)
    if sparse.issparse(X):
        return X, Y
    # Far from the origin, rounding errors would exceed the distances.
    mean = Y.mean(axis=0, dtype=np.float64)
    return X - mean, Y - mean


def _moments(X: RowsLike, weights: Array | None) -> tuple[float, float]:
    """Return weighted mean and variance of all entries of X, without copying X."""
    entries = (X.shape[0] if weights is None else weights.sum()) * X.shape[1]
    if sparse.issparse(X):
        w = np.ones(X.shape[0]) if weights is None else weights
        mean = float(w @ np.asarray(X.sum(axis=1)).ravel()) / entries
        square = float(w @ squared_norms(X, np.float64)) / entries
        return mean, square - mean * mean
    # One pass over deviations from a value near the mean, to reduce rounding.
    pivot = X.dtype.type(X[:_MOMENT_ROWS].mean(dtype=np.float64))

    def sums(block: Array, rows: slice, own: Array | None = None) -> Array:
        shifted = block - pivot
        first = shifted.sum(axis=1, dtype=np.float64)
        both = np.array([first, squared_norms(shifted, np.float64)])
        return both.sum(axis=1) if own is None else both @ own

    along = () if weights is None else (weights,)
    blocks = as_rows(X).map_blocks(sums, *along, block_rows=_MOMENT_ROWS)
    first, second = sum(blocks) / entries
    return float(pivot) + first, second - first**2
