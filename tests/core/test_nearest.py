"""Nearest centers: the two lowest scores, and ties within rounding error."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from akkm.core.nearest import _two_lowest, nearest_by_score


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 9), st.integers(1, 40), st.integers(0, 99))
def test_the_two_lowest_scores_equal_those_of_a_sort(n_clusters, b, seed):
    scores = np.random.default_rng(seed).integers(0, 6, (n_clusters, b)) * 1.0
    labels, best, gap = _two_lowest(scores)
    ordered = np.sort(scores, axis=0)
    np.testing.assert_array_equal(labels, scores.argmin(axis=0))
    np.testing.assert_array_equal(best, ordered[0])
    second = ordered[1] if n_clusters > 1 else np.full(b, np.inf)
    np.testing.assert_array_equal(gap, second - ordered[0])


def test_scores_within_rounding_error_are_recomputed_exactly():
    rough = np.array([[1.0000001, 5.0], [1.0, 1.0]])
    exact = np.array([[1.0], [1.0 + 1e-9]])
    slack, tie = np.full(2, 1e-6), np.full(2, 1e-12)
    found = nearest_by_score(rough, slack, tie, lambda close: exact[:, close])
    np.testing.assert_array_equal(found.labels, [0, 1])
    np.testing.assert_allclose(found.gap, [-1e-6, 4 - 1e-6], rtol=1e-12)
    tied = nearest_by_score(
        rough, slack, np.full(2, 1e-6), lambda close: exact[::-1, close]
    )
    assert tied.labels[0] == 0
