"""partial_fit: rows arrive in batches, and only a sample of them is stored."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from akkm import ApproxKernelKMeans
from akkm.approx.stream import Reservoir, match_labels
from akkm.core import gram
from akkm.core.threads import thread_pools
from akkm.estimators import _streaming


def blobs(n=6_000, centers=4, seed=0, std=1.5):
    X, y = make_blobs(n, 3, centers=centers, cluster_std=std, random_state=seed)
    return X.astype(np.float32), y


class TestReservoir:
    def test_every_row_is_equally_likely_to_be_sampled(self):
        hits = np.zeros(60)
        for seed in range(2_000):
            sample = Reservoir(12, np.random.default_rng(seed))
            for batch in np.split(np.arange(60.0)[:, None], [5, 10, 13, 40]):
                sample = sample.add(batch, None)
            assert sample.rows.shape == (12, 1)
            assert sample.seen == 60
            assert len(np.unique(sample.rows)) == 12
            hits[sample.rows.astype(int).ravel()] += 1
        # A row is in a fifth of the 2,000 samples, so 400 hits are expected. Allow a
        # difference of five standard deviations.
        assert np.abs(hits - 400).max() < 5 * np.sqrt(2_000 * 0.2 * 0.8)

    def test_all_rows_are_stored_until_the_reservoir_is_full(self):
        sample = Reservoir(10, np.random.default_rng(0))
        sample = sample.add(np.arange(4.0)[:, None], np.arange(4.0))
        sample = sample.add(np.arange(4.0, 7)[:, None], None)
        assert sample.rows.ravel().tolist() == [0, 1, 2, 3, 4, 5, 6]
        assert sample.weights.tolist() == [0, 1, 2, 3, 1, 1, 1]

    def test_sparse_rows_give_the_same_sample_as_dense_rows(self, rng):
        X = rng.random((50, 3)) * (rng.random((50, 3)) < 0.5)
        a = Reservoir(8, np.random.default_rng(1))
        b = Reservoir(8, np.random.default_rng(1))
        for part in np.split(X, 5):
            a = a.add(part, None)
            b = b.add(sparse.csr_array(part), None)
        np.testing.assert_array_equal(a.rows, b.rows.toarray())


def test_match_labels_restores_the_previous_numbering():
    before = np.array([0, 0, 1, 1, 2, 2])
    assert (
        match_labels(np.array([2, 2, 0, 0, 1, 1]), before, 3).tolist()
        == before.tolist()
    )


@pytest.fixture
def small(monkeypatch):
    """Limit the reservoir to 500 rows, far fewer than the rows of the data."""
    monkeypatch.setattr(_streaming, "_RESERVOIR", 500)


@pytest.mark.parametrize("order", ["shuffled", "sorted"])
def test_the_error_is_close_to_that_of_a_fit_to_all_rows(order, small):
    X, y = blobs()
    if order == "sorted":  # most batches contain a single cluster
        X = X[np.argsort(y, kind="stable")]
    settings = {"n_clusters": 4, "gamma": 0.05, "n_landmarks": 60, "random_state": 0}
    full = ApproxKernelKMeans(**settings).fit(X)
    model = ApproxKernelKMeans(**settings)
    for batch in np.array_split(X, 30):
        model.partial_fit(batch)
    assert -model.score(X) < 1.02 * full.inertia_
    assert adjusted_rand_score(model.predict(X), full.labels_) > 0.9


def test_cluster_numbers_stay_the_same_from_the_first_batch_on(small):
    X, y = blobs(std=0.5)
    model = ApproxKernelKMeans(4, gamma=0.1, n_landmarks=40, random_state=0)
    before = None
    for start in range(0, 6_000, 400):
        batch = X[start : start + 400]
        model.partial_fit(batch)
        assert model.labels_.shape == (400,)
        now = model.predict(X)
        np.testing.assert_array_equal(now[start : start + 400], model.labels_)
        if before is not None:
            assert (now == before).mean() > 0.99
        before = now
    assert adjusted_rand_score(before, y) > 0.99
    assert model._reservoir.rows.shape[0] == 500
    assert model.transform(X[:5]).shape == (5, 4)


def test_a_batch_moves_the_centers_as_computed_by_hand():
    """On a line, a center is a weighted mean in which earlier rows count less."""
    model = ApproxKernelKMeans(2, kernel="linear", n_landmarks=2, random_state=0)
    first = np.array([[0.0], [0.2], [10.0], [10.2]])
    model.partial_fit(first)
    schedule = model._schedule
    assert (schedule.check_at, schedule.recluster_at) == (5, 32)
    model._schedule = replace(schedule, check_at=6)
    model.partial_fit(np.array([[11.1]]))
    own = int(model.predict([[10.0]])[0])
    # The total weight of all rows is half their number. Before the batch it is 2, of
    # which the two rows of this cluster have 1. Now it is 5 / 2. The new row has weight
    # 1, so 1.5 are left for the earlier rows: their weights are multiplied by 1.5 / 2.
    kept = 1.0 * 1.5 / 2
    center = (kept * 10.1 + 11.1) / (kept + 1)
    distance = model.transform(np.array([[center]]))[0, own]
    assert distance == pytest.approx(0, abs=1e-6)


def test_centers_wait_until_enough_rows_are_new():
    """Centers move when 3 % of the rows are new; then all new rows count."""
    model = ApproxKernelKMeans(2, kernel="linear", n_landmarks=2, random_state=0)
    rows = np.repeat([[1.0], [10.0]], 485, axis=0)
    model.fit(rows)
    start = model.dual_coef_.copy()
    own = int(model.predict([[10.0]])[0])
    counts = []
    for _ in range(2):
        model.partial_fit(np.full((10, 1), 12.0))
        np.testing.assert_array_equal(model.dual_coef_, start)
        np.testing.assert_array_equal(model.labels_, np.full(10, own))
        counts.append(model._counts[own])
    model.partial_fit(np.full((10, 1), 12.0))
    np.testing.assert_array_equal(model.labels_, model.predict(np.full((10, 1), 12.0)))
    # A new row has weight 1. With each batch, the weights of the earlier rows shrink,
    # so that the total weight is half the number of rows.
    old, new = 485 / 2, 0.0
    for seen, count in zip((970, 980, 990), (*counts, model._counts[own]), strict=True):
        kept = ((seen + 10) / 2 - 10) / (seen / 2)
        old, new = old * kept, new * kept + 10
        assert count == pytest.approx(2 * (old + new))
    center = (old * 10 + new * 12) / (old + new)
    distance = model.transform(np.array([[center]]))[0, own]
    assert distance == pytest.approx(0, abs=1e-5)


def test_the_sample_is_factored_with_one_blas_thread(monkeypatch):
    """More threads would cost processor time, as the calls are short."""
    threads, factor = [], gram.factor

    def count(*args, **settings):
        pools = thread_pools().info()
        threads.extend(p["num_threads"] for p in pools if p["user_api"] == "blas")
        return factor(*args, **settings)

    monkeypatch.setattr(gram, "factor", count)
    with threadpool_limits(2, "blas"):
        ApproxKernelKMeans(4, random_state=0, n_jobs=1).partial_fit(blobs(200)[0])
    assert threads
    assert set(threads) == {1}


def test_weighted_sparse_rows_give_the_same_labels_as_dense_rows(small, rng):
    X, _ = blobs(2_000)
    w = rng.integers(0, 3, 2_000).astype(float)
    dense, csr = (
        ApproxKernelKMeans(4, gamma=0.05, n_landmarks=40, random_state=0)
        for _ in range(2)
    )
    for part in np.array_split(np.arange(2_000), 8):
        dense.partial_fit(X[part], sample_weight=w[part])
        csr.partial_fit(sparse.csr_array(X[part]), sample_weight=w[part])
    np.testing.assert_array_equal(dense.predict(X), csr.predict(X))


def test_invalid_batches_are_refused(small):
    X, _ = blobs(400)
    model = ApproxKernelKMeans(4, n_landmarks=20, random_state=0)
    with pytest.raises(ValueError, match="should be >= n_clusters=4"):
        ApproxKernelKMeans(4).partial_fit(X[:3])
    model.partial_fit(X)
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.partial_fit(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((5, 3), np.nan))
    assert model._reservoir.seen == 400


def reclusterings(X, monkeypatch, batch=200):
    """Return the number of rows seen before each clustering, and the model."""
    seen, cluster = [], ApproxKernelKMeans._cluster_sample

    def count(self, sample):
        seen.append(sample.seen)
        cluster(self, sample)

    monkeypatch.setattr(ApproxKernelKMeans, "_cluster_sample", count)
    model = ApproxKernelKMeans(4, gamma=0.05, n_landmarks=60, random_state=0)
    for start in range(0, len(X), batch):
        model.partial_fit(X[start : start + batch])
    return seen, model


def test_the_sample_is_clustered_rarely_if_the_centers_fit(small, monkeypatch):
    X, y = blobs(std=0.5)
    seen, model = reclusterings(X, monkeypatch)
    assert len(seen) <= 3  # of 30 batches
    assert adjusted_rand_score(model.predict(X), y) > 0.99


def test_a_full_sample_is_not_clustered_again_if_the_centers_fit(small, monkeypatch):
    X, _ = blobs(6_600, std=0.5)
    seen, _ = reclusterings(X, monkeypatch, batch=100)
    assert len(seen) > 1
    assert max(seen) < 1_000  # the sample has 500 rows


def test_the_sample_is_clustered_again_if_new_clusters_appear(small, monkeypatch):
    X, y = blobs(std=0.5)
    order = np.argsort(y, kind="stable")
    seen, model = reclusterings(X[order], monkeypatch)
    assert len(seen) > 4
    assert adjusted_rand_score(model.predict(X), y) > 0.99


def test_a_full_sample_of_dense_rows_equals_that_of_sparse_rows(rng):
    X, w = rng.random((300, 3)), rng.random(300)
    a = Reservoir(20, np.random.default_rng(1))
    b = Reservoir(20, np.random.default_rng(1))
    for part in np.split(np.arange(300), 30):
        a = a.add(X[part], w[part])
        b = b.add(sparse.csr_array(X[part]), w[part])
    np.testing.assert_array_equal(a.rows, b.rows.toarray())
    np.testing.assert_array_equal(a.weights, b.weights)


class TestFewerRowsThanLandmarks:
    def test_all_rows_are_landmarks_at_first(self):
        X, y = blobs(900, std=0.5)
        model = ApproxKernelKMeans(4, gamma=0.1, n_landmarks=300, random_state=0)
        model.partial_fit(X[:40])
        assert model.landmarks_.shape[0] == 40
        assert model.n_landmarks == 300
        for start in range(40, 900, 40):
            model.partial_fit(X[start : start + 40])
        assert model.landmarks_.shape[0] == 300
        assert adjusted_rand_score(model.predict(X), y) > 0.99

    def test_the_parameter_is_restored_after_an_error(self):
        X, _ = blobs(40)
        model = ApproxKernelKMeans(4, gamma=0.1, n_landmarks=300, random_state=0)
        with pytest.raises(ValueError, match="n_clusters"):
            model.partial_fit(X[:3])
        assert model.n_landmarks == 300
        assert not hasattr(model, "landmarks_")
