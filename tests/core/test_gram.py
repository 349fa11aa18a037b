"""Factored kernel matrix of the landmarks: whitener, rank, indefinite kernels."""

import numpy as np
import pytest

from akkm.core.gram import factor
from akkm.kernels import RBF, Sigmoid


def test_the_whitener_maps_the_kernel_matrix_to_the_identity(digits):
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


def test_clip_flip_and_pinv_treat_negative_eigenvalues_as_documented():
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
        ([9.0, 1.0, 0.03, 0.01, -0.02], 3),  # 0.01 is dropped: less than |-0.02|
        ([9.0, 1.0, 0.10, 0.08, -2.0], 3),  # values up to 9.0 / 100 are dropped
        ([9.0, 1.0, 0.03, 0.01, 0.001], 5),
        ([0.5, 0.3, 0.004, 0.006, -100.0], 3),  # values up to 0.5 / 100 are dropped
    ],
)
def test_small_positive_eigenvalues_of_indefinite_kernels_are_dropped(values, rank):
    assert factor(np.diag(values)).rank == rank


def test_projections_are_hardly_longer_than_the_points(digits, rng):
    # For indefinite kernels, squared norms of projections may exceed k(x, x).
    X, kernel = digits[0] / digits[0].max(), Sigmoid(gamma=0.1, coef0=0.0)
    K = kernel(X, X)
    chosen = rng.choice(len(X), 60, replace=False)
    gram = factor(K[np.ix_(chosen, chosen)])
    assert gram.negative_mass > 0
    lengths = gram.squared_norms(K[:, chosen]) / K.diagonal()
    assert lengths.max() < 1.25


def test_a_zero_matrix_has_rank_zero():
    gram = factor(np.zeros((3, 3)))
    assert gram.rank == 0
    assert gram.negative_mass == 0
