"""Kernels that depend on distances are accurate at every scale of the data."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from akkm import ApproxKernelKMeans, KernelKMeans
from akkm.kernels import RBF, Cosine, Laplacian
from akkm.kernels._distances import squared_distances
from oracles import naive_kernel
from registry import create, every, has

SCALES = {
    np.float32: [1e-30, 1e-3, 1, 30, 1e3, 1e8, 1e19, 1e37],
    np.float64: [1e-200, 1e-3, 1, 1e3, 1e5, 1e8, 1e19, 1e160, 1e300],
}


@pytest.mark.parametrize("rows_are", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", ["one", "scale of the data"])
@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_a_kernel_of_distances_is_exact_at_every_scale(
    name, width, dtype, rows_are, rng
):
    normal = rng.normal(size=(60, 6))
    for scale in SCALES[dtype]:
        X = (normal * scale).astype(dtype)
        gamma = 1.0
        if width == "scale of the data":
            gamma = 1 / scale / scale if name == "rbf" else 1 / scale
        if not 0 < gamma < np.inf:
            continue
        with np.errstate(over="ignore"):
            expected = naive_kernel(name, X.astype(float), X.astype(float), gamma=gamma)
        kernel = RBF(gamma) if name == "rbf" else Laplacian(gamma)
        K = kernel(X if rows_are == "dense" else sparse.csr_array(X))
        assert K.min() >= 0
        assert K.max() <= 1
        tolerance = 4e-4 if dtype == np.float32 else 1e-8
        np.testing.assert_allclose(K.diagonal(), 1, rtol=tolerance)
        np.testing.assert_allclose(K, expected, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows_are", ["dense", "sparse"])
def test_near_rows_in_distant_groups_are_resolved(dtype, rows_are, rng):
    """Kernel values are about 0.7 within each of two groups, and zero between them."""
    group = rng.integers(0, 9, (20, 3)) / 8
    X = np.vstack([group, group + 2.0**17]).astype(dtype)
    K = RBF(0.5)(X if rows_are == "dense" else sparse.csr_array(X))
    expected = naive_kernel("rbf", X.astype(float), X.astype(float), gamma=0.5)
    np.testing.assert_allclose(K, expected, rtol=1e-6, atol=1e-30)


def test_one_far_point_changes_no_value_of_the_others(rng):
    X = rng.normal(size=(50, 4)).astype(np.float32)
    far = np.vstack([X, np.full((1, 4), 1e12, np.float32)])
    K = RBF(1.0)(far)
    np.testing.assert_allclose(K[:50, :50], RBF(1.0)(X), rtol=1e-4)
    assert K[50, 50] == 1
    assert (K[50, :50] == 0).all()
    np.testing.assert_array_equal(K, K.T)


def test_squared_distances_of_pairs_equal_their_definition(rng):
    X, Z = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    i, j = np.array([0, 4, 4]), np.array([3, 0, 1])
    expected = ((X[i] - Z[j]) ** 2).sum(axis=1)
    for A in (X, sparse.csr_array(X)):
        for B in (Z, sparse.csr_array(Z)):
            np.testing.assert_allclose(squared_distances(A, B, i, j), expected)


@every(has("kernel", "gamma"))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_kernel_that_cannot_resolve_the_data_gives_a_warning(Estimator, dtype, rng):
    X = (rng.normal(size=(300, 6)) * 1e8).astype(dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = create(Estimator, 4, gamma=1.0).fit(X)
    texts = [str(warning.message) for warning in caught]
    assert any("can't resolve the data" in t or "no similarity" in t for t in texts)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if hasattr(model, "inertia_"):
        assert 0 <= model.inertia_ <= 300


@pytest.mark.parametrize("Estimator", [KernelKMeans, ApproxKernelKMeans])
def test_the_error_of_unresolved_rows_is_about_n_minus_n_clusters(Estimator, rng):
    X = rng.normal(size=(300, 6)) * 1e8
    with pytest.warns(UserWarning, match="lower gamma"):
        model = Estimator(4, gamma=1.0, random_state=0).fit(X)
    assert 296 - 1e-6 <= model.inertia_ <= 297
    assert len(set(model.labels_)) == 4


def test_tight_groups_far_apart_give_no_warning(rng):
    X = np.repeat(rng.normal(size=(3, 2)) * 1e8, 50, axis=0) + rng.random((150, 2))
    for Estimator in (KernelKMeans, ApproxKernelKMeans):
        model = Estimator(3, gamma=0.1, random_state=0).fit(X)
        assert len(set(model.labels_[::50])) == 3
    ApproxKernelKMeans(3, gamma=0.1, landmarks=np.arange(3) * 50).fit(X)
    KernelKMeans(3, gamma=1.0).fit(X[::50])  # every row has its own cluster


@pytest.mark.parametrize("rows_are", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_cosine_does_not_depend_on_the_lengths_of_rows(dtype, rows_are, rng):
    X = rng.normal(size=(8, 5)).astype(dtype)
    kind = np.finfo(dtype)
    scaled = X * np.geomspace(kind.tiny * 1e9, kind.max / 1e3, 8, dtype=dtype)[:, None]
    expected = Cosine()(X)
    if rows_are == "sparse":
        scaled = sparse.csr_array(scaled)
    np.testing.assert_allclose(Cosine()(scaled), expected, atol=8 * kind.eps)
    np.testing.assert_array_equal(Cosine().diag(scaled), 1)
