"""Validation for public functions that take raw arrays.

Estimators validate their parameters themselves.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight

from akkm.kernels import Kernel, Precomputed, narrow_indices, resolve
from akkm.typing import Array, RowsLike

# Limits of positive weights. Beyond them, sums of weights could overflow or vanish.
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-100, 1e100


def validate_rows(X: Any, kernel: Any, **settings: Any) -> tuple[Any, Kernel]:
    """Validate rows (n, d); return them and their kernel, made by `resolve`."""
    precomputed = isinstance(kernel, Precomputed) or (
        isinstance(kernel, str) and kernel == "precomputed"
    )
    accepted: Any = False if precomputed else "csr"
    dtypes = [np.float64, np.float32]
    X = narrow_indices(check_array(X, accept_sparse=accepted, dtype=dtypes))
    kernel = resolve(kernel, X, **settings)
    kernel.check(X)
    if isinstance(kernel, Precomputed):
        kernel.check_matrix(X)
    return X, kernel


def generator(random_state: Any) -> np.random.Generator:
    """A random generator, seeded by `random_state` as in scikit-learn."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def require_count(
    name: str, value: Any, least: int = 1, most: int | None = None, why: str = ""
) -> int:
    """Return a parameter; raise ValueError unless it is an integer in the range.

    `why` explains the upper limit `most` in the error message.
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        limits = f"≥ {least}" if most is None else f"from {least} to {most}{why}"
        raise ValueError(
            f"{name}={value!r} is not valid; expected an integer {limits}."
        )
    return int(value)


def validated_weights(sample_weight: Any, X: RowsLike) -> Array | None:
    """Return the validated weights of the rows (n,); None stays None."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.any():  # scikit-learn checks this only in new versions
        raise ValueError("Sample weights must contain at least one non-zero number.")
    least, most = weights[weights > 0].min(), weights.max()
    if least < _LEAST_WEIGHT or most > _MOST_WEIGHT:
        raise ValueError(
            f"sample_weight has positive values from {least:.3g} to {most:.3g}; "
            f"expected values from {_LEAST_WEIGHT:g} to {_MOST_WEIGHT:g}, or 0. "
            "Multiply all weights by the same number."
        )
    return weights
