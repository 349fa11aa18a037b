"""Precomputed kernels: square (n, n) matrices and (n, m) strips."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from akkm import (
    ApproxKernelKMeans,
    KernelKMeans,
    LeadersKernelKMeans,
    TwoStepKernelKMeans,
)
from akkm.kernels import RBF, Linear, Precomputed, Sigmoid
from akkm.rows.contract import ArrayRows
from registry import create, every, has_centers, sets, takes_precomputed


@every(takes_precomputed)
def test_a_square_matrix_gives_the_same_labels_as_its_rows(Estimator, digits):
    X = digits[0][:900]
    K = RBF(gamma=0.05)(X)
    by_rows = create(Estimator, 10, gamma=0.05).fit(X)
    given = create(Estimator, 10, kernel="precomputed").fit(K)
    np.testing.assert_array_equal(given.labels_, by_rows.labels_)
    np.testing.assert_array_equal(given.predict(K[:50]), given.labels_[:50])
    if has_centers(Estimator):
        assert given.inertia_ == pytest.approx(by_rows.inertia_)
        # k(x, x) = 1 for all rows, so distances of new rows can be computed.
        assert given.score(K) == pytest.approx(by_rows.score(X), rel=1e-6)
    if has_centers(Estimator) and Estimator is not ApproxKernelKMeans:
        np.testing.assert_allclose(
            given.transform(K[:50]), by_rows.transform(X[:50]), atol=1e-5
        )


def test_the_kernel_name_and_the_kernel_object_give_the_same_labels(digits):
    K = RBF(gamma=0.05)(digits[0][:500])
    by_name, by_object = (
        ApproxKernelKMeans(5, kernel=kernel, random_state=0).fit(K)
        for kernel in ("precomputed", Precomputed())
    )
    np.testing.assert_array_equal(by_name.labels_, by_object.labels_)


@pytest.mark.parametrize(
    "Estimator", [KernelKMeans, TwoStepKernelKMeans, LeadersKernelKMeans]
)
def test_distances_to_new_rows_need_a_constant_diagonal(Estimator, digits):
    X = digits[0][:900]
    K = Linear()(X)
    model = create(Estimator, 5, kernel="precomputed").fit(K)
    by_rows = create(Estimator, 5, kernel="linear").fit(X)
    assert model.inertia_ == pytest.approx(by_rows.inertia_)
    np.testing.assert_array_equal(model.predict(K[:9]), model.labels_[:9])
    with pytest.raises(ValueError, match="only if the diagonal of the training"):
        model.transform(K[:9])
    with pytest.raises(ValueError, match="only if the diagonal of the training"):
        model.score(K[:9])


@every(takes_precomputed, has_centers)
def test_distances_of_the_training_matrix_use_its_diagonal(Estimator, digits):
    X = digits[0][:300]
    K = Linear()(X)
    assert np.ptp(K.diagonal()) > 0
    model = create(Estimator, 5, kernel="precomputed")
    distances = model.fit_transform(K)
    np.testing.assert_array_equal(model.predict(K), model.labels_)
    assert model.score(K) == pytest.approx(-model.inertia_)
    weights = np.arange(300.0)
    weighted = model.fit(K, sample_weight=weights).score(K, sample_weight=weights)
    assert weighted == pytest.approx(-model.inertia_)
    by_rows = create(Estimator, 5, kernel="linear").fit_transform(X)
    np.testing.assert_allclose(distances, by_rows, atol=1e-4)
    # For the rows of any other matrix of this shape, k(x, x) is unknown.
    if sets("dual_coef_")(Estimator):
        with pytest.raises(ValueError, match="only if the diagonal of the training"):
            model.score(K[::-1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["function", "precomputed"])
def test_distances_for_few_landmarks_are_measured_in_the_kernels_space(kernel, dtype):
    X, _ = make_blobs(60, centers=3, n_features=6, random_state=0)
    X = X.astype(dtype)
    settings = {"landmarks": np.arange(0, 60, 6), "init": np.arange(60) % 3}
    rbf = RBF(gamma=0.05)
    expected = ApproxKernelKMeans(3, kernel=rbf, **settings).fit_transform(X)
    rows, given = (rbf(X), kernel) if kernel == "precomputed" else (X, rbf.__call__)
    model = ApproxKernelKMeans(3, kernel=given, **settings).fit(rows)
    distances = model.transform(rows)
    np.testing.assert_allclose(distances, expected, rtol=1e-3)
    error = (distances.min(axis=1) ** 2).sum()
    assert error == pytest.approx(model.inertia_, rel=1e-4)


def test_distances_of_an_indefinite_kernel_are_measured_within_the_span(digits):
    X = digits[0][:200] / 16
    settings = {"landmarks": np.arange(50), "init": np.arange(200) % 3}
    expected = ApproxKernelKMeans(3, kernel=Sigmoid(0.1), **settings).fit_transform(X)
    model = ApproxKernelKMeans(3, kernel=Sigmoid(0.1).__call__, **settings).fit(X)
    np.testing.assert_allclose(model.transform(X), expected, rtol=1e-6)


def test_the_error_does_not_depend_on_the_size_of_blocks(monkeypatch, digits):
    K = Linear()(digits[0][:300])
    model = ApproxKernelKMeans(3, kernel="precomputed", random_state=0)
    error = model.fit(K).inertia_
    monkeypatch.setitem(ArrayRows.map_blocks.__kwdefaults__, "block_rows", 64)
    assert model.fit(K).inertia_ == pytest.approx(error)


@pytest.mark.parametrize("Estimator", [ApproxKernelKMeans, TwoStepKernelKMeans])
def test_a_strip_gives_the_same_labels_as_its_rows(Estimator, digits, rng):
    X, rows = digits[0], rng.choice(1797, 150, False)
    labels = rng.integers(10, size=1797)
    strip = RBF(gamma=0.05)(X, X[rows])
    params = {"landmarks": rows, "init": labels}
    by_rows = Estimator(10, gamma=0.05, **params).fit(X)
    given = Estimator(10, kernel="precomputed", **params).fit(strip)
    np.testing.assert_array_equal(given.labels_, by_rows.labels_)
    np.testing.assert_allclose(given.dual_coef_, by_rows.dual_coef_, atol=1e-6)
    np.testing.assert_array_equal(given.predict(strip[:50]), given.labels_[:50])
    np.testing.assert_array_equal(given.landmarks_, rows)


def test_the_error_of_a_strip_is_measured_within_the_span_of_the_landmarks(digits, rng):
    X, rows = digits[0][:300], np.arange(300)
    labels = rng.integers(5, size=300)
    K = RBF(gamma=0.05)(X)
    narrow = ApproxKernelKMeans(
        5, kernel="precomputed", landmarks=rows[:299], init=labels
    ).fit(K[:, :299])
    wide = ApproxKernelKMeans(5, gamma=0.05, landmarks=rows, init=labels).fit(X)
    assert narrow.inertia_ == pytest.approx(wide.inertia_, rel=0.01)
    assert narrow.score(K[:, :299]) == pytest.approx(-narrow.inertia_)


@pytest.mark.parametrize("Estimator", [ApproxKernelKMeans, TwoStepKernelKMeans])
def test_a_diagonal_that_is_nearly_constant_is_not_taken_as_constant(Estimator, rng):
    # The rows are far from the origin, so the values k(x, x) are almost equal: they
    # differ by about 1e-7 of their size. Squared distances to centers are even smaller.
    K = Linear()(rng.normal(size=(30, 2)) + 1e7)
    model = create(Estimator, 2, kernel="precomputed").fit(K)
    assert np.ptp(K.diagonal()) < 1e-6 * K.max()
    assert model.score(K) == pytest.approx(-model.inertia_, abs=1e-13 * K.trace())
