"""Certainty and soft memberships, computed from distances to centers."""

import numpy as np
from scipy import sparse

from akkm.typing import Array

# A membership is proportional to distance^(-_POWER).
_POWER = 6.0


def certainty_of(distances: Array) -> Array:
    """Return (d2 - d1) / (d2 + d1), for distances d1 and d2 to the two nearest centers.

    Parameters
    ----------
    distances : array of shape (n, C)
        Distances to the centers.

    Returns
    -------
    array of shape (n,)
        0 on the border between two clusters, and 1 at a center. It is 1 if there is
        only one center, and 0 if both distances are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.core.membership import certainty_of
    >>> certainty_of(np.array([[1.0, 3.0, 5.0], [2.0, 2.0, 9.0]]))
    array([0.5, 0. ])
    """
    if distances.shape[1] == 1:
        return np.ones(len(distances))
    near = np.partition(distances.astype(np.float64), 1, axis=1)
    return relative_gap(near[:, 0], near[:, 1])


def relative_gap(first: Array, second: Array) -> Array:
    """Return (d2 - d1) / (d2 + d1) for distances d1 and d2 (n,); 0 if both are 0."""
    total, gap = first + second, second - first
    return np.divide(gap, total, out=np.zeros_like(gap), where=total > 0)


def memberships_of(distances: Array, top: int) -> sparse.csr_array:
    """Soft memberships (n, C) with at most `top` entries per row.

    Parameters
    ----------
    distances : array of shape (n, C)
        Distances to the centers.
    top : int
        Number of nearest centers that get a membership.

    Returns
    -------
    CSR array of shape (n, C)
        Memberships, proportional to distance^(-6). Each row sums to one.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.core.membership import memberships_of
    >>> memberships_of(np.array([[1.0, 1.0, 9.0]]), top=2).toarray()
    array([[0.5, 0.5, 0. ]])
    """
    n, C = distances.shape
    p = min(top, C)
    columns = np.argsort(distances, axis=1, kind="stable")[:, :p]
    near = np.take_along_axis(distances, columns, axis=1).astype(np.float64)
    # Relative to the nearest center, so that no power overflows.
    first = near[:, :1]
    ratio = np.divide(first, near, out=np.ones_like(near), where=near > 0)
    weights = ratio**_POWER
    weights /= weights.sum(axis=1, keepdims=True)
    return sparse.csr_array(
        (weights.ravel(), columns.ravel(), np.arange(n + 1) * p), shape=(n, C)
    )
