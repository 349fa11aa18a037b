"""What functions that take raw arrays check at the door."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state

from akkm.core.strip import Rows
from akkm.kernels import Kernel, Precomputed, resolve

Array = NDArray[Any]


def prepare(
    X: Any,
    kernel: Any,
    *,
    gamma: float | str | None,
    degree: float,
    coef0: float,
    params: Mapping[str, Any] | None,
    sample_weight: Array | None = None,
    rng: np.random.Generator | None = None,
) -> tuple[Rows, Kernel]:
    """Checked rows (n, d) and the kernel object for them."""
    given = isinstance(kernel, Precomputed) or (
        isinstance(kernel, str) and kernel == "precomputed"
    )
    accepted: Any = False if given else "csr"
    X = check_array(X, accept_sparse=accepted, dtype=[np.float64, np.float32])
    kernel = resolve(
        kernel,
        X,
        gamma=gamma,
        degree=degree,
        coef0=coef0,
        params=params,
        sample_weight=sample_weight,
        rng=rng,
    )
    kernel.check(X)
    if isinstance(kernel, Precomputed):
        kernel.check_matrix(X)
    return X, kernel


def generator(random_state: Any) -> np.random.Generator:
    """Randomness from a seed, as scikit-learn's estimators take it."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def require_count(
    name: str, value: Any, least: int = 1, most: int | None = None, why: str = ""
) -> int:
    """An integer of at least `least`, and at most `most`; `why` says why."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        upto = f"≥ {least}" if most is None else f"from {least} to {most}{why}"
        raise ValueError(f"{name}={value!r} is not valid; expected an integer {upto}.")
    return int(value)
