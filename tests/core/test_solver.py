"""The mathematics below the estimators: gram, bounds, nearest, the loop."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from akkm import ApproxKernelKMeans
from akkm.approx import factored as approximate
from akkm.approx import seeding
from akkm.core.bounds import Moves, State, max_past
from akkm.core.gram import Centers, factor
from akkm.core.lloyd import lloyd
from akkm.core.nearest import _two_lowest, nearest_by_score
from akkm.core.parts import Part, _descending
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.kernels import RBF, Linear, Polynomial, Sigmoid
from akkm.landmarks import Landmarks
from akkm.rows import chunks
from oracles import algorithm2, clipped_inverse, exact_kernel_k_means, lloyd_on_features

KERNELS = [
    RBF(gamma=0.05),
    Polynomial(gamma=0.1, degree=3),
    Sigmoid(gamma=0.02, coef0=0.1),
]


def prepare(X, kernel, indices, indefinite="clip", dtype=None):
    chosen = Landmarks(X[indices], X[indices], indices)
    return approximate.factor(
        X, kernel, chosen, dtype=dtype or X.dtype, indefinite=indefinite
    )


def run(X, kernel, indices, labels, n_clusters, *, n_jobs=2, indefinite="clip", **more):
    f = prepare(X, kernel, indices, indefinite)
    return solve(f, labels, n_clusters, n_jobs=n_jobs, **more)


def solve(f, labels, n_clusters, *, n_jobs=2, weights=None, **more):
    with Threads(n_jobs) as engine:
        part = Part.of(f.strip, f.gram, engine, labels=labels, weights=weights)
        return lloyd(
            part, f.gram, f.probes, dtype=f.strip.dtype, n_clusters=n_clusters, **more
        )


class TestGram:
    def test_whitener_whitens(self, digits):
        K = RBF(gamma=0.05)(digits[0][:80])
        gram = factor(K)
        np.testing.assert_allclose(
            gram.whitener.T @ K @ gram.whitener, np.eye(gram.rank), atol=1e-8
        )
        np.testing.assert_allclose(gram.squared_norms(K), K.diagonal(), atol=1e-8)
        assert gram.metric
        assert gram.negative_mass == 0

    def test_duplicated_landmarks_lower_the_rank(self, digits):
        X = digits[0][:40].repeat(2, axis=0)
        assert factor(RBF(gamma=0.05)(X)).rank == 40

    def test_indefinite(self):
        K = np.diag([4.0, 1.0, -2.0])
        clip, flip, pinv = (factor(K, indefinite=i) for i in ("clip", "flip", "pinv"))
        assert (clip.rank, flip.rank, pinv.rank) == (2, 3, 3)
        assert clip.negative_mass == pytest.approx(2 / 7)
        assert [clip.metric, flip.metric, pinv.metric] == [True, True, False]
        inverse = pinv.whitener * pinv.signs @ pinv.whitener.T
        np.testing.assert_allclose(inverse, np.linalg.inv(K), atol=1e-12)

    @pytest.mark.parametrize(
        ("values", "rank"),
        [
            ([9.0, 1.0, 0.03, 0.01, -0.02], 3),  # as small as a negative one
            ([9.0, 1.0, 0.10, 0.08, -2.0], 3),  # at most a hundredth of the largest
            ([9.0, 1.0, 0.03, 0.01, 0.001], 5),
            ([0.5, 0.3, 0.004, 0.006, -100.0], 3),  # of the largest positive one
        ],
    )
    def test_small_eigenvalues_of_indefinite_kernels(self, values, rank):
        assert factor(np.diag(values)).rank == rank

    def test_images_are_not_longer_than_the_points(self, digits, rng):
        # k(x, x) bounds them for positive definite kernels; here, nearly.
        X, kernel = digits[0] / digits[0].max(), Sigmoid(gamma=0.1, coef0=0.0)
        K = kernel(X, X)
        chosen = rng.choice(len(X), 60, replace=False)
        gram = factor(K[np.ix_(chosen, chosen)])
        assert gram.negative_mass > 0
        lengths = gram.squared_norms(K[:, chosen]) / K.diagonal()
        assert lengths.max() < 1.25

    def test_zero_matrix(self):
        gram = factor(np.zeros((3, 3)))
        assert gram.rank == 0
        assert gram.negative_mass == 0


class TestNearest:
    @settings(max_examples=50, deadline=None)
    @given(st.integers(1, 9), st.integers(1, 40), st.integers(0, 99))
    def test_best_two_is_a_sort(self, n_clusters, b, seed):
        scores = np.random.default_rng(seed).integers(0, 6, (n_clusters, b)) * 1.0
        labels, best, gap = _two_lowest(scores)
        ordered = np.sort(scores, axis=0)
        np.testing.assert_array_equal(labels, scores.argmin(axis=0))
        np.testing.assert_array_equal(best, ordered[0])
        second = ordered[1] if n_clusters > 1 else np.full(b, np.inf)
        np.testing.assert_array_equal(gap, second - ordered[0])

    def test_rounding_does_not_decide(self):
        rough = np.array([[1.0000001, 5.0], [1.0, 1.0]])
        exact = np.array([[1.0], [1.0 + 1e-9]])
        slack, tie = np.full(2, 1e-6), np.full(2, 1e-12)
        found = nearest_by_score(rough, slack, tie, lambda close: exact[:, close])
        np.testing.assert_array_equal(found.labels, [0, 1])
        np.testing.assert_allclose(found.gap, [-1e-6, 4 - 1e-6], rtol=1e-12)
        tied = nearest_by_score(
            rough, slack, np.full(2, 1e-6), lambda close: exact[::-1, close]
        )
        assert tied.labels[0] == 0


class TestBounds:
    @settings(max_examples=40, deadline=None)
    @given(st.integers(2, 6), st.integers(1, 5), st.integers(0, 10_000))
    def test_a_label_that_is_proved_is_right(self, n_clusters, steps, seed):
        """Points in the plane, wandering centers: what is not doubtful is right."""
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(60, 2))
        paths = [rng.normal(size=(n_clusters, 2))]
        for _ in range(steps):
            paths.append(paths[-1] + rng.normal(scale=0.1, size=(n_clusters, 2)))
            if rng.random() < 0.3:  # as one that was empty does
                paths[-1][0] = rng.normal(size=2)
        past = [Centers(b, b, (b**2).sum(axis=1)) for b in paths]
        state = State.start(60, np.zeros(60, dtype=int))
        state.length[:] = 1
        stamps = rng.integers(0, steps, 60)
        for s, centers in enumerate(past[:-1]):
            rows = np.flatnonzero(stamps == s)
            squared = ((points[rows, None] - centers.beta) ** 2).sum(axis=2)
            order = np.sort(squared, axis=1)
            upper, gap = np.sqrt(order[:, 0]), order[:, 1] - order[:, 0]
            state.record(rows, squared.argmin(axis=1), upper, gap, s)
            assert (state.upper[rows] >= upper).all()
            assert (state.gap[rows] <= gap).all()
        moves = Moves(past[:-1], past[-1])
        everything = slice(0, 60)
        truth = ((points[:, None] - past[-1].beta) ** 2).sum(axis=2)
        doubtful = moves.unproved(state, everything, 1e-12)
        sure = np.setdiff1d(np.arange(60), doubtful)
        np.testing.assert_array_equal(state.labels[sure], truth[sure].argmin(axis=1))
        own = np.sqrt(truth[np.arange(60), state.labels])
        assert (moves.current_upper(state, everything) >= own - 1e-9).all()
        # Rebased bounds are true statements about the present centers.
        moves.rebase(state, everything)
        own = truth[np.arange(60), state.labels]
        assert (state.upper >= np.sqrt(own) - 1e-9).all()
        others = truth.copy()
        others[np.arange(60), state.labels] = np.inf
        assert (state.gap <= others.min(axis=1) - own + 1e-9).all()

    @pytest.mark.parametrize(
        "value", [0.1, 1.0, -1 / 3, 1e-46, 1e39, -1e39, np.inf, -np.inf]
    )
    def test_bounds_are_rounded_away_from_what_they_bound(self, value):
        state = State.start(1)
        wide = np.array([value])
        state.record(slice(0, 1), np.zeros(1, dtype=int), wide, wide, 0)
        assert state.gap.dtype == state.upper.dtype == np.float32
        assert float(state.gap[0]) <= value <= float(state.upper[0])
        if 1e-30 < abs(value) < 1e30:
            assert state.upper[0] - state.gap[0] <= 3e-7 * abs(value)

    def test_lengths_that_all_rows_share_take_no_memory(self):
        state = State.start(1000, unit=True)
        assert (state.length == 1).all()
        assert state.length.strides == (0,)
        assert state.copy().length.strides == (0,)
        state = State.start(1000)
        state.copy().length[:] = 1
        assert np.isnan(state.length).all()

    def test_bounds_prove_something(self):
        beta = np.array([[0.0, 0.0], [10.0, 0.0]])
        then = Centers(beta, beta, (beta**2).sum(axis=1))
        moved = beta + np.array([[0.1, 0.0], [0.0, 0.1]])
        now = Centers(moved, moved, (moved**2).sum(axis=1))
        state = State.start(2, np.zeros(2, dtype=int))
        state.upper[:], state.gap[:], state.length[:] = 4.97, [1.5, 1.3], 1
        # The centers move apart by 0.1414 in all: gaps above 2 · 4.97 · 0.1414 = 1.41
        # are safe.
        doubtful = Moves([then], now).unproved(state, slice(0, 2), 0.0)
        np.testing.assert_array_equal(doubtful, [1])

    def test_a_center_that_jumps_is_no_rival_to_rows_far_from_it(self):
        beta = np.array([[0.0, 0.0], [4.0, 0.0], [100.0, 0.0]])
        then = Centers(beta, beta, (beta**2).sum(axis=1))
        jumped = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 50.0]])
        now = Centers(jumped, jumped, (jumped**2).sum(axis=1))
        points = np.array([[1.5, 0.0], [0.0, 30.0]])
        state = State.start(2, np.zeros(2, dtype=int))
        squared = ((points[:, None] - beta) ** 2).sum(axis=2)
        gap = squared[:, 1] - squared[:, 0]
        state.record(slice(0, 2), np.zeros(2, int), np.sqrt(squared[:, 0]), gap, 0)
        state.length[:] = 1
        moves = Moves([then], now)
        np.testing.assert_array_equal(moves.unproved(state, slice(0, 2), 0.0), [1])
        moves.rebase(state, slice(0, 2))
        assert 0 < state.gap[0] <= gap[0]

    def test_a_row_that_is_given_away_is_in_doubt(self):
        beta = np.array([[0.0, 0.0], [10.0, 0.0]])
        centers = Centers(beta, beta, (beta**2).sum(axis=1))
        state = State.start(1, np.zeros(1, dtype=int))
        state.upper[:], state.gap[:], state.length[:] = 0.1, 98.0, 1
        moves = Moves([centers], centers)
        assert not moves.unproved(state, slice(0, 1), 0.0).size
        state.reassign(0, 1)
        np.testing.assert_array_equal(moves.unproved(state, slice(0, 1), 0.0), [0])

    def test_memory_of_the_past_is_bounded(self):
        assert max_past(7, 1000) == 32
        assert 1 <= max_past(2000, 2000) <= 2


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 10_000_000))
def test_chunks_are_a_partition(n):
    parts = chunks(n)
    assert parts[0].start == 0
    assert parts[-1].stop == n
    assert all(a.stop == b.start for a, b in pairwise(parts))
    assert len(parts) <= 64


class TestOracles:
    @pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
    @pytest.mark.parametrize("n_clusters", [2, 10])
    def test_algorithm_2_letter_by_letter(self, kernel, n_clusters, digits, rng):
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

    def test_the_papers_inverse_of_an_indefinite_kernel(self, digits, rng):
        X, kernel = digits[0][:300], KERNELS[2]
        indices = rng.choice(300, 30, replace=False)
        labels = rng.integers(5, size=300)
        K_B = kernel(X, X[indices])
        expected, _, _ = algorithm2(K_B, K_B[indices], labels, 5, max_iter=20)
        ours = run(X, kernel, indices, labels, 5, indefinite="pinv", max_iter=20)
        np.testing.assert_array_equal(ours.labels, expected)

    def test_flipped_is_lloyd_on_flipped_features(self, digits, rng):
        X, kernel = digits[0][:300], KERNELS[2]
        indices = rng.choice(300, 30, replace=False)
        labels = rng.integers(5, size=300)
        K_B = kernel(X, X[indices])
        w, V = np.linalg.eigh(K_B[indices])
        expected = lloyd_on_features(K_B @ V / np.sqrt(np.abs(w)), labels, 5)
        ours = run(X, kernel, indices, labels, 5, indefinite="flip")
        np.testing.assert_array_equal(ours.labels, expected)

    @pytest.mark.parametrize("kernel", KERNELS[:2], ids=lambda k: type(k).__name__)
    def test_lloyd_on_nystroem_features(self, kernel, digits, rng):
        X = digits[0][:500]
        indices = rng.choice(500, 60, replace=False)
        labels = rng.integers(10, size=500)
        f = prepare(X, kernel, indices)
        F = kernel(X, X[indices]) @ f.gram.whitener
        ours = run(X, kernel, indices, labels, 10)
        np.testing.assert_array_equal(ours.labels, lloyd_on_features(F, labels, 10))

    @pytest.mark.parametrize("kernel", KERNELS[:2], ids=lambda k: type(k).__name__)
    def test_all_rows_as_landmarks_is_exact_kernel_k_means(self, kernel, digits, rng):
        X = digits[0][:300]
        labels = rng.integers(6, size=300)
        expected, error = exact_kernel_k_means(kernel(X), labels, 6)
        ours = run(X, kernel, np.arange(300), labels, 6)
        np.testing.assert_array_equal(ours.labels, expected)
        assert ours.error(kernel.diag(X).sum()) == pytest.approx(error, rel=1e-9)


class TestLaws:
    @pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_pruned_equals_unpruned(self, kernel, dtype, digits, rng):
        X = digits[0].astype(dtype)
        indices = rng.choice(len(X), 100, replace=False)
        labels = rng.integers(10, size=len(X))
        pruned = run(X, kernel, indices, labels, 10)
        full = run(X, kernel, indices, labels, 10, prune=False)
        np.testing.assert_array_equal(pruned.labels, full.labels)
        assert pruned.n_iter == full.n_iter
        assert full.history[:, 1].sum() == full.n_iter * len(X)
        assert pruned.history[:, 1].sum() < 0.8 * full.history[:, 1].sum()

    def test_pruning_survives_rebasing(self, digits, rng, monkeypatch):
        X = digits[0]
        indices, labels = rng.choice(len(X), 100, False), rng.integers(10, size=len(X))
        whole = run(X, KERNELS[0], indices, labels, 10)
        assert whole.n_iter > 8
        monkeypatch.setattr("akkm.core.bounds._MAX_PAST", 2)
        rebased = run(X, KERNELS[0], indices, labels, 10)
        np.testing.assert_array_equal(whole.labels, rebased.labels)
        assert rebased.history[:, 1].sum() < 0.8 * rebased.n_iter * len(X)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_any_block_size_and_kept_rows(self, dtype, digits, rng, monkeypatch):
        X = digits[0].astype(dtype)
        indices, labels = rng.choice(len(X), 100, False), rng.integers(10, size=len(X))
        expected = run(X, KERNELS[0], indices, labels, 10).labels
        for rows, tile in ((50, 64), (333, 32), (5000, 1024)):
            monkeypatch.setattr("akkm.rows.contract._CHUNK_ROWS", rows)
            monkeypatch.setattr("akkm.core.strip._TILE_ROWS", tile)
            np.testing.assert_array_equal(
                run(X, KERNELS[0], indices, labels, 10).labels, expected
            )
        f = prepare(X, KERNELS[0], indices)
        with Threads(2) as engine:
            f.strip.compute_all(engine)
        held = solve(f, labels, 10)
        np.testing.assert_array_equal(held.labels, expected)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_threads_make_no_difference_to_the_last_bit(self, dtype, digits, rng):
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
    def test_the_error_never_rises(self, kernel, digits, rng):
        X = digits[0]
        indices, labels = rng.choice(len(X), 100, False), rng.integers(10, size=len(X))
        trace = kernel.diag(X).sum()
        errors = [
            run(X, kernel, indices, labels, 10, max_iter=t).error(trace)
            for t in range(1, 15)
        ]
        assert (np.diff(errors) <= 1e-9 * trace).all()
        assert errors[-1] < 0.95 * errors[0]

    def test_weight_two_is_a_row_twice(self, digits, rng):
        X = digits[0][:400]
        w = rng.integers(0, 4, 400)
        labels = rng.integers(6, size=400)
        indices = np.flatnonzero(w)[:60]
        weighted = run(X, KERNELS[0], indices, labels, 6, weights=w.astype(float))
        twice = X.repeat(w, axis=0)
        chosen = Landmarks(X[indices], X[indices], None)
        f = approximate.factor(
            twice, KERNELS[0], chosen, dtype=float, indefinite="clip"
        )
        repeated = solve(f, labels.repeat(w), 6, n_jobs=1)
        np.testing.assert_array_equal(weighted.labels.repeat(w), repeated.labels)
        np.testing.assert_allclose(
            weighted.centers.alpha, repeated.centers.alpha, atol=1e-8
        )


class TestStart:
    def test_breathing_ends_lower_whatever_the_seed(self, monkeypatch):
        X, _ = make_blobs(
            3000, centers=40, cluster_std=0.6, center_box=(-20, 20), random_state=3
        )

        def errors():
            models = (
                ApproxKernelKMeans(40, kernel="linear", random_state=s)
                for s in range(3)
            )
            return [model.fit(X).inertia_ for model in models]

        breathing = errors()
        monkeypatch.setattr(seeding, "_breathe", lambda best, *args, **kwargs: best)
        assert max(breathing) < 0.98 * min(errors())
        assert max(breathing) < 1.001 * min(breathing)


class TestEmptyClusters:
    def test_an_empty_cluster_takes_the_worst_fitting_row(self):
        """By hand: 0, 1, 2 and 50 on a line; cluster 1 is empty at the start."""
        X = np.array([[0.0], [1.0], [2.0], [50.0]])
        ours = run(X, Linear(), np.arange(4), np.zeros(4, dtype=int), 2)
        np.testing.assert_array_equal(ours.labels, [0, 0, 0, 1])
        assert ours.error((X**2).sum()) == pytest.approx(2.0)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_no_cluster_is_lost(self, dtype, digits):
        X = digits[0].astype(dtype)
        labels = np.zeros(len(X), dtype=int)
        ours = run(X, KERNELS[0], np.arange(0, len(X), 20), labels, 12)
        assert (np.bincount(ours.labels, minlength=12) > 0).all()
        assert np.isfinite(ours.centers.alpha).all()

    def test_pruned_and_unpruned_reseed_alike(self, digits):
        X = digits[0]
        labels = np.zeros(len(X), dtype=int)
        indices = np.arange(0, len(X), 20)
        a = run(X, KERNELS[0], indices, labels, 12)
        b = run(X, KERNELS[0], indices, labels, 12, prune=False)
        np.testing.assert_array_equal(a.labels, b.labels)

    def test_weightless_rows_are_no_seeds(self):
        X = np.array([[0.0], [1.0], [2.0], [9.0], [500.0]])
        w = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
        ours = run(X, Linear(), np.arange(4), np.zeros(5, dtype=int), 2, weights=w)
        np.testing.assert_array_equal(ours.labels, [0, 0, 0, 1, 1])


def test_strip_of_chosen_rows(rng, monkeypatch):
    monkeypatch.setattr("akkm.core.strip._TILE_ROWS", 32)
    X = rng.random((100, 3))
    strip = Strip(X, RBF(gamma=1.0), X[:7], float)
    K = RBF(gamma=1.0)(X, X[:7])
    chosen = np.r_[3:50, 60, 99]
    odd = np.arange(1, 100, 2)
    for part, expected in ((strip, K), (strip.subset(odd), K[odd])):
        for rows in (slice(5, 49), chosen[chosen < len(expected)]):
            tiles = [(r, phi.copy()) for r, phi in part.tiles(rows)]
            assert len(tiles) == 2
            np.testing.assert_allclose(
                np.concatenate([phi for _, phi in tiles]), expected[rows]
            )
            for r, phi in tiles:
                np.testing.assert_allclose(phi, expected[r])


def test_kept_rows(rng):
    X = rng.random((50, 3))
    K = RBF(gamma=1.0)(X, X[:7])
    strip = Strip(X, RBF(gamma=1.0), X[:7], float)
    strip.use_cache(10 * 7 * 8)  # room for ten rows
    computed = []
    compute = strip._compute
    strip._compute = lambda rows, out: (computed.extend(rows), compute(rows, out))

    def fetch(rows):
        computed.clear()
        strip.reserve(rows)
        for part, phi in strip.tiles(rows):
            np.testing.assert_allclose(phi, K[part])
        return list(computed)

    assert fetch(np.arange(20)) == list(range(20))  # a crowd: nothing is kept
    assert fetch(np.arange(6)) == list(range(6))
    assert fetch(np.arange(4, 9)) == [6, 7, 8]
    assert fetch(np.array([8, 3, 30])) == [30]
    assert fetch(np.array([30, 31])) == [31]  # no room left
    assert fetch(np.array([31, 30])) == [31]


@pytest.mark.parametrize("size", [1, 5, 700, 5_000])
def test_values_from_the_largest_down(size, rng):
    values = rng.integers(-3, 40, size).astype(np.float32)
    values[rng.random(size) < 0.01] = np.inf
    order = np.argsort(-values, kind="stable")
    expected = order[values[order] >= 0]
    parts = list(_descending(values, 32))
    assert max(map(len, parts), default=0) <= 32
    np.testing.assert_array_equal(np.concatenate([expected[:0], *parts]), expected)
