"""Reference rows, which have the same spread as the data, but no clusters."""

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.extmath import randomized_svd

from akkm.typing import Array, RowsLike

# With more columns than this, or sparse rows, only the leading principal components are
# computed.
_MOST_COLUMNS = 1024
_LEADING = 256


def permuted_components(X: RowsLike, rng: np.random.Generator) -> Array:
    """Permute each principal component of the rows independently of the others.

    Each principal component keeps its values, in another order. So columns keep about
    the same variances and covariances, but clusters that involve several components
    vanish.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows.
    rng : numpy.random.Generator
        Permutes the components.

    Returns
    -------
    array of shape (n, d) or (n, q)
        The reference rows, with the dtype of X. If X is sparse or has more than 1,024
        columns, the columns of the result are the q <= 256 leading components.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.layers.reference import permuted_components
    >>> X = np.repeat([[0.0, 0.0], [4.0, 4.0]], 50, axis=0)  # two groups
    >>> R = permuted_components(X, np.random.default_rng(0))
    >>> bool(np.allclose(R.mean(axis=0), [2.0, 2.0]))
    True
    """
    if sparse.issparse(X) or X.shape[1] > _MOST_COLUMNS:
        q = min(_LEADING, max(1, min(X.shape) - 1))
        seed = int(rng.integers(2**31))
        U, s, _ = randomized_svd(X.astype(np.float64), q, random_state=seed)
        return rng.permuted(U * s, axis=0).astype(X.dtype)
    rows = X.astype(np.float64)
    mean = rows.mean(axis=0)
    axes = linalg.eigh((rows - mean).T @ (rows - mean))[1]
    parts = rng.permuted((rows - mean) @ axes, axis=0)
    return (parts @ axes.T + mean).astype(X.dtype)
