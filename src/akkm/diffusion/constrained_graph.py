"""Edit the neighbour graph so that random walks spread constraints to near rows.

Rows that belong together are linked, and edges between rows that belong apart are
removed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from akkm.core.threads import Threads
from akkm.diffusion.class_shares import class_shares
from akkm.diffusion.diffusion_time import unit_rows
from akkm.diffusion.point_clusters import cluster_points
from akkm.guided.constraints import Constraints
from akkm.typing import Array

# Total weight of the links added to a row, divided by the total weight of its edges.
_LINK_SHARE = 1.0
# Coordinates of known classes count this many times as much as the other coordinates.
_CLASS_WEIGHT = 3.0


@dataclass(frozen=True)
class GraphEdit:
    """Applies constraints to a graph and to its embedding."""

    constraints: Constraints
    join_classes: bool

    def __call__(self, W: Any, rows: Array) -> Any:
        """Return the edited similarities W (u, u); rows[i] is the row of node i."""
        return constrain_graph(W, self.constraints, rows)

    def extend(
        self,
        points: Array,
        W: Any,
        rows: Array,
        n_clusters: int,
        engine: Threads,
        rng: np.random.Generator,
    ) -> Array:
        """Add coordinates to points (v, q): the share of each class at each node.

        W (v, v) are the edited similarities of the nodes, and `rows` (v,) their rows.
        The shares are estimated from clusters of the points and from known classes.
        Points stay unchanged unless there are several classes with one cluster each.
        """
        if not self.join_classes or len(self.constraints.classes) < 2:
            return points
        known, classes = _known_nodes(self.constraints, rows)
        labels = cluster_points(points, n_clusters, engine, rng)
        shares = class_shares(W, labels, n_clusters, known, classes)
        near = (_CLASS_WEIGHT * unit_rows(shares)).astype(points.dtype)
        return unit_rows(np.hstack([points, near]))


def _known_nodes(constraints: Constraints, rows: Array) -> tuple[Array, Array]:
    """Return the nodes (b,) whose class is known, and their classes (b,).

    `rows` (u,) has the row of each node.
    """
    node = np.full(constraints.n, -1)
    node[rows] = np.arange(len(rows))
    classes = constraints.group_classes()[constraints.group]
    own = node[constraints.rows]
    given = (own >= 0) & (classes >= 0)
    return own[given], classes[given]


def constrain_graph(W: Any, constraints: Constraints, rows: Array) -> Any:
    """Edit the similarities of a graph.

    Parameters
    ----------
    W : symmetric CSR array of shape (u, u)
        Similarities of the nodes.
    constraints : Constraints
        Constraints on the rows.
    rows : int array of shape (u,)
        The row of each node.

    Returns
    -------
    symmetric CSR array of shape (u, u)
        W with links inside must-link groups. It has no edges between rows of different
        classes or between rows of a cannot-link pair.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from akkm.diffusion.constrained_graph import constrain_graph
    >>> from akkm.guided.constraints import read_constraints
    >>> W = sparse.csr_array(np.array([[0.0, 2, 0], [2, 0, 2], [0, 2, 0]]))
    >>> found = read_constraints(3, known={0: "a", 1: "b"}, must_link=[(0, 2)])
    >>> constrain_graph(W, found, np.arange(3)).toarray().round(6).tolist()
    [[0.0, 0.0, 2.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
    """
    node = np.full(constraints.n, -1)
    node[rows] = np.arange(len(rows))
    own = node[constraints.rows]  # (r,) the node of each constrained row, or -1
    inside = np.flatnonzero(own >= 0)
    own, group = own[inside], constraints.group[inside]
    classes = constraints.group_classes()
    degree = np.asarray(W.sum(axis=1)).ravel().astype(np.float64)
    added = _weighted(_rings(own, group, W.shape[0]), degree)
    W = _without_edges(W, constraints, own, group, classes)
    return sparse.csr_array(W + added.astype(W.dtype))


def _rings(nodes: Array, sets: Array, u: int) -> Any:
    """Link nodes (b,) of equal `sets` (b,): a symmetric 0/1 matrix (u, u).

    The nodes of a set form a ring. Each node is linked to the nodes that follow it at
    distances 1, 2, 4, 8, … on the ring. So there are few links, but every node is
    reached in few steps.
    """
    order = np.argsort(sets, kind="stable")
    nodes, sets = nodes[order], sets[order]
    _, start, size = np.unique(sets, return_index=True, return_counts=True)
    begin, length = np.repeat(start, size), np.repeat(size, size)
    place = np.arange(len(nodes)) - begin
    ends: list[tuple[Array, Array]] = []
    step = 1
    while len(size) and step < size.max():
        linked = np.flatnonzero(length > step)
        other = begin[linked] + (place[linked] + step) % length[linked]
        ends.append((nodes[linked], nodes[other]))
        step *= 2
    first = np.concatenate([a for a, _ in ends]) if ends else np.empty(0, int)
    second = np.concatenate([b for _, b in ends]) if ends else np.empty(0, int)
    ones = np.ones(len(first))
    links = sparse.csr_array((ones, (first, second)), shape=(u, u))
    links = links.maximum(links.T)
    links.data[:] = 1
    return sparse.csr_array(links)


def _weighted(links: Any, degree: Array) -> Any:
    """Return the links (u, u) with weights in proportion to the degrees (u,)."""
    count = np.asarray(links.sum(axis=1)).ravel()
    usual = float(np.median(degree)) if len(degree) else 0.0
    total = np.where(degree > 0, degree, usual)
    scale = np.sqrt(_LINK_SHARE * total / np.maximum(count, 1))
    scale = sparse.diags_array(scale)
    return scale @ links @ scale


def _without_edges(
    W: Any, constraints: Constraints, own: Array, group: Array, classes: Array
) -> Any:
    """Remove the edges of W (u, u) between rows that belong to different clusters."""
    of_node = np.full(W.shape[0], -1)
    of_node[own] = group
    edges = W.tocoo()
    a, b = of_node[edges.row], of_node[edges.col]
    both = (a >= 0) & (b >= 0)
    apart = both & (classes[a] >= 0) & (classes[b] >= 0) & (classes[a] != classes[b])
    pairs = constraints.group[constraints.positions(constraints.cannot_link)]
    codes = np.concatenate([pairs, pairs[:, ::-1]]) @ [constraints.n_groups, 1]
    apart |= both & np.isin(a * constraints.n_groups + b, codes)
    kept = ~apart
    return sparse.csr_array(
        (edges.data[kept], (edges.row[kept], edges.col[kept])), shape=W.shape
    )
