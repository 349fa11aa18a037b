"""Estimate the number of clusters from gaps in the spectrum.

After t diffusion steps there are C clusters if the C largest values of eigenvalue^t are
near 1 and the next value is near 0. The gap is the difference between the C-th value
and the next one. At the best t, its width depends only on the ratio of the two rates
-log(eigenvalue). There are C clusters in a range of log t whose length is the logarithm
of this ratio. Data with clusters of clusters have several wide gaps. The estimate is
the largest C with a wide gap.

Long clusters, such as rings, need so many steps that their gaps are narrow. C is
accepted despite a narrow gap if a division of the rows into C groups cuts little
similarity. The eigenvalues give a lower bound on the similarity that any division into
C groups cuts. A division into clusters cuts little more than this bound. A division
that breaks a cluster into pieces cuts many times as much as the bound.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr, svd

from akkm.typing import Array

# A gap of at least this width is accepted. A gap of 1 means that clusters are not
# linked at all. Uniform rows in a square have gaps of 0.25. Rows in a long strip, such
# as one crescent, have gaps of 0.47, and up to 0.5 by chance.
_WIDE_GAP = 0.5
# The estimate is sure only if its gap has at least this width.
CONFIDENT_GAP = 0.55
# A gap of at least this width is accepted if the cut into clusters is tight.
_NARROW_GAP = 0.2
# A tight cut cuts at most this many times the bound. In data without clusters, cuts
# with a gap above _NARROW_GAP cut at least 8 times the bound.
_TIGHT_RATIO = 6.0
# A tight cut cuts at most this share of a cluster's similarity, on average. The share
# is 0.0002 for a cut between rings joined by a few rows. It is 0.0007 for a cut through
# the sparse outer rows of a Gaussian cluster. It is 0.004 for a cut through a long
# cluster of few rows, at a place where rows are sparse; by chance, it may be smaller.
_TIGHT_SHARE = 0.0005
# The first eigenvalue that is not positive is replaced by this number. So the gap
# before it is wide only if the previous eigenvalue is well above zero.
_VANISHED = 0.05
# Rates below this are zero up to rounding; they belong to separate components.
_ZERO_RATE = 1e-9
# A cluster with more than this share of the rows may consist of several clusters. A
# wide gap may only show that one distant cluster is separate from all other rows.
DOMINANT_SHARE = 0.8
# A division into groups starts from one row per group. These rows are chosen from all
# rows, or from a sample of _CUT_ROWS rows, or _CUT_ROWS_PER_GROUP rows per group if
# that is more.
_CUT_ROWS, _CUT_ROWS_PER_GROUP = 2000, 20
# A cluster with less than this share of the rows may consist of outliers.
OUTLIER_SHARE = 0.005


@dataclass(frozen=True)
class Evidence:
    """The evidence for each number of clusters; plot `gaps` against `numbers`.

    Parameters
    ----------
    numbers : int array of shape (q,)
        The numbers of clusters considered, from 2.
    gaps : float array of shape (q,)
        For each number C, the difference of eigenvalue^t between eigenvalues C and
        C + 1, at the t where this difference is largest; from 0 to 1.
    times : float array of shape (q,)
        For each number, the t at which its gap is widest.
    stability : float array of shape (q,)
        For each number C, the length of the range of log t in which there are C
        clusters.
    n_clusters : int
        The estimate: the largest number with a wide gap or a tight cut. If no
        number has either, it is the number with the widest gap.
    sure : bool
        Whether the gap is wider than in data without clusters, and no cluster is
        dominant or tiny.
    why : str
        The reason for being sure or unsure, in a few words.
    conclusive : bool
        Whether the spectrum alone is enough to choose the number: a gap is wide or a
        cut is tight, and no cluster is dominant.
    """

    numbers: Array
    gaps: Array
    times: Array
    stability: Array
    n_clusters: int
    sure: bool
    why: str
    conclusive: bool = False

    @property
    def second(self) -> int | None:
        """The number with the widest gap among all numbers other than the estimate.

        None if no other number has a gap.
        """
        others = np.where(self.numbers == self.n_clusters, 0.0, self.gaps)
        return int(self.numbers[others.argmax()]) if others.any() else None

    def __str__(self) -> str:
        text = f"{self.n_clusters}, {'sure' if self.sure else 'unsure'}: {self.why}"
        if self.second is None:
            return text
        gap = self.gaps[self.numbers == self.second][0]
        return f"{text}; next best {self.second} ({gap:.2f})"


class Cut(NamedTuple):
    """The quality of a cut of the rows into groups."""

    smallest: float  # the smallest group's share of the rows
    # whether the similarity between the groups is small, and not far above the bound
    tight: bool
    largest: float = 0.0  # the largest group's share of the rows


def cut_along_eigenvectors(
    W: Any, values: Array, vectors: Array, rows: Array, number: int
) -> Cut:
    """Cut the rows into groups along the leading eigenvectors, and judge the cut.

    The eigenvectors are rotated so that each row has one large entry. The column of
    this entry is the row's group (Damle, Minden, Ying 2019).

    Parameters
    ----------
    W : CSR array of shape (n, n)
        Similarities.
    values : array of shape (r,)
        The largest eigenvalues of W after normalisation by its row sums.
    vectors : array of shape (n, r)
        Their eigenvectors, of unit length.
    rows : array of shape (n,)
        The weight of each row, or the number of rows that it represents.
    number : int
        The number of groups.

    Returns
    -------
    Cut
        The smallest and largest group's share, and whether the cut is tight.

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
    left, _, right = svd(V[_one_row_per_group(V)].T)
    group = np.abs(V @ (left @ right)).argmax(axis=1)
    sizes = np.bincount(group, rows, number)
    group_of_entry = np.repeat(group, np.diff(W.indptr))
    same = group_of_entry == group[W.indices]
    sums = np.bincount(group_of_entry, W.data, number)
    if not (sizes.all() and sums.all()):
        return Cut(0.0, False)
    inside = np.bincount(group_of_entry[same], W.data[same], number)
    cut = (1 - inside / sums).sum()
    bound = (1 - values[:number] / values[0]).sum() + _ZERO_RATE * number
    tight = cut <= _TIGHT_SHARE * number and cut <= _TIGHT_RATIO * bound
    shares = sizes / sizes.sum()
    return Cut(float(shares.min()), bool(tight), float(shares.max()))


def _one_row_per_group(V: Array) -> Array:
    """Indices (q,) of rows of eigenvectors V (n, q) that are nearly orthogonal.

    If there are many rows, they are chosen from a sample. The probability of a row is
    the mean of 1 / n and its share of the squared lengths of all rows. The squared
    lengths have about the same sum in each group, so small groups are sampled, too.
    """
    n, q = V.shape
    sample, size = np.arange(n), max(_CUT_ROWS, _CUT_ROWS_PER_GROUP * q)
    if n > 2 * size:
        squares = np.einsum("ij,ij->i", V, V)
        shares = (squares / squares.sum() + 1 / n) / 2
        sample = np.random.default_rng(0).choice(n, size, replace=False, p=shares)
    return np.asarray(sample[qr(V[sample].T, mode="r", pivoting=True)[1][:q]])


def estimate_n_clusters(
    eigenvalues: Array,
    cut: Callable[[int], Cut] = lambda number: Cut(1.0, False),
    least: float = OUTLIER_SHARE,
) -> Evidence:
    """Estimate the number of clusters from the eigenvalues.

    Parameters
    ----------
    eigenvalues : array of shape (r,)
        The largest eigenvalues of a normalised similarity matrix, in descending order
        from 1.
    cut : callable, optional
        Cuts the rows into a given number of groups. A number of clusters is rejected if
        a group is too small. It is accepted despite a narrow gap if the cut is tight.
    least : float, default=0.005
        Groups with less than this share of the rows are regarded as outliers.

    Returns
    -------
    Evidence
        The estimate and the gap of each number of clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.diffusion.estimate_k import estimate_n_clusters
    >>> evidence = estimate_n_clusters(np.array([1.0, 0.999, 0.998, 0.7, 0.65, 0.6]))
    >>> print(evidence)
    3, sure: the gap in the spectrum is 0.97 of at most 1; next best 2 (0.25)
    >>> estimate_n_clusters(np.array([1.0, 0.9, 0.85, 0.8, 0.75])).sure
    False
    """
    values = np.asarray(eigenvalues, dtype=np.float64)
    values, rest = values[values > 0], values[values <= 0]
    if len(values) and len(rest):
        values = np.append(values, min(_VANISHED, values[-1]))
    if len(values) < 3:
        none, few = np.empty(0), max(1, len(values))
        why = f"there are only {len(values)} eigenvalues to judge by"
        return Evidence(none.astype(int), none, none, none, few, False, why)
    rates = np.maximum(-np.log((values / values[0]).clip(max=1)), _ZERO_RATE)
    numbers = np.arange(2, len(values))
    slow, fast = rates[1:-1], rates[2:]
    ratio = fast / slow
    distinct = ratio > 1 + 1e-6
    r = np.where(distinct, ratio, 2.0)
    # exp(-slow t) - exp(-fast t) is largest where its derivative is zero.
    times = np.log(r) / (slow * (r - 1))
    gaps = np.where(distinct, np.exp(-slow * times) - np.exp(-fast * times), 0.0)
    rejected, accepted = np.zeros(len(gaps), dtype=bool), Cut(0.0, False)
    for i in np.flatnonzero(gaps >= _NARROW_GAP)[::-1]:
        groups = cut(int(numbers[i]))
        rejected[i] = groups.smallest < least
        if not rejected[i] and (gaps[i] >= _WIDE_GAP or groups.tight):
            best, accepted = int(i), groups
            break
    else:
        wide, others = np.flatnonzero(gaps >= _WIDE_GAP), np.where(rejected, 0.0, gaps)
        no_other = others.max() < _NARROW_GAP and len(wide)
        best = int(wide[-1] if no_other else np.argmax(others))
    sure = bool(gaps[best] >= CONFIDENT_GAP) and not rejected[best]
    why = f"the gap in the spectrum is {gaps[best]:.2f} of at most 1"
    if sure and accepted.largest > DOMINANT_SHARE:
        sure, why = False, _dominant(accepted.largest)
    elif not sure and accepted.tight:
        why += (
            "; the clusters share almost no similarity, but the true number of "
            "clusters may be larger"
        )
    elif rejected[best]:
        why += ", but one cluster has only a few rows"
    elif not sure:
        why += ", and data without clusters may have gaps this wide"
    conclusive = 0 < accepted.largest <= DOMINANT_SHARE
    number = int(numbers[best])
    return Evidence(numbers, gaps, times, np.log(ratio), number, sure, why, conclusive)


def check_balance(
    evidence: Evidence, labels: Array, weights: Array | None = None
) -> Evidence:
    """Mark the evidence as not sure if the labels have a dominant or tiny cluster.

    Parameters
    ----------
    evidence : Evidence
        The estimate of the number of clusters.
    labels : int array of shape (n,)
        Labels of the rows, from a clustering into the estimated number of clusters.
    weights : array of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    Evidence
        The same evidence, or a copy that is not sure and says why.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.diffusion.estimate_k import check_balance, estimate_n_clusters
    >>> evidence = estimate_n_clusters(np.array([1.0, 1.0, 0.7, 0.65]))
    >>> evidence.sure, check_balance(evidence, np.repeat([0, 1], [95, 5])).why
    (True, 'one cluster has 95 % of the rows, and may hide several clusters')
    """
    shares = np.bincount(labels, weights, minlength=evidence.n_clusters)
    shares = shares / shares.sum()
    if evidence.sure and shares.max() > DOMINANT_SHARE:
        why = _dominant(shares.max())
    elif evidence.sure and shares.min() < OUTLIER_SHARE:
        why = (
            f"one cluster has less than {100 * OUTLIER_SHARE} % of the rows, and may "
            "consist of outliers"
        )
    else:
        return evidence
    return replace(evidence, sure=False, why=why)


def _dominant(share: float) -> str:
    """The reason for doubt about a cluster with this share of the rows."""
    return (
        f"one cluster has {100 * share:.0f} % of the rows, and may hide several "
        "clusters"
    )
