"""The largest eigenvalues of small symmetric matrices."""

from scipy import linalg

from akkm.typing import Array


def largest_eigenpairs(A: Array, count: int) -> tuple[Array, Array]:
    """Return the q = `count` largest eigenvalues (q,), ascending, and vectors (n, q).

    LAPACK's method for a few eigenpairs is fast, but does not converge for some
    matrices with many equal eigenvalues. For these matrices, all eigenpairs are
    computed by a slower method.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.core.eigenpairs import largest_eigenpairs
    >>> largest_eigenpairs(np.diag([3.0, 1.0, 2.0]), 2)[0]
    array([2., 3.])
    """
    n = len(A)
    try:
        values, vectors = linalg.eigh(A, subset_by_index=[n - count, n - 1])
    except linalg.LinAlgError:
        values, vectors = linalg.eigh(A, driver="evd")
    return values[-count:], vectors[:, -count:]
