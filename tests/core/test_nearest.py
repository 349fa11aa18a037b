"""Nearest centers: the two lowest scores, and ties within rounding error."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from akkm.core.nearest import Scorer, _two_lowest, nearest_by_score


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
    length = np.ones(2)
    scorer = _scorer(np.float32, [1e-6, 1e-6])
    rescore = partial(np.take, exact, axis=1)
    found = nearest_by_score(rough, scorer, length, rescore, rescore)
    np.testing.assert_array_equal(found.labels, [0, 1])
    np.testing.assert_allclose(found.gap, [-1e-6, 4 - 1e-6], rtol=1e-12)
    # The float64 scores differ by 1e-9, less than their rounding error of 1.9e-9. So
    # they tie, and the row goes to the center with the lower number.
    coarse = _scorer(np.float32, [1.0, 1.0])
    rescore = partial(np.take, exact[::-1], axis=1)
    tied = nearest_by_score(rough, coarse, length, rescore, rescore)
    assert tied.labels[0] == 0


def test_the_rounding_error_of_a_far_center_does_not_tie_the_others():
    scores = np.array([[1e14], [2.0], [1.0]])
    scorer = _scorer(np.float64, [1e-8, 1e-15, 1e-15], norms=[1e14, 1.0, 1.0])
    assert scorer.slack(np.ones(1)) == 0.1
    alone = partial(np.take, scores, axis=1)
    found = nearest_by_score(scores, scorer, np.ones(1), None, alone)
    np.testing.assert_array_equal(found.labels, [2])
    scores[2] = 2.0 - 4e-16
    assert nearest_by_score(scores, scorer, np.ones(1), None, alone).labels == [1]


@pytest.mark.parametrize("gap", [0.9, 1.1])
def test_rounding_does_not_decide_whether_two_centers_tie(gap):
    # Two centers tie if their scores differ by at most 1e-12. The rounding error of a
    # score is a fifth of this number.
    scorer = _scorer(np.float64, [1e-12, 1e-12])
    exact = np.array([[gap * 1e-12], [0.0]])
    labels = set()
    for rounding in (-0.2e-12, 0.0, 0.2e-12):
        scores = exact + np.array([[rounding], [0.0]])
        found = nearest_by_score(scores, scorer, np.ones(1), None, lambda _: exact)
        labels |= set(found.labels.tolist())
    assert labels == {0 if gap < 1 else 1}


def _scorer(dtype, errors, norms=(1.0, 1.0)):
    norms = np.array(norms)
    scorer = Scorer.of(np.eye(len(norms)), norms, dtype)
    return replace(scorer, errors=np.array(errors))
