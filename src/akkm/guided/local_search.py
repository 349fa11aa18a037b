"""Local search for few rows: moves of one or two units that lower the objective.

Lloyd's algorithm compares a row with the present centers. With few rows per cluster, a
move also changes the centers considerably, and Lloyd's algorithm stops too early. This
search takes the change of the centers into account (Hartigan's rule).
"""

from dataclasses import dataclass

import numpy as np

from akkm.typing import Array

# Maximum number of moves.
_MOVES = 1000
# A move must lower the objective by more than this share of the sum of squared lengths.
_SAME = 1e-10
# Two units are moved at once if the number of units times the number of clusters is at
# most this.
_MOST_EXCHANGES = 300
# In this search, a violated hard constraint costs this number times the sum of squared
# lengths.
_HARD = 1e3


@dataclass(frozen=True)
class Units:
    """The u units: single rows, and groups of rows that change cluster together."""

    sums: Array  # (u, q) weighted sums of points
    weights: Array  # (u,) positive total weights
    class_cost: Array  # (u, C) cost of each unit in each cluster, without distances
    penalty: Array  # (u, u) symmetric: cost of two units in the same cluster

    @staticmethod
    def of(sums: Array, weights: Array, class_cost: Array, penalty: Array) -> "Units":
        """Return units whose infinite costs are replaced by very large ones."""
        most = _HARD * float(((sums**2).sum(axis=1) / weights).sum() + 1)
        return Units(
            sums, weights, np.minimum(class_cost, most), np.minimum(penalty, most)
        )

    def objective(self, labels: Array) -> float:
        """Return the objective of labels (u,), up to a constant."""
        member = np.eye(self.class_cost.shape[1])[labels]
        sums, weights = member.T @ self.sums, member.T @ self.weights
        inside = (sums**2).sum(axis=1) / np.where(weights > 0, weights, 1)
        pairs = np.where(labels[:, None] == labels, self.penalty, 0).sum() / 2
        classes = self.class_cost[np.arange(len(labels)), labels].sum()
        return float(pairs + classes - inside.sum())


def improve(units: Units, labels: Array) -> Array:
    """Return labels (u,) that no move of one unit improves, starting from labels (u,).

    If there are few units, no move of two units improves the result, either. The search
    stops after `_MOVES` moves, even if further moves would improve the result.
    """
    labels = labels.copy()
    few = units.class_cost.size <= _MOST_EXCHANGES
    for _ in range(_MOVES):
        if not (_move_one(units, labels) or (few and _move_two(units, labels))):
            break
    return labels


def _changes(units: Units, labels: Array) -> Array:
    """Return the change of the objective (u, C) if each unit moves to each cluster."""
    every, a = np.arange(len(labels)), labels
    member = np.eye(units.class_cost.shape[1])[labels]
    S, W = member.T @ units.sums, member.T @ units.weights
    squared, dots = (S**2).sum(axis=1), units.sums @ S.T
    own = (units.sums**2).sum(axis=1)
    inside = squared / np.where(W > 0, W, 1)
    joined = (squared + 2 * dots + own[:, None]) / (W + units.weights[:, None])
    rest = W[a] - units.weights
    alone = rest <= 1e-12 * W.sum()
    left = (squared[a] - 2 * dots[every, a] + own) / np.where(alone, 1, rest)
    leaving = inside[a] - np.where(alone, 0, left)
    cost = units.class_cost + units.penalty @ member
    change = leaving[:, None] - (joined - inside) + cost - cost[every, a][:, None]
    change[every, a] = 0
    return np.asarray(change)


def _move_one(units: Units, labels: Array) -> bool:
    """Make the best move of one unit; return whether there was an improvement."""
    change = _changes(units, labels)
    unit, cluster = np.unravel_index(change.argmin(), change.shape)
    if not change[unit, cluster] < -_tolerance(units):
        return False
    labels[unit] = cluster
    return True


def _move_two(units: Units, labels: Array) -> bool:
    """Make the first improving move of two units; return whether there was one."""
    limit = units.objective(labels) - _tolerance(units)
    for unit in range(len(labels)):
        for cluster in range(units.class_cost.shape[1]):
            if cluster == labels[unit]:
                continue
            tried = labels.copy()
            tried[unit] = cluster
            change = _changes(units, tried)
            change[unit] = np.inf
            second, target = np.unravel_index(change.argmin(), change.shape)
            tried[second] = target
            if units.objective(tried) < limit:
                labels[:] = tried
                return True
    return False


def _tolerance(units: Units) -> float:
    return _SAME * float(((units.sums**2).sum(axis=1) / units.weights).sum())
