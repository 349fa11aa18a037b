"""The meta-clustering algorithm, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from akkm.consensus._contingency import average_nmi, contingency, fuse, jaccard
from akkm.consensus._labelings import check_labelings, check_weights, encode
from akkm.consensus._partition import (
    MetaGraph,
    Partitioner,
    get_partitioner,
    number,
)
from akkm.consensus._votes import MetaClusters
from akkm.core.threads import Threads
from akkm.validation import generator, require_count

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Consensus:
    """One partition that several have in common.

    Attributes
    ----------
    labels : int32 array of shape (n,)
        The cluster of each row, in 0 .. n_clusters - 1.
    agreement : array of shape (n,)
        The share of members that are of the same opinion, in [0, 1].
    anmi : float
        Mean normalised mutual information (geometric) of the labels and each member.
    meta : MetaClusters
        Which clusters of the members belong together; `meta.vote` labels new rows.

    Examples
    --------
    >>> from akkm.consensus import mcla
    >>> consensus = mcla([[0, 0, 1, 1], [1, 1, 0, 0]], 2)
    >>> consensus.labels, consensus.anmi
    (array([0, 0, 1, 1], dtype=int32), 1.0)
    """

    labels: Array
    agreement: Array
    anmi: float
    meta: MetaClusters


def mcla(
    labelings: Sequence[ArrayLike] | Array,
    n_clusters: int,
    *,
    partitioner: str = "matching",
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Consensus:
    """Combine several partitions of the same rows into one (the paper's Algorithm 3).

    Clusters of all members are vertices of a graph, joined by their Jaccard
    similarities. It is cut into `n_clusters` meta-clusters, and every row goes to the
    meta-cluster with the largest share of clusters that contain the row. It takes
    O(n r²) time and O(n r) memory for n rows and r members, beside the graph.

    Parameters
    ----------
    labelings : list of r arrays of shape (n,), or array of shape (r, n)
        Labels of any sortable kind; members may differ in their labels and in how many
        clusters they have.
    n_clusters : int
        The number of meta-clusters. Rows may come to use fewer of them, surely so if
        no member has as many clusters.
    partitioner : {"matching", "metis"}, default="matching"
        How the graph is cut. `"matching"` matches members' clusters one to one with
        meta-clusters until no member has a better match; `"metis"` is the paper's
        graph partitioner, and needs pymetis.
    sample_weight : array of shape (n,), optional
        A weight of two is a row given twice. A row of weight zero counts for nothing,
        but gets a label.
    random_state : int, RandomState instance or None, default=None
        Decides ties between meta-clusters, and is METIS's seed.
    n_jobs : int, optional
        Threads; all by default. Results do not depend on it.

    Returns
    -------
    Consensus

    Notes
    -----
    Clusters have the numbers of the first member's where these are one to one with
    meta-clusters: meta-clusters are numbered by the first cluster that is in them.
    Rows with the same labels by all members get the same label, ties or not.

    Examples
    --------
    Names do not matter, and two of three outvote the third in row 2:

    >>> from akkm.consensus import mcla
    >>> consensus = mcla(
    ...     [[0, 0, 0, 1, 1, 1], ["b", "b", "b", "a", "a", "a"], [7, 7, 5, 5, 5, 5]],
    ...     n_clusters=2,
    ... )
    >>> consensus.labels
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> consensus.agreement.round(2)
    array([1.  , 1.  , 0.67, 1.  , 1.  , 1.  ])
    >>> round(consensus.anmi, 3)
    0.826
    """
    return combine(
        labelings,
        n_clusters,
        get_partitioner(partitioner),
        sample_weight=sample_weight,
        random_state=random_state,
        n_jobs=n_jobs,
    )


def combine(
    labelings: Sequence[ArrayLike] | Array,
    n_clusters: int,
    cut: Partitioner,
    *,
    majority: bool = False,
    sample_weight: ArrayLike | None,
    random_state: Any,
    n_jobs: int | None,
) -> Consensus:
    """Meta-clusters by any cut, and votes for them.

    The largest share of a meta-cluster's clusters wins, or plainly most votes.
    """
    members = check_labelings(labelings)
    weights = check_weights(sample_weight, len(members[0]))
    require_count("n_clusters", n_clusters)
    # One each, so that partitioners that agree on the meta-clusters agree on ties.
    for_cut, for_ties = generator(random_state).spawn(2)

    encoded = [encode(labels) for labels in members]
    values = tuple(labeling.values for labeling in encoded)
    groups = fuse(encoded)
    shared = contingency(groups, weights)
    # Clusters that only rows of weight zero are in: whether these come or go, the
    # others are cut in the same way.
    weightless = shared.diagonal() == 0
    member = np.repeat(np.arange(len(values)), [len(v) for v in values])
    part = np.empty(len(member), dtype=np.intp)
    part[~weightless] = _cut(shared, member, ~weightless, n_clusters, cut, for_cut)
    if weightless.any():
        rows_shared = jaccard(contingency(groups, None))
        part[weightless] = _nearest(rows_shared, part, weightless, n_clusters)

    sizes = np.bincount(part[~weightless], minlength=n_clusters)
    meta = MetaClusters(
        values=values,
        parts=tuple(part[member == q] for q in range(len(values))),
        sizes=np.ones(n_clusters, dtype=np.intp) if majority else sizes,
        salt=_salt(len(values), part, shared.diagonal(), n_clusters, for_ties),
    )
    with Threads(n_jobs) as engine:
        votes = meta.count([labeling.codes for labeling in encoded], engine)
    anmi = average_nmi(votes.labels, n_clusters, groups, weights)
    return Consensus(votes.labels, votes.agreement, anmi, meta)


def _cut(
    shared: Array,
    member: Array,
    there: Array,
    n_clusters: int,
    cut: Partitioner,
    rng: np.random.Generator,
) -> Array:
    """Meta-clusters of the clusters that are there."""
    if there.sum() < n_clusters:
        raise ValueError(
            f"n_clusters={n_clusters}, but all labelings together have only "
            f"{there.sum()} clusters (of positive weight); expected at least as many. "
            "Lower n_clusters or give labelings with more clusters."
        )
    shared = shared[np.ix_(there, there)]
    graph = MetaGraph(jaccard(shared), shared.diagonal(), member[there])
    return number(cut(graph, n_clusters, rng))


def _nearest(
    similarity: Array, part: Array, weightless: Array, n_clusters: int
) -> Array:
    """The meta-cluster most similar to each weightless cluster."""
    inside = (part[:, None] == np.arange(n_clusters)) & ~weightless[:, None]
    return (similarity[weightless] @ inside).argmax(axis=1)


def _salt(
    r: int, part: Array, weight: Array, n_clusters: int, rng: np.random.Generator
) -> Array:
    """Random numbers (r + 1, C) for ties; they go with weights, not with names."""
    order = np.argsort(-np.bincount(part, weight, minlength=n_clusters), kind="stable")
    salt = np.empty((r + 1, n_clusters), dtype=np.uint64)
    salt[:, order] = rng.integers(2**64, size=salt.shape, dtype=np.uint64)
    return salt
