"""The kernel width that separates known rows best, by cross-validation."""

from collections.abc import Callable

import numpy as np

from akkm.kernels import Kernel
from akkm.typing import Array, RowsLike

# For each power p, 2^p times the given gamma is tried. Of equally good values, the
# first is chosen.
_POWERS = (0, -1, 1, -2, 2, -3, 3, -4, 4)


def choose_gamma(
    X: RowsLike, classes: Array, gamma: float, kernel_of: Callable[[float], Kernel]
) -> float:
    """Choose the gamma for which the most rows are nearest to their own class.

    A row is nearest to its own class if no mean of another class is nearer than the
    mean of the other rows of its class.

    Parameters
    ----------
    X : array or CSR matrix of shape (k, d)
        Rows whose class is known.
    classes : int array of shape (k,)
        Their classes.
    gamma : float
        The first gamma to try. Others are from 1/16 to 16 times as large.
    kernel_of : callable
        Returns the kernel for a gamma.

    Returns
    -------
    float
        The gamma that was chosen.

    Raises
    ------
    ValueError
        If there are no two classes with two rows each.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.guided.width import choose_gamma
    >>> from akkm.kernels import RBF
    >>> X = np.array([[0.0], [3.0], [1.0], [2.0]])  # pairs that interleave
    >>> X = np.concatenate([X, X + 0.1])
    >>> choose_gamma(X, np.array([0, 0, 1, 1] * 2), 0.1, lambda gamma: RBF(gamma))
    0.4
    """
    if (np.bincount(classes) >= 2).sum() < 2:
        raise ValueError(
            f"gamma='known' got {len(classes)} known rows; expected at least two rows "
            "of each of two classes. Name more rows, or use gamma='scale'."
        )
    tried = [gamma * 2.0**power for power in _POWERS]
    kernels = (kernel_of(value)(X, X) for value in tried)
    shares = [share_nearest_to_own_class(K, classes) for K in kernels]
    return tried[int(np.argmax(shares))]


def share_nearest_to_own_class(K: Array, classes: Array) -> float:
    """Return the share of rows that are nearest to the mean of their own class.

    Each row is left out of the mean of its own class. K (k, k) is the kernel matrix.
    Rows that are alone in their class are not counted.
    """
    member = np.eye(int(classes.max()) + 1)[classes]  # (k, number of classes)
    sizes = member.sum(axis=0)
    sums = K @ member
    inside = (member * sums).sum(axis=0)
    filled = np.maximum(sizes, 1)
    scores = inside / filled**2 - 2 * sums / filled
    scores[:, sizes == 0] = np.inf
    rows, own = np.arange(len(K)), classes
    rest = np.maximum(sizes[own] - 1, 1)
    left = sums[rows, own] - K.diagonal()
    norm = inside[own] - 2 * sums[rows, own] + K.diagonal()
    scores[rows, own] = norm / rest**2 - 2 * left / rest
    counted = sizes[own] > 1
    return float((scores.argmin(axis=1) == own)[counted].mean())
