"""Numbers of landmarks: one or several."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


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
