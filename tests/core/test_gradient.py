"""Centers computed without factoring the kernel matrix of the landmarks."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from akkm import ApproxKernelKMeans
from akkm.core.gradient import conjugate_gradients, unfactored
from akkm.kernels import RBF
from oracles import algorithm2


def test_conjugate_gradients_solve_and_estimate_the_condition_number(rng):
    Q, _ = np.linalg.qr(rng.normal(size=(60, 60)))
    K = (Q * np.geomspace(1, 1e-4, 60)) @ Q.T
    B = rng.normal(size=(5, 60))
    A, converged, condition = conjugate_gradients(K, B, np.zeros_like(B))
    assert converged
    np.testing.assert_allclose(A @ K, B, atol=1e-5)
    assert 0.5e4 < condition < 1.1e4
    again, converged, _ = conjugate_gradients(K, B, A, steps=1)
    assert converged  # the start is already the solution
    np.testing.assert_array_equal(again, A)
    _, converged, condition = conjugate_gradients(K, B, np.zeros_like(B), steps=5)
    assert not converged
    assert condition < 1.1e4


def test_zero_rows_and_singular_matrices_are_solved(rng):
    K = np.zeros((4, 4))
    A, converged, condition = conjugate_gradients(K, np.zeros((2, 4)), np.zeros((2, 4)))
    assert converged
    assert (A == 0).all()
    assert condition == 1
    F = rng.normal(size=(30, 5))
    # The rows of B are in the range of F Fᵀ, so that a solution exists.
    B = rng.normal(size=(3, 5)) @ F.T
    A, converged, _ = conjugate_gradients(F @ F.T, B, np.zeros_like(B))
    assert converged
    np.testing.assert_allclose(A @ F @ F.T, B, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_equal_those_of_algorithm_2(dtype, digits, rng):
    X, rows = digits[0], rng.choice(1797, 60, replace=False)
    start = rng.integers(10, size=1797)
    kernel = RBF(gamma=0.3)
    model = ApproxKernelKMeans(
        10, kernel=kernel, landmarks=rows, init=start, solver="gradient"
    ).fit(X.astype(dtype))
    expected, alpha, n_iter = algorithm2(kernel(X, X[rows]), kernel(X[rows]), start, 10)
    assert adjusted_rand_score(model.labels_, expected) > 0.999
    if dtype == np.float64:
        np.testing.assert_array_equal(model.labels_, expected)
        assert model.n_iter_ == n_iter
        np.testing.assert_allclose(model.dual_coef_, alpha, atol=1e-4)
    np.testing.assert_array_equal(model.predict(X.astype(dtype)), model.labels_)
    assert model.score(X.astype(dtype)) == pytest.approx(-model.inertia_, rel=1e-5)


def test_the_error_is_nearly_that_of_the_factoring_solver(digits):
    X = digits[0]
    params = {"gamma": 0.1, "n_landmarks": 100, "random_state": 0}
    factored = ApproxKernelKMeans(10, **params).fit(X)
    gradient = ApproxKernelKMeans(10, solver="gradient", **params).fit(X)
    assert gradient.inertia_ == pytest.approx(factored.inertia_, rel=0.02)
    two = ApproxKernelKMeans(10, solver="gradient", n_jobs=2, **params).fit(X)
    np.testing.assert_array_equal(gradient.labels_, two.labels_)


def test_a_failure_is_reported_with_the_condition_number(digits, monkeypatch):
    monkeypatch.setattr("akkm.core.gradient._MAX_STEPS", 5)
    model = ApproxKernelKMeans(3, n_landmarks=500, solver="gradient", random_state=0)
    with pytest.warns(ConvergenceWarning, match="condition number .* at least") as w:
        model.fit(digits[0])
    assert len(w) == 1
    assert w[0].filename == __file__
    assert np.isfinite(model.dual_coef_).all()


def test_kernels_not_known_to_be_positive_definite_are_refused(digits):
    for kernel in ("sigmoid", lambda A, B: A @ B.T):
        with pytest.raises(ValueError, match="known to be positive definite"):
            ApproxKernelKMeans(3, kernel=kernel, solver="gradient").fit(digits[0])
    with pytest.raises(ValueError, match="The 'solver' parameter of"):
        ApproxKernelKMeans(3, solver="newton").fit(digits[0])


def test_empty_clusters_do_not_count_as_failures(digits):
    """All rows start in one cluster, so the other four clusters have no mean."""
    X, start = digits[0], np.zeros(1797, dtype=int)
    model = ApproxKernelKMeans(
        5, gamma=0.3, n_landmarks=60, init=start, solver="gradient", random_state=0
    ).fit(X)
    assert len(np.unique(model.labels_)) == 5
    A = np.ones((2, 3))
    solved, converged, _ = conjugate_gradients(np.eye(3), np.zeros((2, 3)), A)
    assert converged
    assert (solved == 0).all()
    assert (A == 1).all()


def test_labels_do_not_depend_on_the_scale_of_the_kernel(digits):
    X = digits[0]
    params = {"n_landmarks": 60, "solver": "gradient", "random_state": 0}
    one = ApproxKernelKMeans(5, kernel=RBF(gamma=0.3), **params).fit(X)
    tiny = ApproxKernelKMeans(5, kernel=1e-20 * RBF(gamma=0.3), **params).fit(X)
    np.testing.assert_array_equal(one.labels_, tiny.labels_)


def test_rounding_errors_of_float32_rows_are_not_amplified(rng):
    """The coefficients stay small, although most eigenvalues of K are near zero."""
    near = rng.normal(size=(40, 2)) * 1e-6
    K = np.exp(-((near[:, None] - near) ** 2).sum(axis=2))
    means = K[:3] + 1e-5 * rng.normal(size=(3, 40))
    centers = unfactored(K, dtype=np.float32).solve(means)
    assert np.abs(centers.alpha).max() < 10
    np.testing.assert_allclose(centers.norms, 1, rtol=1e-4)
