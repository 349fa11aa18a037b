"""Strategies for choosing landmarks."""

import numpy as np
import pytest
from scipy import sparse

from akkm import ApproxKernelKMeans, TwoStepKernelKMeans
from akkm.core.threads import Threads
from akkm.kernels import RBF, Linear, Polynomial, Sigmoid
from akkm.landmarks import (
    STRATEGIES,
    Landmarks,
    Pool,
    choose,
    number_of_landmarks,
    squared_column_norms,
    weighted_sample,
)
from akkm.landmarks._scores import _ridge_leverage

every = pytest.mark.parametrize("strategy", STRATEGIES)


@every
@pytest.mark.parametrize(
    "kernel",
    [
        RBF(gamma=0.05),
        Polynomial(gamma=0.1, degree=3, coef0=1),
        Sigmoid(gamma=0.02, coef0=0.1),
        Linear(),
        lambda A, B: (A @ B.T) ** 2,
        "laplacian",
        "intersection",
    ],
    ids=lambda kernel: str(kernel)[:10],
)
def test_landmarks_are_distinct_rows_for_every_kernel(strategy, kernel, digits):
    X = digits[0][:1200]
    rows = choose(X, 60, strategy, kernel, random_state=0)
    assert rows.shape == (60,)
    assert (np.diff(rows) > 0).all()
    assert rows[0] >= 0
    assert rows[-1] < len(X)
    again = choose(X, 60, strategy, kernel, random_state=0, n_jobs=1)
    np.testing.assert_array_equal(rows, again)
    assert (choose(X, 60, strategy, kernel, random_state=1) != rows).any()


@every
def test_sparse_rows_and_precomputed_kernels_give_the_same_landmarks(strategy, digits):
    X, kernel = digits[0][:1200], RBF(gamma=0.05)
    rows = choose(X, 50, strategy, kernel, random_state=0)
    from_sparse = choose(sparse.csr_array(X), 50, strategy, kernel, random_state=0)
    np.testing.assert_array_equal(from_sparse, rows)
    from_matrix = choose(kernel(X), 50, strategy, "precomputed", random_state=0)
    np.testing.assert_array_equal(from_matrix, rows)


@every
def test_float32_rows_are_accepted(strategy, digits):
    rows = choose(digits[0].astype(np.float32), 50, strategy, random_state=0)
    assert len(np.unique(rows)) == 50


@every
def test_rows_of_weight_zero_are_never_chosen(strategy, digits, rng):
    X, w = digits[0], rng.integers(0, 3, size=1797)
    for m in (40, int((w > 0).sum())):
        rows = choose(X, m, strategy, sample_weight=w, random_state=0)
        assert len(np.unique(rows)) == m
        assert (w[rows] > 0).all()


@every
def test_heavy_rows_are_chosen_more_often(strategy, rng):
    """Rows 0 to 999 have a hundred times the weight of the other 1,000 rows."""
    X = rng.normal(size=(2000, 3))
    w = np.where(np.arange(2000) < 1000, 100.0, 1.0)
    rows = choose(X, 40, strategy, gamma=1.0, sample_weight=w, random_state=0)
    unweighted = choose(X, 40, strategy, gamma=1.0, random_state=0)
    assert (rows < 1000).mean() > (unweighted < 1000).mean()


@every
def test_all_rows_are_chosen_if_there_are_as_many_landmarks_as_rows(strategy, rng):
    rows = choose(rng.random((30, 2)), 30, strategy, random_state=0)
    np.testing.assert_array_equal(rows, np.arange(30))


@every
def test_more_landmarks_than_distinct_rows_can_be_chosen(strategy, rng):
    X = rng.random((30, 2))
    repeated = X[rng.integers(5, size=200)]  # five distinct rows
    assert len(np.unique(choose(repeated, 20, strategy, random_state=0))) == 20
    zeros = choose(np.zeros((40, 2)), 10, strategy, "linear", random_state=0)
    assert len(np.unique(zeros)) == 10


@pytest.mark.parametrize(
    ("number", "n", "n_clusters", "expected"),
    [
        ("auto", 100, 3, 100),
        ("auto", 1000, 3, 256),
        ("auto", 1000, 100, 400),
        ("auto", 10**6, 3, 1000),
        ("auto", 10**9, 3, 2048),
        (50, 1000, 3, 50),
    ],
)
def test_the_number_of_landmarks_follows_its_rule(number, n, n_clusters, expected):
    assert number_of_landmarks(number, n, n_clusters) == expected


def test_the_landmarks_of_a_precomputed_kernel_are_row_indices():
    rows, indices = np.eye(4)[[1, 3]], np.array([1, 3])
    assert Landmarks(rows, rows, indices).attribute is rows
    assert Landmarks(np.arange(2), rows, indices).attribute is indices


@every
@pytest.mark.parametrize("Estimator", [ApproxKernelKMeans, TwoStepKernelKMeans])
def test_estimators_take_the_name_of_a_strategy(strategy, Estimator, digits):
    X = digits[0]
    model = Estimator(10, n_landmarks=60, landmarks=strategy, random_state=0).fit(X)
    assert len(np.unique(model.landmark_indices_)) == 60
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_unknown_names_and_too_many_landmarks_are_refused(digits):
    with pytest.raises(ValueError, match="expected one of uniform, diagonal"):
        choose(digits[0], 10, "best")
    with pytest.raises(ValueError, match="n_landmarks=2000 is more than"):
        choose(digits[0], 2000, "rpcholesky")


def test_weighted_samples_are_distributed_as_those_of_numpy(rng):
    chances = np.array([5.0, 3.0, 1.0, 1.0, 0.0])
    ours = np.zeros(5)
    theirs = np.zeros(5)
    for _ in range(4000):
        ours[weighted_sample(chances, 2, rng)] += 1
        theirs[rng.choice(5, 2, replace=False, p=chances / chances.sum())] += 1
    np.testing.assert_allclose(ours / 4000, theirs / 4000, atol=0.04)
    assert ours[4] == 0
    np.testing.assert_array_equal(weighted_sample(chances, 5, rng), np.arange(5))


@pytest.mark.parametrize(
    ("strategy", "score"), [("diagonal", [1, 4, 9]), ("column-norm", [14, 56, 126])]
)
def test_probabilities_are_proportional_to_scores(strategy, score, rng):
    """Draw a single landmark 3,000 times. The scores were computed by hand."""
    counts = np.zeros(3)
    with Threads(1) as engine:
        pool = Pool(np.array([[1.0], [2.0], [3.0]]), Linear(), None, engine)
        for _ in range(3000):
            counts[STRATEGIES[strategy](pool, 1, rng)] += 1
    np.testing.assert_allclose(counts / 3000, score / np.sum(score), atol=0.04)


def test_column_norms_of_many_rows_are_estimated_from_a_sample(digits, rng):
    """Outliers have small column norms, whichever rows are sampled."""
    outliers = 50 + 10 * np.arange(100)[:, None] * np.ones(64)
    with Threads(1) as engine:
        pool = Pool(np.r_[digits[0], outliers], RBF(gamma=0.01), None, engine)
        norms = squared_column_norms(pool, rng, most_rows=300)
    assert norms[:1797].min() > 10
    assert norms[:1797].max() < 300
    assert norms[1797:].max() <= 1 + 1e-9


def test_leverage_scores_equal_their_definition(digits):
    X, rows = digits[0][:400], np.arange(400)
    kernel = RBF(gamma=0.02)
    K = kernel(X)
    with Threads(1) as engine:
        # With all rows as the basis, the approximation is exact.
        pool = Pool(X, kernel, None, engine)
        scores = _ridge_leverage(pool, rows, K.diagonal(), rows)
    ridge = np.linalg.eigvalsh(K)[::-1][200:].sum() / 200
    exact = np.diag(K @ np.linalg.inv(K + ridge * np.eye(400)))
    np.testing.assert_allclose(scores, exact, rtol=1e-6)
