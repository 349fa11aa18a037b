"""Bounds prove only labels that are correct, and they do prove some labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from akkm.core.bounds import Moves, State, max_past
from akkm.core.gram import Centers


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(1, 5), st.integers(0, 10_000))
def test_proved_labels_are_correct(n_clusters, steps, seed):
    """Points in the plane are fixed; the centers move at random."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(60, 2))
    paths = [rng.normal(size=(n_clusters, 2))]
    for _ in range(steps):
        paths.append(paths[-1] + rng.normal(scale=0.1, size=(n_clusters, 2)))
        if rng.random() < 0.3:  # center 0 jumps, as if its cluster were empty
            paths[-1][0] = rng.normal(size=2)
    past = [Centers(b, b, (b**2).sum(axis=1)) for b in paths]
    state = State.start(60, np.zeros(60, dtype=int))
    state.length[:] = 1
    stamps = rng.integers(0, steps, 60)
    for s, centers in enumerate(past[:-1]):
        rows = np.flatnonzero(stamps == s)
        squared = ((points[rows, None] - centers.beta) ** 2).sum(axis=2)
        order = np.sort(squared, axis=1)
        upper, gap = np.sqrt(order[:, 0]), order[:, 1] - order[:, 0]
        state.record(rows, squared.argmin(axis=1), upper, gap, s)
        assert (state.upper[rows] >= upper).all()
        assert (state.gap[rows] <= gap).all()
    moves = Moves(past[:-1], past[-1])
    everything = slice(0, 60)
    truth = ((points[:, None] - past[-1].beta) ** 2).sum(axis=2)
    doubtful = moves.unproved(state, everything, 1e-12)
    sure = np.setdiff1d(np.arange(60), doubtful)
    np.testing.assert_array_equal(state.labels[sure], truth[sure].argmin(axis=1))
    own = np.sqrt(truth[np.arange(60), state.labels])
    assert (moves.current_upper(state, everything) >= own - 1e-9).all()
    # Rebased bounds hold for the current centers.
    moves.rebase(state, everything)
    own = truth[np.arange(60), state.labels]
    assert (state.upper >= np.sqrt(own) - 1e-9).all()
    others = truth.copy()
    others[np.arange(60), state.labels] = np.inf
    assert (state.gap <= others.min(axis=1) - own + 1e-9).all()


@pytest.mark.parametrize(
    "value", [0.1, 1.0, -1 / 3, 1e-46, 1e39, -1e39, np.inf, -np.inf]
)
def test_upper_bounds_are_rounded_up_and_gaps_are_rounded_down(value):
    state = State.start(1)
    wide = np.array([value])
    state.record(slice(0, 1), np.zeros(1, dtype=int), wide, wide, 0)
    assert state.gap.dtype == state.upper.dtype == np.float32
    assert float(state.gap[0]) <= value <= float(state.upper[0])
    if 1e-30 < abs(value) < 1e30:
        assert state.upper[0] - state.gap[0] <= 3e-7 * abs(value)


def test_a_length_shared_by_all_rows_is_stored_once():
    state = State.start(1000, unit=True)
    assert (state.length == 1).all()
    assert state.length.strides == (0,)
    assert state.copy().length.strides == (0,)
    state = State.start(1000)
    state.copy().length[:] = 1
    assert np.isnan(state.length).all()


def test_only_a_gap_wider_than_the_movement_proves_a_label():
    beta = np.array([[0.0, 0.0], [10.0, 0.0]])
    then = Centers(beta, beta, (beta**2).sum(axis=1))
    moved = beta + np.array([[0.1, 0.0], [0.0, 0.1]])
    now = Centers(moved, moved, (moved**2).sum(axis=1))
    state = State.start(2, np.zeros(2, dtype=int))
    state.upper[:], state.gap[:], state.length[:] = 4.97, [1.5, 1.3], 1
    # The vector from one center to the other changes by a vector of length 0.1414. So
    # a gap above 2 · 4.97 · 0.1414 = 1.41 proves the label.
    doubtful = Moves([then], now).unproved(state, slice(0, 2), 0.0)
    np.testing.assert_array_equal(doubtful, [1])


def test_labels_far_from_a_center_that_jumps_stay_proved():
    beta = np.array([[0.0, 0.0], [4.0, 0.0], [100.0, 0.0]])
    then = Centers(beta, beta, (beta**2).sum(axis=1))
    jumped = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 50.0]])
    now = Centers(jumped, jumped, (jumped**2).sum(axis=1))
    points = np.array([[1.5, 0.0], [0.0, 30.0]])
    state = State.start(2, np.zeros(2, dtype=int))
    squared = ((points[:, None] - beta) ** 2).sum(axis=2)
    gap = squared[:, 1] - squared[:, 0]
    state.record(slice(0, 2), np.zeros(2, int), np.sqrt(squared[:, 0]), gap, 0)
    state.length[:] = 1
    moves = Moves([then], now)
    np.testing.assert_array_equal(moves.unproved(state, slice(0, 2), 0.0), [1])
    moves.rebase(state, slice(0, 2))
    assert 0 < state.gap[0] <= gap[0]


def test_the_label_of_a_reassigned_row_is_not_proved():
    beta = np.array([[0.0, 0.0], [10.0, 0.0]])
    centers = Centers(beta, beta, (beta**2).sum(axis=1))
    state = State.start(1, np.zeros(1, dtype=int))
    state.upper[:], state.gap[:], state.length[:] = 0.1, 98.0, 1
    moves = Moves([centers], centers)
    assert not moves.unproved(state, slice(0, 1), 0.0).size
    state.reassign(0, 1)
    np.testing.assert_array_equal(moves.unproved(state, slice(0, 1), 0.0), [0])


def test_the_number_of_stored_past_centers_is_bounded():
    assert max_past(7, 1000) == 32
    assert 1 <= max_past(2000, 2000) <= 2
