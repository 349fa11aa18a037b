"""Fits of Dask arrays give the same labels as fits in memory, even if workers die."""

import os
import pickle
import signal
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from akkm import ApproxKernelKMeans, EnsembleKernelKMeans
from akkm.rows import chunks
from akkm.rows.dask_cluster import Cluster
from akkm.rows.dask_rows import rows_of_dask
from registry import create, select

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

N = 13_000
SETTINGS = {"n_landmarks": 100, "random_state": 0, "gamma": 0.02}


@pytest.fixture(scope="module")
def X():
    X, _ = make_blobs(N, 6, centers=5, cluster_std=2.5, random_state=3)
    return X.astype(np.float32)


@pytest.fixture(scope="module")
def expected(X):
    return ApproxKernelKMeans(5, **SETTINGS).fit(X)


@pytest.mark.parametrize("init", ["k-means++", "labels"])
def test_empty_partitions_do_not_change_the_labels(init, client, X):
    rows = X[:9000]
    start = np.arange(9000) % 5 if init == "labels" else init
    expected = ApproxKernelKMeans(5, init=start, **SETTINGS).fit(rows)
    array = da.from_array(rows, chunks=((4096, 0, 4096, 0, 808), 6))
    model = ApproxKernelKMeans(5, init=start, **SETTINGS).fit(array)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    np.testing.assert_array_equal(model.predict(array).compute(), expected.labels_)
    assert model.transform(array).compute().shape == (9000, 5)


def blocks(X):
    return tuple(chunk.stop - chunk.start for chunk in chunks(len(X)))


@pytest.mark.parametrize("settings", [{}, {"kernel": "sigmoid", "gamma": 0.0005}])
def test_labels_equal_those_of_the_array_in_memory(client, X, settings):
    settings = {**SETTINGS, **settings}
    expected = ApproxKernelKMeans(5, **settings).fit(X)
    rows = da.from_array(X, chunks=(blocks(X), 6))
    model = ApproxKernelKMeans(5, **settings).fit(rows)
    assert isinstance(model.labels_, da.Array)
    assert model.labels_.chunks[0] == rows.chunks[0]
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    np.testing.assert_array_equal(model.landmarks_, expected.landmarks_)
    assert model.n_iter_ == expected.n_iter_
    assert model.inertia_ == pytest.approx(expected.inertia_, rel=1e-6)
    lazy = model.predict(rows)
    assert isinstance(lazy, da.Array)
    np.testing.assert_array_equal(lazy.compute(), expected.labels_)
    distances = model.transform(rows)
    assert distances.shape == (N, 5)
    np.testing.assert_allclose(
        distances[:50].compute(), expected.transform(X[:50]), rtol=1e-4
    )


@pytest.mark.parametrize(
    ("where", "settings"),
    [("workers", {"init": "random", "n_init": 2}), ("here", {"gamma": "scale"})],
)
def test_weights_and_random_starts_give_the_same_labels_as_in_memory(
    where, settings, X, rng, request
):
    settings = {**SETTINGS, **settings}
    w = rng.integers(0, 3, N).astype(float)
    expected = ApproxKernelKMeans(5, **settings).fit(X, sample_weight=w)
    if where == "workers":
        request.getfixturevalue("client")
    rows = da.from_array(X, chunks=(blocks(X), 6))
    weights = w if "init" in settings else da.from_array(w, chunks=3_333)
    model = ApproxKernelKMeans(5, **settings).fit(rows, sample_weight=weights)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    assert model.n_iter_ == expected.n_iter_
    assert model.inertia_ == pytest.approx(expected.inertia_, rel=1e-6)


def test_initial_labels_give_the_same_labels_as_for_an_array(client, X, rng):
    start = rng.integers(5, size=N)
    expected = ApproxKernelKMeans(5, **SETTINGS, init=start).fit(X)
    rows = da.from_array(X, chunks=(5_000, 6))
    model = ApproxKernelKMeans(5, **SETTINGS, init=start).fit(rows)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)


def test_large_messages_do_not_change_the_labels(client, X, expected, monkeypatch):
    """Large arguments are sent once, and workers add up large sums."""
    monkeypatch.setattr("akkm.rows.dask_cluster._COPIED_BYTES", 0)
    monkeypatch.setattr("akkm.core.remote_parts._GATHERED_BYTES", 0)
    rows = da.from_array(X, chunks=(4_000, 6))
    model = ApproxKernelKMeans(5, **SETTINGS).fit(rows)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    assert model.inertia_ == pytest.approx(expected.inertia_, rel=1e-6)


def test_partitions_are_grouped_by_worker_and_thread(client):
    def names(futures):
        (holders,) = zip(*client.who_has(futures).values(), strict=True)
        return set(holders)

    futures = client.map(np.full, [3] * 9, range(9), pure=False)
    groups = Cluster(client).groups(futures)
    assert sorted(i for group in groups for i in group) == list(range(9))
    assert len(groups) <= sum(client.nthreads().values())
    for group in groups:
        assert group == sorted(group)
        assert len(names([futures[i] for i in group])) == 1


def test_workers_draw_the_random_labels_of_their_rows(client, X):
    """Workers receive a position in the sequence of random numbers, and no labels."""
    rows = rows_of_dask(da.from_array(X, chunks=((1, 4_998, 8_001), 6)))
    here, there = np.random.default_rng(7), np.random.default_rng(7)
    for n_clusters in (2, 5, 7_000):
        drawn = rows.random_labels(n_clusters, there)
        assert max(len(pickle.dumps(part)) for part in drawn) < 2_000
        sizes = [1, 4_998, 8_001]
        found = [part.draw(n) for part, n in zip(drawn, sizes, strict=True)]
        expected = here.integers(n_clusters, size=N)
        np.testing.assert_array_equal(np.concatenate(found), expected)
        # A second draw gives the same labels.
        np.testing.assert_array_equal(drawn[1].draw(4_998), found[1])


@pytest.mark.parametrize("where", ["workers", "here"])
def test_labels_are_written_to_labels_file(where, X, expected, request, tmp_path):
    if where == "workers":
        request.getfixturevalue("client")
    rows = da.from_array(X, chunks=(5_000, 6))
    path = tmp_path / "labels.npy"
    model = ApproxKernelKMeans(5, **SETTINGS, labels_file=path).fit(rows)
    assert isinstance(model.labels_, np.memmap)
    np.testing.assert_array_equal(np.load(path), expected.labels_)


def test_partitions_and_data_frames_do_not_change_the_labels(client, X):
    expected = ApproxKernelKMeans(5, random_state=0).fit(X)
    odd = da.from_array(X, chunks=((1, 4_999, 8_000), (2, 4)))
    model = ApproxKernelKMeans(5, random_state=0).fit(odd)
    assert model.kernel_.gamma == pytest.approx(expected.kernel_.gamma, rel=1e-12)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    frame = dd.from_dask_array(odd, columns=list("abcdef"))
    named = ApproxKernelKMeans(5, random_state=0).fit(frame)
    np.testing.assert_array_equal(named.labels_.compute(), expected.labels_)
    assert list(named.feature_names_in_) == list("abcdef")


@pytest.fixture(scope="module")
def frame(X):
    rows = da.from_array(X, chunks=(5_000, 6))
    return dd.from_dask_array(rows, columns=list("abcdef"))


class TestNewRows:
    """predict and transform of Dask arrays and data frames."""

    @pytest.mark.parametrize(
        ("Estimator", "where"),
        [(ApproxKernelKMeans, "workers"), (EnsembleKernelKMeans, "here")],
    )
    def test_a_frame_gives_labels_without_warnings(
        self, Estimator, where, frame, request
    ):
        # Worker processes would only print warnings, so `compute` runs in this process.
        if where == "workers":
            request.getfixturevalue("client")
        settings = {"n_members": 2} if Estimator is EnsembleKernelKMeans else {}
        model = Estimator(5, **SETTINGS, **settings).fit(frame)
        lazy = model.predict(frame)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = lazy.compute(scheduler="synchronous")
        np.testing.assert_array_equal(found, np.asarray(model.labels_))
        with pytest.raises(ValueError, match=r"columns b, a, c.*fitted to a, b, c"):
            model.predict(frame[list("bacdef")])
        with pytest.raises(ValueError, match="5 features"):
            model.predict(frame[list("abcde")])

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_transform_declares_the_dtype_that_it_computes(self, dtype, X, expected):
        rows = da.from_array(X.astype(dtype), chunks=(5_000, 6))
        lazy = expected.transform(rows)
        assert lazy.dtype == dtype
        assert lazy[:5].compute().dtype == dtype
        assert expected.predict(rows).dtype == np.int32

    def test_every_estimator_predicts_lazily(self, X):
        rows = da.from_array(X[:600], chunks=(200, 6))
        for Estimator in select():
            model = create(Estimator, 3).fit(X[:600])
            lazy = model.predict(rows)
            assert isinstance(lazy, da.Array), Estimator
            np.testing.assert_array_equal(lazy.compute(), model.predict(X[:600]))


def test_an_empty_cluster_gets_the_same_row_as_in_memory(client):
    """The row that is farthest from its own center moves to the empty cluster."""
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 0.1, (500, 2)), rng.normal(9, 0.1, (500, 2)), [[40, 40]]]
    settings = {"kernel": "linear", "n_landmarks": 20, "random_state": 5}
    expected = ApproxKernelKMeans(6, **settings).fit(X)
    model = ApproxKernelKMeans(6, **settings).fit(da.from_array(X, chunks=(250, 2)))
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)


def test_without_a_dask_cluster_partitions_are_computed_locally(X, expected):
    rows = da.from_array(X, chunks=(5_000, 6))
    model = ApproxKernelKMeans(5, **SETTINGS).fit(rows)
    assert isinstance(model.labels_, da.Array)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    np.testing.assert_array_equal(model.predict(rows).compute(), expected.labels_)


def test_an_ensemble_gives_the_same_labels_as_for_an_array(client, X, rng):
    settings = {"n_members": 2, **SETTINGS}
    w = rng.integers(0, 3, N).astype(float)
    expected = EnsembleKernelKMeans(5, **settings).fit(X, sample_weight=w)
    rows = da.from_array(X, chunks=(5_000, 6))
    model = EnsembleKernelKMeans(5, **settings).fit(rows, sample_weight=w)
    for attribute in (model.labels_, model.agreement_):
        assert isinstance(attribute, da.Array)
        assert attribute.chunks[0] == rows.chunks[0]
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    np.testing.assert_allclose(model.agreement_.compute(), expected.agreement_)
    assert model.anmi_ == pytest.approx(expected.anmi_)
    np.testing.assert_array_equal(model.predict(rows).compute(), expected.labels_)


class _Interrupting:
    """Observer that calls `action` after iteration `at`."""

    def __init__(self, at, action):
        self.at, self.action = at, action

    def on_step(self, step):
        if step.iteration == self.at:
            self.action()


def slow_settings():
    """Settings of a fit that takes many iterations."""
    return {**SETTINGS, "n_clusters": 5, "init": "random"}


def test_a_killed_worker_does_not_change_the_labels(client, X):
    expected = ApproxKernelKMeans(**slow_settings()).fit(X)
    assert expected.n_iter_ > 4
    rows = da.from_array(X, chunks=(5_000, 6))

    def kill_one():
        worker = next(iter(client.cluster.workers.values()))
        os.kill(worker.pid, signal.SIGKILL)

    model = ApproxKernelKMeans(**slow_settings())
    model._observer = _Interrupting(2, kill_one)
    model.fit(rows)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    assert model.n_iter_ == expected.n_iter_


def test_losing_all_workers_raises_an_error(X, monkeypatch):
    monkeypatch.setattr("akkm.rows.dask_cluster._CHECK_EVERY", 0.5)
    monkeypatch.setattr("akkm.rows.dask_cluster._GIVE_UP_AFTER", 1.0)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        rows = da.from_array(X, chunks=(5_000, 6))
        model = ApproxKernelKMeans(**slow_settings())
        model._observer = _Interrupting(2, lambda: client.cluster.scale(0))
        with pytest.raises(RuntimeError, match="workers were lost"):
            model.fit(rows)
        assert not hasattr(model, "labels_")
        assert client.status == "running"


class TestBadInput:
    def test_unknown_chunk_sizes_are_refused(self, X):
        rows = da.from_array(X, chunks=(5_000, 6))
        with pytest.raises(ValueError, match="compute_chunk_sizes"):
            ApproxKernelKMeans(3).fit(rows[rows[:, 0] > 0])

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_errors_name_the_partition_of_a_bad_value(self, client, X, bad):
        X = X.copy()
        X[12_345, 2] = bad
        rows = da.from_array(X, chunks=(5_000, 6))
        with pytest.raises(ValueError, match=r"partition 2: row 2,345, column 2 is"):
            ApproxKernelKMeans(3, random_state=0).fit(rows)

    def test_errors_name_the_partition_without_a_dask_cluster(self, X):
        X = X.copy()
        X[12_345, 2] = np.nan
        rows = da.from_array(X, chunks=(5_000, 6))
        with pytest.raises(ValueError, match=r"partition 2: row 12,345, column 2 is"):
            ApproxKernelKMeans(3, random_state=0).fit(rows)

    def test_errors_of_the_kernel_name_the_partition(self, client, X):
        rows = da.from_array(X, chunks=(5_000, 6))
        with pytest.raises(ValueError, match=r"partition \d: Negative values"):
            ApproxKernelKMeans(3, kernel="intersection", random_state=0).fit(rows)

    def test_an_array_that_is_not_2d_is_refused(self, X):
        with pytest.raises(ValueError, match="2-D Dask array"):
            ApproxKernelKMeans(3).fit(da.ones(10))

    def test_invalid_weights_are_refused(self, client, X):
        rows = da.from_array(X, chunks=(5_000, 6))
        for bad, message in [
            (da.ones(9), r"shape == \(9,\)"),
            (-np.ones(N), "egative"),
        ]:
            with pytest.raises(ValueError, match=message):
                ApproxKernelKMeans(3).fit(rows, sample_weight=bad)

    def test_text_columns_are_refused(self):
        pandas = pytest.importorskip("pandas")
        frame = dd.from_pandas(
            pandas.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), npartitions=1
        )
        with pytest.raises(ValueError, match=r"Columns \['b'\]"):
            ApproxKernelKMeans(2).fit(frame)
