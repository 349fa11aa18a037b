"""The meta-clustering algorithm MCLA, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from akkm.consensus._contingency import average_nmi, contingency, fuse, jaccard
from akkm.consensus._labelings import check_labelings, encode
from akkm.consensus._partition import MetaGraph, Partitioner, get_partitioner, renumber
from akkm.consensus._votes import MetaClusters
from akkm.core.threads import Threads
from akkm.typing import Array
from akkm.validation import generator, require_count, validated_weights


@dataclass(frozen=True, eq=False)
class Consensus:
    """One partition that combines several.

    Parameters
    ----------
    labels : int32 array of shape (n,)
        The cluster of each row, in 0 .. n_clusters - 1.
    agreement : array of shape (n,)
        The share of members that agree with the label of each row, in [0, 1].
    anmi : float
        Mean normalised mutual information (`akkm.metrics.nmi`) of the labels and each
        member.
    meta : MetaClusters
        The meta-cluster of each cluster of the members; `meta.vote` labels new rows.
    n_groups : int
        The number of groups of rows. Rows that are in the same cluster of any member
        belong to the same group. If there are more groups than meta-clusters, nothing
        shows which groups belong together, and labels and agreement are arbitrary.

    Examples
    --------
    >>> from akkm.consensus import mcla
    >>> consensus = mcla([[0, 0, 1, 1], [1, 1, 0, 0]], 2)
    >>> consensus.labels, consensus.anmi, consensus.n_groups
    (array([0, 0, 1, 1], dtype=int32), 1.0, 2)
    """

    labels: Array
    agreement: Array
    anmi: float
    meta: MetaClusters
    n_groups: int


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

    The clusters of all members are the vertices of a graph, with Jaccard similarities
    as edges. The graph is cut into `n_clusters` meta-clusters. Each row is assigned to
    the meta-cluster with the largest share of clusters that contain the row.

    Parameters
    ----------
    labelings : list of r arrays of shape (n,), or array of shape (r, n)
        The labels that each member gives, of any sortable type. Members may have
        different labels and different numbers of clusters.
    n_clusters : int
        The number of meta-clusters. Some of them may get no rows. With "matching", this
        always happens if every member has fewer than `n_clusters` clusters.
    partitioner : {"matching", "metis"}, default="matching"
        How the graph is cut. "matching" matches members' clusters one to one with
        meta-clusters until no member has a better match. "metis" is the paper's graph
        partitioner, and needs pymetis.
    sample_weight : array of shape (n,), optional
        The weight of each row. A weight of two is the same as a row given twice. Rows
        of weight zero have no influence, but get labels.
    random_state : int, RandomState instance or None, default=None
        The seed for ties between meta-clusters, and for METIS.
    n_jobs : int, optional
        The number of threads; all by default. It does not change the result.

    Returns
    -------
    Consensus
        Labels, agreement, and the meta-clusters to label new rows.

    See Also
    --------
    bipartite_cut : For members that have more clusters than the consensus has.

    Notes
    -----
    For n rows and r members, MCLA takes O(n r²) time and O(n r) memory, besides the
    graph.

    Meta-clusters are numbered in the order of their first clusters. If the first
    member's clusters match the meta-clusters one to one, the consensus therefore keeps
    the first member's numbers. Two rows to which every member gives equal labels get
    the same label, even if there is a tie.

    Examples
    --------
    Names of labels do not matter. In the third row, two members outvote the other one:

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
    cut = get_partitioner(partitioner)
    return combine(
        labelings, n_clusters, cut, False, sample_weight, random_state, n_jobs
    )


def combine(
    labelings: Sequence[ArrayLike] | Array,
    n_clusters: int,
    cut: Partitioner,
    majority: bool,
    sample_weight: ArrayLike | None,
    random_state: Any,
    n_jobs: int | None,
) -> Consensus:
    """Group clusters into meta-clusters by `cut`, and let members vote for them.

    The votes for a meta-cluster are divided by the number of clusters in it. A row gets
    the meta-cluster with the largest quotient. With `majority`, votes are not divided:
    a row gets the meta-cluster with the most votes.
    """
    members = check_labelings(labelings)
    weights = validated_weights(sample_weight, members[0])
    require_count("n_clusters", n_clusters)
    # Two generators, so that ties do not depend on how many numbers a partitioner
    # draws.
    for_cut, for_ties = generator(random_state).spawn(2)

    encoded = [encode(labels) for labels in members]
    values = tuple(labeling.values for labeling in encoded)
    groups = fuse(encoded)
    shared = contingency(groups, weights)
    member = np.repeat(np.arange(len(values)), [len(v) for v in values])
    # Clusters that only have rows of weight zero must not influence the cut.
    used = np.flatnonzero(shared.diagonal() > 0)
    if len(used) < n_clusters:
        raise ValueError(
            f"n_clusters={n_clusters}, but all labelings together have only "
            f"{len(used)} clusters (of positive weight); expected at least n_clusters. "
            "Lower n_clusters or give labelings with more clusters."
        )
    similarity = jaccard(shared[np.ix_(used, used)])
    graph = MetaGraph(similarity, shared.diagonal()[used], member[used])
    part = np.full(len(member), -1)
    part[used] = renumber(cut(graph, n_clusters, for_cut))
    unused = part < 0
    if unused.any():  # clusters of weight zero join the most similar meta-cluster
        similarity = jaccard(contingency(groups, None))
        inside = part[:, None] == np.arange(n_clusters)
        part[unused] = (similarity[unused] @ inside).argmax(axis=1)

    sizes = np.bincount(part[used], minlength=n_clusters)
    meta = MetaClusters(
        values=values,
        parts=tuple(part[member == q] for q in range(len(values))),
        sizes=np.ones(n_clusters, dtype=np.intp) if majority else sizes,
        salt=_salt(len(values), part, shared.diagonal(), n_clusters, for_ties),
    )
    with Threads(n_jobs) as engine:
        votes = meta.vote_codes([labeling.codes for labeling in encoded], engine)
    anmi = average_nmi(votes.labels, n_clusters, groups, weights)
    n_groups = connected_components(graph.similarity, directed=False)[0]
    return Consensus(votes.labels, votes.agreement, anmi, meta, int(n_groups))


def _salt(
    r: int, part: Array, weight: Array, n_clusters: int, rng: np.random.Generator
) -> Array:
    """Random numbers (r + 1, C) that decide ties.

    Meta-clusters get the numbers in order of decreasing weight, so that the numbering
    of the meta-clusters has no effect.
    """
    order = np.argsort(-np.bincount(part, weight, minlength=n_clusters), kind="stable")
    salt = np.empty((r + 1, n_clusters), dtype=np.uint64)
    salt[:, order] = rng.integers(2**64, size=salt.shape, dtype=np.uint64)
    return salt
