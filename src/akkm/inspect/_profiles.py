"""Which columns matter for each cluster: their effects, and the limit that decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from akkm.inspect._column_profile import POOLED, ColumnProfile
from akkm.inspect._distances import membership
from akkm.inspect._sample import RowSample
from akkm.inspect._typed import TIME_OF_DAY, TypedColumn, typed_columns
from akkm.inspect._words import word_counts
from akkm.typing import Array

# Effects below this are negligible (Romano et al. 2006, for Cliff's delta).
_NEGLIGIBLE = 0.147
# Effects below this are small.
_MEDIUM = 0.33
# A category characterises a cluster if the category's share of the cluster's rows is
# this much larger than its share of the other rows.
_MORE = 0.05
# Number of words that are listed for each cluster.
_CLUSTER_WORDS = 8
# Two columns are alike if the correlation of their ranks is above this, or below minus
# this.
_ALIKE = 0.9
# If a number and a date are alike, the number describes the clusters, because numbers
# are easier to read. The date is used only if its effect, times this factor, is larger
# than the effect of the number.
_DATE = 0.9
# Shares are computed for this many categories: the most frequent ones.
_CATEGORIES = 300


@dataclass(frozen=True, eq=False)
class ClusterProfiles:
    """Columns in original units, per cluster, from a sample of the rows.

    Parameters
    ----------
    columns : tuple of ColumnProfile
        The columns that distinguish at least one cluster, most distinctive first.
    left_out : tuple of str
        Names of the columns that distinguish no cluster; "x (date)" if only the time
        of day in column x distinguishes clusters.
    n_rows : int
        Number of sampled rows.
    limits : float array of shape (C,)
        Smallest effect that counts in each cluster; it is larger for small clusters.
    original : bool
        Whether values are those before encoding and scaling.
    alike : frozenset of (str, str)
        Pairs of columns that contain the same information, such as age and year of
        birth: the correlation of their ranks is above 0.9 or below -0.9.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.inspect import Inspection
    >>> X = np.r_[np.arange(50.0), np.arange(150.0, 200)][:, None]
    >>> model = ApproxKernelKMeans(2, kernel="linear", random_state=0).fit(X)
    >>> found = Inspection(model, X, feature_names=["age"]).profiles
    >>> [column.name for column in found.traits(0)]
    ['age']
    """

    columns: tuple[ColumnProfile, ...]
    left_out: tuple[str, ...]
    n_rows: int
    limits: Array
    original: bool
    alike: frozenset[tuple[str, str]] = frozenset()

    def traits(self, cluster: int) -> list[ColumnProfile]:
        """Find the columns in which a cluster differs from the other rows.

        Parameters
        ----------
        cluster : int
            Number of the cluster.

        Returns
        -------
        list of ColumnProfile
            The columns, largest difference first. If several columns contain the same
            information, the one that is most distinctive over all clusters keeps its
            place, and the others come last. So all clusters are described by the same
            columns.
        """
        found = [
            column
            for column in self.columns
            if abs(column.effects[cluster]) >= self.limits[cluster]
        ]

        def size(column: ColumnProfile) -> float:
            return -abs(float(column.effects[cluster]))

        new: list[ColumnProfile] = []
        repeated: list[ColumnProfile] = []
        for column in found:
            known = any((column.name, other.name) in self.alike for other in new)
            (repeated if known else new).append(column)
        return [*sorted(new, key=size), *sorted(repeated, key=size)]


def cluster_profiles(
    columns: Mapping[str, Sequence[Any]],
    sample: RowSample,
    labels: Array,
    n_clusters: int,
    *,
    original: bool,
    roles: Mapping[str, tuple[str, str]] | None = None,
) -> ClusterProfiles:
    """Describe columns (s,) of the sampled rows, whose labels (s,) are given."""
    weights = sample.weights
    members = membership(labels, n_clusters)  # (C, s)
    sizes = np.asarray(members.sum(axis=1)).ravel()
    # The limit is at least twice the standard deviation that Cliff's delta has if the
    # cluster and the other rows do not differ.
    chance = 1 / sizes.clip(1) + 1 / (sizes.sum() - sizes).clip(1)
    limits = np.maximum(_NEGLIGIBLE, 2 * np.sqrt(chance / 3))
    typed = typed_columns(columns, roles)
    groups = Groups(labels, weights, members, sizes)
    profiles = [_profile(column, groups) for column in typed]
    shown = [p for p in profiles if (np.abs(p.effects) >= limits).any()]

    def importance(profile: ColumnProfile) -> float:
        effect = float(np.sqrt(groups.shares @ profile.effects**2))
        return effect * _DATE if profile.kind == "date" else effect

    shown.sort(key=importance, reverse=True)
    names = {profile.name for profile in shown}
    left_out = tuple(
        f"{name} (date)" if f"{name}{TIME_OF_DAY}" in names else name
        for name in columns
        if name not in names
    )
    alike = _alike(typed, groups)
    return ClusterProfiles(tuple(shown), left_out, len(labels), limits, original, alike)


def _alike(columns: Sequence[TypedColumn], groups: "Groups") -> frozenset[Any]:
    """Pairs of names of columns of numbers whose ranks are strongly correlated."""
    numeric = [c for c in columns if c.numbers is not None and c.kind != "boolean"]
    if len(numeric) < 2:
        return frozenset()
    ranks = np.nan_to_num(
        np.stack([groups.ranks(np.asarray(c.numbers)) for c in numeric]), nan=0.5
    )
    with np.errstate(invalid="ignore"):
        related = np.abs(np.corrcoef(ranks)) > _ALIKE
    names = [column.name for column in numeric]
    pairs = zip(*np.nonzero(related), strict=True)
    return frozenset((names[i], names[j]) for i, j in pairs if i != j)


class Groups:
    """The clusters of sampled rows: weighted shares of rows, and means of values."""

    def __init__(self, labels: Array, weights: Array, members: Any, sizes: Array):
        self.labels, self.weights, self.members, self.sizes = (
            labels, weights, members, sizes,
        )  # fmt: skip
        mass = members @ weights
        self.shares = mass / max(mass.sum(), 1e-300)

    def means(self, values: Array) -> Array:
        """Mean of the known values (s,) in each cluster (C,); 0 if there are none.

        Weights are not needed, because all rows of a cluster have the same weight.
        """
        known = ~np.isnan(values)
        sums = self.members @ np.where(known, values, 0)
        return np.asarray(sums / np.maximum(self.members @ known.astype(float), 1))

    def delta(self, position: Array) -> Array:
        """Cliff's delta (C,) of a cluster and the other rows, from mean ranks (C,)."""
        share = self.shares.clip(0, 1 - 1e-9)
        # The probability that a row of the cluster has a higher value than another row.
        above = (position - 0.5 * share) / (1 - share)
        return np.where(self.sizes > 0, np.clip(2 * above - 1, -1, 1), 0)

    def differences(self, shares: Array) -> Array:
        """Shares (C, v) in each cluster minus those in the other rows."""
        return (shares - self.shares @ shares) / (1 - self.shares[:, None]).clip(1e-9)

    def ranks(self, values: Array) -> Array:
        """Weighted mid-ranks (s,) of values, from 0 to 1; NaN stays NaN."""
        ranks = np.full(len(values), np.nan)
        known = np.flatnonzero(~np.isnan(values))
        distinct, at = np.unique(values[known], return_inverse=True)
        mass = np.bincount(at, self.weights[known], minlength=len(distinct))
        middle = (np.cumsum(mass) - mass / 2) / max(mass.sum(), 1e-300)
        ranks[known] = middle[at]
        return ranks


def _profile(column: TypedColumn, groups: Groups) -> ColumnProfile:
    if column.kind == "text":
        return _of_words(column, groups)
    if column.kind == "category":
        return _of_categories(column, groups)
    assert column.numbers is not None
    values = column.numbers
    if column.kind == "time":
        values = _times_in_order(values, groups.weights)
    known = ~np.isnan(values)
    mean = float(np.average(values[known], weights=groups.weights[known]))
    position = groups.means(groups.ranks(values))
    if column.kind == "boolean":
        return ColumnProfile(
            column.name,
            column.kind,
            column.unit,
            groups.delta(position),
            overall=mean,
            centers=groups.means(values),
            folded=np.zeros(len(position), dtype=bool),
            positions=position,
            distances=position,
        )
    quantiles = [0.05, 0.25, 0.5, 0.75, 0.95]
    limits = _quantiles(values[known], groups.weights[known], quantiles)
    median = limits[2]
    effects = groups.delta(position)
    distances = groups.means(groups.ranks(np.abs(values - median)))
    fold = groups.delta(distances)
    folded = (np.abs(effects) < _MEDIUM) & (np.abs(fold) / 2 > np.abs(effects))
    inside = [
        np.quantile(v, [0.25, 0.5, 0.75]) if len(v) else np.zeros(3)
        for v in (values[known & (groups.labels == k)] for k in range(len(effects)))
    ]
    per_cluster = np.array(inside)
    means = groups.means(values)
    apart = np.abs(means - per_cluster[:, 1])
    width = per_cluster[:, 2] - per_cluster[:, 0]
    extreme = bool(groups.shares @ ((apart > width) & (width > 0)) > 0.5)
    # "High, but less than average" would confuse readers.
    against = (np.abs(effects) >= _NEGLIGIBLE) & ((means - mean) * effects < 0)
    # The mean of times is wrong for times around midnight.
    extreme = extreme or bool(against.any()) or column.kind == "time"
    return ColumnProfile(
        column.name,
        column.kind,
        column.unit,
        np.where(folded, fold / 2, effects),
        average="median" if extreme else "mean",
        overall=median if extreme else mean,
        centers=per_cluster[:, 1] if extreme else means,
        limits=limits[[0, 1, 3, 4]],
        quartiles=per_cluster[:, [0, 2]],
        whole=bool((values[known] == np.round(values[known])).all()),
        positive=bool((values[known] >= 0).all()),
        folded=folded,
        positions=position,
        distances=distances,
    )


def _of_categories(column: TypedColumn, groups: Groups) -> ColumnProfile:
    """Shares of categories; missing values count as the category "missing"."""
    assert column.texts is not None
    texts = np.array([text or "missing" for text in column.texts])
    values, at, counts = np.unique(texts, return_inverse=True, return_counts=True)
    kept = np.argsort(-counts, kind="stable")[:_CATEGORIES]
    hot = np.zeros((len(values), len(groups.shares)))
    np.add.at(hot, (at, groups.labels), 1)
    shares = (hot / groups.sizes.clip(1)).T[:, kept]
    overall = groups.shares @ shares
    # A difference of shares counts only if chance alone would rarely cause it.
    noise = 2 * np.sqrt(overall * (1 - overall) / groups.sizes.clip(1)[:, None])
    more = groups.differences(shares)
    counts = (more > noise) & (more > _MORE) & (values[kept] != POOLED)
    effects = np.where(counts, more, 0).sum(axis=1).clip(0, 1)
    return ColumnProfile(
        column.name,
        column.kind,
        column.unit,
        np.where(groups.sizes > 0, effects, 0),
        values=tuple(values[kept].tolist()),
        shares=shares,
        overall_shares=overall,
    )


def _of_words(column: TypedColumn, groups: Groups) -> ColumnProfile:
    """Shares of texts that contain each of the most distinctive words."""
    words, counts = word_counts(column.texts, groups.members)
    shares = counts / groups.sizes.clip(1)[:, None]
    overall = groups.shares @ shares
    more = groups.differences(shares)
    kept = np.unique(np.argsort(-more, axis=1)[:, :_CLUSTER_WORDS])
    return ColumnProfile(
        column.name,
        column.kind,
        column.unit,
        more.max(axis=1, initial=0),
        values=tuple(words[j] for j in kept),
        shares=shares[:, kept],
        overall_shares=overall[kept],
    )


def _times_in_order(seconds: Array, weights: Array) -> Array:
    """Times of day (s,), where times before the start of the day count as later.

    The day usually starts at midnight. But if the three hours with the fewest rows have
    less than half as many rows as the three hours around midnight, the day starts in
    the middle of these three hours. So if people are active until 02:00, then 01:00 is
    late, not early.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect._profiles import _times_in_order
    >>> late = 3600.0 * np.array([9, 18, 22, 23, 0, 1])
    >>> (_times_in_order(late, np.ones(6)) / 3600).tolist()
    [9.0, 18.0, 22.0, 23.0, 24.0, 25.0]
    """
    hours = (seconds // 3600) % 24
    known = ~np.isnan(hours)
    rows = np.bincount(hours[known].astype(int), weights[known], minlength=24)
    around = rows + np.roll(rows, 1) + np.roll(rows, 2)  # hours j - 2 to j
    quietest = int(around.argmin())
    if around[quietest] >= around[1] / 2:
        return seconds
    start = 3600 * (quietest - 0.5)
    return (seconds - start) % 86_400 + start


def _quantiles(values: Array, weights: Array, quantiles: Sequence[float]) -> Array:
    """Weighted quantiles; each is one of the values."""
    order = np.argsort(values)
    mass = np.cumsum(weights[order])
    at = np.searchsorted(mass, np.asarray(quantiles) * mass[-1])
    return values[order][at.clip(0, len(values) - 1)]
