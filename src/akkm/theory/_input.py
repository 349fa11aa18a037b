"""Validation at the door, and the one dense matrix that small data allow."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state

from akkm.kernels import Kernel, Precomputed, resolve
from akkm.nearest import require_finite
from akkm.sources import Rows, Strip

Array = NDArray[Any]


def prepare(
    X: Any,
    kernel: Any,
    *,
    gamma: float | str | None,
    degree: float,
    coef0: float,
    params: Mapping[str, Any] | None,
) -> tuple[Rows, Kernel]:
    """Checked rows (n, d) and the kernel object for them."""
    given = isinstance(kernel, Precomputed) or (
        isinstance(kernel, str) and kernel == "precomputed"
    )
    accepted: Any = False if given else "csr"
    X = check_array(X, accept_sparse=accepted, dtype=[np.float64, np.float32])
    kernel = resolve(kernel, X, gamma=gamma, degree=degree, coef0=coef0, params=params)
    kernel.check(X)
    if isinstance(kernel, Precomputed):
        kernel.check_matrix(X)
    return X, kernel


def generator(random_state: Any) -> np.random.Generator:
    """Randomness from a seed, as the estimators take it."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def kernel_matrix(X: Rows, kernel: Kernel, indices: Array) -> Array:
    """k(Z, Z) for the rows Z = X[indices], symmetric, in float64: (m, m)."""
    strip = Strip(X, kernel, kernel.select(X, indices), np.float64)
    K = strip.precise(X[indices])
    require_finite(K, np.float64)
    return (K + K.T) / 2


def require_count(name: str, value: Any, least: int, most: int, what: str) -> int:
    """An integer from `least` to `most`; `what` says why."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        raise ValueError(
            f"{name}={value!r} is not valid; expected an integer from {least} to "
            f"{most}{what}."
        )
    return int(value)


def landmark_counts(n_landmarks: Any, n: int) -> Array:
    """One number of landmarks or several, as floats: () or (s,)."""
    counts = np.asarray(n_landmarks)
    whole = counts.dtype.kind in "iu" and counts.ndim <= 1 and counts.size
    if not whole or counts.min() < 1 or counts.max() > n:
        raise ValueError(
            f"n_landmarks={n_landmarks!r} is not valid; expected an integer from 1 to "
            f"the n_samples={n} rows they are drawn from, or a sequence of such."
        )
    return counts.astype(np.float64)


def like(counts: Array, values: Array) -> Any:
    """A float for one number of landmarks, an array for several."""
    return values if counts.ndim else float(values)
