"""Lloyd's iterations: equal to slow oracles, invariants, empty clusters."""

import numpy as np
import pytest

from akkm.approx import factored as approximate
from akkm.core.gram import factor
from akkm.core.lloyd import _refresh
from akkm.core.parts import Part, Stats
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.kernels import RBF, Linear
from akkm.landmarks import Landmarks
from core.loop import KERNELS, prepare, run, solve
from oracles import algorithm2, clipped_inverse, exact_kernel_k_means, lloyd_on_features


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("n_clusters", [2, 10])
def test_labels_and_centers_equal_those_of_algorithm_2(kernel, n_clusters, digits, rng):
    X = digits[0][:500]
    indices = rng.choice(500, 60, replace=False)
    labels = rng.integers(n_clusters, size=500)
    K_B = kernel(X, X[indices])
    inverse = np.linalg.inv if kernel.psd else clipped_inverse
    expected, alpha, n_iter = algorithm2(
        K_B, K_B[indices], labels, n_clusters, inverse=inverse
    )
    ours = run(X, kernel, indices, labels, n_clusters)
    np.testing.assert_array_equal(ours.labels, expected)
    np.testing.assert_allclose(ours.centers.alpha, alpha, atol=1e-6)
    assert ours.n_iter == n_iter
    assert ours.converged


def test_pinv_equals_algorithm_2_for_an_indefinite_kernel(digits, rng):
    X, kernel = digits[0][:300], KERNELS[2]
    indices = rng.choice(300, 30, replace=False)
    labels = rng.integers(5, size=300)
    K_B = kernel(X, X[indices])
    expected, _, _ = algorithm2(K_B, K_B[indices], labels, 5, max_iter=20)
    ours = run(X, kernel, indices, labels, 5, indefinite="pinv", max_iter=20)
    np.testing.assert_array_equal(ours.labels, expected)


def test_flip_equals_lloyd_on_features_of_absolute_eigenvalues(digits, rng):
    X, kernel = digits[0][:300], KERNELS[2]
    indices = rng.choice(300, 30, replace=False)
    labels = rng.integers(5, size=300)
    K_B = kernel(X, X[indices])
    w, V = np.linalg.eigh(K_B[indices])
    expected = lloyd_on_features(K_B @ V / np.sqrt(np.abs(w)), labels, 5)
    ours = run(X, kernel, indices, labels, 5, indefinite="flip")
    np.testing.assert_array_equal(ours.labels, expected)


@pytest.mark.parametrize("kernel", KERNELS[:2], ids=lambda k: type(k).__name__)
def test_labels_equal_lloyd_on_nystroem_features(kernel, digits, rng):
    X = digits[0][:500]
    indices = rng.choice(500, 60, replace=False)
    labels = rng.integers(10, size=500)
    f = prepare(X, kernel, indices)
    F = kernel(X, X[indices]) @ f.gram.whitener
    ours = run(X, kernel, indices, labels, 10)
    np.testing.assert_array_equal(ours.labels, lloyd_on_features(F, labels, 10))


@pytest.mark.parametrize("kernel", KERNELS[:2], ids=lambda k: type(k).__name__)
def test_all_rows_as_landmarks_give_exact_kernel_k_means(kernel, digits, rng):
    X = digits[0][:300]
    labels = rng.integers(6, size=300)
    expected, error = exact_kernel_k_means(kernel(X), labels, 6)
    ours = run(X, kernel, np.arange(300), labels, 6)
    np.testing.assert_array_equal(ours.labels, expected)
    assert ours.error(kernel.diag(X).sum()) == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pruning_does_not_change_labels(kernel, dtype, digits, rng):
    X = digits[0].astype(dtype)
    indices = rng.choice(len(X), 100, replace=False)
    labels = rng.integers(10, size=len(X))
    pruned = run(X, kernel, indices, labels, 10)
    full = run(X, kernel, indices, labels, 10, prune=False)
    np.testing.assert_array_equal(pruned.labels, full.labels)
    assert pruned.n_iter == full.n_iter
    assert full.history[:, 1].sum() == full.n_iter * len(X)
    assert pruned.history[:, 1].sum() < 0.8 * full.history[:, 1].sum()


def test_rebasing_bounds_does_not_change_labels(digits, rng, monkeypatch):
    X = digits[0]
    indices, labels = rng.choice(len(X), 100, False), rng.integers(10, size=len(X))
    whole = run(X, KERNELS[0], indices, labels, 10)
    assert whole.n_iter > 8
    monkeypatch.setattr("akkm.core.bounds._MAX_PAST", 2)
    rebased = run(X, KERNELS[0], indices, labels, 10)
    np.testing.assert_array_equal(whole.labels, rebased.labels)
    assert rebased.history[:, 1].sum() < 0.8 * rebased.n_iter * len(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_block_size_and_cache_do_not_change_labels(dtype, digits, rng, monkeypatch):
    X = digits[0].astype(dtype)
    indices, labels = rng.choice(len(X), 100, False), rng.integers(10, size=len(X))
    expected = run(X, KERNELS[0], indices, labels, 10).labels
    for rows, tile in ((50, 64), (333, 32), (5000, 1024)):
        monkeypatch.setattr("akkm.rows.contract._CHUNK_ROWS", rows)
        f = prepare(X, KERNELS[0], indices)
        f.strip.max_tile_rows = tile
        np.testing.assert_array_equal(solve(f, labels, 10).labels, expected)
    f = prepare(X, KERNELS[0], indices)
    with Threads(2) as engine:
        f.strip.compute_all(engine)
    held = solve(f, labels, 10)
    np.testing.assert_array_equal(held.labels, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_are_bit_identical_for_any_number_of_threads(dtype, digits, rng):
    X = np.tile(digits[0], (4, 1)).astype(dtype)
    X += rng.random(X.shape).astype(dtype) / 4
    indices, labels = rng.choice(len(X), 100, False), rng.integers(10, size=len(X))
    one, two, five = (
        run(X, KERNELS[0], indices, labels, 10, n_jobs=j) for j in (1, 2, 5)
    )
    for other in (two, five):
        np.testing.assert_array_equal(one.labels, other.labels)
        np.testing.assert_array_equal(one.centers.alpha, other.centers.alpha)
        np.testing.assert_array_equal(one.stats.sums, other.stats.sums)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_the_error_never_increases(kernel, digits, rng):
    X = digits[0]
    indices, labels = rng.choice(len(X), 100, False), rng.integers(10, size=len(X))
    trace = kernel.diag(X).sum()
    errors = [
        run(X, kernel, indices, labels, 10, max_iter=t).error(trace)
        for t in range(1, 15)
    ]
    assert (np.diff(errors) <= 1e-9 * trace).all()
    assert errors[-1] < 0.95 * errors[0]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_tol_ends_the_run_after_the_first_small_decrease(kernel, digits, rng):
    X = digits[0]
    indices, labels = rng.choice(len(X), 100, False), rng.integers(10, size=len(X))
    trace = kernel.diag(X).sum()
    full = run(X, kernel, indices, labels, 10)
    ended = run(X, kernel, indices, labels, 10, tol=1e-3)
    errors = [
        run(X, kernel, indices, labels, 10, max_iter=t).error(trace)
        for t in range(1, ended.n_iter + 1)
    ]
    decrease = -np.diff(errors) / errors[:-1]
    assert decrease[-1] < 1e-3 < decrease[:-1].min()
    assert ended.converged
    assert ended.n_iter < full.n_iter
    assert ended.error(trace) == errors[-1]


def test_tol_does_not_leave_clusters_empty(rng):
    X = np.concatenate([rng.normal(size=(50, 1)), [[30.0], [60.0]]])
    labels = np.zeros(52, dtype=int)  # an iteration fills only one empty cluster
    ended = run(X, Linear(), np.arange(52), labels, 4, tol=0.999)
    assert (np.bincount(ended.labels, minlength=4) > 0).all()


def test_a_weight_of_two_equals_a_repeated_row(digits, rng):
    X = digits[0][:400]
    w = rng.integers(0, 4, 400)
    labels = rng.integers(6, size=400)
    indices = np.flatnonzero(w)[:60]
    weighted = run(X, KERNELS[0], indices, labels, 6, weights=w.astype(float))
    twice = X.repeat(w, axis=0)
    chosen = Landmarks(X[indices], X[indices], None)
    f = approximate.factor(twice, KERNELS[0], chosen, dtype=float, indefinite="clip")
    repeated = solve(f, labels.repeat(w), 6, n_jobs=1)
    np.testing.assert_array_equal(weighted.labels.repeat(w), repeated.labels)
    np.testing.assert_allclose(
        weighted.centers.alpha, repeated.centers.alpha, atol=1e-8
    )


def test_an_empty_cluster_takes_the_row_farthest_from_its_center():
    """Points 0, 1, 2 and 50 on a line; cluster 1 is empty at the start."""
    X = np.array([[0.0], [1.0], [2.0], [50.0]])
    ours = run(X, Linear(), np.arange(4), np.zeros(4, dtype=int), 2)
    np.testing.assert_array_equal(ours.labels, [0, 0, 0, 1])
    assert ours.error((X**2).sum()) == pytest.approx(2.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_cluster_stays_empty(dtype, digits):
    X = digits[0].astype(dtype)
    labels = np.zeros(len(X), dtype=int)
    ours = run(X, KERNELS[0], np.arange(0, len(X), 20), labels, 12)
    assert (np.bincount(ours.labels, minlength=12) > 0).all()
    assert np.isfinite(ours.centers.alpha).all()


def test_pruning_does_not_change_the_reseeding_of_empty_clusters(digits):
    X = digits[0]
    labels = np.zeros(len(X), dtype=int)
    indices = np.arange(0, len(X), 20)
    a = run(X, KERNELS[0], indices, labels, 12)
    b = run(X, KERNELS[0], indices, labels, 12, prune=False)
    np.testing.assert_array_equal(a.labels, b.labels)


def test_rows_of_weight_zero_do_not_seed_empty_clusters():
    X = np.array([[0.0], [1.0], [2.0], [9.0], [500.0]])
    w = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    ours = run(X, Linear(), np.arange(4), np.zeros(5, dtype=int), 2, weights=w)
    np.testing.assert_array_equal(ours.labels, [0, 0, 0, 1, 1])


def test_the_sums_of_a_cluster_that_shrinks_to_one_row_are_refreshed(rng):
    """Refreshed sums are free of rounding errors from 3,999 heavy rows that left."""
    X = rng.normal(size=(4000, 3)).astype(np.float32)
    kernel = RBF(gamma=0.5)
    X[0] += 2
    fresh = Stats.zeros(2, 60)
    phi = kernel(X, X[:60])
    stats = Stats.zeros(2, 60)
    weights = np.append(1.0, np.full(3999, 1e9))
    stats.add_rows(phi, np.zeros(4000, dtype=int), weights)
    stats.move_rows(phi[1:], np.zeros(3999, int), np.ones(3999, int), weights[1:])
    fresh.add_rows(phi[:1], np.zeros(1, int), None)
    left = np.abs(stats.sums[0] - fresh.sums[0]).max()
    assert left > 1e-5  # the rounding error to be removed

    strip, gram = Strip(X, kernel, X[:60], np.float32), factor(kernel(X[:60]))
    with Threads(1) as engine:
        labels = np.arange(4000).clip(max=1)
        part = Part.of(strip, gram, engine, labels=labels, weights=weights)
        largest = _refresh(part, stats, np.array([4e12, 0]))
    assert np.abs(stats.sums[0] - fresh.sums[0]).max() < 1e-6
    np.testing.assert_array_equal(stats.counts, [1, 3999e9])
    np.testing.assert_array_equal(largest, [1, 3999e9])
