"""Properties of all estimators, or of all estimators with a given capability."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from akkm import ApproxKernelKMeans, KernelKMeans
from akkm.kernels import RBF, Linear
from registry import (
    ESTIMATORS,
    accepted,
    create,
    every,
    has,
    has_centers,
    sets,
    takes_sparse,
    takes_weights,
)


@pytest.fixture(scope="module")
def digits(digits):
    """The first 500 digits, to save time."""
    return digits[0][:500], digits[1][:500]


@pytest.fixture(scope="module", params=ESTIMATORS)
def fitted(request, digits):
    """Each estimator in turn, fitted to the digits; tests must not change it."""
    return create(request.param, 10).fit(digits[0])


def test_predict_returns_the_training_labels(fitted, digits):
    X = digits[0]
    assert not X.flags.writeable
    assert fitted.labels_.dtype == np.int32
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    for rows in (slice(0, 1), slice(100, 107), np.array([5, 400, 3])):
        np.testing.assert_array_equal(fitted.predict(X[rows]), fitted.labels_[rows])


def test_score_is_the_negative_error(fitted, digits):
    if not has_centers(type(fitted)):
        assert not hasattr(fitted, "score")
        return
    assert isinstance(fitted.inertia_, float)
    assert fitted.score(digits[0]) == pytest.approx(-fitted.inertia_, rel=1e-5)


def test_each_row_has_the_label_of_its_nearest_center(fitted, digits):
    if not has_centers(type(fitted)):
        return
    distances = fitted.transform(digits[0])
    assert distances.dtype == np.float64
    assert distances.shape == (500, 10)
    assert np.isfinite(distances).all()
    # Exception: a row that follows a leader has the label of its leader.
    if not has("n_leaders")(type(fitted)):
        own = distances[np.arange(500), fitted.labels_]
        assert (own <= distances.min(axis=1) * 1.0001 + 1e-3).all()


def test_history_has_one_row_per_iteration(fitted):
    if not has_centers(type(fitted)):
        return
    assert fitted.history_.shape == (fitted.n_iter_, 2)
    assert fitted.history_[-1, 0] == 0  # no label changed in the last iteration
    assert (fitted.history_[:-1, 0] > 0).all()


def test_pickled_models_predict_the_same_labels(fitted, digits):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(digits[0]), fitted.labels_)
    assert str(clone(fitted).get_params()) == str(fitted.get_params())


def test_frames_give_the_same_labels_as_arrays(fitted, digits):
    columns = [f"pixel {i}" for i in range(64)]
    X = pd.DataFrame(digits[0], columns=columns)
    model = clone(fitted).fit(X)
    np.testing.assert_array_equal(model.labels_, fitted.labels_)
    assert list(model.feature_names_in_) == columns
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if has_centers(type(fitted)):
        names = model.get_feature_names_out()
        assert names[0] == type(fitted).__name__.lower() + "0"
        assert len(names) == 10


def test_polars_frames_give_the_same_labels_as_arrays(digits):
    if not hasattr(pl.DataFrame, "__dataframe__") and sklearn.__version__ < "1.9":
        pytest.skip("old versions of scikit-learn can't read names from new polars")
    X = pl.DataFrame({f"pixel {i}": column for i, column in enumerate(digits[0].T)})
    model = ApproxKernelKMeans(10, random_state=0).fit(X)
    expected = ApproxKernelKMeans(10, random_state=0).fit(digits[0])
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert list(model.feature_names_in_) == X.columns


def test_sparse_rows_give_the_same_labels_as_dense_rows(fitted, digits):
    assert takes_sparse(type(fitted))
    X = sparse.csr_array(digits[0])
    model = clone(fitted).fit(X)
    np.testing.assert_array_equal(model.labels_, fitted.labels_)
    if has_centers(type(fitted)):
        assert model.inertia_ == pytest.approx(fitted.inertia_)
    np.testing.assert_array_equal(model.predict(digits[0]), fitted.labels_)
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)


@every()
def test_labels_do_not_depend_on_the_memory_layout(Estimator, digits):
    X = digits[0][:300]
    expected = create(Estimator, 5).fit(X).labels_
    wide = np.zeros((600, 128))
    wide[::2, ::2] = X
    for same in (np.asfortranarray(X), wide[::2, ::2]):
        labels = create(Estimator, 5).fit(same).labels_
        np.testing.assert_array_equal(labels, expected)


@every()
def test_results_do_not_depend_on_the_number_of_threads(Estimator, digits, monkeypatch):
    monkeypatch.setattr("akkm.rows.contract._CHUNK_ROWS", 140)  # four chunks
    monkeypatch.setattr("akkm.core.model._BLOCK_ROWS", 140)
    X = digits[0].astype(np.float32)
    one, two = (create(Estimator, 10, n_jobs=j).fit(X) for j in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    np.testing.assert_array_equal(one.predict(X), one.labels_)
    if has_centers(Estimator):
        assert one.inertia_ == two.inertia_
        assert one.score(X) == pytest.approx(-one.inertia_, rel=1e-5)
        assert one.transform(X).dtype == np.float32
        np.testing.assert_array_equal(one.transform(X), two.transform(X))
    if hasattr(one, "dual_coef_"):
        np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
        assert np.isfinite(one.dual_coef_).all()


@every()
def test_another_seed_gives_different_labels(Estimator, digits):
    X = digits[0][:400]
    one, other = (create(Estimator, 20, random_state=s).fit(X) for s in (3, 4))
    assert (one.labels_ != other.labels_).any()


@every(takes_weights)
def test_integer_weights_equal_repeated_rows(Estimator, rng):
    X, _ = make_blobs(400, centers=10 * np.eye(5), cluster_std=0.5, random_state=1)
    w = rng.integers(0, 3, size=400)
    weighted = create(Estimator, 5).fit(X, sample_weight=w)
    repeated = create(Estimator, 5).fit(X.repeat(w, axis=0))
    assert adjusted_rand_score(weighted.labels_.repeat(w), repeated.labels_) == 1.0
    if has_centers(Estimator):
        score = weighted.score(X, sample_weight=w)
        assert score == pytest.approx(-weighted.inertia_)


@every()
def test_finds_clusters_that_k_means_cannot_find(Estimator, circles):
    X, y = circles
    # Spectral clustering needs a narrower kernel than kernel k-means.
    gamma = accepted(Estimator, gamma=20.0 if sets("embedding_")(Estimator) else 5.0)
    labels = create(Estimator, 2, **gamma).fit_predict(X)
    assert adjusted_rand_score(y, labels) == 1.0
    straight = KMeans(2, random_state=0).fit_predict(X)
    assert adjusted_rand_score(y, straight) < 0.1


@every()
def test_estimators_work_in_a_pipeline(Estimator, circles):
    X, y = circles
    last = create(Estimator, 2, **accepted(Estimator, gamma=2.0))
    model = make_pipeline(StandardScaler(), last)
    assert adjusted_rand_score(y, model.fit_predict(X * [1, 1000])) == 1.0


@every()
def test_labels_do_not_depend_on_the_scale_of_the_data(Estimator, circles):
    X, _ = circles
    near, far = (create(Estimator, 2).fit(scale * X) for scale in (1, 1e4))
    assert adjusted_rand_score(near.labels_, far.labels_) == 1.0


@every(has_centers, has("init"))
def test_a_fit_stopped_at_max_iter_warns_and_is_consistent(Estimator, digits):
    X = digits[0]
    start = np.random.default_rng(0).integers(10, size=len(X))
    with pytest.warns(ConvergenceWarning, match="Stopped at max_iter=2") as caught:
        model = create(Estimator, 10, init=start, max_iter=2).fit(X)
    assert caught[0].filename == __file__
    assert model.n_iter_ == 2
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X) == pytest.approx(-model.inertia_)


@every(has_centers, has("tol"))
def test_a_fit_stopped_by_tol_is_consistent(Estimator, digits):
    X = digits[0]
    start = np.random.default_rng(0).integers(10, size=len(X))
    full, ended = (
        create(Estimator, 10, init=start, tol=tol).fit(X) for tol in (0.0, 0.9)
    )
    assert ended.n_iter_ == 2  # iteration 2 lowers the error by less than 90 %
    assert full.n_iter_ > 2
    assert full.inertia_ < ended.inertia_
    np.testing.assert_array_equal(ended.predict(X), ended.labels_)
    assert ended.score(X) == pytest.approx(-ended.inertia_)


@every(has_centers, has("init"))
def test_the_warning_about_max_iter_mentions_empty_clusters(Estimator, digits):
    """An iteration fills only one empty cluster, so others stay empty if max_iter=1."""
    X = digits[0][:300]
    model = create(Estimator, 5, init=np.zeros(300, dtype=int), max_iter=1)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X)
    empty = 5 - len(np.unique(model.labels_))
    (warning,) = caught
    text = f"max_iter=1 before labels stopped changing ({empty} of 5 clusters are empty"
    assert text in str(warning.message)


@pytest.mark.parametrize("Estimator", [ApproxKernelKMeans, KernelKMeans])
@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "poly"},
        {"kernel": "sigmoid", "gamma": 0.02, "coef0": 0.1},
        {"kernel": "linear"},
        {"kernel": "cosine"},
        {"kernel": "laplacian"},
        {"kernel": "chi2"},
        {"kernel": "intersection"},
        {"kernel": RBF(gamma=0.05) + 0.1 * Linear()},
        {"kernel": lambda A, B: (A @ B.T) ** 2},
    ],
    ids=lambda p: str(p["kernel"])[:12],
)
def test_every_kernel_gives_consistent_labels_and_errors(Estimator, params, digits):
    X = digits[0].astype(np.float32)
    model = Estimator(10, random_state=0, **params).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X) == pytest.approx(-model.inertia_, rel=1e-5)
    distances = model.transform(X)
    assert distances.dtype == np.float32
    own = distances[np.arange(500), model.labels_]
    assert (own <= distances.min(axis=1) * 1.0001 + 1e-3).all()
    assert np.isfinite(model.dual_coef_).all()


@every(takes_sparse)
def test_64_bit_indices_of_sparse_rows_do_not_change_the_labels(Estimator, digits):
    """Some functions of scikit-learn accept 32-bit indices only."""
    X = sparse.csr_array(digits[0][:200])
    wide = X.copy()
    wide.indices, wide.indptr = (
        wide.indices.astype("int64"),
        wide.indptr.astype("int64"),
    )
    # Of the estimators with a metric, only those with neighbours accept "manhattan".
    metric = "manhattan" if has("max_rows")(Estimator) else "cosine"
    others = (
        accepted(Estimator, metric=metric),
        accepted(Estimator, kernel="laplacian", gamma="median"),
    )
    for settings in ({}, *filter(None, others)):
        model = create(Estimator, 3, **settings)
        expected = model.fit_predict(X)
        np.testing.assert_array_equal(model.fit_predict(wide), expected)
        np.testing.assert_array_equal(model.predict(wide), expected)


@every(has("n_clusters"))
def test_parameters_that_are_8_bit_integers_do_not_overflow(Estimator, digits):
    X = digits[0][:200]
    counts = {"n_landmarks": 120, "n_leaders": 120, "n_init": 2, "max_iter": 100}
    counts = accepted(Estimator, **counts, n_members=2, n_neighbors=15)
    narrow = {name: np.int8(value) for name, value in counts.items()}
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        expected = create(Estimator, 100, **counts).fit(X)
        found = create(Estimator, np.int8(100), **narrow).fit(X)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
