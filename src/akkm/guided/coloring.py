"""A first assignment of groups to clusters that satisfies all cannot-link pairs.

Groups are the vertices of a graph, cannot-link pairs its edges, and clusters the
colors. Each group has its own list of allowed clusters.
"""

from collections.abc import Sequence

import numpy as np

from akkm.typing import Array

# The search gives up after this many assignments of a group to a cluster, plus
# _STEPS_PER_GROUP for each group.
_STEPS, _STEPS_PER_GROUP = 50_000, 20


class ImpossibleError(Exception):
    """No assignment satisfies the constraints on some groups, or none was found."""

    def __init__(self, groups: Array, proved: bool) -> None:
        super().__init__(groups, proved)
        self.groups, self.proved = groups, proved


def color(cost: Array, neighbours: Sequence[Sequence[int]]) -> Array:
    """Assign each vertex to an allowed color that differs from its neighbours' colors.

    Vertices with the fewest remaining colors come first (DSATUR). Cheap colors are
    tried first. At a dead end, the search backtracks.

    Parameters
    ----------
    cost : array of shape (g, C)
        Cost of each color for each vertex; infinite if the color is not allowed.
    neighbours : sequence of g sequences
        The neighbours of each vertex.

    Returns
    -------
    int array of shape (g,)
        The color of each vertex.

    Raises
    ------
    ImpossibleError
        If there is no such assignment, or if the search takes too many steps.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.guided.coloring import color
    >>> color(np.array([[0.0, 1.0], [0.0, 3.0], [0.0, 2.0]]), [[1], [0, 2], [1]])
    array([1, 0, 1])
    """
    g, n_colors = cost.shape
    allowed = np.isfinite(cost)
    blocked = np.zeros((g, n_colors), dtype=np.int64)
    n_free = allowed.sum(axis=1)
    degree = np.array([len(others) for others in neighbours])
    labels = np.full(g, -1)
    steps = _STEPS + _STEPS_PER_GROUP * g
    # For each assigned vertex, in order: the vertex and the colors not yet tried.
    trail: list[tuple[int, list[int]]] = []

    def place(vertex: int, k: int, sign: int) -> None:
        labels[vertex] = k if sign > 0 else -1
        for other in neighbours[vertex]:
            was_free = allowed[other, k] and blocked[other, k] == 0
            blocked[other, k] += sign
            is_free = allowed[other, k] and blocked[other, k] == 0
            n_free[other] += int(is_free) - int(was_free)

    while len(trail) < g:
        rank = n_free * (g + 1.0) - degree
        rank[labels >= 0] = np.inf
        vertex = int(rank.argmin())
        free = np.flatnonzero(allowed[vertex] & (blocked[vertex] == 0))
        # The cheapest color is last, where `pop` takes it.
        order = free[np.argsort(-cost[vertex, free], kind="stable")].tolist()
        trail.append((vertex, order))
        while trail and not trail[-1][1]:  # a dead end
            trail.pop()
            if trail:
                place(trail[-1][0], int(labels[trail[-1][0]]), -1)
        if not trail:
            raise ImpossibleError(np.arange(g), True)
        steps -= 1
        if steps < 0:
            raise ImpossibleError(np.arange(g), False)
        place(trail[-1][0], trail[-1][1].pop(), 1)
    return labels
