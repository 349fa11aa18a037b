"""Rounding errors: data far from the origin and large kernel values."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from akkm import ApproxKernelKMeans, EnsembleKernelKMeans, KernelKMeans
from akkm.metrics import clustering_error
from registry import every, has, sets

in_the_rkhs = every(sets("dual_coef_"), lambda E: not has("n_leaders")(E))


@pytest.fixture
def blobs(rng):
    X = rng.normal(size=(300, 2))
    X[:150] += 8
    return X, np.arange(300) < 150


@in_the_rkhs
@pytest.mark.parametrize("degree", [1, 5, 9])
def test_kernel_values_up_to_1e90_are_clustered(Estimator, degree, blobs):
    """Multiplying a polynomial kernel by a constant does not change the labels."""
    X, y = blobs
    model = Estimator(2, kernel="poly", degree=degree, gamma=1.0, random_state=0)
    near = model.fit(X + 20).labels_
    far = model.set_params(gamma=1e10, coef0=1e10).fit(X + 20)
    np.testing.assert_array_equal(near, far.labels_)
    np.testing.assert_array_equal(far.predict(X + 20), far.labels_)
    assert adjusted_rand_score(near, y) > 0.9


@in_the_rkhs
@pytest.mark.parametrize(
    ("dtype", "offset"), [(np.float64, 1e4), (np.float32, 3e2), (np.float32, 3e3)]
)
def test_shifting_the_data_keeps_labels(Estimator, dtype, offset, blobs):
    X, _ = blobs
    far = (X + offset).astype(dtype)
    near = np.float64(far) - offset  # has the same rounding errors as `far`
    a = Estimator(2, kernel="linear", random_state=0).fit(near)
    b = Estimator(2, kernel="linear", random_state=0).fit(far)
    assert adjusted_rand_score(a.labels_, b.labels_) == 1.0
    assert b.inertia_ == pytest.approx(a.inertia_, rel=0.02)
    order = np.argsort(a.transform(near[:1]))[0]
    np.testing.assert_allclose(
        np.sort(b.transform(far), axis=1),
        np.sort(a.transform(near)[:, order], axis=1),
        rtol=0.02,
        atol=0.15,
    )
    assert clustering_error(far, a.labels_, "linear") == pytest.approx(
        clustering_error(near, a.labels_, "linear"), rel=1e-4
    )


@in_the_rkhs
def test_empty_clusters_far_from_the_origin_are_filled(Estimator, rng):
    X = rng.random((40, 2)) + 1000
    model = Estimator(3, kernel="linear", init=np.zeros(40, dtype=int)).fit(X)
    assert len(set(model.labels_)) == 3


def _with_an_extreme_row(seed, scale, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = np.abs(rng.normal(size=(40, 4)))
    X[rng.integers(40)] *= scale
    return X.astype(dtype)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.filterwarnings("ignore:The kernel is far from positive definite")
@pytest.mark.filterwarnings("ignore:Stopped at max_iter")  # a cluster stays empty
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["linear", "poly", "additive_chi2", "sigmoid"])
def test_predict_returns_the_labels_despite_an_extreme_row(kernel, dtype):
    model = ApproxKernelKMeans(5, kernel=kernel, random_state=0)
    for scale in (1e4, 1e7, 1e12):
        for seed in range(2):
            X = _with_an_extreme_row(seed, scale, dtype)
            labels = model.fit(X).labels_
            np.testing.assert_array_equal(model.predict(X), labels)


def test_an_ensemble_predicts_its_labels_despite_an_extreme_row():
    X = _with_an_extreme_row(0, 1e7)
    model = EnsembleKernelKMeans(5, kernel="linear", n_members=3, random_state=0)
    np.testing.assert_array_equal(model.fit(X).labels_, model.predict(X))


def test_an_extreme_row_does_not_change_the_labels_of_the_others(blobs):
    """Rounding errors at the extreme row's center must not make other centers tie."""
    X, y = blobs
    X = np.vstack([X, [1e8, 0.0]])
    model = KernelKMeans(3, kernel="linear", random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_[:-1], y) == 1.0
    distances = model.transform(X)
    assert (distances[:150].min(axis=1) > 0).mean() > 0.9


def test_labels_of_centered_data_do_not_depend_on_row_order(rng):
    X = rng.normal(size=(400, 3))
    X -= X.mean(axis=0)
    landmarks, order = X[::5], rng.permutation(400)
    a, b = (
        ApproxKernelKMeans(4, kernel="linear", landmarks=landmarks, random_state=0)
        for _ in range(2)
    )
    np.testing.assert_array_equal(a.fit(X).labels_[order], b.fit(X[order]).labels_)
