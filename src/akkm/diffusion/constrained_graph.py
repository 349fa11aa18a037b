"""Constraints as edits of the neighbour graph, so that walks carry them to near rows.

Rows that belong together are linked, and edges between rows that belong apart are
removed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from akkm.diffusion.diffusion_time import unit_rows
from akkm.guided.constraints import Constraints
from akkm.typing import Array

# Total weight of the links added to a row, divided by the total weight of its edges.
_LINK_SHARE = 1.0
# Share ε of the walks that end in each step, when scores of classes are computed. If
# there are fewer known rows per class than _MANY_PER_CLASS, walks are longer, and the
# coordinates of the classes weigh less, in proportion to the known rows per class.
_KILLED, _MANY_PER_CLASS = 1e-2, 25
# Classes are smoothed in _ROUNDS rounds. In each round, the class of each node spreads
# by walks of _STEPS steps.
_ROUNDS, _STEPS = 4, 4
# Conjugate gradients stop at this relative residual, or after this many steps.
_RESIDUAL, _MOST_STEPS = 1e-4, 500


@dataclass(frozen=True)
class GraphEdit:
    """Applies constraints to a graph and to its embedding."""

    constraints: Constraints
    join_classes: bool

    def __call__(self, W: Any, rows: Array) -> Any:
        """Return the edited similarities W (u, u); rows[i] is the row of node i."""
        return constrain_graph(W, self.constraints, rows, self.join_classes)

    def extend(self, points: Array, W: Any, rows: Array) -> Array:
        """Add coordinates to points (v, q): how near they are to each known class.

        W (v, v) are the edited similarities of the nodes, and `rows` (v,) their rows.
        With few known rows per class, these coordinates weigh less than the others.
        Points stay unchanged unless there are several classes with one cluster each.
        """
        if not self.join_classes or len(self.constraints.classes) < 2:
            return points
        scores = class_scores(W, self.constraints, rows)
        known, classes = _known_nodes(self.constraints, rows)
        shares = smooth_classes(W, scores, known, classes)
        per_class = len(known) / len(self.constraints.classes)
        trusted = min(1.0, per_class / _MANY_PER_CLASS)
        near = (trusted * unit_rows(shares)).astype(points.dtype)
        return unit_rows(np.hstack([points, near]))


def class_scores(W: Any, constraints: Constraints, rows: Array) -> Array:
    """Compute how near each node is to the known rows of each class, by walks.

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
    array of shape (u, number of classes)
        The scores F that solve (D - W + ε D) F = B, where D is the diagonal matrix of
        degrees (Poisson learning, Calder, Cook, Thorpe and Slepčev 2020). ε is 0.01, or
        less if there are few known rows per class. For a known row of class c, the row
        of B is (e_c - 1 / g) / n_c. Here e_c is the indicator vector of class c, g is
        the number of classes, and n_c is the number of known rows of class c. So all
        classes have the same weight. Other rows of B are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from akkm.diffusion.constrained_graph import class_scores
    >>> from akkm.guided.constraints import read_constraints
    >>> W = sparse.diags_array([[1.0] * 3, [1.0] * 3], offsets=[1, -1]).tocsr()
    >>> found = read_constraints(4, known={0: "a", 3: "b"})
    >>> class_scores(W, found, np.arange(4)).argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """
    own, classes = _known_nodes(constraints, rows)
    indicator = np.eye(len(constraints.classes))[classes]
    indicator /= np.maximum(indicator.sum(axis=0), 1)
    B = np.zeros((W.shape[0], indicator.shape[1]))
    np.add.at(B, own, indicator - indicator.sum(axis=1, keepdims=True) / len(B.T))
    degree = np.asarray(W.sum(axis=1)).ravel().astype(np.float64)
    scale = 1 / np.sqrt(np.where(degree > 0, degree, 1))
    scaled = sparse.diags_array(scale)
    S = sparse.csr_array(scaled @ W.astype(np.float64) @ scaled)
    per_class = len(own) / max(len(constraints.classes), 1)
    killed = _KILLED * min(1.0, per_class / _MANY_PER_CLASS) ** 2
    return scale[:, None] * _solve(S, scale[:, None] * B, killed)


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


def smooth_classes(W: Any, scores: Array, known: Array, classes: Array) -> Array:
    """Compute how many of the walks from each node end in each class.

    First, each node gets the class of its largest score. Then there are four rounds. In
    each round, walks of four steps start from each node, and the node gets the class in
    which most of them end. Known nodes keep their class. So a node gets the class of
    the nodes around it (threshold dynamics of Merriman, Bence and Osher, on a graph).

    Parameters
    ----------
    W : symmetric CSR array of shape (u, u)
        Similarities of the nodes.
    scores : array of shape (u, g)
        A score of each node for each class.
    known : int array of shape (b,)
        Nodes whose class is known.
    classes : int array of shape (b,)
        Their classes.

    Returns
    -------
    array of shape (u, g)
        The share of walks that end in each class, in the last round.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from akkm.diffusion.constrained_graph import smooth_classes
    >>> W = sparse.csr_array(np.ones((5, 5)))
    >>> scores = np.array([[2, 1], [2, 1], [2, 1], [1, 2], [2, 1]])
    >>> smooth_classes(W, scores, np.array([0]), np.array([0])).argmax(axis=1).tolist()
    [0, 0, 0, 0, 0]
    """
    degree = np.asarray(W.sum(axis=1)).ravel()
    steps = sparse.diags_array(1 / np.where(degree > 0, degree, 1)) @ W
    steps = sparse.csr_array(steps)
    indicator = np.eye(scores.shape[1])
    shares = scores
    for _ in range(_ROUNDS):
        shares = indicator[shares.argmax(axis=1)]
        for _ in range(_STEPS):
            shares[known] = indicator[classes]
            shares = steps @ shares
        shares[known] = indicator[classes]
    return shares


def _solve(S: Any, B: Array, killed: float) -> Array:
    """Solve ((1 + ε) I - S) F = B by conjugate gradients, for all columns at once.

    ε is `killed`.
    """
    F, residual = np.zeros_like(B), B.copy()
    direction = residual.copy()
    size = (residual**2).sum(axis=0)
    first = np.maximum(size, 1e-300)
    for _ in range(_MOST_STEPS):
        product = (1 + killed) * direction - S @ direction
        step = size / np.maximum((direction * product).sum(axis=0), 1e-300)
        F += step * direction
        residual -= step * product
        before, size = size, (residual**2).sum(axis=0)
        if (size <= _RESIDUAL**2 * first).all():
            break
        direction = residual + size / np.maximum(before, 1e-300) * direction
    return F


def constrain_graph(
    W: Any, constraints: Constraints, rows: Array, join_classes: bool
) -> Any:
    """Edit the similarities of a graph.

    Parameters
    ----------
    W : symmetric CSR array of shape (u, u)
        Similarities of the nodes.
    constraints : Constraints
        Constraints on the rows.
    rows : int array of shape (u,)
        The row of each node.
    join_classes : bool
        Whether all known rows of a class are linked, or only must-link groups.

    Returns
    -------
    symmetric CSR array of shape (u, u)
        W with links inside classes and groups. It has no edges between rows of
        different classes or between rows of a cannot-link pair.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from akkm.diffusion.constrained_graph import constrain_graph
    >>> from akkm.guided.constraints import read_constraints
    >>> W = sparse.csr_array(np.array([[0.0, 2, 0], [2, 0, 2], [0, 2, 0]]))
    >>> found = read_constraints(3, known={0: "a", 1: "b", 2: "a"})
    >>> constrain_graph(W, found, np.arange(3), True).toarray().round(6).tolist()
    [[0.0, 0.0, 2.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
    """
    node = np.full(constraints.n, -1)
    node[rows] = np.arange(len(rows))
    own = node[constraints.rows]  # (r,) the node of each constrained row, or -1
    inside = np.flatnonzero(own >= 0)
    own, group = own[inside], constraints.group[inside]
    classes = constraints.group_classes()
    links = [_rings(own, group, W.shape[0])]
    if join_classes:
        known = classes[group] >= 0
        links.append(_rings(own[known], classes[group][known], W.shape[0]))
    degree = np.asarray(W.sum(axis=1)).ravel().astype(np.float64)
    added = _weighted(links[0].maximum(links[-1]), degree)
    W = _without_edges(W, constraints, own, group, classes)
    return sparse.csr_array(W + added.astype(W.dtype))


def _rings(nodes: Array, sets: Array, u: int) -> Any:
    """Link nodes (b,) of equal `sets` (b,): a symmetric 0/1 matrix (u, u).

    Each node is linked to those 1, 2, 4, 8, … places after it, on a ring through all
    nodes of its set. So there are few links, but every node is reached in few steps.
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
