"""Rounding: data far from the origin, large kernel values, clusters that shrink."""

import threading

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_info

from akkm import ApproxKernelKMeans, KernelKMeans, TwoStepKernelKMeans
from akkm.core.parts import Part, Stats
from akkm.core.threads import Threads
from akkm.kernels import RBF
from akkm.metrics import clustering_error

ALL = [ApproxKernelKMeans, KernelKMeans, TwoStepKernelKMeans]
every = pytest.mark.parametrize("Estimator", ALL)


@pytest.fixture
def blobs(rng):
    X = rng.normal(size=(300, 2))
    X[:150] += 8
    return X, np.arange(300) < 150


@every
@pytest.mark.parametrize("degree", [1, 5, 9])
def test_large_kernel_values(Estimator, degree, blobs):
    """Up to 1e90: the labels are those of the kernel times a constant."""
    X, y = blobs
    model = Estimator(2, kernel="poly", degree=degree, gamma=1.0, random_state=0)
    near = model.fit(X + 20).labels_
    far = model.set_params(gamma=1e10, coef0=1e10).fit(X + 20)
    np.testing.assert_array_equal(near, far.labels_)
    np.testing.assert_array_equal(far.predict(X + 20), far.labels_)
    assert adjusted_rand_score(near, y) > 0.9


@every
@pytest.mark.parametrize(
    ("dtype", "offset"), [(np.float64, 1e4), (np.float32, 3e2), (np.float32, 3e3)]
)
def test_far_from_the_origin(Estimator, dtype, offset, blobs):
    X, _ = blobs
    far = (X + offset).astype(dtype)
    near = np.float64(far) - offset  # what survived the addition
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


@every
def test_empty_clusters_far_from_the_origin(Estimator, rng):
    X = rng.random((40, 2)) + 1000
    model = Estimator(3, kernel="linear", init=np.zeros(40, dtype=int)).fit(X)
    assert len(set(model.labels_)) == 3


def test_a_cluster_that_shrinks_to_one_row(rng):
    """What rounding left of 3,999 rows does not weigh on the last one."""
    X = rng.normal(size=(4000, 3)).astype(np.float32)
    kernel = RBF(gamma=0.5)
    X[0] += 2
    fresh = Stats.zeros(2, 60)
    phi = kernel(X, X[:60])
    stats = Stats.zeros(2, 60)
    stats.add_rows(phi, np.zeros(4000, dtype=int), None)
    stats.move_rows(phi[1:], np.zeros(3999, int), np.ones(3999, int), None)
    fresh.add_rows(phi[:1].astype(float), np.zeros(1, int), None)
    left = np.abs(stats.sums[0] - fresh.sums[0]).max()
    assert left > 1e-5  # so there is something to refresh

    from akkm.core.gram import factor
    from akkm.core.lloyd import _refresh
    from akkm.core.strip import Strip

    strip, gram = Strip(X, kernel, X[:60], np.float32), factor(kernel(X[:60]))
    with Threads(1) as engine:
        part = Part.of(strip, gram, engine, labels=np.arange(4000).clip(max=1))
        largest = _refresh(part, stats, np.array([4e3, 0]))
    assert np.abs(stats.sums[0] - fresh.sums[0]).max() < 1e-6
    np.testing.assert_array_equal(stats.counts, [1, 3999])
    np.testing.assert_array_equal(largest, [1, 3999])


def test_centered_data_in_any_order(rng):
    X = rng.normal(size=(400, 3))
    X -= X.mean(axis=0)
    landmarks, order = X[::5], rng.permutation(400)
    a, b = (
        ApproxKernelKMeans(4, kernel="linear", landmarks=landmarks, random_state=0)
        for _ in range(2)
    )
    np.testing.assert_array_equal(a.fit(X).labels_[order], b.fit(X[order]).labels_)


def blas_threads():
    return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]


def test_fits_side_by_side_leave_blas_as_it_was():
    before = blas_threads()
    inside, ended = threading.Event(), threading.Event()

    def first():
        with Threads(1):
            inside.set()
            ended.wait()

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait()
    with Threads(1):
        ended.set()
        thread.join()
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
