"""Ward's tree of weighted centers."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, is_valid_linkage, linkage

from akkm.layers.tree import cut_tree, points_from_distances, ward_tree


def test_with_equal_weights_the_tree_equals_that_of_scipy():
    X = np.random.default_rng(0).normal(size=(12, 3))
    found, expected = ward_tree(X, np.ones(12)), linkage(X, "ward")
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_a_center_of_weight_three_acts_like_three_equal_rows():
    X = np.array([[0.0], [1.0], [5.0], [7.5]])
    weights = np.array([3, 1, 1, 2])
    found = ward_tree(X, weights)
    expected = linkage(np.repeat(X, weights, axis=0), "ward")
    np.testing.assert_allclose(found[:, 2], expected[-3:, 2])


@pytest.mark.parametrize("number", [1, 3, 8])
def test_cuts_equal_those_of_scipy(number):
    X = np.random.default_rng(1).normal(size=(8, 2))
    tree = ward_tree(X, np.arange(1, 9))
    assert is_valid_linkage(tree)
    found, expected = cut_tree(tree, number), fcluster(tree, number, "maxclust")
    pairs = set(zip(found.tolist(), expected.tolist(), strict=True))
    assert len(pairs) == number


def test_points_have_the_given_distances():
    X = np.random.default_rng(2).normal(size=(6, 3))
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    Y = points_from_distances(squared)
    np.testing.assert_allclose(((Y[:, None] - Y) ** 2).sum(axis=2), squared, atol=1e-9)
