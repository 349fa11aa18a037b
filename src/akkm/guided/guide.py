"""The constraints of one fit: clusters of the classes, weights and penalties."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from akkm.core.parts import EMPTY_SHARE
from akkm.guided.assignment import Assignment
from akkm.guided.coloring import ImpossibleError
from akkm.guided.constraints import Constraints
from akkm.guided.contradictions import refuse_separated_class
from akkm.guided.local_search import Units
from akkm.typing import Array
from akkm.validation import require_count

# With known_weight="auto", this many known rows weigh as much as a cluster of mean
# size.
_ROWS_PER_CLUSTER = 5
# With fewer known rows per class than this, the weight of a known row is lower, in
# proportion to their number. The mean of a few rows says little about a class.
_MANY_PER_CLASS = 25
# With more known rows per class than this, their means are good enough, and known
# classes are not spread to other rows.
_ENOUGH_PER_CLASS = 75
# Messages name at most this many rows.
_SHOWN = 12


@dataclass(frozen=True)
class Guidance:
    """Constraints, and the parameters that say how to apply them."""

    constraints: Constraints
    # cost of a violated constraint per unit of weight, relative to the mean squared
    # distance of rows to their mean; infinite if constraints must not be violated
    strength: float
    clusters_per_class: Any  # "auto", an integer, or a mapping from classes to integers
    known_weight: Any  # "auto" or a number
    # Prepares walks that spread known classes to near points (`ClassWalks` in
    # `akkm.diffusion`). None if known classes are not spread.
    walks: Callable[..., Any] | None = None

    @property
    def hard(self) -> bool:
        """Whether constraints must not be violated."""
        return bool(np.isinf(self.strength))

    def known_factor(self, n_clusters: int) -> float:
        """Return the weight of a known row, relative to other rows."""
        if self.known_weight != "auto":
            return float(self.known_weight)
        found = self.constraints
        per_class = len(found.known_rows) / max(len(found.classes), 1)
        trusted = min(1.0, per_class / _MANY_PER_CLASS)
        share = found.n / (n_clusters * _ROWS_PER_CLUSTER)
        return max(1.0, trusted * share)

    def row_weights(self, n_clusters: int, weights: Array | None) -> Array:
        """Return the weights (r,) of the constrained rows.

        `weights` (n,) are the given weights of all rows. Those of known rows are
        multiplied by `known_factor`.
        """
        rows = self.constraints.rows
        own = np.ones(len(rows)) if weights is None else weights[rows].copy()
        own[self.constraints.known >= 0] *= self.known_factor(n_clusters)
        return own

    def all_weights(self, n_clusters: int, weights: Array | None) -> Array:
        """Return the weights (n,) of all rows, multiplied as in `row_weights`."""
        n = self.constraints.n
        every = np.ones(n) if weights is None else weights.copy()
        every[self.constraints.rows] = self.row_weights(n_clusters, weights)
        return every

    def among(self, rows: Array) -> "Guidance | None":
        """Return the guidance of some rows (m,), ascending, numbered from 0.

        The result is None if there are no constraints among these rows.
        """
        held = np.flatnonzero(np.isin(self.constraints.rows, rows))
        if not held.size:
            return None
        at = np.searchsorted(rows, self.constraints.rows[held])
        small = self.constraints.subset(held).at(len(rows), at)
        return replace(self, constraints=small)

    def demand(self, n_clusters: int) -> list[int]:
        """Return the least number of clusters of each class."""
        classes, given = self.constraints.classes, self.clusters_per_class
        if isinstance(given, Mapping):
            unknown = [name for name in given if name not in classes]
            if unknown:
                raise ValueError(
                    f"clusters_per_class contains the class {unknown[0]!r}, but known "
                    f"has the classes {_listed(classes)}; correct its name."
                )
            counts = [
                require_count(f"clusters_per_class[{name!r}]", given.get(name, 1))
                for name in classes
            ]
        else:
            counts = [1 if given == "auto" else int(given)] * len(classes)
        if sum(counts) > n_clusters:
            each = "" if max(counts) == 1 else f", which need {sum(counts)} clusters"
            raise ValueError(
                f"known has {len(classes)} classes{each}, but n_clusters="
                f"{n_clusters}; raise n_clusters, or use fewer classes."
            )
        return counts

    def joins_classes(self, n_clusters: int) -> bool:
        """Whether each class has one cluster, as far as one can tell.

        "auto" assumes it if there are more than half as many classes as clusters. The
        other clusters may be those of unknown classes.
        """
        counts = self.demand(n_clusters)
        fixed = self.clusters_per_class != "auto" or 2 * sum(counts) > n_clusters
        return fixed and max(counts, default=1) == 1

    def may_carry_classes(self, n_clusters: int) -> bool:
        """Whether random walks may spread known classes to near rows.

        Each class must have one cluster, and more than half of the clusters a class.
        Nothing is spread if classes may be wrong, if `known_weight` is given, or if
        many rows are known.
        """
        n_classes, n_known = (
            len(self.constraints.classes),
            len(self.constraints.known_rows),
        )
        wanted = self.walks is not None and self.known_weight == "auto" and self.hard
        wanted &= n_known <= n_classes * _ENOUGH_PER_CLASS
        return wanted and n_classes > 1 and self.joins_classes(n_clusters)

    def owners(self, n_clusters: int, labels: Array | None) -> Array:
        """Return the class (C,) to which each cluster belongs; -1 for no class.

        `labels` (r,) are labels of the constrained rows from a clustering without
        constraints. Clusters are matched with classes so that as many known rows as
        possible are in a cluster of their class. With "auto", a further cluster
        belongs to the class that has most known rows in it, if there are any. Without
        labels, the first clusters belong to the classes, in order.
        """
        demand = self.demand(n_clusters)
        slots = np.repeat(np.arange(len(demand)), demand)
        owner = np.full(n_clusters, -1)
        if labels is None:
            owner[: len(slots)] = slots
            return owner
        given = self.constraints.known >= 0
        counts = np.zeros((len(demand), n_clusters))
        np.add.at(counts, (self.constraints.known[given], labels[given]), 1)
        matched, clusters = linear_sum_assignment(counts[slots], maximize=True)
        owner[clusters] = slots[matched]
        if self.clusters_per_class == "auto" and len(demand):
            more = (owner < 0) & (counts.max(axis=0) > 0)
            owner[more] = counts.argmax(axis=0)[more]
        return owner

    def guide(self, owner: Array, row_weights: Array, spread: float) -> "Guide":
        """Return the guide of a fit.

        `owner` (C,) is the class of each cluster, `row_weights` (r,) are the weights of
        the constrained rows, and `spread` is the mean squared distance of rows to their
        mean.
        """
        penalty = np.inf if self.hard else self.strength * spread
        return Guide(self.constraints, owner, row_weights, penalty)


class Guide:
    """Assigns the constrained rows of a fit.

    Parameters
    ----------
    constraints : Constraints
        The constraints.
    owner : int array of shape (C,)
        The class to which each cluster belongs, -1 for no class.
    weights : array of shape (r,)
        Weights of the constrained rows.
    penalty : float
        Cost of a violation per unit of weight; infinite for constraints that must not
        be violated. The weight of a pair is the smaller weight of its two rows.
    """

    def __init__(
        self, constraints: Constraints, owner: Array, weights: Array, penalty: float
    ) -> None:
        self.constraints, self.owner, self.weights = constraints, owner, weights
        self.penalty = penalty
        group, g = constraints.group, constraints.n_groups
        total = np.bincount(group, weights, g)
        # A group of weight zero has no influence, but it gets the nearest cluster.
        costly = np.where(total[group] > 0, weights, 1.0)
        self._sum = sparse.csr_array(
            (costly, (group, np.arange(len(group)))), shape=(g, len(group))
        )
        self.class_cost = self._class_cost(costly)  # (g, C)
        pairs, amount = self._group_pairs(costly)
        hard = np.isinf(penalty)
        cost = np.full(len(pairs), np.inf) if hard else penalty * amount
        self._refuse_separated_classes()
        self._assignment = Assignment(g, len(owner), pairs, cost)

    def _class_cost(self, weights: Array) -> Array:
        """Return the cost (g, C) of the known rows of each group in each cluster."""
        owner, names = self.owner, self.constraints.classes
        if not names:
            return np.zeros((self.constraints.n_groups, len(owner)))
        votes = self.constraints.votes(weights)
        other = votes.sum(axis=1, keepdims=True) - np.where(
            owner >= 0, votes[:, owner], 0.0
        )
        if np.isinf(self.penalty):
            kept = np.where(owner >= 0, votes[:, owner] > 0, False)
            wrong = votes.any(axis=1, keepdims=True) & ~kept
            return np.where(wrong, np.inf, 0.0)
        return np.asarray(self.penalty * other)

    def _group_pairs(self, weights: Array) -> tuple[Array, Array]:
        """Return the distinct pairs of groups (e, 2) to separate, and their weights."""
        ends = self.constraints.positions(self.constraints.cannot_link)
        least = weights[ends].min(axis=1)
        groups = np.sort(self.constraints.group[ends], axis=1)
        pairs, which = np.unique(groups, axis=0, return_inverse=True)
        amount = np.bincount(which.ravel(), least, len(pairs))
        return pairs.reshape(-1, 2), amount

    def _refuse_separated_classes(self) -> None:
        """Raise ValueError if a pair separates rows of a class with one cluster."""
        found = self.constraints
        if np.isfinite(self.penalty) or not found.classes:
            return
        classes = found.group_classes()[found.group[found.positions(found.cannot_link)]]
        counts = np.bincount(self.owner[self.owner >= 0], minlength=len(found.classes))
        wrong = (classes[:, 0] == classes[:, 1]) & (classes[:, 0] >= 0)
        wrong &= counts[classes[:, 0]] == 1
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            name = int(classes[first, 0])
            groups = np.full(found.n, -1)
            groups[found.rows] = found.group
            refuse_separated_class(
                found.must_link,
                found.cannot_link[first],
                found.rows[found.known == name],
                groups,
                found.classes[name],
            )

    @property
    def n_clusters(self) -> int:
        """Number of clusters C."""
        return len(self.owner)

    def assign(self, scores: Array, ties: Array, labels: Array | None) -> Array:
        """Return the label (g,) of each group.

        Parameters
        ----------
        scores : array of shape (C, r)
            Squared distances of the constrained rows to the centers; a constant may be
            subtracted from the distances of a row.
        ties : array of shape (r,)
            Differences of scores up to this number may be rounding errors.
        labels : int array of shape (g,) or None
            Present labels.

        Returns
        -------
        int array of shape (g,)
            The labels.
        """
        cost = np.asarray(self._sum @ scores.T) + self.class_cost
        try:
            return self._assignment.assign(cost, self._sum @ ties, labels)
        except ImpossibleError as error:
            raise ValueError(self._impossible_text(error)) from None

    def first_labels(self, labels: Array) -> Array:
        """Return labels (g,) that agree with given labels (r,) as far as possible."""
        scores = np.ones((self.n_clusters, len(labels)))
        scores[labels, np.arange(len(labels))] = 0
        return self.assign(scores, np.zeros(len(labels)), None)

    def fill_empty(self, squared: Array, labels: Array, free: Array) -> None:
        """Move a group to an empty cluster of its class, if there is one.

        A cluster without a class gets a group only if there are no free rows. The group
        that is farthest from its center moves, unless it is the last one in its
        cluster. Only one cluster is filled per call.

        Parameters
        ----------
        squared : array of shape (C, r)
            Squared distances of the constrained rows to the centers.
        labels : int array of shape (g,)
            Labels of the groups, which are changed in place.
        free : array of shape (C,)
            Total weight of the free rows in each cluster.
        """
        group, every = self.constraints.group, np.arange(len(labels))
        weights = np.bincount(group, self.weights, len(labels))
        counts = free + np.bincount(labels, weights, self.n_clusters)
        least = EMPTY_SHARE * counts.sum()
        empty = counts <= least
        if (free > least).any():
            empty &= self.owner >= 0
        if not empty.any():
            return
        distance = np.asarray(self._sum @ squared.T)[every, labels]
        distance[(counts[labels] - weights <= least) | (weights <= 0)] = 0
        noise = 1e-9 * float(np.abs(squared).max(initial=0))
        for cluster in np.flatnonzero(empty):
            present = self.class_cost[every, labels]
            allowed = self.class_cost[:, cluster] <= present
            farthest = int(np.where(allowed, distance, 0).argmax())
            if allowed[farthest] and distance[farthest] > noise * weights[farthest]:
                labels[farthest] = cluster
                return

    def group_labels(self, labels: Array) -> Array:
        """Return the labels (g,) of the groups, from those of the rows (r,)."""
        own = np.empty(self.constraints.n_groups, dtype=np.int64)
        own[self.constraints.group] = labels
        return own

    def units(self, points: Array, weights: Array) -> tuple[Array, Units]:
        """Return the unit (s,) of each of s points, and the units for a local search.

        The constrained rows are row numbers among the points (s, q), which have
        `weights` (s,). Groups are the first units; each other point of positive weight
        is a unit. The unit of a point without a unit is -1.
        """
        rows, g = self.constraints.rows, self.constraints.n_groups
        unit = np.full(len(points), -1)
        free = weights > 0
        free[rows] = False
        unit[free] = g + np.arange(int(free.sum()))
        unit[rows] = self.constraints.group
        held = unit >= 0
        count = g + int(free.sum())
        total = np.bincount(unit[held], weights[held], count)
        sums = np.zeros((count, points.shape[1]))
        np.add.at(sums, unit[held], weights[held, None] * points[held])
        penalty = np.zeros((count, count))
        a, b = self._assignment.pairs.T
        penalty[a, b] = penalty[b, a] = self._assignment.penalty
        cost = np.zeros((count, self.n_clusters))
        cost[:g] = self.class_cost
        least = max(float(total.max()), 1.0) * 1e-9  # groups may have weight zero
        return unit, Units.of(sums, np.maximum(total, least), cost, penalty)

    def row_labels(self, labels: Array) -> Array:
        """Return the labels (r,) of the constrained rows, from those of the groups."""
        return labels[self.constraints.group].astype(np.int32)

    def total_penalty(self, labels: Array) -> float:
        """Return the cost of all violations for labels (g,) of the groups."""
        pairs = self._assignment.penalty[self._assignment.violated(labels)]
        classes = self.class_cost[np.arange(len(labels)), labels]
        return float(pairs.sum() + classes.sum())

    def violations(self, labels: Array) -> dict[str, Array]:
        """Return the violated constraints, for labels (g,) of the groups.

        The result has the known rows (v,) that are in a cluster of another class, and
        the cannot-link pairs (w, 2) whose rows are in the same cluster.
        """
        found, own = self.constraints, self.row_labels(labels)
        wrong = (found.known >= 0) & (self.owner[own] != found.known)
        ends = own[found.positions(found.cannot_link)]
        return {
            "known": found.rows[wrong],
            "cannot_link": found.cannot_link[ends[:, 0] == ends[:, 1]],
        }

    def _impossible_text(self, error: ImpossibleError) -> str:
        found = self.constraints
        first = np.searchsorted(np.sort(found.group), np.sort(error.groups))
        by_group = np.argsort(found.group, kind="stable")
        rows = np.sort(found.rows[by_group[first]]).tolist()
        problem = "No assignment" if error.proved else "The search found no assignment"
        return (
            f"{problem} of rows to {self.n_clusters} clusters satisfies the "
            f"constraints on the {len(rows)} rows {_listed(rows)} and their groups; "
            "remove pairs, raise n_clusters, or give strength a number."
        )


def _listed(values: Any) -> str:
    shown = ", ".join(repr(value) for value in list(values)[:_SHOWN])
    return shown + (", …" if len(values) > _SHOWN else "")
