"""One column in original units, in all rows and in each cluster."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from akkm.inspect._typed import Kind
from akkm.typing import Array

# The encoder replaces all rare categories by this text. It characterises no cluster.
POOLED = "(other)"
# The rise of a category is its share in the cluster minus its share in all rows; the
# drop is the opposite. A cluster avoids a category if the drop of this category is more
# than _RARER times the largest rise of another category.
_RARER = 2.0
# Rises below _RARE count as _RARE in this comparison.
_RARE = 0.025


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """A column in original units, in all rows and in each cluster.

    Parameters
    ----------
    name : str
        Name of the column.
    kind : str
        "number", "date", "time", "duration", "boolean", "category" or "text".
    unit : str
        Unit of numbers, such as "$"; "" if it is unknown.
    effects : float array of shape (C,)
        How much the cluster differs from the other rows: Cliff's delta, from -1 to 1.
        For categories, the sum of the differences of shares, over categories that are
        more frequent in the cluster. For texts, the largest difference of a word's
        share.
    average : {"mean", "median"}
        The kind of average in `overall` and `centers`. It is the median for times, and
        if a few extreme values move the mean in most clusters. It is also the median if
        the mean of a cluster would contradict its effect. An example is a mean below
        that of all rows, although most values of the cluster are larger than elsewhere.
    overall : float
        Average of all rows, or share of "yes". Dates are in seconds since 1970, times
        and durations in seconds. NaN for categories and texts.
    centers : float array of shape (C,)
        The same for each cluster.
    limits : float array of shape (4,)
        The 5 %, 25 %, 75 % and 95 % quantiles of all rows.
    quartiles : float array of shape (C, 2)
        The 25 % and 75 % quantiles of each cluster.
    whole, positive : bool
        Whether all values are whole numbers, and whether no value is negative.
    folded : bool array of shape (C,)
        Whether values are about as large as elsewhere, but nearer to the median of all
        rows or farther from it. The effect is then half of Cliff's delta of the
        distances to this median: negative if values are near the median, positive if
        they are far from it.
    positions : float array of shape (C,)
        Mean rank of the cluster's values among all values, from 0 to 1.
    distances : float array of shape (C,)
        Mean rank of the distances of the cluster's values to the median of all rows.
    values : tuple of v str
        The categories, or words of texts.
    shares : float array of shape (C, v)
        Share of each category in each cluster; share of texts with each word.
    overall_shares : float array of shape (v,)
        The same for all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.inspect import Inspection
    >>> X = np.r_[np.arange(50.0), np.arange(150.0, 200)][:, None]
    >>> model = ApproxKernelKMeans(2, kernel="linear", random_state=0).fit(X)
    >>> facts = Inspection(model, X, feature_names=["age"])
    >>> age = facts.profiles.columns[0]
    >>> age.kind, age.overall, sorted(age.centers.tolist()), age.effects.max()
    ('number', 99.5, [24.5, 174.5], np.float64(1.0))
    """

    name: str
    kind: Kind
    unit: str
    effects: Array
    average: Literal["mean", "median"] = "mean"
    overall: float = np.nan
    centers: Any = ()
    limits: Any = ()
    quartiles: Any = ()
    whole: bool = False
    positive: bool = False
    folded: Any = ()
    positions: Any = ()
    distances: Any = ()
    values: tuple[str, ...] = ()
    shares: Any = ()
    overall_shares: Any = ()

    @property
    def title(self) -> str:
        """The name of the column in sentences: with spaces instead of underscores."""
        return " ".join(self.name.replace("_", " ").split()) or self.name

    def top_values(self, cluster: int, n: int) -> list[int]:
        """Find the categories or words that are more frequent in a cluster.

        Parameters
        ----------
        cluster : int
            Number of the cluster.
        n : int
            How many to return at most.

        Returns
        -------
        list of int
            Indices of `values`, largest difference first.
        """
        if not self.values:
            return []
        more = self.shares[cluster] - self.overall_shares
        order = np.argsort(-more, kind="stable")[:n]
        return [int(j) for j in order if more[j] > 0 and self.values[j] != POOLED]

    def frequent_values(self, cluster: int, n: int) -> list[int]:
        """Find the most frequent categories of a cluster.

        Parameters
        ----------
        cluster : int
            Number of the cluster.
        n : int
            How many to return at most.

        Returns
        -------
        list of int
            Indices of `values`, most frequent first, without rare categories that were
            joined into one.
        """
        order = np.argsort(-self.shares[cluster], kind="stable")
        return [int(j) for j in order if self.values[j] != POOLED][:n]

    def avoided_value(self, cluster: int) -> int | None:
        """Find the category whose rareness distinguishes a cluster.

        Parameters
        ----------
        cluster : int
            Number of the cluster.

        Returns
        -------
        int or None
            Index in `values` of the category whose share in the cluster is farthest
            below its share in all rows. It is None unless the difference is more than
            0.05, and more than twice the largest rise of another category's share.
        """
        if self.kind != "category":
            return None
        less = self.overall_shares - self.shares[cluster]
        j = int(np.argmax(less))
        clear = less[j] > _RARER * max(-less.min(), _RARE)
        return j if clear and self.values[j] != POOLED else None
