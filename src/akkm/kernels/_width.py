"""Rules that choose gamma, the inverse width of a kernel, from the data."""

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise

from akkm.kernels._additive import Chi2
from akkm.kernels._base import narrow_indices, squared_norms, to_dense
from akkm.kernels._distances import squared_distances
from akkm.rows import as_rows
from akkm.typing import Array, RowsLike

# gamma="median" measures distances between this many sampled rows. gamma="neighbors"
# measures distances of as many sampled rows to their neighbours.
_SAMPLE = 1000
# gamma="neighbors" searches these neighbours among this many sampled rows.
_NEIGHBOR_SAMPLE = 10_000
# gamma="neighbors" measures the distance to the 7th nearest neighbour.
_NEIGHBOR = 7
# Rows per block when moments are summed.
_MOMENT_ROWS = 8192
# Rows per block when neighbours are searched.
_NEIGHBOR_ROWS = 250
# Squared distances up to this share of |x|² + |y|² are inaccurate. They are computed
# again from the differences of rows.
_CANCELLED = 1e-11
# If more than this share of the distances is inaccurate, the differences of all pairs
# are computed at once, which is then faster than pair by pair.
_MANY = 0.05
# Rows are copies of each other if their distance is at most this share of the largest
# distance. Where small distances are exact, `_copy_share` returns a smaller share.
_COPY = 1e-12


def gamma_by_rule(
    name: str,
    rule: str | None,
    X: RowsLike,
    weights: Array | None,
    rng: np.random.Generator,
) -> float:
    """Return gamma of the kernel `name` for rows X (n, d), by a rule of `resolve`."""
    if name == "chi2":
        # The chi² distance, hence its width, is not defined for negative entries.
        checked = as_rows(X).checked_by(Chi2().check)
        X = X if checked.in_memory else checked  # stored rows are checked when read
    if rule is None:
        return 1.0 if name == "chi2" else 1.0 / X.shape[1]
    if rule == "scale":
        return _scale(name, X, weights)
    if rule not in ("median", "neighbors"):
        raise ValueError(
            f"gamma={rule!r} is not valid; expected a positive number, 'scale', "
            "'median', 'neighbors' or None (1 / d, scikit-learn's 'auto')."
        )
    sample, counts = _sample(X, _SAMPLE, weights, rng)
    if name not in _DISTANCES:  # functions of the dot product
        if rule == "neighbors":
            raise ValueError(
                f"gamma='neighbors' measures distances, and the {name} kernel does not "
                "depend on distances; use 'scale', 'median', None or a number."
            )
        exponents = squared_norms(sample)
    elif rule == "median":
        sample, _ = _centered(name, sample, sample)
        exponents, counts = _of_pairs(_DISTANCES[name](sample, sample), counts)
    else:
        others, times = _sample(X, _NEIGHBOR_SAMPLE, weights, rng)
        both = _centered(name, sample, others)
        exponents = _to_neighbors(name, *both, times, _copy_share(name, sample))
        found = np.isfinite(exponents)
        exponents = exponents[found]
        counts = None if counts is None else counts[found]
    typical = _median(exponents, counts) if exponents.size else 0.0
    _require_finite(np.array(typical))
    return 1.0 / typical if typical > 0 else 1.0


def _twice_squared(X: RowsLike, Y: RowsLike) -> Array:
    """Return 2 |x - y|² of all pairs (n, m)."""
    with np.errstate(over="ignore", invalid="ignore"):
        squared = pairwise.euclidean_distances(X, Y, squared=True)
        if not sparse.issparse(X):
            both = squared_norms(X)[:, None] + squared_norms(Y)
            # The distances come from a matrix product. Small distances may be rounding
            # errors, and large norms may have overflowed.
            unsure = ~(squared > _CANCELLED * both)
            if unsure.mean() > _MANY:
                squared[unsure] = cdist(X, Y, "sqeuclidean")[unsure]
            else:
                squared[unsure] = squared_distances(X, Y, *np.nonzero(unsure))
        return 2.0 * squared


# For each kernel, a function that returns the distances D of all pairs of rows. gamma
# is 1 / median D. For rbf, D is twice the squared distance.
_DISTANCES = {
    "rbf": _twice_squared,
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
) -> tuple[RowsLike, Array | None]:
    """Draw at most `size` rows of positive weight, in proportion to weight.

    Also return how often each row counts (s,). If the sample contains all rows of
    positive weight, each row counts as often as its weight says. Otherwise the second
    result is None, which means that each row counts once.
    """
    available = X.shape[0] if weights is None else int((weights > 0).sum())
    p = None if weights is None else weights / weights.sum()
    rows = np.sort(rng.choice(X.shape[0], min(size, available), replace=False, p=p))
    sample = as_rows(X).gather(rows)
    return sample, None if weights is None or available > size else weights[rows]


def _require_finite(distances: Array) -> None:
    if not np.isfinite(distances).all():
        raise ValueError(
            "The distances of the rows overflow; scale the columns (e.g. "
            "StandardScaler) or give gamma as a number."
        )


def _copy_share(name: str, X: RowsLike) -> float:
    """Return the share of the largest distance at which rows still count as copies."""
    if name == "rbf" and not sparse.issparse(X):
        return float((8 * np.finfo(X.dtype).eps) ** 2)  # these distances are squared
    return _COPY


def _of_pairs(distances: Array, counts: Array | None) -> tuple[Array, Array | None]:
    """Return the distances (p,) of all pairs of rows, and how often each pair counts.

    `distances` (n, n) are the distances between all rows. `counts` (n,) are the weights
    of the rows. A row of weight w stands for w equal rows, which form w (w - 1) / 2
    pairs at distance zero.
    """
    i, j = np.triu_indices_from(distances, k=1)
    if counts is None:
        return distances[i, j], None
    copies = (counts * (counts - 1) / 2).clip(0)
    times = np.concatenate([counts[i] * counts[j], copies])
    return np.concatenate([distances[i, j], np.zeros(len(counts))]), times


def _to_neighbors(
    name: str, sample: RowsLike, others: RowsLike, counts: Array | None, copy: float
) -> Array:
    """Return the distance of each sampled row to its 7th nearest neighbour: (s,).

    Neighbours are searched in `others` (m, d). `counts` (m,) says how often each of
    these rows counts; None means once. Rows are copies of each other, and not
    neighbours, if their distance is at most `copy` times the largest distance. The
    result is infinite for a row with fewer than 7 neighbours.
    """
    found = []
    for start in range(0, sample.shape[0], _NEIGHBOR_ROWS):
        distances = _DISTANCES[name](sample[start : start + _NEIGHBOR_ROWS], others)
        _require_finite(distances)
        # The row itself and its copies are not neighbours.
        distances[distances <= copy * distances.max()] = np.inf
        nth = min(_NEIGHBOR, distances.shape[1]) - 1
        if counts is None:
            found.append(np.partition(distances, nth, axis=1)[:, nth])
            continue
        order = np.argsort(distances, axis=1)[:, : nth + 1]
        enough = np.cumsum(counts[order].clip(1), axis=1) > nth
        last = np.take_along_axis(order, enough.argmax(axis=1)[:, None], axis=1)
        found.append(np.take_along_axis(distances, last, axis=1)[:, 0])
    return np.concatenate(found)


def _median(values: Array, counts: Array | None) -> float:
    """Return the median of values (p,), each of which counts `counts` (p,) times."""
    if counts is None or not counts.any():
        return float(np.median(values))
    order = np.argsort(values)
    total = np.cumsum(counts[order] / counts.max())
    half = total[-1] / 2
    low = np.searchsorted(total, half * (1 - 1e-12))
    high = np.searchsorted(total, half * (1 + 1e-12), side="right")
    return float(values[order[[low, high]]].mean())


def _centered(name: str, X: RowsLike, Y: RowsLike) -> tuple[RowsLike, RowsLike]:
    """Return X and Y in the form that distances need, centered if possible."""
    if name == "chi2":
        return to_dense(X), to_dense(Y)
    if sparse.issparse(X):
        return narrow_indices(X), narrow_indices(Y)
    # Far from the origin, rounding errors would exceed the distances.
    mean = Y.mean(axis=0, dtype=np.float64)
    return X - mean, Y - mean


def _moments(X: RowsLike, weights: Array | None) -> tuple[float, float]:
    """Return weighted mean and variance of all entries of X, without copying X."""
    entries = (X.shape[0] if weights is None else weights.sum()) * X.shape[1]
    # Subtract a pivot near the mean before summing, to reduce rounding errors. For
    # sparse rows the pivot is 0, because zeros that are not stored can't be shifted.
    pivot = X.dtype.type(0)
    if not sparse.issparse(X):
        pivot = X.dtype.type(X[:_MOMENT_ROWS].mean(dtype=np.float64))

    def sums(block: RowsLike, rows: slice, own: Array | None = None) -> Array:
        if sparse.issparse(block):  # SciPy would add float32 values in float32
            shifted = block.astype(np.float64, copy=False)
        else:
            shifted = block - pivot
        first = np.asarray(shifted.sum(axis=1, dtype=np.float64)).ravel()
        both = np.array([first, squared_norms(shifted, np.float64)])
        return both.sum(axis=1) if own is None else both @ own

    along = () if weights is None else (weights,)
    blocks = as_rows(X).map_blocks(sums, *along, block_rows=_MOMENT_ROWS)
    first, second = sum(blocks) / entries
    return float(pivot) + first, second - first**2
