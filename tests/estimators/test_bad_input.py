"""Bad input raises one clear error. Unusual but valid input is accepted."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from akkm import (
    ApproxKernelKMeans,
    DiffusionKernelKMeans,
    SparseKernelKMeans,
    TwoStepKernelKMeans,
)
from akkm.kernels import RBF, Precomputed
from akkm.metrics import clustering_error
from registry import (
    ESTIMATORS,
    accepted,
    create,
    every,
    has,
    has_centers,
    sets,
    takes_weights,
)

in_the_rkhs = every(sets("dual_coef_"))
X = np.random.default_rng(0).random((60, 3))
X.flags.writeable = False


def with_entry(value, where=(7, 1)):
    bad = X.copy()
    bad[where] = value
    return bad


MESSAGES = [
    ({}, with_entry(np.nan), "Input X contains NaN"),
    ({}, with_entry(np.inf), "Input X contains infinity"),
    ({"n_clusters": 61}, X, "n_samples=60 should be >= n_clusters=61"),
    ({"n_clusters": 0}, X, "The 'n_clusters' parameter of"),
    ({"n_clusters": 2.5}, X, r"The 'n_clusters' parameter of"),
    ({"n_clusters": True}, X, r"The 'n_clusters' parameter of"),
    ({"n_init": 10**30}, X, r"must be an int in the range \[1, 2147483647\]"),
    ({"max_iter": 0}, X, "The 'max_iter' parameter of"),
    ({"tol": -1e-4}, X, "The 'tol' parameter of"),
    ({"tol": np.nan}, X, "The 'tol' parameter of"),
    ({"n_init": "many"}, X, "The 'n_init' parameter of"),
    ({"kernel": "chi2"}, with_entry(-0.5), "Negative values in data: the smallest"),
    ({"kernel": "intersection"}, with_entry(-0.5), "entries of 0 or more"),
    ({"kernel": "gauss"}, X, "Unknown kernel 'gauss'; expected one of rbf, poly"),
    ({"gamma": "wide"}, X, "gamma='wide' is not valid"),
    ({"kernel_params": {"tau": 1}}, X, "does not take these kernel_params"),
    ({"init": "best"}, X, "The 'init' parameter of"),
    ({"init": np.zeros(59, int)}, X, r"init has shape \(59,\); expected one label"),
    ({"init": np.zeros(60)}, X, "init has dtype float64; labels must be integers"),
    ({"init": np.full(60, 8)}, X, "init has labels from 8 to 8; expected 0 to"),
    ({"kernel": "precomputed"}, X, r"shape \(60, 3\); expected a square matrix"),
    (
        {"kernel": "precomputed"},
        np.random.default_rng(0).random((60, 60)),
        "not symmetric",
    ),
    ({"kernel": lambda A, B: A @ B.T * np.nan}, X, "kernel returned NaN or inf"),
    ({"kernel": lambda A, B: A @ B[1:].T}, X, r"returned an array of shape \("),
    ({"kernel": "poly", "degree": 9}, np.float32(1e5 * X), "overflow in float32"),
    ({"n_jobs": 0}, X, "n_jobs=0 is not valid"),
]


@pytest.mark.parametrize(
    ("Estimator", "params", "data", "message"),
    [
        (Estimator, *case)
        for case in MESSAGES
        for Estimator in ESTIMATORS
        if has(*case[0])(Estimator)
    ],
)
def test_invalid_parameters_and_data_are_refused(Estimator, params, data, message):
    with pytest.raises(ValueError, match=message):
        create(
            Estimator, **{"n_clusters": 8, **accepted(Estimator, gamma=1.0), **params}
        ).fit(data)


@every(has("kernel"))
def test_overflow_in_float64_is_refused(Estimator):
    model = create(Estimator, 8, kernel="poly", gamma=1.0, degree=99)
    with pytest.raises(ValueError, match=r"[Ss]cale the columns"):
        model.fit(1e5 * X)


@pytest.mark.parametrize("Estimator", [ApproxKernelKMeans, TwoStepKernelKMeans])
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_landmarks": 61}, "n_landmarks=61 is more than the n_samples=60"),
        ({"n_landmarks": 5}, "n_landmarks=5 is less than n_clusters=8"),
        ({"n_landmarks": "few"}, "The 'n_landmarks' parameter of"),
        (
            {"landmarks": "best"},
            "Unknown landmark strategy 'best'; expected one of uni",
        ),
        ({"landmarks": [0, 1, 2]}, "3 landmarks are fewer than n_clusters=8"),
        (
            {"landmarks": np.arange(55, 65)},
            "row indices from 55 to 64; X has rows 0 to 59",
        ),
        ({"landmarks": np.zeros(9, int)}, "has repeated row indices"),
        ({"landmarks": np.zeros(9)}, r"expected integer row indices \(m,\) or points"),
        ({"landmarks": np.ones((9, 4))}, "landmarks has 4 columns, X has 3"),
        ({"landmarks": np.full((9, 3), np.nan)}, "contains NaN"),
        (
            {"kernel": "precomputed", "landmarks": np.arange(9)},
            "for an n x m strip, landmarks must contain the row index",
        ),
    ],
)
def test_invalid_landmarks_are_refused(Estimator, params, message):
    with pytest.raises(ValueError, match=message):
        Estimator(8, **params).fit(X)


def test_landmark_points_are_refused_for_a_precomputed_kernel():
    with pytest.raises(ValueError, match="give row indices instead of points"):
        ApproxKernelKMeans(2, kernel="precomputed", landmarks=X[:5]).fit(X @ X.T)


def test_precomputed_kernel_objects_are_checked_like_the_kernel_name():
    with pytest.raises(ValueError, match="expected a square matrix"):
        ApproxKernelKMeans(2, kernel=Precomputed()).fit(X)
    with pytest.raises(TypeError, match="not kernel objects"):
        2 * Precomputed()
    with pytest.raises(ValueError, match="expected a square matrix"):
        clustering_error(X, np.zeros(60), "precomputed")


def test_a_strip_whose_columns_are_out_of_order_is_refused():
    K, rows = RBF(gamma=1.0)(X), np.arange(20)
    with pytest.raises(ValueError, match="must be in the order of landmarks"):
        ApproxKernelKMeans(2, kernel="precomputed", landmarks=rows).fit(
            K[:, rows[::-1]]
        )


def test_too_few_landmarks_of_positive_weight_are_refused():
    w = np.ones(60)
    w[:9] = 0
    model = TwoStepKernelKMeans(2, landmarks=np.arange(10))
    with pytest.raises(ValueError, match="Only 1 of n_samples=10 rows have a positive"):
        model.fit(X, sample_weight=w)


def test_an_unknown_indefinite_option_is_refused():
    with pytest.raises(ValueError, match="The 'indefinite' parameter of"):
        ApproxKernelKMeans(2, indefinite="keep").fit(X)


@every(takes_weights)
def test_invalid_weights_are_refused(Estimator):
    with pytest.raises(ValueError, match="at least one non-zero"):
        create(Estimator, 2).fit(X, sample_weight=np.zeros(60))
    with pytest.raises(ValueError, match="Negative values in data"):
        create(Estimator, 2).fit(X, sample_weight=-np.ones(60))
    for weight in (1e-310, 1e308):
        with pytest.raises(ValueError, match="expected values from 1e-100 to 1e"):
            create(Estimator, 2).fit(X, sample_weight=np.full(60, weight))
    few = np.zeros(60)
    few[:3] = 1
    with pytest.raises(ValueError, match="Only 3 of n_samples=60 rows have a positive"):
        create(Estimator, 4).fit(X, sample_weight=few)


@every()
def test_invalid_new_rows_are_refused(Estimator):
    model = create(Estimator, 2).fit(X)
    for name in ("predict", "transform", "score"):
        if not hasattr(model, name):
            continue
        with pytest.raises(ValueError, match="X has 2 features, but"):
            getattr(model, name)(X[:, :2])
        with pytest.raises(ValueError, match="contains NaN"):
            getattr(model, name)(with_entry(np.nan))
    if has("kernel")(Estimator):
        histogram = create(Estimator, 2, kernel="chi2").fit(X)
        with pytest.raises(ValueError, match="Negative values in data"):
            histogram.predict(with_entry(-1))


@every(takes_weights, has("kernel"))
def test_as_many_rows_of_positive_weight_as_clusters_are_enough(Estimator):
    few = np.zeros(60)
    few[:3] = 1
    model = create(Estimator, 3).fit(X, sample_weight=few)
    assert len(set(model.labels_)) == 3


@in_the_rkhs
def test_overflow_in_rows_other_than_landmarks_is_refused(Estimator):
    """Kernel values of the landmarks are finite; those of the last row overflow."""
    data = np.float32(X.copy())
    data[-1] = 1e9
    params = accepted(Estimator, landmarks=np.arange(50))
    with pytest.raises(ValueError, match="overflow in float32"):
        Estimator(2, kernel="poly", degree=5, gamma=1.0, **params).fit(data)


@in_the_rkhs
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_fewer_distinct_rows_than_clusters_are_reported(Estimator, dtype, init):
    points = np.array([[0.0, 1.0], [2.0, 1.0], [5.0, 5.0]], dtype=dtype)
    data = np.repeat(points, 600, axis=0)
    model = Estimator(8, init=init, random_state=0)
    with pytest.warns(
        ConvergenceWarning, match=r"distinct clusters \(3\) found smaller"
    ):
        model.fit(data)
    assert model.inertia_ == pytest.approx(0, abs=1e-3)
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.transform(data)).all()
    np.testing.assert_array_equal(model.predict(data), model.labels_)
    assert len({tuple(row) for row in np.c_[model.labels_, data]}) == 3


@in_the_rkhs
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "cosine"])
def test_constant_columns_and_equal_rows_are_accepted(Estimator, kernel):
    data = np.ones((40, 3))
    data[:20, 0] = 2
    model = Estimator(2, kernel=kernel, random_state=0).fit(data)
    assert (np.bincount(model.labels_) == 20).all()
    with pytest.warns(ConvergenceWarning):
        model = Estimator(2, kernel=kernel, random_state=0).fit(np.ones((9, 2)))
    assert np.isfinite(model.transform(np.ones((9, 2)))).all()


@in_the_rkhs
def test_rows_of_zeros_are_accepted(Estimator):
    with pytest.warns(ConvergenceWarning):
        model = Estimator(2, kernel="linear", random_state=0).fit(np.zeros((9, 2)))
    np.testing.assert_array_equal(model.labels_, np.zeros(9))
    assert model.inertia_ == 0


@every()
def test_one_cluster_or_as_many_clusters_as_rows_are_accepted(Estimator):
    one = create(Estimator, 1).fit(X)
    np.testing.assert_array_equal(one.labels_, np.zeros(60))
    all_ = create(Estimator, 60).fit(X)
    assert len(set(all_.labels_)) == 60
    if has_centers(Estimator):
        assert all_.inertia_ == pytest.approx(0, abs=1e-6)


@every(has("kernel"))
def test_lists_with_one_column_are_accepted(Estimator):
    model = create(Estimator, 2).fit([[0], [1], [10], [11]])
    assert model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]
    assert model.predict([[9]])[0] == model.labels_[2]


@in_the_rkhs
def test_products_that_overflow_inside_the_kernel_are_accepted(Estimator):
    """tanh(inf) is 1: kernel values are finite, and no warning is given."""
    data = np.repeat([[-1e200], [1e200]], 9, axis=0)
    model = create(Estimator, 2, kernel="sigmoid", gamma=1.0).fit(data)
    assert (np.bincount(model.labels_) == 9).all()
    np.testing.assert_array_equal(model.predict(data), model.labels_)


@every()
def test_one_or_two_rows_are_accepted(Estimator):
    for rows in ([[0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]):
        dense = np.array(rows, dtype=np.float32)
        for data in (dense, sparse.csr_array(dense)):
            model = create(Estimator, len(rows)).fit(data)
            assert sorted(model.labels_) == list(range(len(rows)))


@every()
def test_sparse_rows_without_entries_are_accepted(Estimator):
    S = sparse.csr_array(np.where(X > 0.7, X, 0))
    model = create(Estimator, 3).fit(S)
    np.testing.assert_array_equal(model.predict(S), model.labels_)


def test_common_mistakes_are_refused_with_a_clear_message(digits, rng):
    X = digits[0]
    for cache_size in (-1, "1GB", None, np.inf):
        with pytest.raises(ValueError, match="parameter of ApproxKernelKMeans must be"):
            ApproxKernelKMeans(3, cache_size=cache_size).fit(X)
    with pytest.raises(ValueError, match="Negative values in data"):
        ApproxKernelKMeans(2, kernel="chi2").fit(rng.normal(size=(100, 3)))
    with pytest.raises(ValueError, match="The variance of X overflows"):
        ApproxKernelKMeans(2).fit(X * 1e200)
    with pytest.raises(ValueError, match="The variance of X overflows"):
        ApproxKernelKMeans(2).fit(sparse.csr_array(X * 1e200))
    for Estimator in (DiffusionKernelKMeans, SparseKernelKMeans):
        with pytest.raises(ValueError, match="distances between rows overflow"):
            Estimator(2).fit(X * 1e200)
    with pytest.raises(ValueError, match="so that distances vanish"):
        DiffusionKernelKMeans(2).fit(X * 1e-200)
    with pytest.raises(ValueError, match="'chebyshev' is not available for sparse"):
        DiffusionKernelKMeans(2, metric="chebyshev").fit(sparse.csr_array(X))
    with pytest.raises(ValueError, match=r"scikit-learn's 'auto'"):
        ApproxKernelKMeans(2, gamma="auto").fit(X)
