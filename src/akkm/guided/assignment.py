"""The cheapest clusters of groups, given their costs in each cluster.

A cannot-link pair adds a penalty if both its groups are in the same cluster. Groups
without pairs, couples (two groups linked only to each other) and small sets of linked
groups get optimal labels. Larger sets are improved by moves that lower the total cost:
a group changes cluster, a group displaces the groups that block it, or two clusters are
exchanged along a chain of linked groups (a Kempe chain).

A label changes only if this lowers the cost by more than the rounding error, so that
the total cost never increases and rounding errors never decide.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from akkm.guided.coloring import ImpossibleError, color
from akkm.typing import Array

# Sets of linked groups with at most this number of possible assignments are solved by
# comparing all assignments.
_MOST_ASSIGNMENTS = 4096
# Maximum number of passes over the groups of a larger set.
_PASSES = 20


@dataclass(frozen=True)
class Linked:
    """A set of groups linked by cannot-link pairs."""

    groups: Array  # (s,)
    pairs: Array  # (e, 2) positions in `groups`
    penalty: Array  # (e,)
    neighbours: list[list[tuple[int, float]]]  # by position: (position, penalty)


class Assignment:
    """Cannot-link pairs between groups, prepared for repeated assignments.

    Parameters
    ----------
    n_groups : int
        Number of groups g.
    n_clusters : int
        Number of clusters C.
    pairs : int array of shape (e, 2)
        Groups that should be in different clusters; each pair occurs once.
    penalty : array of shape (e,)
        Cost of violating each pair; infinite if it must not be violated.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.guided.assignment import Assignment
    >>> apart = Assignment(2, 2, np.array([[0, 1]]), np.array([np.inf]))
    >>> apart.assign(np.array([[0.0, 3.0], [0.0, 1.0]]), np.zeros(2)).tolist()
    [0, 1]
    """

    def __init__(
        self, n_groups: int, n_clusters: int, pairs: Array, penalty: Array
    ) -> None:
        self.pairs, self.penalty = pairs, penalty
        self.n_clusters = n_clusters
        links = sparse.coo_array(
            (np.ones(len(pairs), np.int8), (pairs[:, 0], pairs[:, 1])),
            (n_groups, n_groups),
        )
        _, label = connected_components(links.tocsr(), directed=False)
        size = np.bincount(label, minlength=1)[label]
        self._single = np.flatnonzero(size == 1)
        two = size[pairs[:, 0]] == 2
        self._couples, self._couple_penalty = pairs[two], penalty[two]
        self._small: list[Linked] = []
        self._large: list[Linked] = []
        self._split(label, size)

    def _split(self, label: Array, size: Array) -> None:
        """Collect the sets of more than two linked groups."""
        members = np.flatnonzero(size > 2)
        members = members[np.argsort(label[members], kind="stable")]
        cuts = np.flatnonzero(np.diff(label[members])) + 1
        of_pair = label[self.pairs[:, 0]]
        by_label = np.argsort(of_pair, kind="stable")
        of_pair = of_pair[by_label]
        for groups in np.split(members, cuts) if members.size else []:
            this = label[groups[0]]
            own = by_label[slice(*np.searchsorted(of_pair, [this, this + 1]))]
            ends, penalty = np.searchsorted(groups, self.pairs[own]), self.penalty[own]
            neighbours: list[list[tuple[int, float]]] = [[] for _ in groups]
            for (a, b), cost in zip(ends.tolist(), penalty.tolist(), strict=True):
                neighbours[a].append((b, cost))
                neighbours[b].append((a, cost))
            linked = Linked(groups, ends, penalty, neighbours)
            few = float(self.n_clusters) ** min(len(groups), 99) <= _MOST_ASSIGNMENTS
            (self._small if few else self._large).append(linked)

    def assign(self, cost: Array, tie: Array, labels: Array | None = None) -> Array:
        """Return the label of each group.

        Parameters
        ----------
        cost : array of shape (g, C)
            Cost of each group in each cluster; infinite if it is not allowed there.
        tie : array of shape (g,)
            Differences of costs up to this number may be rounding errors.
        labels : int array of shape (g,), optional
            Present labels, which violate no pair of infinite penalty.

        Returns
        -------
        int array of shape (g,)
            Labels whose total cost is at most that of the present labels.

        Raises
        ------
        ImpossibleError
            If no labels of finite cost exist, or none were found.
        """
        new = np.zeros(len(cost), dtype=np.int64) if labels is None else labels.copy()
        present = None if labels is None else labels
        self._assign_single(cost, tie, present, new)
        if len(self._couples):
            self._assign_couples(cost, tie, present, new)
        for linked in self._small:
            _assign_small(linked, cost, tie, present, new)
        for linked in self._large:
            _assign_large(linked, cost, tie, present, new)
        return new

    def violated(self, labels: Array) -> Array:
        """Return which pairs (e,) have both groups in the same cluster."""
        return labels[self.pairs[:, 0]] == labels[self.pairs[:, 1]]

    def _assign_single(
        self, cost: Array, tie: Array, present: Array | None, new: Array
    ) -> None:
        rows = self._single
        if not rows.size:
            return
        own = cost[rows]
        best = own.argmin(axis=1)
        lowest = own[np.arange(len(rows)), best]
        _require_possible(lowest, rows[:, None])
        if present is not None:
            at_present = own[np.arange(len(rows)), present[rows]]
            best = np.where(at_present <= lowest + tie[rows], present[rows], best)
        new[rows] = best

    def _assign_couples(
        self, cost: Array, tie: Array, present: Array | None, new: Array
    ) -> None:
        """Find the best labels of two groups that are linked only to each other."""
        first, second = self._couples.T
        every = np.arange(len(first))
        (a1, a2), (b1, b2) = _two_cheapest(cost[first]), _two_cheapest(cost[second])
        # The best labels are among these: both cheapest clusters, or the second
        # cheapest cluster for one of the two groups.
        options = [(a1, b1), (a1, b2), (a2, b1)]
        totals = np.array([self._couple_cost(cost, a, b) for a, b in options])
        pick = totals.argmin(axis=0)
        lowest = totals[pick, every]
        _require_possible(lowest, self._couples)
        a = np.choose(pick, [option[0] for option in options])
        b = np.choose(pick, [option[1] for option in options])
        if present is not None:
            at_present = self._couple_cost(cost, present[first], present[second])
            stay = at_present <= lowest + tie[first] + tie[second]
            a = np.where(stay, present[first], a)
            b = np.where(stay, present[second], b)
        new[first], new[second] = a, b

    def _couple_cost(self, cost: Array, a: Array, b: Array) -> Array:
        first, second = self._couples.T
        total = cost[first, a] + cost[second, b]
        return total + np.where(a == b, self._couple_penalty, 0.0)


def _two_cheapest(cost: Array) -> tuple[Array, Array]:
    """Return the columns of the lowest and second lowest cost of each row (b, C)."""
    first = cost.argmin(axis=1)
    rest = cost.copy()
    rest[np.arange(len(cost)), first] = np.inf
    return first, rest.argmin(axis=1)


def _require_possible(lowest: Array, groups: Array) -> None:
    impossible = np.flatnonzero(~np.isfinite(lowest))
    if impossible.size:
        raise ImpossibleError(groups[impossible[0]], True)


def _assign_small(
    linked: Linked, cost: Array, tie: Array, present: Array | None, new: Array
) -> None:
    """Compare all assignments of a small set of linked groups."""
    groups = linked.groups
    own = cost[groups]
    every = np.array(list(product(range(own.shape[1]), repeat=len(groups))))
    total = _totals(own, every, linked)
    best = int(total.argmin())
    _require_possible(total[[best]], groups[None])
    if present is not None:
        at_present = _totals(own, present[groups][None], linked)[0]
        if at_present <= total[best] + tie[groups].sum():
            return
    new[groups] = every[best]


def _totals(own: Array, labels: Array, linked: Linked) -> Array:
    """Return the total cost (b,) of assignments (b, s), with costs (s, C)."""
    total = own[np.arange(len(own)), labels].sum(axis=1)
    for (a, b), penalty in zip(linked.pairs, linked.penalty, strict=True):
        total = total + np.where(labels[:, a] == labels[:, b], penalty, 0.0)
    return np.asarray(total)


def _assign_large(
    linked: Linked, cost: Array, tie: Array, present: Array | None, new: Array
) -> None:
    """Improve the labels of a large set of linked groups by local moves."""
    own, slack = cost[linked.groups], tie[linked.groups]
    hard = bool(np.isinf(linked.penalty).any())
    if present is not None:
        labels = present[linked.groups].copy()
    elif hard:
        try:
            labels = color(own, [[v for v, _ in near] for near in linked.neighbours])
        except ImpossibleError as error:
            raise ImpossibleError(linked.groups, error.proved) from None
    else:
        labels = own.argmin(axis=1)
    moves = _Moves(own, slack, linked, labels)
    for _ in range(_PASSES):
        if not moves.improve(hard):
            break
    new[linked.groups] = moves.labels


class _Moves:
    """Moves that lower the total cost of a set of linked groups."""

    def __init__(self, cost: Array, tie: Array, linked: Linked, labels: Array) -> None:
        self.cost, self.tie, self.linked, self.labels = cost, tie, linked, labels

    def improve(self, chains: bool) -> bool:
        """Try moves of groups outside their cheapest cluster or in a violated pair.

        Exchanges along chains are tried only if `chains`. Returns whether a move was
        made.
        """
        every = np.arange(len(self.cost))
        own = self.cost[every, self.labels]
        a, b = self.linked.pairs.T
        wanting = own > self.cost.min(axis=1) + self.tie
        meeting = self.labels[a] == self.labels[b]
        wanting[a[meeting]] = wanting[b[meeting]] = True
        improved = False
        for group in np.flatnonzero(wanting).tolist():
            best = int(self.cost[group].argmin())
            improved |= (
                self._move(group)
                or self._displace(group, best)
                or (chains and self._exchange(group, best))
            )
        return improved

    def _total(self, group: int) -> Array:
        """Return the cost (C,) of a group in each cluster, with its penalties."""
        total = self.cost[group].copy()
        for other, penalty in self.linked.neighbours[group]:
            total[self.labels[other]] += penalty
        return np.asarray(total)

    def _energy(self, groups: Iterable[int]) -> float:
        """Return the cost of some groups and of all pairs that contain one of them."""
        seen: set[int] = set()
        total = 0.0
        for group in groups:
            label = self.labels[group]
            total += float(self.cost[group, label])
            for other, penalty in self.linked.neighbours[group]:
                if other not in seen and self.labels[other] == label:
                    total += penalty
            seen.add(group)
        return total

    def _move(self, group: int) -> bool:
        """Move a group to the cluster of lowest total cost."""
        total = self._total(group)
        best = int(total.argmin())
        if total[best] < total[self.labels[group]] - self.tie[group]:
            self.labels[group] = best
            return True
        return False

    def _displace(self, group: int, cluster: int) -> bool:
        """Move a group to a cluster, and its neighbours there to other clusters."""
        if self.labels[group] == cluster or not np.isfinite(self.cost[group, cluster]):
            return False
        near = self.linked.neighbours[group]
        blocking = [other for other, _ in near if self.labels[other] == cluster]
        changed: dict[int, Any] = {group: cluster}
        before = self.labels.copy()
        self.labels[group] = cluster
        for other in blocking:
            total = self._total(other)
            changed[other] = self.labels[other] = int(total.argmin())
        return self._accept(changed, before)

    def _exchange(self, group: int, cluster: int) -> bool:
        """Exchange a group's cluster with another along the chain from the group."""
        present = int(self.labels[group])
        if present == cluster:
            return False
        chain, waiting = {group}, [group]
        while waiting:
            for other, _ in self.linked.neighbours[waiting.pop()]:
                if other not in chain and self.labels[other] in (present, cluster):
                    chain.add(other)
                    waiting.append(other)
        before = self.labels.copy()
        for member in chain:
            here = self.labels[member]
            self.labels[member] = cluster if here == present else present
        return self._accept(dict.fromkeys(sorted(chain)), before)

    def _accept(self, changed: dict[int, Any], before: Array) -> bool:
        """Keep the labels if they cost less than the labels `before`; else undo."""
        after = self._energy(changed)
        self.labels, before = before, self.labels
        limit = self._energy(changed) - sum(self.tie[group] for group in changed)
        if after < limit:
            self.labels = before
            return True
        return False
