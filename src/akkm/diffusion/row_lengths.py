"""Lengths of rows: scale rows to unit length, and tell whether lengths vary."""

from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from akkm.typing import RowsLike

# Rows may be embeddings if they are dense, have at least _WIDE columns, and if at least
# the share _NEGATIVE of their entries is negative. Images and histograms have no
# negative entries.
_WIDE, _NEGATIVE = 64, 0.2
# Lengths vary strongly if their 95 % quantile is more than this many times their 5 %
# quantile.
_VARYING = 2.0
# Number of rows that are examined.
_EXAMINED = 2_000


def unit_length(X: RowsLike) -> RowsLike:
    """Return the rows (n, d), each divided by its length; zero rows stay zero.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.diffusion.row_lengths import unit_length
    >>> unit_length(np.array([[3e200, 4e200], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    # Dividing by the largest entry first avoids squares that overflow or vanish.
    scaled: RowsLike = normalize(normalize(X, norm="max"), copy=False)
    return scaled


def varying_lengths(X: Any) -> tuple[float, float] | None:
    """The 5 % and 95 % quantiles of the lengths of embeddings, if they vary strongly.

    Returns None if the lengths don't vary strongly, or if the rows X (n, d) don't look
    like embeddings. Only dense rows in memory are examined.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.diffusion.row_lengths import varying_lengths
    >>> X = np.random.default_rng(0).normal(size=(500, 100))
    >>> varying_lengths(X) is None
    True
    >>> short, long = varying_lengths(X * np.linspace(1, 9, 500)[:, None])
    >>> long > 2 * short
    True
    """
    if not isinstance(X, np.ndarray) or X.shape[1] < _WIDE:
        return None
    rows = X[:: max(1, len(X) // _EXAMINED)].astype(np.float64)
    if (rows < 0).mean() < _NEGATIVE:
        return None
    short, long = np.quantile(np.linalg.norm(rows, axis=1), [0.05, 0.95])
    return (float(short), float(long)) if long > _VARYING * short else None
