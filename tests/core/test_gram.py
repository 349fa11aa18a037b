"""Factored landmarks: the whitener, ranks, indefinite kernels."""

import numpy as np
import pytest

from akkm.core.gram import factor
from akkm.kernels import RBF, Sigmoid


def test_whitener_whitens(digits):
    K = RBF(gamma=0.05)(digits[0][:80])
    gram = factor(K)
    np.testing.assert_allclose(
        gram.whitener.T @ K @ gram.whitener, np.eye(gram.rank), atol=1e-8
    )
    np.testing.assert_allclose(gram.squared_norms(K), K.diagonal(), atol=1e-8)
    assert gram.metric
    assert gram.negative_mass == 0


def test_duplicated_landmarks_lower_the_rank(digits):
    X = digits[0][:40].repeat(2, axis=0)
    assert factor(RBF(gamma=0.05)(X)).rank == 40


def test_indefinite():
    K = np.diag([4.0, 1.0, -2.0])
    clip, flip, pinv = (factor(K, indefinite=i) for i in ("clip", "flip", "pinv"))
    assert (clip.rank, flip.rank, pinv.rank) == (2, 3, 3)
    assert clip.negative_mass == pytest.approx(2 / 7)
    assert [clip.metric, flip.metric, pinv.metric] == [True, True, False]
    inverse = pinv.whitener * pinv.signs @ pinv.whitener.T
    np.testing.assert_allclose(inverse, np.linalg.inv(K), atol=1e-12)


@pytest.mark.parametrize(
    ("values", "rank"),
    [
        ([9.0, 1.0, 0.03, 0.01, -0.02], 3),  # as small as a negative one
        ([9.0, 1.0, 0.10, 0.08, -2.0], 3),  # at most a hundredth of the largest
        ([9.0, 1.0, 0.03, 0.01, 0.001], 5),
        ([0.5, 0.3, 0.004, 0.006, -100.0], 3),  # of the largest positive one
    ],
)
def test_small_eigenvalues_of_indefinite_kernels(values, rank):
    assert factor(np.diag(values)).rank == rank


def test_images_are_not_longer_than_the_points(digits, rng):
    # k(x, x) bounds them for positive definite kernels; here, nearly.
    X, kernel = digits[0] / digits[0].max(), Sigmoid(gamma=0.1, coef0=0.0)
    K = kernel(X, X)
    chosen = rng.choice(len(X), 60, replace=False)
    gram = factor(K[np.ix_(chosen, chosen)])
    assert gram.negative_mass > 0
    lengths = gram.squared_norms(K[:, chosen]) / K.diagonal()
    assert lengths.max() < 1.25


def test_zero_matrix():
    gram = factor(np.zeros((3, 3)))
    assert gram.rank == 0
    assert gram.negative_mass == 0
