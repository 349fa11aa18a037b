"""Scores of numbers of clusters, and layers at the peaks of the score."""

import numpy as np
import pytest

from akkm.core.threads import Threads
from akkm.layers.curve import LayerCurve, candidate_numbers
from akkm.layers.measure import measure_point_layers, measure_walk_layers


def curve(scores, numbers=None, largest=0.5, error=0.0):
    """Return a curve with these scores; the reference has stability 0 and error 1."""
    q = len(scores)
    numbers = np.arange(2, 2 + q) if numbers is None else np.array(numbers)
    zero, one, error = np.zeros(q), np.ones(q), np.broadcast_to(error, q)
    stability = np.array(scores) / (1 - error)
    largest = np.broadcast_to(largest, q)
    return LayerCurve(numbers, stability, zero, zero, error, one, largest)


def test_the_score_is_excess_stability_times_the_drop_of_the_error():
    one = np.ones(1)
    found = LayerCurve(one * 4, one * 0.8, one, one * 0.3, one * 0.2, one * 0.5, one)
    assert found.scores == pytest.approx(0.5 * 0.6)


def test_layers_are_prominent_peaks_and_the_finest_is_the_estimate():
    found = curve([0.1, 0.5, 0.2, 0.3, 0.45, 0.1])
    assert found.layers == [3, 6]
    assert found.n_clusters == 6


def test_small_bumps_and_low_peaks_are_no_layers():
    assert curve([0.1, 0.5, 0.42, 0.48, 0.2]).layers == [3]
    assert curve([0.1, 0.5, 0.0, 0.2, 0.0]).layers == [3]


def test_among_almost_equal_scores_the_error_decides_and_then_the_larger_number():
    scores = [0.1, 0.39, 0.4, 0.39, 0.385, 0.1]  # of 2, 3, ... clusters
    assert curve(scores, error=[0.1, 0.3, 0.2, 0.25, 0.3, 0.01]).layers == [4]
    assert curve(scores, error=[0.1, 0.3, 0.2, 0.2, 0.201, 0.01]).layers == [6]
    assert curve([0.35, *scores[1:]], error=[0.1, *[0.3] * 5]).layers == [6]


def test_low_scores_give_no_layer():
    found = curve([0.01, 0.04, 0.02])
    assert found.layers == []
    assert found.n_clusters is None
    assert not found.sure


def test_the_most_stable_number_has_the_largest_share_of_the_possible_excess():
    stability, reference = np.array([0.9, 0.8, 0.95]), np.array([0.8, 0.2, 0.85])
    error, no_clusters = np.array([0.5, 0.4, 0.3]), np.full(3, 0.45)
    numbers, zero = np.array([2, 3, 4]), np.zeros(3)
    found = LayerCurve(
        numbers, stability, zero, reference, error, no_clusters, np.full(3, 0.5)
    )
    assert found.most_stable == 3  # shares 0.5, 0.75, 0.67


@pytest.mark.parametrize(("largest", "number"), [(0.5, 3), (0.9, 2)])
def test_the_most_stable_number_has_a_small_error_and_no_dominant_cluster(
    largest, number
):
    two, stability, error = np.ones(2), np.array([0.9, 0.5]), np.array([0.6, 0.4])
    found = LayerCurve(
        np.array([2, 3]), stability, two, two * 0.1, error, two / 2, two * largest
    )
    assert found.most_stable == number  # without candidates, the smallest


def test_a_number_with_a_dominant_cluster_is_no_layer():
    assert curve([0.9, 0.4, 0.1], largest=[0.95, 0.5, 0.5]).layers == [3]


def test_candidates_are_ascending_and_reach_both_ends():
    numbers = candidate_numbers(3, 100)
    assert numbers[0] == 3
    assert numbers[-1] == 100
    assert (np.diff(numbers) > 0).all()


def mixture(C, d, spread, n=2000, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(C, d)) * spread
    return (centers[rng.integers(C, size=n)] + rng.normal(size=(n, d))).astype("f4")


def test_walks_find_overlapping_clusters_in_many_columns():
    C = 12
    X = mixture(C, 20, 1.5, n=900)
    with Threads(1) as engine:
        rng = np.random.default_rng(0)
        found = measure_walk_layers(X, engine, rng, n_neighbors=15, most=24)
    assert abs(found.n_clusters - C) <= C // 6


def test_the_number_of_clusters_of_points_is_found():
    X = mixture(5, 6, 3.0)
    with Threads(1) as engine:
        found = measure_point_layers(X, None, engine, np.random.default_rng(0))
    assert found.n_clusters == 5


def test_rows_without_clusters_have_no_sure_layer():
    X = np.random.default_rng(1).random((600, 10))
    with Threads(1) as engine:
        rng = np.random.default_rng(0)
        found = measure_walk_layers(X, engine, rng, n_neighbors=15, most=24)
    assert not found.sure


def test_threads_do_not_change_the_curve():
    X = mixture(4, 10, 1.5, n=600)
    curves = []
    for n_jobs in (1, 2):
        with Threads(n_jobs) as engine:
            rng = np.random.default_rng(0)
            curves.append(measure_walk_layers(X, engine, rng, n_neighbors=10, most=8))
    np.testing.assert_array_equal(curves[0].scores, curves[1].scores)
