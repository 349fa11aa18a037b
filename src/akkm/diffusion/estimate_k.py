"""How many clusters: where a spectrum breaks off, and how sure that is.

Walks of t steps know C clusters if C eigenvalues^t are near 1 and the next near 0. As t
grows each number of clusters has its time, at which the gap after it is widest; how
wide depends on the ratio of the two rates -log(eigenvalue) alone. The logarithm of
that ratio is the length of the range of log t over which the number holds. Clusters of
clusters have several wide gaps: the largest number that has one counts.

Long clusters, as rings are, take walks so long that gaps are narrow. There the cut
itself tells: eigenvalues bound what any C groups have to cut, and clusters cut little
more than that, while pieces of one cluster cut many times as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, svd

Array = NDArray[Any]

# A gap of 1 is clusters without a link; uniform rows in a square have gaps of 0.25, in
# a long strip, as halves of moons have, of 0.47 and up to 0.5 by chance. Between the
# two numbers a gap is taken, but not relied on.
_WIDE, CONFIDENT_GAP = 0.5, 0.55
# A narrower gap is taken if the cut is tight: not more than so many times the bound,
# and so little of what clusters have. Rows without clusters that have such a gap have
# cuts of 8 times the bound and more; thin spots of long clusters of few rows have 0.004
# and fringes of bells 0.0007 or more, rings that a few rows tie 0.0002. By chance a
# thin spot may have less.
_NARROW, _TIGHT, _LITTLE = 0.2, 6.0, 0.0005
# Rates below this are 0 but for rounding: components of their own.
_NOTHING = 1e-9
# A cluster with a larger share of the rows may hide others, as the scale of walks is
# set by what is farthest from it; with a smaller one it may be a few outliers.
_BULK, OUTLIER_SHARE = 0.8, 0.005


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
        The largest number with a wide gap or tight clusters; without any, that of the
        widest gap.
    sure : bool
        Whether that gap is wider than noise has, and clusters are not too unequal.
    why : str
        What makes it sure or unsure, in a few words.
    """

    numbers: Array
    gaps: Array
    times: Array
    stability: Array
    n_clusters: int
    sure: bool
    why: str

    @property
    def second(self) -> int | None:
        """The number with the widest gap besides; None without any."""
        others = np.where(self.numbers == self.n_clusters, 0.0, self.gaps)
        return int(self.numbers[others.argmax()]) if others.any() else None

    def __str__(self) -> str:
        sure = "sure" if self.sure else "unsure"
        text = f"{self.n_clusters}, {sure}: {self.why}"
        if self.second is None:
            return text
        gap = self.gaps[self.numbers == self.second][0]
        return f"{text}; next best {self.second} ({gap:.2f})"


class Cut(NamedTuple):
    """What it takes to cut rows into groups."""

    smallest: float  # the smallest group's share of the rows
    tight: bool  # whether next to nothing is cut, and little more than has to be


def cut_along_eigenvectors(
    W: Any, values: Array, vectors: Array, rows: Array, number: int
) -> Cut:
    """Cut rows into so many groups, along the leading eigenvectors.

    These are turned so that each row has one that stands for it (Damle, Minden, Ying
    2019).

    Parameters
    ----------
    W : CSR matrix of shape (n, n)
        Similarities.
    values : array of shape (r,)
        The largest eigenvalues of W, normalised by its sums.
    vectors : array of shape (n, r)
        Their eigenvectors, of length one.
    rows : array of shape (n,)
        How many rows each stands for, or their weight.
    number : int

    Returns
    -------
    Cut

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from akkm.diffusion.estimate_k import cut_along_eigenvectors
    >>> W = np.kron(np.eye(2), np.ones((4, 4))) + 1e-4  # two groups of four
    >>> values, vectors = np.linalg.eigh(W / W[0].sum())
    >>> W = sparse.csr_array(W)
    >>> cut_along_eigenvectors(W, values[::-1], vectors[:, ::-1], np.ones(8), 2).tight
    True
    """
    V = vectors[:, :number]
    pivots = qr(V.T, mode="r", pivoting=True)[1][:number]
    left, _, right = svd(V[pivots].T)
    group = np.abs(V @ (left @ right)).argmax(axis=1)
    sizes = np.bincount(group, rows, number)
    one = np.repeat(group, np.diff(W.indptr))
    same = one == group[W.indices]
    sums = np.bincount(one, W.data, number)
    if not (sizes.all() and sums.all()):
        return Cut(0.0, False)
    cut = (1 - np.bincount(one[same], W.data[same], number) / sums).sum()
    bound = (1 - values[:number] / values[0]).sum() + _NOTHING * number
    tight = cut <= _LITTLE * number and cut <= _TIGHT * bound
    return Cut(float(sizes.min() / sizes.sum()), bool(tight))


def estimate_n_clusters(
    eigenvalues: Array,
    cut: Callable[[int], Cut] = lambda number: Cut(1.0, False),
    least: float = OUTLIER_SHARE,
) -> Evidence:
    """The number of clusters that a spectrum speaks for.

    Parameters
    ----------
    eigenvalues : array of shape (r,)
        The largest of a normalised similarity matrix, falling from 1.
    cut : function of a number, optional
        What it takes to cut rows into so many groups. A number is refused if one of
        them is a few outliers, and taken in spite of a narrow gap if they are tight.
    least : float
        The share of a group that is more than a few outliers.

    Returns
    -------
    Evidence

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.diffusion.estimate_k import estimate_n_clusters
    >>> found = estimate_n_clusters(np.array([1.0, 0.999, 0.998, 0.7, 0.65, 0.6]))
    >>> print(found)
    3, sure: the gap after them in the spectrum is 0.97 of 1; next best 2 (0.25)
    >>> estimate_n_clusters(np.array([1.0, 0.9, 0.85, 0.8, 0.75])).sure
    False
    """
    values = np.asarray(eigenvalues, dtype=np.float64)
    values = values[values > 0]
    if len(values) < 3:
        none, few = np.empty(0), max(1, len(values))
        why = f"there are only {len(values)} eigenvalues to judge by"
        return Evidence(none.astype(int), none, none, none, few, False, why)
    rates = np.maximum(-np.log((values / values[0]).clip(max=1)), _NOTHING)
    numbers = np.arange(2, len(values))
    slow, fast = rates[1:-1], rates[2:]
    ratio = fast / slow
    apart = ratio > 1 + 1e-6
    r = np.where(apart, ratio, 2.0)
    # exp(-slow t) - exp(-fast t) is widest where its derivative is zero.
    times = np.log(r) / (slow * (r - 1))
    gaps = np.where(apart, np.exp(-slow * times) - np.exp(-fast * times), 0.0)
    refused, tight = np.zeros(len(gaps), dtype=bool), False
    for i in np.flatnonzero(gaps >= _NARROW)[::-1]:
        groups = cut(int(numbers[i]))
        refused[i] = groups.smallest < least
        if not refused[i] and (gaps[i] >= _WIDE or groups.tight):
            best, tight = int(i), groups.tight
            break
    else:
        wide, others = np.flatnonzero(gaps >= _WIDE), np.where(refused, 0.0, gaps)
        no_other = others.max() < _NARROW and len(wide)
        best = int(wide[-1] if no_other else np.argmax(others))
    sure = bool(gaps[best] >= CONFIDENT_GAP) and not refused[best]
    why = f"the gap after them in the spectrum is {gaps[best]:.2f} of 1"
    if not sure and tight:
        why += "; next to nothing is cut between them, but there may be more"
    elif refused[best]:
        why += ", but one of them is a few rows"
    elif not sure:
        why += ", which rows without clusters may have too"
    return Evidence(numbers, gaps, times, np.log(ratio), int(numbers[best]), sure, why)


def check_balance(
    evidence: Evidence, labels: Array, weights: Array | None = None
) -> Evidence:
    """The evidence when the clusters are there: unsure if they are too unequal.

    Parameters
    ----------
    evidence : Evidence
    labels : int array of shape (n,)
        Of as many clusters as it speaks for.
    weights : array of shape (n,), optional

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.diffusion.estimate_k import estimate_n_clusters, check_balance
    >>> found = estimate_n_clusters(np.array([1.0, 1.0, 0.7, 0.65]))
    >>> found.sure, check_balance(found, np.repeat([0, 1], [95, 5])).why
    (True, 'one of them has 95 % of the rows, and may be several that do not show')
    """
    shares = np.bincount(labels, weights, minlength=evidence.n_clusters)
    shares = shares / shares.sum()
    if not evidence.sure:
        return evidence
    if shares.max() > _BULK:
        why = f"one of them has {shares.max():.0%} of the rows".replace("%", " %")
        why += ", and may be several that do not show"
    elif shares.min() < OUTLIER_SHARE:
        why = f"one of them has less than {OUTLIER_SHARE:.1%} of the rows".replace(
            "%", " %"
        )
        why += ", and may be a few outliers"
    else:
        return evidence
    return replace(evidence, sure=False, why=why)
