"""The number of diffusion steps t: the rule that sets it, and its effect.

Let S be a symmetric similarity matrix, normalised by degrees, with eigenvalues up to 1.
It describes one step of a random walk from row to row. The diffusion kernel K = S^(2t)
compares two rows by where walks of t steps end if they start at these rows. If V are
the eigenvectors of S and λ its eigenvalues, the rows of V λ^t are the feature map of K.
The larger t is, the smaller are the weights λ^t of eigenvectors that separate clusters
poorly. Only eigenvectors of negligible weight are dropped.
"""

import numpy as np

from akkm.typing import Array

# t is set so that the trace of the kernel is this number times the number of clusters.
_TRACE_PER_CLUSTER = 0.9
# For C clusters, t is limited so that the weight of the C-th eigenvector is at least
# this number.
_LAST_CLUSTER_WEIGHT = 0.1
# Smallest and largest t.
_SHORTEST, _LONGEST = 2.0**-6, 2.0**24
# Number of bisection steps over log t.
_BISECTIONS = 60
# Eigenvectors with a weight below this are dropped from the embedding.
_FADED = 1e-3


def diffusion_time(eigenvalues: Array, n_clusters: int) -> float:
    """Choose t so that the sum of eigenvalue^(2t) is 0.9 times the number of clusters.

    Parameters
    ----------
    eigenvalues : array of shape (r,)
        Eigenvalues in descending order. They are divided by the largest eigenvalue.
        Negative eigenvalues count as 0.
    n_clusters : int
        The number of clusters C.

    Returns
    -------
    float
        The number of steps t. If no t meets the rule, the result is a limit of the
        range of t. This happens if C eigenvalues are 1, for example.

    Notes
    -----
    The sum is the trace of the diffusion kernel: the number of dimensions in which rows
    differ. For C well separated clusters it is C.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.diffusion.diffusion_time import diffusion_time
    >>> t = diffusion_time(np.array([1.0, 0.9, 0.9, 0.5]), n_clusters=2)
    >>> round(float(1 + 2 * 0.9 ** (2 * t) + 0.5 ** (2 * t)), 6)
    1.8
    """
    values = _relative(eigenvalues)
    low, high = np.log(_SHORTEST), np.log(_LONGEST)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        trace = (values ** (2 * np.exp(middle))).sum()
        if trace > _TRACE_PER_CLUSTER * n_clusters:
            low = middle
        else:
            high = middle
    # With almost as many components as clusters, t would grow without limit, and the
    # eigenvector that the last cluster needs would fade.
    last = values[min(n_clusters, len(values)) - 1]
    most = np.log(_LAST_CLUSTER_WEIGHT) / np.log(last) if 0 < last < 1 else np.inf
    return float(min(np.exp(high), most))


def diffusion_weights(eigenvalues: Array, t: float) -> Array:
    """The weights eigenvalue^t of eigenvectors, without negligible weights.

    Parameters
    ----------
    eigenvalues : array of shape (r,)
        Eigenvalues in descending order.
    t : float
        The number of steps.

    Returns
    -------
    array of shape (q,)
        Weights of the q ≤ r leading eigenvectors, relative to the first.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.diffusion.diffusion_time import diffusion_weights
    >>> diffusion_weights(np.array([1.0, 0.5, 0.1]), t=4.0)
    array([1.    , 0.0625])
    """
    weights = _relative(eigenvalues) ** t
    return weights[weights >= _FADED]


def diffusion_map(vectors: Array, eigenvalues: Array, t: float) -> Array:
    """Rows of V λ^t, scaled to unit length.

    Parameters
    ----------
    vectors : array of shape (n, r)
        Eigenvectors.
    eigenvalues : array of shape (r,)
        Eigenvalues in descending order.
    t : float
        The number of steps.

    Returns
    -------
    array of shape (n, q)
        The embedding, with the dtype of the vectors. Rows of zeros stay zero.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.diffusion.diffusion_time import diffusion_map
    >>> diffusion_map(np.array([[0.6, 1.6], [0.0, 0.0]]), np.array([1.0, 0.5]), t=1.0)
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    weights = diffusion_weights(eigenvalues, t).astype(vectors.dtype)
    return unit_rows(vectors[:, : len(weights)] * weights)


def unit_rows(points: Array) -> Array:
    """The rows of points (n, q) divided by their lengths; rows of zeros stay zero."""
    length = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(length > 0, length, 1)


def _relative(eigenvalues: Array) -> Array:
    """Eigenvalues divided by the largest, clipped to [0, 1]."""
    values = np.asarray(eigenvalues, dtype=np.float64)
    return (values / max(values[0], np.finfo(np.float64).tiny)).clip(0, 1)
