"""The meta-graph, whose vertices are clusters, and its cut into meta-clusters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from akkm.extras import import_extra
from akkm.typing import Array

# Maximum number of members that are tried as the reference.
_REFERENCES = 10
# Maximum number of rounds of matching for each reference.
_ROUNDS = 50
# A cluster moves to another meta-cluster only if its mean similarity rises by more than
# this number. Smaller differences may be rounding errors.
_STAY = 1e-9
# Maximum of an integer edge weight for METIS.
_LARGEST_WEIGHT = 10**6
# Maximum of the sum of all edge weights, because METIS adds weights in 32 bits.
_LARGEST_SUM = 2**30


@dataclass(frozen=True, eq=False)
class MetaGraph:
    """The V clusters of all members, and their similarities."""

    similarity: Array  # (V, V) Jaccard, zero on the diagonal
    weight: Array  # (V,) total weight of each cluster's rows, positive
    member: Array  # (V,) the member that each cluster belongs to


Partitioner = Callable[[MetaGraph, int, np.random.Generator], Array]


def matching(graph: MetaGraph, n_clusters: int, rng: np.random.Generator) -> Array:
    """Meta-clusters (V,) by repeatedly matching members' clusters one to one.

    Each of several members serves once as the reference. The partition with the largest
    similarity within meta-clusters is returned. `rng` is not used: the result is not
    random.
    """
    # Members whose clusters are most similar to clusters of other members come first.
    affinity = np.bincount(graph.member, weights=graph.similarity.sum(axis=1))
    order = np.argsort(-affinity, kind="stable")
    count = np.minimum(np.bincount(graph.member)[order], n_clusters)
    references = order[count == count.max()][:_REFERENCES]
    parts = [_match_all(graph, n_clusters, order, q) for q in references]
    return max(parts, key=lambda part: graph.similarity[part[:, None] == part].sum())


def _match_all(
    graph: MetaGraph, n_clusters: int, order: Array, reference: int
) -> Array:
    """Meta-clusters (V,), grown from the heaviest clusters of a reference member."""
    part = np.full(len(graph.member), -1)  # -1: not in a meta-cluster yet
    own = np.flatnonzero(graph.member == reference)
    heaviest = np.argsort(-graph.weight[own], kind="stable")[:n_clusters]
    part[own[heaviest]] = np.arange(len(heaviest))
    for q in order[order != reference]:
        _match(graph, n_clusters, part, q)
    for _ in range(_ROUNDS):
        before = part.copy()
        for q in order:
            _match(graph, n_clusters, part, q)
        if (part == before).all():
            break
    return part


def _match(graph: MetaGraph, n_clusters: int, part: Array, q: int) -> None:
    """Match member q's clusters with meta-clusters of the others; update `part`."""
    own = np.flatnonzero(graph.member == q)
    before = part[own]
    part[own] = -1
    gain = _mean_similarity(graph.similarity[own], part, n_clusters)  # (C_q, C)
    gain += _STAY * (before[:, None] == np.arange(n_clusters))
    # If a member has more than C clusters, several may join the same meta-cluster.
    slots = -(-len(gain) // n_clusters)
    rows, slot = linear_sum_assignment(np.tile(gain, slots), maximize=True)
    part[own[rows]] = slot % n_clusters


def _mean_similarity(similarity: Array, part: Array, n_clusters: int) -> Array:
    """Means of similarity (C_q, V) over the vertices of each meta-cluster: (C_q, C)."""
    order = np.argsort(part, kind="stable")  # vertices without a meta-cluster first
    starts = np.searchsorted(part[order], np.arange(n_clusters + 1))
    size = np.diff(starts)
    filled = size > 0  # reduceat can't sum empty ranges
    means = np.zeros((len(similarity), n_clusters))
    if filled.any():
        sums = np.add.reduceat(similarity[:, order], starts[:-1][filled], axis=1)
        means[:, filled] = sums / size[filled]
    return means


def metis(graph: MetaGraph, n_clusters: int, rng: np.random.Generator) -> Array:
    """Meta-clusters (V,) by METIS, as in the paper."""
    pymetis = _pymetis()
    seed = int(rng.integers(2**31 - 1))
    if n_clusters == 1:
        return np.zeros(len(graph.member), dtype=np.intp)
    scale = min(_LARGEST_WEIGHT, _LARGEST_SUM / max(graph.similarity.sum(), 1))
    edges = np.rint(graph.similarity * scale).astype(np.int32)
    tails, heads = np.nonzero(edges)
    starts = np.searchsorted(tails, np.arange(len(edges) + 1))
    _, part = pymetis.part_graph(
        n_clusters,
        pymetis.CSRAdjacency(starts.astype(np.int32), heads.astype(np.int32)),
        eweights=edges[tails, heads],
        options=pymetis.Options(seed=seed),
    )
    return np.asarray(part, dtype=np.intp)


def _pymetis() -> Any:
    return import_extra("pymetis", "partitioner='metis' needs pymetis", "metis")


PARTITIONERS: dict[str, Partitioner] = {"matching": matching, "metis": metis}


def get_partitioner(name: str) -> Partitioner:
    """Look up the function that cuts the graph of clusters into meta-clusters.

    Parameters
    ----------
    name : {"matching", "metis"}
        The partitioner, as in `mcla`.

    Returns
    -------
    callable
        A function of the graph, the number of meta-clusters and a random generator.

    Raises
    ------
    ValueError
        If the name is unknown.
    ImportError
        If the name is "metis" and pymetis is not installed.

    Examples
    --------
    >>> from akkm.consensus import get_partitioner
    >>> get_partitioner("matching").__name__
    'matching'
    """
    if name not in PARTITIONERS:
        raise ValueError(
            f"Unknown partitioner {name!r}; expected one of {', '.join(PARTITIONERS)}."
        )
    if name == "metis":
        _pymetis()
    return PARTITIONERS[name]


def renumber(part: Array) -> Array:
    """The meta-clusters (V,), numbered in the order of their first vertices.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.consensus._partition import renumber
    >>> renumber(np.array([4, 1, 4, 0]))
    array([0, 1, 0, 2])
    """
    _, first, place = np.unique(part, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place]
