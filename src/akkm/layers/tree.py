"""Nested layers: merge clusters by Ward's criterion, and cut the tree."""

import numpy as np

from akkm.typing import Array


def ward_tree(centers: Array, weights: Array) -> Array:
    """Merge two clusters at a time: those whose merge raises the error least.

    Let w be the weights of the clusters, and c their centers. Merging clusters a and b
    raises the sum of squared distances to the centers by
    w_a w_b / (w_a + w_b) |c_a - c_b|².

    Parameters
    ----------
    centers : array of shape (C, q)
        The centers of the clusters.
    weights : array of shape (C,)
        Number of rows of each cluster, or the sum of their weights.

    Returns
    -------
    array of shape (C - 1, 4)
        A linkage matrix for `scipy.cluster.hierarchy`. The height of a merge is the
        square root of twice the rise of the error, as in SciPy. The last column counts
        original clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.layers.tree import ward_tree
    >>> ward_tree(np.array([[0.0], [1.0], [5.0]]), np.array([1.0, 1.0, 2.0]))[:, :2]
    array([[0., 1.],
           [2., 3.]])
    """
    C = len(centers)
    place = centers.astype(np.float64)
    weight = np.maximum(np.asarray(weights, dtype=np.float64), 1e-300)
    name, size = np.arange(C), np.ones(C, dtype=int)
    alive, tree = np.ones(C, dtype=bool), np.empty((max(C - 1, 0), 4))
    for step in range(C - 1):
        rows = np.flatnonzero(alive)
        points, w = place[rows], weight[rows]
        squared = ((points[:, None] - points) ** 2).sum(axis=2)
        rise = w[:, None] * w / (w[:, None] + w) * squared
        rise[np.tril_indices(len(rows))] = np.inf
        i, j = np.unravel_index(rise.argmin(), rise.shape)
        a, b = rows[i], rows[j]
        total = weight[a] + weight[b]
        place[a] = (weight[a] * place[a] + weight[b] * place[b]) / total
        weight[a], size[a], alive[b] = total, size[a] + size[b], False
        pair = sorted((name[a], name[b]))
        tree[step] = *pair, np.sqrt(2 * max(rise[i, j], 0.0)), size[a]
        name[a] = C + step
    # Because of rounding errors, a merge might be slightly lower than the one before.
    tree[:, 2] = np.maximum.accumulate(tree[:, 2])
    return tree


def cut_tree(tree: Array, number: int) -> Array:
    """The group (C,) of each cluster, after merging C clusters into `number` groups.

    Groups are numbered in the order of their first clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.layers.tree import cut_tree, ward_tree
    >>> tree = ward_tree(np.array([[0.0], [5.0], [1.0]]), np.ones(3))
    >>> cut_tree(tree, 2)
    array([0, 1, 0], dtype=int32)
    """
    C = len(tree) + 1
    parent = np.arange(2 * C - 1)
    for step in range(C - number):
        parent[tree[step, :2].astype(int)] = C + step
    root = np.arange(C)
    while (parent[root] != root).any():
        root = parent[root]
    _, first, group = np.unique(root, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group].astype(np.int32)


def points_from_distances(squared: Array) -> Array:
    """Points (C, q) with the given squared distances (C, C), as far as possible.

    Negative eigenvalues, which Euclidean distances do not have, are dropped.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.layers.tree import points_from_distances
    >>> X = points_from_distances(np.array([[0.0, 9.0], [9.0, 0.0]]))
    >>> float(((X[0] - X[1]) ** 2).sum().round(6))
    9.0
    """
    C = len(squared)
    center = np.eye(C) - 1 / C
    inner = -center @ squared @ center / 2
    values, vectors = np.linalg.eigh((inner + inner.T) / 2)
    return vectors * np.sqrt(values.clip(0))
