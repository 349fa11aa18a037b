"""How many clusters: where a spectrum breaks off, and how sure that is.

Walks of t steps know C clusters if C eigenvalues^t are near 1 and the next near 0. As t
grows each number of clusters has its time, at which the gap after it is widest; how
wide depends on the ratio of the two rates -log(eigenvalue) alone. The logarithm of
that ratio is the length of the range of log t over which the number holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# A gap of 1 is clusters without a link; uniform rows in a square have gaps of 0.25,
# in a long strip of 0.47.
_SURE = 0.5
# Rates below this are 0 but for rounding: components of their own.
_NOTHING = 1e-9


@dataclass(frozen=True)
class Evidence:
    """What speaks for each number of clusters; a curve to plot is `gaps` by `numbers`.

    Attributes
    ----------
    numbers : int array of shape (q,)
        The numbers of clusters looked at, 2 and more.
    gaps : float array of shape (q,)
        The widest gap of eigenvalue^t after each number, over all t: 0 to 1.
    times : float array of shape (q,)
        The t at which it is that wide.
    stability : float array of shape (q,)
        The range of log t over which the number holds.
    n_clusters : int
        The number with the widest gap.
    sure : bool
        Whether that gap is wider than noise has.
    """

    numbers: Array
    gaps: Array
    times: Array
    stability: Array
    n_clusters: int
    sure: bool


def count_clusters(eigenvalues: Array) -> Evidence:
    """The number of clusters that a spectrum speaks for.

    Parameters
    ----------
    eigenvalues : array of shape (r,)
        The largest of a normalised similarity matrix, falling from 1.

    Returns
    -------
    Evidence

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.counting import count_clusters
    >>> found = count_clusters(np.array([1.0, 0.999, 0.998, 0.7, 0.65, 0.6]))
    >>> found.n_clusters, found.sure
    (3, True)
    >>> count_clusters(np.array([1.0, 0.9, 0.85, 0.8, 0.75])).sure
    False
    """
    values = np.asarray(eigenvalues, dtype=np.float64)
    values = values[values > 0]
    if len(values) < 3:
        none = np.empty(0)
        return Evidence(none.astype(int), none, none, none, max(1, len(values)), False)
    rates = np.maximum(-np.log((values / values[0]).clip(max=1)), _NOTHING)
    numbers = np.arange(2, len(values))
    slow, fast = rates[1:-1], rates[2:]
    ratio = fast / slow
    apart = ratio > 1 + 1e-6
    r = np.where(apart, ratio, 2.0)
    # exp(-slow t) - exp(-fast t) is widest where its derivative is zero.
    times = np.log(r) / (slow * (r - 1))
    gaps = np.where(apart, np.exp(-slow * times) - np.exp(-fast * times), 0.0)
    best = int(np.argmax(gaps))
    return Evidence(
        numbers,
        gaps,
        times,
        np.log(ratio),
        int(numbers[best]),
        bool(gaps[best] >= _SURE),
    )
