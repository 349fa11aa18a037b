"""Nyström spectral clustering, compared with its definition."""

import tracemalloc

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from akkm import NystroemSpectralClustering
from akkm.kernels import RBF, Polynomial
from oracles import lloyd_on_features, nystroem_kernel, spectral_rows


def up_to_rotation(A, B):
    """The largest difference between A and the closest rotation of B."""
    U, _, V = np.linalg.svd(B.T @ A)
    return np.abs(B @ U @ V - A).max()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.02), Polynomial(degree=2)])
def test_embedding_equals_the_definition(kernel, weighted, digits, rng):
    X, rows = digits[0][:500], np.sort(rng.choice(500, 60, replace=False))
    w = rng.uniform(0.5, 3, size=500) if weighted else None
    model = NystroemSpectralClustering(
        5, kernel=kernel, landmarks=rows, random_state=0
    ).fit(X, sample_weight=w)
    K = nystroem_kernel(kernel(X, X[rows]), kernel(X[rows]))
    expected, values = spectral_rows(K, 5, w)
    assert up_to_rotation(model.embedding_, expected) < 1e-6
    np.testing.assert_allclose(model.eigenvalues_, values[:5], atol=1e-8)
    assert model.eigenvalues_[0] == pytest.approx(1)


def test_labels_are_k_means_on_the_embedding(digits, rng):
    X, start = digits[0], rng.integers(10, size=1797)
    model = NystroemSpectralClustering(
        10, n_landmarks=200, init=start, random_state=0
    ).fit(X)
    expected = lloyd_on_features(model.embedding_, start, 10)
    np.testing.assert_array_equal(model.labels_, expected)
    means = np.array([model.embedding_[expected == k].mean(0) for k in range(10)])
    error = ((model.embedding_ - means[expected]) ** 2).sum()
    assert model.inertia_ == pytest.approx(error)
    distances = np.linalg.norm(model.embedding_[:, None] - means, axis=2)
    np.testing.assert_allclose(model.transform(X), distances, atol=1e-6)
    assert model.score(X) == pytest.approx(-error)


def test_all_rows_as_landmarks_give_spectral_clustering():
    X, y = make_moons(400, noise=0.06, random_state=0)
    ours = NystroemSpectralClustering(
        2, gamma=20, landmarks=np.arange(400), random_state=0
    ).fit(X)
    theirs = SpectralClustering(2, gamma=20, random_state=0).fit(X)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
    assert adjusted_rand_score(ours.labels_, y) == 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_without_any_similarity_are_embedded_at_zero(dtype, rng):
    """Rows far from all landmarks have degree zero, which must not give NaN."""
    X = np.r_[rng.normal(size=(300, 2)), 1e3 + 1e2 * rng.random((2, 2))]
    model = NystroemSpectralClustering(
        3, gamma=0.5, landmarks=np.arange(100), random_state=0
    ).fit(X.astype(dtype))
    assert np.isfinite(model.embedding_).all()
    assert (model.embedding_[300:] == 0).all()
    np.testing.assert_array_equal(model.predict(X.astype(dtype)), model.labels_)


def test_negative_degrees_are_reported(rng):
    X = rng.normal(size=(300, 2))
    with pytest.warns(UserWarning, match="rows have no similarity to the others"):
        model = NystroemSpectralClustering(
            2, kernel="linear", n_landmarks=50, random_state=0
        ).fit(X)
    assert np.isfinite(model.transform(X)).all()


def test_data_without_a_positive_degree_are_refused():
    with pytest.raises(ValueError, match="No row has a positive degree"):
        NystroemSpectralClustering(2, kernel="linear").fit(np.zeros((30, 2)))


def test_memory_is_far_below_n_times_m(rng):
    X = rng.random((100_000, 4), dtype=np.float32)
    model = NystroemSpectralClustering(3, n_landmarks=400, random_state=0)
    tracemalloc.start()
    model.fit(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.35 * (100_000 * 400 * 4)


def test_a_weight_of_two_equals_a_repeated_row(digits, rng):
    X, w = digits[0][:300], rng.integers(1, 4, size=300)
    params = {"landmarks": X[::5], "gamma": 0.02, "random_state": 0}
    weighted = NystroemSpectralClustering(4, **params).fit(X, sample_weight=w)
    repeated = NystroemSpectralClustering(4, **params).fit(X.repeat(w, axis=0))
    np.testing.assert_array_equal(weighted.labels_.repeat(w), repeated.labels_)


def test_kernel_values_that_are_almost_zero_are_refused():
    K = RBF(gamma=1.0)(np.random.default_rng(0).random((30, 2))) * 1e-313
    model = NystroemSpectralClustering(3, kernel="precomputed", random_state=0)
    with pytest.raises(ValueError, match="NaN or infinity"):
        model.fit(K)
