"""Strategies that choose landmarks."""

import numpy as np
import pytest
from scipy import sparse

from akkm import ApproxKernelKMeans, TwoStepKernelKMeans
from akkm.core.threads import Threads
from akkm.kernels import RBF, Linear, Polynomial, Sigmoid
from akkm.landmarks import STRATEGIES, Pool, choose, weighted_sample
from akkm.landmarks._cholesky import _eliminate, _take
from akkm.landmarks._scores import leverage
from oracles import greedy_pivots, nystroem_kernel

every = pytest.mark.parametrize("strategy", STRATEGIES)


def trace_error(K, rows):
    return np.trace(K - nystroem_kernel(K[:, rows], K[np.ix_(rows, rows)]))


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
def test_distinct_rows_for_every_kernel(strategy, kernel, digits):
    X = digits[0]
    rows = choose(X, 100, strategy, kernel, random_state=0)
    assert rows.shape == (100,)
    assert (np.diff(rows) > 0).all()
    assert rows[0] >= 0
    assert rows[-1] < len(X)
    again = choose(X, 100, strategy, kernel, random_state=0, n_jobs=1)
    np.testing.assert_array_equal(rows, again)
    assert (choose(X, 100, strategy, kernel, random_state=1) != rows).any()


@every
def test_sparse_float32_and_precomputed(strategy, digits):
    X = digits[0]
    rows = choose(X, 50, strategy, RBF(gamma=0.05), random_state=0)
    thin = choose(sparse.csr_array(X), 50, strategy, RBF(gamma=0.05), random_state=0)
    np.testing.assert_array_equal(thin, rows)
    given = choose(RBF(gamma=0.05)(X), 50, strategy, "precomputed", random_state=0)
    np.testing.assert_array_equal(given, rows)
    single = choose(X.astype(np.float32), 50, strategy, random_state=0)
    assert len(np.unique(single)) == 50


@every
def test_rows_without_weight_are_never_chosen(strategy, digits, rng):
    X, w = digits[0], rng.integers(0, 3, size=1797)
    for m in (40, int((w > 0).sum())):
        rows = choose(X, m, strategy, sample_weight=w, random_state=0)
        assert len(np.unique(rows)) == m
        assert (w[rows] > 0).all()


@every
def test_heavy_rows_are_chosen_more_often(strategy, rng):
    """Two equal clouds, one of which weighs a hundred times as much."""
    X = rng.normal(size=(2000, 3))
    w = np.where(np.arange(2000) < 1000, 100.0, 1.0)
    rows = choose(X, 40, strategy, gamma=1.0, sample_weight=w, random_state=0)
    light = choose(X, 40, strategy, gamma=1.0, random_state=0)
    assert (rows < 1000).mean() > (light < 1000).mean()


@every
def test_all_rows_and_more_than_there_are_kinds_of(strategy, rng):
    X = rng.random((30, 2))
    np.testing.assert_array_equal(
        choose(X, 30, strategy, random_state=0), np.arange(30)
    )
    repeated = X[rng.integers(5, size=200)]  # five distinct rows
    assert len(np.unique(choose(repeated, 20, strategy, random_state=0))) == 20
    nothing = choose(np.zeros((40, 2)), 10, strategy, "linear", random_state=0)
    assert len(np.unique(nothing)) == 10


@every
@pytest.mark.parametrize("Estimator", [ApproxKernelKMeans, TwoStepKernelKMeans])
def test_estimators_take_their_names(strategy, Estimator, digits):
    X = digits[0]
    model = Estimator(10, n_landmarks=60, landmarks=strategy, random_state=0).fit(X)
    assert len(np.unique(model.landmark_indices_)) == 60
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_unknown_names_are_refused(digits):
    with pytest.raises(ValueError, match="expected one of uniform, diagonal"):
        choose(digits[0], 10, "best")
    with pytest.raises(ValueError, match="n_landmarks=2000 is more than"):
        choose(digits[0], 2000, "rpcholesky")


def test_draw_has_the_law_of_drawing_without_replacement(rng):
    chance = np.array([5.0, 3.0, 1.0, 1.0, 0.0])
    ours = np.zeros(5)
    theirs = np.zeros(5)
    for _ in range(4000):
        ours[weighted_sample(chance, 2, rng)] += 1
        theirs[rng.choice(5, 2, replace=False, p=chance / chance.sum())] += 1
    np.testing.assert_allclose(ours / 4000, theirs / 4000, atol=0.04)
    assert ours[4] == 0
    np.testing.assert_array_equal(weighted_sample(chance, 5, rng), np.arange(5))


def test_diagonal_and_column_norm_follow_their_scores(rng, monkeypatch):
    """Chances of single draws, for a kernel with known diagonal and columns."""
    X = np.array([[1.0], [2.0], [3.0]])
    K = Linear()(X)
    monkeypatch.setattr("akkm.landmarks._scores._COLUMN_ROWS", 3)
    for strategy, score in (
        ("diagonal", K.diagonal()),
        ("column-norm", (K**2).sum(axis=0)),
    ):
        counts = np.zeros(3)
        with Threads(1) as engine:
            pool = Pool(X, Linear(), None, engine)
            for _ in range(3000):
                counts[STRATEGIES[strategy](pool, 1, rng)] += 1
        np.testing.assert_allclose(counts / 3000, score / score.sum(), atol=0.04)


def test_column_norms_of_many_rows_are_estimated(digits, monkeypatch):
    """Far-off rows have short columns, whichever rows stand for all."""
    X = np.r_[digits[0], 50 + 10 * np.arange(100)[:, None] * np.ones(64)]
    monkeypatch.setattr("akkm.landmarks._scores._COLUMN_ROWS", 300)
    rows = choose(X, 100, "column-norm", gamma=0.01, random_state=0)
    assert (rows < 1797).all()


def test_leverage_scores_are_the_ridge_leverage_scores(digits, monkeypatch):
    X = digits[0][:400]
    kernel = RBF(gamma=0.02)
    K = kernel(X)
    seen = {}
    monkeypatch.setattr(
        "akkm.landmarks._scores.weighted_sample",
        lambda chance, m, rng: seen.update(chance=chance) or np.arange(m),
    )
    with Threads(1) as engine:
        leverage(Pool(X, kernel, None, engine), 400, np.random.default_rng(0))
    # With all rows as the basis the approximation is exact.
    values = np.linalg.eigvalsh(K)[::-1]
    ridge = values[200:].sum() / 200
    exact = np.diag(K @ np.linalg.inv(K + ridge * np.eye(400)))
    np.testing.assert_allclose(seen["chance"], exact, rtol=1e-6)


class TestCholesky:
    def test_takes_what_explains_most(self, digits, rng):
        K = RBF(gamma=0.15)(digits[0][:300])
        some = rng.choice(300, 80, replace=False)
        H = K[np.ix_(some, some)]
        # With the identity for a sketch gains are exact.
        taken, lower = _take(H, K[some], np.full(80, 1e-9), 20)
        assert 3 < len(taken) < 20  # until half of it is explained
        assert some[taken].tolist() == greedy_pivots(K, some, len(taken))
        taken, lower = _take(H, K[some], np.full(80, 1e-9), 3)
        assert some[taken].tolist() == greedy_pivots(K, some, 3)
        np.testing.assert_allclose(lower @ lower.T, H[np.ix_(taken, taken)])

    def test_eliminates_as_a_schur_complement(self, digits, rng):
        X = digits[0][:300]
        kernel = RBF(gamma=0.05)
        K = kernel(X)
        F, left, k = np.empty((300, 30)), K.diagonal().copy(), 0
        sketch = K.copy()
        with Threads(2) as engine:
            pool = Pool(X, kernel, None, engine)
            for new in (np.array([5, 17, 2]), np.array([250, 100])):
                H = K[np.ix_(new, new)] - F[new, :k] @ F[new, :k].T
                lower = np.linalg.cholesky(H)
                _eliminate(pool, np.arange(300), new, lower, F, left, sketch, k)
                k += len(new)
        rows = np.array([5, 17, 2, 250, 100])
        E = K - K[:, rows] @ np.linalg.inv(K[np.ix_(rows, rows)]) @ K[rows]
        np.testing.assert_allclose(F[:, :5] @ F[:, :5].T, K - E, atol=1e-10)
        np.testing.assert_allclose(left, E.diagonal(), atol=1e-10)
        np.testing.assert_allclose(sketch, E, atol=1e-10)

    def test_explains_more_than_uniform_landmarks(self, digits):
        X = digits[0]
        K = RBF(gamma=0.05)(X)
        errors = {
            name: np.mean(
                [
                    trace_error(K, choose(X, m, name, RBF(gamma=0.05), random_state=s))
                    for s in range(5)
                ]
            )
            for name, m in (("rpcholesky", 85), ("uniform", 100))
        }
        assert errors["rpcholesky"] < errors["uniform"]

    def test_finds_the_rare_ones(self):
        """Every one of ten single far-off rows, among ten thousand."""
        rng = np.random.default_rng(0)
        X = rng.normal(scale=0.01, size=(8000, 3))
        X[-10:] = 10 * np.eye(3)[np.arange(10) % 3] * (1 + np.arange(10))[:, None]
        rows = choose(X, 20, "rpcholesky", gamma=1.0, random_state=0)
        assert set(range(7990, 8000)) <= set(rows.tolist())

    def test_works_on_a_sample_of_many_rows(self, digits, monkeypatch):
        monkeypatch.setattr("akkm.landmarks._cholesky._CANDIDATES", 300)
        monkeypatch.setattr("akkm.landmarks._cholesky._PER_LANDMARK", 1)
        rows = choose(digits[0], 50, "rpcholesky", random_state=0)
        assert len(np.unique(rows)) == 50
