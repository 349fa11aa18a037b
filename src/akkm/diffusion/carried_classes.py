"""Classes of a few points, carried to all points by walks on a graph of neighbours."""

import numpy as np

from akkm.core.threads import Threads
from akkm.diffusion.class_shares import class_scores
from akkm.diffusion.graph_embedding import limit_neighbours
from akkm.diffusion.neighbour_graph import Neighbours, shared_neighbour_similarity
from akkm.diffusion.neighbour_search import search_for
from akkm.typing import Array

# Number of neighbours of each point in the graph.
_NEIGHBOURS = 15


def carry_classes(
    points: Array,
    known: Array,
    classes: Array,
    n_classes: int,
    engine: Threads,
    rng: np.random.Generator,
) -> Array:
    """Estimate the class of each point, by walks that start at known points.

    Parameters
    ----------
    points : array of shape (s, q)
        The points.
    known : int array of shape (b,)
        Points whose class is known.
    classes : int array of shape (b,)
        Their classes; each class occurs.
    n_classes : int
        Number of classes.
    engine : Threads
        Threads for the search of neighbours.
    rng : numpy.random.Generator
        Random numbers for the search of neighbours.

    Returns
    -------
    int array of shape (s,)
        The class with the largest score (see `class_scores`); -1 for points that no
        walk from a known point reaches.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.core.threads import Threads
    >>> from akkm.diffusion.carried_classes import carry_classes
    >>> points = np.array([0.0, 0.1, 0.2, 0.3, 5.0, 5.1, 5.2, 5.3])[:, None]
    >>> given = np.array([1, 6]), np.array([0, 1])
    >>> with Threads(1) as engine:
    ...     carry_classes(points, *given, 2, engine, np.random.default_rng(0)).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    """
    distinct, node = np.unique(points, axis=0, return_inverse=True)
    u = len(distinct)
    if u < 3:
        return np.full(len(points), -1)
    k = limit_neighbours(_NEIGHBOURS, u, n_classes)
    search, order = search_for(distinct, "euclidean", engine, rng)
    found = search.neighbours(k, engine, rng, lambda text: None)
    W = shared_neighbour_similarity(Neighbours(*found))
    node = np.argsort(order)[node.ravel()]
    none_expected = np.full((u, n_classes), 1 / n_classes)
    scores = class_scores(W, none_expected, 0.0, node[known], classes)
    reached = np.ptp(scores, axis=1) > 0
    return np.where(reached, scores.argmax(axis=1), -1)[node]
