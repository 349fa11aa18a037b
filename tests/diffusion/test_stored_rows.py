"""DiffusionKernelKMeans of rows in files and on Dask workers.

The graph is built on a sample in memory. The points of the other rows are computed
batch by batch, or by the workers.
"""

import os
import pickle
import signal

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

import akkm
from akkm import DiffusionKernelKMeans
from akkm.diffusion import graph_sample
from akkm.rows import batches, formats, mapped
from akkm.rows.contract import ArrayRows
from akkm.rows.dask_rows import rows_of_dask

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

N = 6_000


@pytest.fixture(scope="module")
def moons():
    """Two moons, with repeated rows."""
    X, y = make_moons(N, noise=0.06, random_state=0)
    X[5_000:5_200], y[5_000:5_200] = X[:200], y[:200]
    return X.astype(np.float32), y


def stored(where, X, folder, request):
    """Store the rows in a file, on Dask workers, or in partitions of this process."""
    if where == "file":
        np.save(folder / "x.npy", X)
        return akkm.open_rows(folder / "x.npy")
    if where == "workers":
        request.getfixturevalue("client")
    return da.from_array(X, chunks=((2_500, 0, 2_000, len(X) - 4_500), X.shape[1]))


WHERE = ["file", "workers", "here"]


SAMPLED = {"max_rows": 1_500, "random_state": 0, "outliers": "mark"}


@pytest.fixture(scope="module", params=[False, True], ids=["equal", "weighted"])
def in_memory(request, moons):
    """A fit in memory and its weights; tests must not change it."""
    w = np.random.default_rng(0).integers(0, 3, N).astype(float)
    weights = w if request.param else None
    model = DiffusionKernelKMeans(5, **SAMPLED).fit(moons[0], sample_weight=weights)
    return model, weights


@pytest.mark.parametrize("where", WHERE)
def test_labels_equal_those_of_a_fit_in_memory_with_the_same_sample(
    where, in_memory, moons, tmp_path, request
):
    X, _ = moons
    expected, w = in_memory
    rows = stored(where, X, tmp_path, request)
    model = DiffusionKernelKMeans(5, **SAMPLED).fit(rows, sample_weight=w)
    for name in ("labels_", "outlying_", "embedding_"):
        found = getattr(model, name)
        if where != "file":
            assert isinstance(found, da.Array), name
            sizes = [size for size in found.chunks[0] if size]
            assert sizes == [2_500, 2_000, 1_500], name
        np.testing.assert_array_equal(np.asarray(found), getattr(expected, name))
    assert model.labels_.dtype == np.int32
    assert model.inertia_ == pytest.approx(expected.inertia_, rel=1e-6)
    np.testing.assert_array_equal(np.asarray(model.predict(rows)), expected.labels_)
    np.testing.assert_allclose(
        np.asarray(model.transform(rows)), expected.transform(X), rtol=1e-4, atol=1e-5
    )
    assert model.score(rows, sample_weight=w) == pytest.approx(
        -model.inertia_, rel=1e-5
    )


@pytest.mark.parametrize("where", WHERE)
def test_the_default_graph_contains_all_rows_if_there_are_few(
    where, digits, tmp_path, request
):
    X = np.tile(digits[0], (3, 1))[:5_000].astype(np.float32)
    expected = DiffusionKernelKMeans(10, random_state=0).fit(X)
    rows = stored(where, X, tmp_path, request)
    model = DiffusionKernelKMeans(10, random_state=0).fit(rows)
    np.testing.assert_array_equal(np.asarray(model.labels_), expected.labels_)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X[:50]), expected.labels_[:50])


def test_the_sample_is_limited_if_max_rows_is_not_given(moons, tmp_path, monkeypatch):
    monkeypatch.setattr(graph_sample, "_SAMPLE", 1_000)
    X, y = moons
    rows = stored("file", X, tmp_path, None)
    model = DiffusionKernelKMeans(2, random_state=0).fit(rows)
    assert len(model._embedding.keys) == 1_000
    assert adjusted_rand_score(y, model.labels_) > 0.95
    monkeypatch.setattr(graph_sample, "_SAMPLE_BYTES", 700 * 8)
    model = DiffusionKernelKMeans(2, random_state=0).fit(rows)
    assert len(model._embedding.keys) == 700


def test_a_large_embedding_is_stored_in_a_file(moons, tmp_path, monkeypatch):
    X, _ = moons
    settings = {"max_rows": 1_500, "random_state": 0}
    expected = DiffusionKernelKMeans(2, **settings).fit(X)
    monkeypatch.setattr(batches, "_POINT_BYTES", 1_000)
    files, full = [], mapped.full
    monkeypatch.setattr(
        mapped, "full", lambda *a, **b: (files.append(a[0]), full(*a, **b))[1]
    )
    rows = stored("file", X, tmp_path, None)
    model = DiffusionKernelKMeans(2, **settings).fit(rows)
    assert files == [model.embedding_.shape]
    np.testing.assert_array_equal(model.labels_, expected.labels_)


def test_a_killed_worker_does_not_change_the_labels(moons, tmp_path, request):
    X, _ = moons
    settings = {"max_rows": 1_000, "random_state": 0}
    expected = DiffusionKernelKMeans(2, **settings).fit(X)
    rows = stored("workers", X, tmp_path, request)
    client = request.getfixturevalue("workers")
    model = DiffusionKernelKMeans(2, **settings).fit(rows)
    worker = next(iter(client.cluster.workers.values()))
    os.kill(worker.pid, signal.SIGKILL)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    again = DiffusionKernelKMeans(2, **settings).fit(rows)
    np.testing.assert_array_equal(again.labels_.compute(), expected.labels_)


def test_an_error_names_the_partition_of_a_value_that_is_not_finite(
    moons, tmp_path, request
):
    X = moons[0].copy()
    X[5_000, 1] = np.nan
    rows = stored("workers", X, tmp_path, request)
    with pytest.raises(ValueError, match=r"partition 3: row 500, column 1 is nan"):
        DiffusionKernelKMeans(2, max_rows=500).fit(rows)


@pytest.mark.parametrize("where", ["array", *WHERE])
def test_embed_applies_a_function_to_all_rows_once(where, moons, tmp_path, request):
    """This is a law of `Rows`, so it also holds for arrays."""
    X = moons[0]
    rows = ArrayRows(X) if where == "array" else stored(where, X, tmp_path, request)
    if where in ("workers", "here"):
        rows = rows_of_dask(rows)
    points, marks = rows.embed(_tripled_and_positive, 3, width=2)
    np.testing.assert_array_equal(np.asarray(points.whole()), 3 * X)
    np.testing.assert_array_equal(points[2_490:2_510], 3 * X[2_490:2_510])
    np.testing.assert_array_equal(np.asarray(marks), X[:, 0] > 0)
    assert points.shape == X.shape


def _tripled_and_positive(factor, block):
    return factor * block, block[:, 0] > 0


def test_a_model_with_landmarks_predicts_stored_rows(tmp_path):
    """A fit in memory uses landmarks if there are many rows."""
    X = make_moons(21_000, noise=0.07, random_state=0)[0].astype(np.float32)
    model = DiffusionKernelKMeans(2, random_state=0).fit(X)
    assert model.n_neighbors_ == 0
    rows = stored("file", X, tmp_path, None)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    np.testing.assert_allclose(
        model.transform(rows), model.transform(X), rtol=1e-4, atol=1e-5
    )


def test_verbose_prints_how_many_rows_are_placed(moons, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(formats, "_CELLS", 2_000)
    rows = stored("file", moons[0], tmp_path, None)
    DiffusionKernelKMeans(2, max_rows=500, random_state=0, verbose=1).fit(rows)
    out = capsys.readouterr().out
    assert "3,000 of 6,000 rows placed" in out
    assert "6,000 of 6,000 rows placed" in out
