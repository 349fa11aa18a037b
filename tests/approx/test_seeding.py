"""Initialisation by k-means++ with breathing; nested samples if there are many rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs

from akkm import ApproxKernelKMeans, SparseKernelKMeans
from akkm.approx import seeding


def test_breathing_lowers_the_error_for_every_seed(monkeypatch):
    X, _ = make_blobs(
        3000, centers=40, cluster_std=0.6, center_box=(-20, 20), random_state=3
    )

    def errors():
        models = (
            ApproxKernelKMeans(40, kernel="linear", random_state=s) for s in range(3)
        )
        return [model.fit(X).inertia_ for model in models]

    breathing = errors()
    monkeypatch.setattr(seeding, "_breathe", lambda best, *args, **kwargs: best)
    assert max(breathing) < 0.98 * min(errors())
    assert max(breathing) < 1.001 * min(breathing)


def test_nested_samples_give_nearly_the_error_of_one_sample(monkeypatch, digits, rng):
    """Compare initialisation on nested samples with initialisation on all rows."""
    X = np.tile(digits[0], (4, 1)) + rng.normal(scale=0.05, size=(7188, 64))
    whole = ApproxKernelKMeans(10, n_landmarks=100, random_state=0).fit(X)
    monkeypatch.setattr("akkm.approx.seeding._SAMPLE", 400)
    monkeypatch.setattr("akkm.approx.seeding._GROWTH", 3)
    levels = ApproxKernelKMeans(10, n_landmarks=100, random_state=0).fit(X)
    assert levels.inertia_ < 1.02 * whole.inertia_


def test_the_cost_of_the_runs_is_limited(monkeypatch, rng):
    """The limit is the cost of 60 iterations over 1,500 rows in 64 coordinates."""
    X = rng.normal(size=(1500, 6))
    costs = []

    class Counting(seeding.KMeans):
        def fit(self, X, **more):
            super().fit(X, **more)
            drawn = 2 + int(np.log(30)) if isinstance(self.init, str) else 0
            costs.append((self.n_iter_ + drawn) * X.size * 30)
            return self

    monkeypatch.setattr(seeding, "KMeans", Counting)
    model = ApproxKernelKMeans(30, n_landmarks=100, random_state=0)
    usual = model.fit(X).inertia_
    costs_before, costs[:] = costs[:], []
    limit = 60 * X.shape[0] * 64 * 30  # 60 iterations
    assert sum(costs_before) > 2 * limit
    monkeypatch.setattr(seeding, "_MULTIPLICATIONS", limit)
    limited = model.fit(X).inertia_
    assert 0.5 * limit < sum(costs) <= limit
    assert limited < 1.03 * usual
    costs.clear()
    monkeypatch.setattr(seeding, "_MULTIPLICATIONS", 0)
    monkeypatch.setattr(seeding, "_SHARE", 60 * 64 / 100)  # 60 iterations, too
    assert model.fit(X).inertia_ == limited


def test_rounding_does_not_decide_between_equally_far_centers(digits):
    """Sums over sparse rows have other rounding errors than sums over dense rows."""
    # With this seed, 13 rows are in a component of their own. They are orthogonal to
    # all other rows, so they are equally far from all centers that k-means++ draws.
    X = digits[0][:700]
    dense = SparseKernelKMeans(10, random_state=3).fit(X)
    rows_in_sparse_storage = SparseKernelKMeans(10, random_state=3).fit(csr_array(X))
    np.testing.assert_array_equal(rows_in_sparse_storage.labels_, dense.labels_)


@pytest.mark.parametrize(("count", "dtype"), [(150, "float64"), (20, "float32")])
def test_k_means_in_float32_is_reproducible(count, dtype, rng, monkeypatch):
    """The same labels on two threads, and for rows given twice."""
    precisions, fit = set(), seeding.KMeans.fit

    def spy(self, X, **weights):
        precisions.add(X.dtype)
        return fit(self, X, **weights)

    monkeypatch.setattr(seeding.KMeans, "fit", spy)
    monkeypatch.setattr(seeding, "_SAMPLE", 1500)
    X = rng.normal(size=(1500, 6)).astype(dtype)
    settings = {"gamma": 0.1, "landmarks": X[::10], "random_state": 0}
    fits = [ApproxKernelKMeans(count, n_jobs=j, **settings).fit(X) for j in (1, 2)]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    twice = ApproxKernelKMeans(count, **settings).fit(np.vstack([X, X]))
    np.testing.assert_array_equal(np.tile(fits[0].labels_, 2), twice.labels_)
    weights = np.full(len(X), 2.0)
    heavy = ApproxKernelKMeans(count, **settings).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(fits[0].labels_, heavy.labels_)
    assert precisions == {np.dtype(np.float32)}
