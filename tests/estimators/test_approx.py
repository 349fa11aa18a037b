"""ApproxKernelKMeans: attributes, landmarks, memory, indefinite kernels."""

import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from akkm import ApproxKernelKMeans, KernelKMeans
from akkm.kernels import RBF
from akkm.metrics import clustering_error
from oracles import algorithm2


def test_fitted_attributes_are_consistent(digits):
    X = digits[0]
    model = ApproxKernelKMeans(10, n_landmarks=50, random_state=0).fit(X)
    assert model.landmarks_.shape == (50, 64)
    np.testing.assert_array_equal(X[model.landmark_indices_], model.landmarks_)
    assert len(np.unique(model.landmark_indices_)) == 50
    assert model.dual_coef_.shape == (10, 50)
    assert model.rank_ == 50
    assert model.negative_mass_ == 0
    assert isinstance(model.inertia_, float)
    assert model.n_iter_ >= 1
    # Compute the error from its definition. The centers are combinations of the
    # landmarks' images with the coefficients dual_coef_.
    K, Phi = model.kernel_(model.landmarks_), model.kernel_(X, model.landmarks_)
    alpha = model.dual_coef_
    norms = np.einsum("km,mn,kn->k", alpha, K, alpha)
    squared = 1 - 2 * Phi @ alpha.T + norms
    assert model.inertia_ == pytest.approx(squared.min(axis=1).sum())
    np.testing.assert_allclose(model.transform(X), np.sqrt(squared), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_landmark_indices_and_points_give_the_same_labels(dtype, digits, rng):
    X = digits[0][:600].astype(dtype)
    rows, labels = rng.choice(600, 80, False), rng.integers(10, size=600)
    params = {"gamma": 0.05, "init": labels}
    by_index = ApproxKernelKMeans(10, landmarks=rows, **params).fit(X)
    by_point = ApproxKernelKMeans(10, landmarks=X[rows], **params).fit(X)
    kernel = RBF(gamma=0.05)
    K_B = kernel(np.float64(X), np.float64(X[rows]))
    expected, alpha, _ = algorithm2(K_B, K_B[rows], labels, 10)
    np.testing.assert_array_equal(by_index.labels_, by_point.labels_)
    assert by_point.landmark_indices_ is None
    np.testing.assert_array_equal(by_index.landmark_indices_, rows)
    if dtype == np.float64:
        np.testing.assert_array_equal(by_index.labels_, expected)
        np.testing.assert_allclose(by_index.dual_coef_, alpha, atol=1e-6)
    else:
        assert adjusted_rand_score(by_index.labels_, expected) > 0.99


def test_all_rows_as_landmarks_give_exact_kernel_k_means(digits, rng):
    X, labels = digits[0][:400], rng.integers(8, size=400)
    approx = ApproxKernelKMeans(8, landmarks=np.arange(400), init=labels).fit(X)
    exact = KernelKMeans(8, init=labels).fit(X)
    np.testing.assert_array_equal(approx.labels_, exact.labels_)
    assert approx.inertia_ == pytest.approx(exact.inertia_)
    assert approx.inertia_ == pytest.approx(clustering_error(X, approx.labels_))


def test_labels_do_not_depend_on_row_order(digits, rng):
    X = digits[0]
    landmarks, order = X[::9], rng.permutation(len(X))
    a = ApproxKernelKMeans(10, landmarks=landmarks, random_state=0).fit(X)
    b = ApproxKernelKMeans(10, landmarks=landmarks, random_state=0).fit(X[order])
    np.testing.assert_array_equal(a.labels_[order], b.labels_)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_cached_and_recomputed_kernel_rows_give_the_same_labels(init, digits):
    X = digits[0].astype(np.float32)
    kept, computed = (
        ApproxKernelKMeans(10, init=init, cache_size=size, random_state=0).fit(X)
        for size in (1024, 0)
    )
    np.testing.assert_array_equal(kept.labels_, computed.labels_)


def test_more_starts_lower_the_error(digits):
    X = digits[0]
    one, eight = (
        ApproxKernelKMeans(10, init="random", n_init=n, random_state=0).fit(X)
        for n in (1, 8)
    )
    assert eight.inertia_ < one.inertia_


def test_tol_saves_iterations_and_hardly_raises_the_error():
    X, _ = make_blobs(4000, 10, centers=20, cluster_std=1.5, random_state=1)
    X = X.astype(np.float32)
    params = {"n_landmarks": 100, "init": np.arange(4000) % 40, "random_state": 0}
    full = ApproxKernelKMeans(40, **params).fit(X)
    ended = ApproxKernelKMeans(40, tol=1e-4, **params).fit(X)
    assert ended.n_iter_ < 0.8 * full.n_iter_
    assert ended.inertia_ == pytest.approx(full.inertia_, rel=1e-3)


def test_memory_is_far_below_n_times_m(rng):
    X = rng.random((120_000, 4), dtype=np.float32)
    model = ApproxKernelKMeans(5, n_landmarks=400, cache_size=0, random_state=0)
    tracemalloc.start()
    model.fit(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.35 * (120_000 * 400 * 4)


def test_float64_is_used_if_float32_is_not_precise_enough(rng):
    """gamma |x|² reaches 8e5, where float32 numbers are 0.06 apart."""
    X = rng.random((300, 3)).astype(np.float32)
    X[:150] += np.float32(300)
    model = ApproxKernelKMeans(2, gamma=3.0, random_state=0).fit(X)
    exact = KernelKMeans(2, gamma=3.0, init=model.labels_).fit(np.float64(X))
    assert adjusted_rand_score(exact.labels_, model.labels_) == 1.0
    assert model.inertia_ == pytest.approx(exact.inertia_, rel=1e-4)


def test_clip_and_flip_accept_indefinite_kernels(digits):
    params = {"kernel": "sigmoid", "gamma": 0.05, "coef0": 0.5, "random_state": 0}
    fits = {
        how: ApproxKernelKMeans(5, indefinite=how, max_iter=30, **params)
        for how in ("clip", "flip")
    }
    for model in fits.values():
        model.fit(digits[0])
        assert 0 < model.negative_mass_ < 0.1
        assert np.isfinite(model.transform(digits[0])).all()
    assert fits["flip"].rank_ > fits["clip"].rank_


def test_a_very_indefinite_kernel_is_reported(digits):
    model = ApproxKernelKMeans(3, kernel="sigmoid", gamma=-1.0, coef0=0.0)
    with pytest.warns(UserWarning, match="far from positive definite"):
        model.fit(digits[0])


def test_the_default_number_of_landmarks_for_300_rows_is_256(rng):
    X = rng.random((300, 2))
    assert ApproxKernelKMeans(3, random_state=0).fit(X).dual_coef_.shape == (3, 256)
