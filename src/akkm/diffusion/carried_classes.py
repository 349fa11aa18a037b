"""Spread the known classes of a few points to other points, by random walks."""

from typing import Any

import numpy as np

from akkm.core.threads import Threads
from akkm.diffusion.class_shares import class_scores
from akkm.diffusion.graph_embedding import limit_neighbours
from akkm.diffusion.neighbour_graph import similarity_graph
from akkm.typing import Array

# Number of neighbours of each point in the graph.
_NEIGHBOURS = 15


class ClassWalks:
    """A graph of neighbours on which random walks spread known classes to other points.

    Parameters
    ----------
    points : array of shape (s, q)
        The points.
    n_classes : int
        Number of classes.
    engine : Threads
        Threads for the search of neighbours.
    rng : numpy.random.Generator
        Random numbers for the search of neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.core.threads import Threads
    >>> from akkm.diffusion.carried_classes import ClassWalks
    >>> points = np.array([0.0, 0.1, 0.2, 0.3, 5.0, 5.1, 5.2, 5.3])[:, None]
    >>> with Threads(1) as engine:
    ...     walks = ClassWalks(points, 2, engine, np.random.default_rng(0))
    >>> walks.carry(np.array([1, 6]), np.array([0, 1])).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    """

    def __init__(
        self, points: Array, n_classes: int, engine: Threads, rng: np.random.Generator
    ) -> None:
        distinct, node = np.unique(points, axis=0, return_inverse=True)
        self._n_classes, self._node = n_classes, node.ravel()
        self._W: Any = None
        u = len(distinct)
        if u < 3:
            return
        k = limit_neighbours(_NEIGHBOURS, u, n_classes)
        self._W, order = similarity_graph(distinct, k, "euclidean", engine, rng)
        self._node = np.argsort(order)[self._node]

    def carry(self, known: Array, classes: Array) -> Array:
        """Estimate the class of each point, by walks that start at known points.

        Parameters
        ----------
        known : int array of shape (b,)
            Points whose class is known.
        classes : int array of shape (b,)
            Their classes; each class occurs.

        Returns
        -------
        int array of shape (s,)
            The class with the largest score (see `class_scores`); -1 for points that no
            walk from a known point reaches.
        """
        if self._W is None:
            return np.full(len(self._node), -1)
        shape = self._W.shape[0], self._n_classes
        none_expected = np.full(shape, 1 / self._n_classes)
        nodes = self._node[known]
        scores = class_scores(self._W, none_expected, 0.0, nodes, classes)
        reached = np.ptp(scores, axis=1) > 0
        return np.where(reached, scores.argmax(axis=1), -1)[self._node]
