"""The assignment of groups, compared with the best of all assignments."""

import itertools

import numpy as np
import pytest

from akkm.guided.assignment import Assignment
from akkm.guided.coloring import ImpossibleError, color


def total(cost, pairs, penalty, labels):
    value = cost[np.arange(len(cost)), labels].sum()
    for (a, b), p in zip(pairs, penalty, strict=True):
        value += p if labels[a] == labels[b] else 0
    return value


def lowest(cost, pairs, penalty):
    every = itertools.product(range(cost.shape[1]), repeat=len(cost))
    return min(total(cost, pairs, penalty, np.array(labels)) for labels in every)


def random_problem(seed, hard):
    rng = np.random.default_rng(seed)
    g, C = int(rng.integers(2, 7)), int(rng.integers(2, 4))
    cost = rng.random((g, C))
    if hard:
        cost[rng.random((g, C)) < 0.1] = np.inf
    pairs = [p for p in itertools.combinations(range(g), 2) if rng.random() < 0.35]
    penalty = np.full(len(pairs), np.inf) if hard else rng.random(len(pairs))
    return cost, np.array(pairs, dtype=int).reshape(-1, 2), penalty


@pytest.mark.parametrize("hard", [False, True])
def test_small_sets_get_the_best_labels(hard):
    for seed in range(60):
        cost, pairs, penalty = random_problem(seed, hard)
        best = lowest(cost, pairs, penalty)
        assignment = Assignment(len(cost), cost.shape[1], pairs, penalty)
        if np.isinf(best):
            with pytest.raises(ImpossibleError):
                assignment.assign(cost, np.zeros(len(cost)))
            continue
        labels = assignment.assign(cost, np.zeros(len(cost)))
        assert total(cost, pairs, penalty, labels) == pytest.approx(best)


@pytest.mark.parametrize("hard", [False, True])
def test_local_moves_never_raise_the_cost_and_find_solutions(hard, monkeypatch):
    monkeypatch.setattr("akkm.guided.assignment._MOST_ASSIGNMENTS", 0)
    reached = []
    for seed in range(60):
        cost, pairs, penalty = random_problem(seed, hard)
        best = lowest(cost, pairs, penalty)
        assignment = Assignment(len(cost), cost.shape[1], pairs, penalty)
        tie = np.zeros(len(cost))
        if np.isinf(best):
            with pytest.raises(ImpossibleError):
                assignment.assign(cost, tie)
            continue
        labels = assignment.assign(cost, tie)
        first = total(cost, pairs, penalty, labels)
        assert np.isfinite(first)
        allowed = np.where(np.isinf(cost), np.inf, 1 - cost)
        other = assignment.assign(allowed, tie)  # labels for other costs
        later = assignment.assign(cost, tie, other)
        assert total(cost, pairs, penalty, later) <= total(cost, pairs, penalty, other)
        reached.append(first <= best + 1e-12)
    assert np.mean(reached) > 0.85


def test_labels_stay_if_the_difference_is_a_rounding_error():
    assignment = Assignment(2, 2, np.empty((0, 2), dtype=int), np.empty(0))
    cost, tie = np.array([[0.0, 0.1], [0.0, 0.3]]), np.full(2, 0.2)
    assert assignment.assign(cost, tie, np.array([1, 1])).tolist() == [1, 0]


def test_a_large_graph_is_colored():
    """A ring of odd length needs a third color, at one place."""
    n = 301
    neighbours = [[(i - 1) % n, (i + 1) % n] for i in range(n)]
    labels = color(np.tile([0.0, 0.0, 1.0], (n, 1)), neighbours)
    assert (labels != np.roll(labels, 1)).all()
    with pytest.raises(ImpossibleError) as caught:
        color(np.zeros((n, 2)), neighbours)
    assert caught.value.proved
