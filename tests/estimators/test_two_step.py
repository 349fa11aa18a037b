"""TwoStepKernelKMeans, compared with its definition and with Algorithm 2."""

import numpy as np
import pytest

from akkm import ApproxKernelKMeans, TwoStepKernelKMeans
from akkm.kernels import RBF
from akkm.metrics import clustering_error
from oracles import exact_kernel_k_means


def test_landmarks_are_clustered_and_other_rows_join_the_nearest_center(digits, rng):
    X, rows = digits[0], rng.choice(1797, 200, False)
    labels = rng.integers(10, size=1797)
    model = TwoStepKernelKMeans(10, gamma=0.05, landmarks=rows, init=labels).fit(X)
    kernel = RBF(gamma=0.05)
    K = kernel(X[rows])
    sample, _ = exact_kernel_k_means(K, labels[rows], 10)
    U = np.eye(10)[sample]
    U /= U.sum(axis=0)
    squared = 1 - 2 * kernel(X, X[rows]) @ U + np.einsum("ik,ij,jk->k", U, K, U)
    np.testing.assert_array_equal(model.labels_, squared.argmin(axis=1))
    np.testing.assert_array_equal(model.labels_[rows], sample)
    assert model.inertia_ == pytest.approx(squared.min(axis=1).sum())
    np.testing.assert_allclose(model.dual_coef_, U.T)


def test_landmarks_can_be_given_as_points(digits):
    points = digits[0][::10]
    model = TwoStepKernelKMeans(5, landmarks=points, random_state=0).fit(digits[0])
    assert model.landmark_indices_ is None
    start = np.arange(len(points)) % 5
    TwoStepKernelKMeans(5, landmarks=points, init=start).fit(digits[0])
    with pytest.raises(ValueError, match="init has shape"):
        TwoStepKernelKMeans(5, landmarks=points, init=[0, 1]).fit(digits[0])


def test_the_error_is_higher_than_that_of_approximate_kernel_k_means(digits):
    """The paper's main claim, tested on mean errors over ten draws of 50 landmarks."""
    X = digits[0]
    approximate, two_step = (
        np.mean(
            [
                clustering_error(
                    X, Estimator(10, n_landmarks=50, random_state=s).fit(X).labels_
                )
                for s in range(10)
            ]
        )
        for Estimator in (ApproxKernelKMeans, TwoStepKernelKMeans)
    )
    assert approximate < 0.98 * two_step
