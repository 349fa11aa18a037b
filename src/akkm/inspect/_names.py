"""Short names of clusters, made from the columns in which they differ most."""

from collections import Counter

from akkm.inspect._column_profile import ColumnProfile
from akkm.inspect._inspection import Inspection
from akkm.inspect._profiles import ClusterProfiles
from akkm.inspect._typed import TIME_OF_DAY

# Usual number of columns in a name, and the maximum if names would be equal otherwise.
_USUAL, _MOST = 2, 4
# Maximum number of characters of a part of a name: the words about one column.
_LONGEST = 40
# In such a part, the name of the column is not cut to fewer characters than this.
_SHORTEST = 12
# The name of a column with more words than this may be a question.
_QUESTION = 3
# The name says "often" before a value if less than this share of the cluster's rows
# have the value. It says "no" after a yes/no column only if less than this share of the
# cluster's rows say yes.
_AGREE = 0.5
# The name says "very high" if Cliff's delta is at least this large: a random row of the
# cluster has a higher value than a random other row with probability 0.9. "Very low"
# is analogous.
_VERY = 0.8
# The name says "not" before a category if a smaller share of the cluster's rows has it.
_NONE = 0.01
# The rise of a category is its share in the cluster minus its share in all rows. The
# name mentions a second category if its rise is at least this fraction of the first
# category's rise.
_ALIKE = 0.9


def cluster_names(facts: Inspection) -> tuple[str, ...]:
    """Name each cluster by the columns in which it differs most from the other rows.

    If the model was fitted with known classes, a name begins with the cluster's class.

    Parameters
    ----------
    facts : Inspection
        The fitted model and its rows.

    Returns
    -------
    tuple of C str
        A name per cluster number; all names are different. A cluster that differs in no
        column, or has no rows, is called "cluster" and its number.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.inspect import Inspection, cluster_names
    >>> X = np.r_[np.arange(50.0), np.arange(150.0, 200)][:, None]
    >>> model = ApproxKernelKMeans(2, kernel="linear", random_state=0).fit(X)
    >>> sorted(cluster_names(Inspection(model, X, feature_names=["age"])))
    ['very high age', 'very low age']
    """
    classes = getattr(facts.model, "label_names_", None) or [None] * facts.n_clusters
    return tuple(
        name if known is None else f"{known}: {name}"
        for known, name in zip(classes, _names_from_columns(facts), strict=True)
    )


def _names_from_columns(facts: Inspection) -> list[str]:
    """Name each cluster by the columns in which it differs most."""
    found = facts.profiles
    numbers = range(facts.n_clusters)
    if found is None:
        return [f"cluster {k}" for k in numbers]
    # Names must not depend on texts that were not clustered, because not all callers
    # have these texts.
    ignored = facts.text_columns
    parts = [_parts(found, k, ignored) if facts.sizes[k] else [] for k in numbers]
    names = [", ".join(p[:_USUAL]) for p in parts]
    for length in range(_USUAL + 1, _MOST + 1):
        shared = Counter(names)
        names = [
            ", ".join(p[:length]) if shared[name] > 1 else name
            for name, p in zip(names, parts, strict=True)
        ]
    shared = Counter(names)
    return [
        f"cluster {k}" if not name else name if shared[name] == 1 else f"{name} ({k})"
        for k, name in enumerate(names)
    ]


def _parts(
    found: ClusterProfiles, cluster: int, ignored: tuple[str, ...] = ()
) -> list[str]:
    """Words for the columns in which a cluster differs, largest difference first."""
    traits = (c for c in found.traits(cluster) if c.name not in ignored)
    parts = (_part(column, cluster) for column in traits)
    return [part for part in parts if part][:_MOST]


def _part(column: ColumnProfile, cluster: int) -> str:
    name, more = column.title, bool(column.effects[cluster] > 0)
    if column.kind == "text":
        words = [column.values[j] for j in column.top_values(cluster, 3)]
        return _cut(", ".join(words))
    if column.kind == "category":
        return _category(column, cluster)
    if column.kind == "boolean":
        if column.centers[cluster] >= _AGREE:
            return _cut(name) if more else ""
        return _around("often ", name) if more else _around("", name, ": no")
    if column.folded[cluster]:
        return _around("low or high " if more else "average ", name)
    very = "very " if abs(column.effects[cluster]) >= _VERY else ""
    if column.kind in ("date", "time"):
        early = "late" if more else "early"
        if name.endswith(TIME_OF_DAY):
            name = name.removesuffix(TIME_OF_DAY)
            return _around("", name, f" {very}{early} in the day")
        return _around("", name, f" {very}{early}")
    return _around(f"{very}{'high' if more else 'low'} ", name)


def _category(column: ColumnProfile, cluster: int) -> str:
    """Words for a category that is rare in a cluster, or else for frequent ones."""
    shares, overall = column.shares[cluster], column.overall_shares
    if (rare := column.avoided_value(cluster)) is not None:
        few = "not" if shares[rare] < _NONE else "rarely"
        return _around("", column.title, f" {few} {column.values[rare]}")
    top = column.top_values(cluster, 2)
    if not top:
        return ""
    often = "" if shares[top[0]] >= _AGREE else "often "
    values = [column.values[j] for j in top]
    rises = [shares[j] - overall[j] for j in top]
    alike = len(top) == 2 and min(rises) >= _ALIKE * max(rises)
    text = " or ".join(values if alike else values[:1])
    # A colon separates a question from the answer.
    between = ": " if len(column.title.split()) > _QUESTION else " "
    return _around(often, column.title, f"{between}{text}")


def _around(before: str, title: str, after: str = "") -> str:
    """A text around the name of a column. If it would be too long, the name is cut."""
    rest = len(before) + len(after)
    if rest + len(title) > _LONGEST:
        title = title[: max(_LONGEST - rest, _SHORTEST) - 1].rstrip() + "…"
    return _cut(before + title + after)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
