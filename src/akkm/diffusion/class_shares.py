"""Spread the known classes of a few nodes of a graph to all nodes, by random walks."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from akkm.typing import Array

# Share ε of the walks that end in each step, when scores of classes are computed.
_KILLED = 1e-2
# Classes are smoothed in rounds, by walks of these numbers of steps.
_STEPS = (8, 8, 4, 4)
# The clusters of a class weigh as much as o² / _SQUARED_ODDS known nodes, where o is
# the odds that a known node is in the cluster of its class.
_SQUARED_ODDS = 10.0
# A class has vanished if it has less than this share of the nodes that clusters give
# it.
_VANISHED = 0.1
# Conjugate gradients stop at this relative residual, or after this many steps.
_RESIDUAL, _MOST_STEPS = 1e-3, 500


def class_shares(
    W: Any, labels: Array, n_clusters: int, known: Array, classes: Array
) -> Array:
    """Estimate the class of each node, from clusters and from known classes.

    There are four steps:

    1. The known nodes say which classes each cluster has (`classes_of_clusters`).
    2. Walks start from the clusters and from the known nodes of each class
       (`class_scores`). The n_c known nodes of a class together have the weight n_c,
       and its clusters have the weight m = o² / 10 with the odds o = (r + 1) / (w + 1).
       Here r known nodes are in the cluster of their class, and w are not. So a few
       known nodes change little if the clusters are good. Clusters have little weight
       if many known nodes are in the cluster of another class.
    3. The classes are smoothed (`smooth_classes`).
    4. Walks that reach a known node end there, and this corrects the classes of nodes
       around it (`correct_classes`). The classes are smoothed again.

    Where clusters overlap, smoothing may make a class vanish except for its known
    nodes. Then the shares from step 1 are returned.

    Parameters
    ----------
    W : symmetric CSR array of shape (u, u)
        Similarities of the nodes.
    labels : int array of shape (u,)
        Clusters found without known classes.
    n_clusters : int
        Number of clusters C.
    known : int array of shape (b,)
        Nodes whose class is known.
    classes : int array of shape (b,)
        Their classes, from 0 to at most C - 1.

    Returns
    -------
    array of shape (u, C)
        The share of walks from each node that end in each class. If there are fewer
        classes than clusters, the last columns belong to clusters without a class.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from akkm.diffusion.class_shares import class_shares
    >>> W = sparse.diags_array([[1.0] * 5, [1.0] * 5], offsets=[1, -1]).tocsr()
    >>> labels, known, classes = np.repeat([0, 1], [2, 4]), [0, 5, 2], [1, 0, 1]
    >>> shares = class_shares(W, labels, 2, np.array(known), np.array(classes))
    >>> shares.argmax(axis=1).tolist()
    [1, 1, 1, 1, 0, 0]
    """
    found, own = classes_of_clusters(labels[known], classes, n_clusters)
    right = int((own[labels[known]] == classes).sum())
    odds = (right + 1) / (len(known) - right + 1)
    weight = odds**2 / _SQUARED_ODDS
    shares = class_scores(W, found[labels], weight, known, classes)
    shares = smooth_classes(W, shares, known, classes)
    shares = correct_classes(W, shares, known, classes)
    shares = smooth_classes(W, shares, known, classes)
    expected = found[labels].sum(axis=0)
    sizes = np.bincount(shares.argmax(axis=1), minlength=n_clusters)
    if (sizes < _VANISHED * expected).any():
        return np.asarray(found[labels])
    return shares


def classes_of_clusters(
    labels: Array, classes: Array, n_clusters: int
) -> tuple[Array, Array]:
    """Estimate the share of each class in each cluster, from known nodes.

    Parameters
    ----------
    labels : int array of shape (b,)
        Clusters of the known nodes.
    classes : int array of shape (b,)
        Classes of the known nodes.
    n_clusters : int
        Number of clusters C, at least the number of classes.

    Returns
    -------
    shares : array of shape (C, C)
        The share of each class in each cluster. Each cluster counts as one more known
        node of its own class.
    own : int array of shape (C,)
        The own class of each cluster. Clusters and classes are matched one to one, so
        that as many known nodes as possible are in the cluster of their class.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.diffusion.class_shares import classes_of_clusters
    >>> found = classes_of_clusters(np.array([0, 0, 0]), np.array([1, 1, 0]), 2)
    >>> found[0].tolist(), found[1].tolist()
    ([[0.25, 0.75], [1.0, 0.0]], [1, 0])
    """
    counts = np.zeros((n_clusters, n_clusters))
    np.add.at(counts, (labels, classes), 1)
    own = linear_sum_assignment(counts, maximize=True)[1]
    counts[np.arange(n_clusters), own] += 1
    return counts / counts.sum(axis=1, keepdims=True), own


def class_scores(
    W: Any, expected: Array, weight: float, known: Array, classes: Array
) -> Array:
    """Compute how near each node is to each class, by walks.

    Parameters
    ----------
    W : symmetric CSR array of shape (u, u)
        Similarities of the nodes.
    expected : array of shape (u, g)
        Share of each class that is expected at each node.
    weight : float
        Weight m of the expectation.
    known : int array of shape (b,)
        Nodes whose class is known.
    classes : int array of shape (b,)
        Their classes.

    Returns
    -------
    array of shape (u, g)
        The scores F that solve (D - W + ε D) F = B, where D is the diagonal matrix of
        degrees, and ε is 0.01. Walks start at known nodes, with the same weight
        for each class (Poisson learning, Calder, Cook, Thorpe and Slepčev 2020). Here
        they also start where a class is expected. Column c of B is
        (Σ_i e_i + m D p_c / |D p_c|) / (n_c + m), minus the mean of all columns. The
        sum is over the n_c known nodes of class c, e_i is the indicator vector of
        node i, p_c is column c of `expected`, and |·| is the sum of entries.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from akkm.diffusion.class_shares import class_scores
    >>> W = sparse.diags_array([[1.0] * 3, [1.0] * 3], offsets=[1, -1]).tocsr()
    >>> expected, known = np.full((4, 2), 0.5), np.array([0, 3])
    >>> class_scores(W, expected, 1.0, known, np.array([0, 1])).argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """
    S, scale = _normalised(W)
    n_classes = expected.shape[1]
    total = np.bincount(classes, minlength=n_classes) + weight
    B = expected / scale[:, None] ** 2
    B *= weight / (np.maximum(B.sum(axis=0), 1e-300) * total)
    np.add.at(B, (known, classes), 1 / total[classes])
    B -= B.mean(axis=1, keepdims=True)
    return scale[:, None] * _solve(S, scale[:, None] * B)


def smooth_classes(W: Any, scores: Array, known: Array, classes: Array) -> Array:
    """Compute the share of walks from each node that end in each class.

    First, each node gets the class of its largest score. Then there are four rounds. In
    each round, walks start from each node, and the node gets the class in which most of
    them end. Known nodes keep their class. So a node gets the class of the nodes around
    it (threshold dynamics of Merriman, Bence and Osher, on a graph). The walks have
    eight steps in the first two rounds, and then four: first, the classes of regions
    are corrected, and then those of nodes at their borders. From node i, a walk goes to
    node j with a probability in proportion to W_ij / √d_j. Here d_j is the degree of
    node j. Otherwise, too many walks would go to nodes that are similar to many others.

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
    >>> from akkm.diffusion.class_shares import smooth_classes
    >>> W = sparse.csr_array(np.ones((5, 5)))
    >>> scores = np.array([[2, 1], [2, 1], [2, 1], [1, 2], [2, 1]])
    >>> smooth_classes(W, scores, np.array([0]), np.array([0])).argmax(axis=1).tolist()
    [0, 0, 0, 0, 0]
    """
    S = _normalised(W)[0]
    total = np.asarray(S.sum(axis=1)).ravel()
    steps = sparse.csr_array(sparse.diags_array(1 / np.where(total > 0, total, 1)) @ S)
    indicator = np.eye(scores.shape[1])
    shares = scores
    for n_steps in _STEPS:
        shares = indicator[shares.argmax(axis=1)]
        for _ in range(n_steps):
            shares[known] = indicator[classes]
            shares = steps @ shares
        shares[known] = indicator[classes]
    return shares


def correct_classes(W: Any, scores: Array, known: Array, classes: Array) -> Array:
    """Compute the share of walks that end in each class, if known nodes end walks.

    A walk ends at the first known node that it reaches. In each step before, it ends
    with probability ε / (1 + ε), where ε = 0.01. A walk ends in the class of its last
    node: the known class, or else the class with the node's largest score.

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
        The share of walks from each node that end in each class.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from akkm.diffusion.class_shares import correct_classes
    >>> W = sparse.diags_array([[1.0] * 2, [1.0] * 2], offsets=[1, -1]).tocsr()
    >>> scores = np.array([[1, 0], [1, 0], [1, 0]])
    >>> correct_classes(W, scores, np.array([0, 2]), np.array([0, 1])).round(2).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    S, scale = _normalised(W)
    indicator = np.eye(scores.shape[1])
    shares = np.zeros(scores.shape)
    shares[known] = indicator[classes]
    free = np.ones(len(scores), dtype=bool)
    free[known] = False
    own = indicator[scores[free].argmax(axis=1)] / scale[free, None]
    reached = S[free][:, ~free] @ (shares[~free] / scale[~free, None])
    inner = sparse.csr_array(S[free][:, free])
    ends = _solve(inner, _KILLED * own + reached)
    shares[free] = scale[free, None] * ends
    return shares


def _normalised(W: Any) -> tuple[Any, Array]:
    """Return S = D^(-1/2) W D^(-1/2), and the diagonal (u,) of D^(-1/2)."""
    degree = np.asarray(W.sum(axis=1)).ravel().astype(np.float64)
    scale = 1 / np.sqrt(np.where(degree > 0, degree, 1))
    scaled = sparse.diags_array(scale)
    return sparse.csr_array(scaled @ W.astype(np.float64) @ scaled), scale


def _solve(S: Any, B: Array) -> Array:
    """Solve ((1 + ε) I - S) F = B by conjugate gradients, for all columns at once.

    ε is _KILLED.
    """
    F, residual = np.zeros_like(B), B.copy()
    direction = residual.copy()
    size = (residual**2).sum(axis=0)
    first = np.maximum(size, 1e-300)
    for _ in range(_MOST_STEPS):
        product = (1 + _KILLED) * direction - S @ direction
        step = size / np.maximum((direction * product).sum(axis=0), 1e-300)
        F += step * direction
        residual -= step * product
        before, size = size, (residual**2).sum(axis=0)
        if (size <= _RESIDUAL**2 * first).all():
            break
        direction = residual + size / np.maximum(before, 1e-300) * direction
    return F
