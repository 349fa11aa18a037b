"""Constraints reach estimators through scikit-learn, and survive saving."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from akkm import ApproxKernelKMeans
from akkm.model_file import SavedModel, load_model, save_model
from akkm.tables import TableEncoder

X = np.repeat([[0.0, 1.0], [5.0, 0.0], [10.0, 1.0]], 8, axis=0)
KNOWN = {0: "a", 23: "b"}


def model(**parameters):
    return ApproxKernelKMeans(2, kernel="linear", random_state=0, **parameters)


def test_known_rows_are_routed_through_a_pipeline():
    with config_context(enable_metadata_routing=True):
        last = model().set_fit_request(known=True, must_link=True)
        pipeline = make_pipeline(StandardScaler(), last)
        pipeline.fit(X, known=KNOWN, must_link=[(8, 23)])
    labels, names = last.labels_, last.label_names_
    assert [names[k] for k in labels[[0, 8, 23]]] == ["a", "b", "b"]


def test_fit_predict_takes_constraints():
    labels = model().fit_predict(X, known=KNOWN, must_link=[(8, 23)])
    assert labels[8] == labels[23] != labels[0]


def test_y_is_no_constraint():
    y = np.arange(len(X)) % 2
    np.testing.assert_array_equal(model().fit(X, y).labels_, model().fit(X).labels_)


def test_names_of_clusters_are_saved(tmp_path):
    table = pa.table({"x": X[:, 0], "y": X[:, 1]})
    encoder = TableEncoder().fit(table)
    fitted = model().fit(encoder.transform(table), known=KNOWN)
    save_model(SavedModel(encoder, fitted, {}), tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops").estimator
    assert loaded.label_names_ == fitted.label_names_
    assert not hasattr(loaded, "violated_")


def test_rows_on_dask_workers_get_the_labels_of_rows_in_memory():
    distributed = pytest.importorskip("distributed")
    import dask.array as da

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2)) + 3 * rng.integers(0, 3, (400, 1))
    known = np.full(400, -1)
    known[:12] = np.digitize(rows[:12, 0], [1.5, 4.5])
    pairs = {"must_link": [(20, 21)], "cannot_link": [(30, 31), (31, 390)]}
    options = {"n_clusters": 3, "gamma": 0.3, "random_state": 0}
    here = ApproxKernelKMeans(**options).fit(rows, known=known, **pairs)
    with distributed.Client(
        n_workers=1, processes=False, threads_per_worker=1, dashboard_address=None
    ):
        there = ApproxKernelKMeans(**options)
        chunks = da.from_array(rows, chunks=(150, 2))
        there.fit(chunks, known=da.from_array(known, chunks=100), **pairs)
        labels = there.labels_.compute()
    np.testing.assert_array_equal(labels, here.labels_)
    assert there.inertia_ == pytest.approx(here.inertia_)
    assert there.label_names_ == here.label_names_
