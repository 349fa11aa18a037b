"""KernelKMeans, compared with an oracle that uses the full kernel matrix."""

import numpy as np
import pytest

from akkm import KernelKMeans
from oracles import exact_kernel_k_means


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_labels_equal_those_of_the_full_matrix(kernel, digits, rng):
    X, labels = digits[0], rng.integers(10, size=1797)
    model = KernelKMeans(10, kernel=kernel, init=labels).fit(X)
    expected, error = exact_kernel_k_means(model.kernel_(X), labels, 10)
    np.testing.assert_array_equal(model.labels_, expected)
    assert model.inertia_ == pytest.approx(error)


def test_fitted_labels_are_a_fixed_point(digits):
    model = KernelKMeans(10, random_state=0).fit(digits[0])
    expected, error = exact_kernel_k_means(model.kernel_(digits[0]), model.labels_, 10)
    np.testing.assert_array_equal(model.labels_, expected)
    assert model.inertia_ == pytest.approx(error)


def test_integer_weights_equal_repeated_rows(digits, rng):
    X, labels = digits[0][:500], rng.integers(6, size=500)
    w = rng.integers(0, 4, 500)
    weighted = KernelKMeans(6, gamma=0.05, init=labels).fit(X, sample_weight=w)
    twice = KernelKMeans(6, gamma=0.05, init=labels.repeat(w)).fit(X.repeat(w, axis=0))
    np.testing.assert_array_equal(weighted.labels_.repeat(w), twice.labels_)
    assert weighted.inertia_ == pytest.approx(twice.inertia_)
    assert weighted.score(X, sample_weight=w) == pytest.approx(-weighted.inertia_)


def test_more_random_starts_lower_the_error(digits):
    one, many = (
        KernelKMeans(10, init="random", n_init=n, random_state=0).fit(digits[0])
        for n in (1, 6)
    )
    assert many.inertia_ < one.inertia_


def test_a_cluster_keeps_no_rounding_errors_of_heavy_rows_that_left_it():
    X = np.array([[0.1], [10.3], [5.0], [5.2], [0.2], [9.9]])
    weights = np.array([3e11, 7e11, 1.0, 1.0, 1.0, 1.0])
    model = KernelKMeans(3, kernel="linear", init=[0, 0, 0, 0, 1, 2])
    model.fit(X, sample_weight=weights)
    np.testing.assert_array_equal(model.labels_, [1, 2, 0, 0, 1, 2])
    np.testing.assert_allclose(model._model.scorer.norms[0], 5.1**2, rtol=1e-12)
