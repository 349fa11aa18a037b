"""From the words users write (`kernel="rbf", gamma="scale"`) to a kernel object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise

from akkm.kernels._additive import AdditiveChi2, Chi2, Intersection, Laplacian
from akkm.kernels._base import Array, Kernel, Rows, squared_norms, to_dense
from akkm.kernels._dot import Cosine, Linear, Polynomial, Sigmoid
from akkm.kernels._given import Function, Precomputed
from akkm.kernels._rbf import RBF
from akkm.rows.contract import over, sampled

# Rows looked at by gamma="median" and "neighbors", the rows among which the latter have
# neighbours, and which of these counts.
_MEDIAN_SAMPLE, _NEIGHBOR_SAMPLE, _NEIGHBOR = 1000, 10_000, 7
# Rows at a time when moments are summed.
_MOMENT_ROWS, _NEIGHBOR_ROWS = 8192, 250

_CLASSES: dict[str, Callable[..., Kernel]] = {
    "rbf": RBF,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "sigmoid": Sigmoid,
    "linear": Linear,
    "cosine": Cosine,
    "laplacian": Laplacian,
    "chi2": Chi2,
    "additive_chi2": AdditiveChi2,
    "intersection": Intersection,
    "precomputed": Precomputed,
}
_TAKES = {
    "rbf": ("gamma",),
    "poly": ("gamma", "degree", "coef0"),
    "polynomial": ("gamma", "degree", "coef0"),
    "sigmoid": ("gamma", "coef0"),
    "laplacian": ("gamma",),
    "chi2": ("gamma",),
}

KERNEL_NAMES = tuple(_CLASSES)


def resolve(
    kernel: str | Kernel | Callable[..., Any],
    X: Rows,
    *,
    gamma: float | str | None = "scale",
    degree: float = 3,
    coef0: float = 1.0,
    params: Mapping[str, Any] | None = None,
    sample_weight: Array | None = None,
    rng: np.random.Generator | None = None,
) -> Kernel:
    """The kernel object for a name, a function or a kernel, its width chosen from X.

    `gamma` may be a number or one of

    * `"scale"`: 1 / (d Var X), as in `sklearn.svm.SVC` (laplacian: 1 / (d Std X);
      chi2: Mean X / (d Var X), the same idea in the units of their distances);
    * `None`: 1 / d (chi2: 1), as in `sklearn.metrics.pairwise`;
    * `"median"`: from the median over pairs of 1,000 sampled rows:
      1 / (2 median |x - y|²) for rbf, 1 / median distance for laplacian and chi2,
      1 / median |x|² for polynomial and sigmoid;
    * `"neighbors"`: the same of the distance to the 7th nearest of 10,000 sampled rows,
      for rbf, laplacian and chi2: a narrow kernel, for clusters that are connected
      rather than compact (docs/kernel-width.md says when each rule fails).

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.kernels import resolve
    >>> resolve("rbf", np.array([[0.0], [2.0]]), gamma="scale")
    RBF(gamma=1.0, sigma=None)
    >>> resolve("rbf", np.zeros((1, 1)), params={"sigma": 0.35})
    RBF(gamma=None, sigma=0.35)
    """
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Function(kernel, dict(params or {}))
    if kernel not in _CLASSES:
        raise ValueError(
            f"Unknown kernel {kernel!r}; expected one of {', '.join(KERNEL_NAMES)}, "
            "a function of two blocks of rows, or an object from akkm.kernels."
        )
    settings: dict[str, Any] = {"gamma": gamma, "degree": degree, "coef0": coef0}
    settings = {name: settings[name] for name in _TAKES.get(kernel, ())}
    settings.update(params or {})
    if settings.get("sigma") is not None:
        settings.pop("gamma", None)
    if "gamma" in settings and not _is_number(settings["gamma"]):
        settings["gamma"] = _choose_gamma(
            kernel, settings["gamma"], X, sample_weight, rng or np.random.default_rng(0)
        )
    try:
        return _CLASSES[kernel](**settings)
    except TypeError as error:
        raise ValueError(
            f"The {kernel} kernel does not take these kernel_params: "
            f"{sorted(params or {})}."
        ) from error


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number)


def _choose_gamma(
    name: str,
    rule: str | None,
    X: Rows,
    weights: Array | None,
    rng: np.random.Generator,
) -> float:
    d = X.shape[1]
    if name == "chi2":
        Chi2(gamma=1.0).check(X)  # before a width of negative entries makes no sense
    if rule is None:
        return 1.0 if name == "chi2" else 1.0 / d
    if rule == "scale":
        with np.errstate(over="ignore", invalid="ignore"):
            mean, variance = _moments(X, weights)
        if not np.isfinite(variance):
            raise ValueError(
                "The variance of X overflows; scale the columns (e.g. StandardScaler) "
                "or give gamma as a number."
            )
        if variance <= 1e-28 * mean**2:  # constant, but for rounding
            return 1.0
        if name == "laplacian":
            return float(1.0 / (d * np.sqrt(variance)))
        return float((mean if name == "chi2" else 1.0) / (d * variance))
    if rule == "median":
        typical = _typical(name, _sample(X, _MEDIAN_SAMPLE, weights, rng))
        return 1.0 / typical if typical > 0 else 1.0
    if rule == "neighbors":
        sample = _sample(X, _MEDIAN_SAMPLE, weights, rng)
        near = _near(name, sample, _sample(X, _NEIGHBOR_SAMPLE, weights, rng))
        return 1.0 / near if near > 0 else 1.0
    raise ValueError(
        f"gamma={rule!r} is not known; expected a positive number, 'scale', 'median', "
        "'neighbors' or None (1 / d, scikit-learn's 'auto')."
    )


def _sample(
    X: Rows, size: int, weights: Array | None, rng: np.random.Generator
) -> Rows:
    """At most so many rows of positive weight."""
    able = X.shape[0] if weights is None else int((weights > 0).sum())
    chance = None if weights is None else weights / weights.sum()
    drawn = rng.choice(X.shape[0], min(size, able), replace=False, p=chance)
    return sampled(X, np.sort(drawn))


def _typical(name: str, sample: Rows) -> float:
    """The median over pairs of rows of what gamma multiplies."""
    if name in ("poly", "polynomial", "sigmoid"):
        return float(np.median(squared_norms(sample)))
    sample, _ = _comparable(name, sample, sample)
    distances = _distances(name, sample, sample)
    pairs = distances[np.triu_indices_from(distances, k=1)]
    return float(np.median(pairs)) if pairs.size else 0.0


def _near(name: str, sample: Rows, others: Rows) -> float:
    """The median over rows of what gamma multiplies, for a near neighbour."""
    if name in ("poly", "polynomial", "sigmoid"):
        raise ValueError(
            f"gamma='neighbors' is about distances, which the {name} kernel does not "
            "depend on; use 'scale', 'median', None or a number."
        )
    sample, others = _comparable(name, sample, others)
    near = []
    for start in range(0, sample.shape[0], _NEIGHBOR_ROWS):
        distances = _distances(name, sample[start : start + _NEIGHBOR_ROWS], others)
        # Copies of a row, itself included, are no neighbours.
        distances[distances <= 1e-12 * distances.max()] = np.inf
        which = min(_NEIGHBOR, distances.shape[1]) - 1
        near.append(np.partition(distances, which, axis=1)[:, which])
    there = np.concatenate(near)
    there = there[np.isfinite(there)]
    return float(np.median(there)) if there.size else 0.0


def _distances(name: str, X: Rows, Y: Rows) -> Array:
    """What gamma multiplies, for all pairs of rows."""
    if name == "rbf":
        return 2.0 * pairwise.euclidean_distances(X, Y, squared=True)
    if name == "laplacian":
        return pairwise.manhattan_distances(X, Y)
    return -pairwise.additive_chi2_kernel(X, Y)


def _comparable(name: str, X: Rows, Y: Rows) -> tuple[Rows, Rows]:
    """Rows as `_distances` takes them."""
    if name == "chi2":
        return to_dense(X), to_dense(Y)
    if sparse.issparse(X):
        return X, Y
    # Far from the origin distances would be lost in rounding.
    mean = Y.mean(axis=0, dtype=np.float64)
    return X - mean, Y - mean


def _moments(X: Rows, weights: Array | None) -> tuple[float, float]:
    """Weighted mean and variance over all entries of X, without a copy of X."""
    entries = (X.shape[0] if weights is None else weights.sum()) * X.shape[1]
    if sparse.issparse(X):
        w = np.ones(X.shape[0]) if weights is None else weights
        mean = float(w @ np.asarray(X.sum(axis=1)).ravel()) / entries
        square = float(w @ squared_norms(X, np.float64)) / entries
        return mean, square - mean**2
    # In one pass, about a value that is near the mean.
    pivot = X.dtype.type(X[:_MOMENT_ROWS].mean(dtype=np.float64))

    def sums(block: Array, rows: slice, own: Array | None = None) -> Array:
        shifted = block - pivot
        first = shifted.sum(axis=1, dtype=np.float64)
        both = np.array([first, squared_norms(shifted, np.float64)])
        return both.sum(axis=1) if own is None else both @ own

    along = () if weights is None else (weights,)
    first, second = sum(over(X, sums, _MOMENT_ROWS, *along)) / entries
    return float(pivot) + first, second - first**2
