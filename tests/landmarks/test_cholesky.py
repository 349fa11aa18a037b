"""Choice of landmarks by randomly pivoted Cholesky decomposition."""

import numpy as np

from akkm.core.threads import Threads
from akkm.kernels import RBF
from akkm.landmarks import Pool, choose
from akkm.landmarks._cholesky import _eliminate, _take, rpcholesky
from oracles import greedy_pivots, nystroem_kernel


def trace_error(K, rows):
    return np.trace(K - nystroem_kernel(K[:, rows], K[np.ix_(rows, rows)]))


def test_the_proposals_that_explain_most_are_taken(digits, rng):
    K = RBF(gamma=0.15)(digits[0][:300])
    some = rng.choice(300, 80, replace=False)
    H = K[np.ix_(some, some)]
    # With the rows of K instead of a sketch, reductions of the trace are exact.
    taken, lower = _take(H, K[some], np.full(80, 1e-9), 20)
    assert 3 < len(taken) < 20  # _take stops when half of the trace is left
    assert some[taken].tolist() == greedy_pivots(K, some, len(taken))
    taken, lower = _take(H, K[some], np.full(80, 1e-9), 3)
    assert some[taken].tolist() == greedy_pivots(K, some, 3)
    np.testing.assert_allclose(lower @ lower.T, H[np.ix_(taken, taken)])


def test_elimination_gives_the_schur_complement(digits, rng):
    X = digits[0][:300]
    kernel = RBF(gamma=0.05)
    K = kernel(X)
    F, residuals, k = np.empty((300, 30)), K.diagonal().copy(), 0
    sketch = K.copy()
    with Threads(2) as engine:
        pool = Pool(X, kernel, None, engine)
        for new in (np.array([5, 17, 2]), np.array([250, 100])):
            H = K[np.ix_(new, new)] - F[new, :k] @ F[new, :k].T
            lower = np.linalg.cholesky(H)
            _eliminate(pool, np.arange(300), new, lower, F, residuals, sketch, k)
            k += len(new)
    rows = np.array([5, 17, 2, 250, 100])
    E = K - K[:, rows] @ np.linalg.inv(K[np.ix_(rows, rows)]) @ K[rows]
    np.testing.assert_allclose(F[:, :5] @ F[:, :5].T, K - E, atol=1e-10)
    np.testing.assert_allclose(residuals, E.diagonal(), atol=1e-10)
    np.testing.assert_allclose(sketch, E, atol=1e-10)


def test_85_pivots_explain_more_than_100_uniform_landmarks(digits):
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


def test_all_outliers_are_chosen():
    """The data have ten outliers among 8,000 rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(scale=0.01, size=(8000, 3))
    X[-10:] = 10 * np.eye(3)[np.arange(10) % 3] * (1 + np.arange(10))[:, None]
    rows = choose(X, 20, "rpcholesky", gamma=1.0, random_state=0)
    assert set(range(7990, 8000)) <= set(rows.tolist())


def test_pivots_of_many_rows_come_from_a_sample(digits, rng):
    with Threads(1) as engine:
        pool = Pool(digits[0], RBF(gamma=0.05), None, engine)
        rows = rpcholesky(pool, 20, rng, candidates=300)
    assert len(np.unique(rows)) == 20
