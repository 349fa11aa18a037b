"""The paper's bounds, compared with slow oracles and with measured errors."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from akkm import ApproxKernelKMeans, KernelKMeans, theory
from akkm.kernels import RBF, Constant, Linear
from akkm.metrics import clustering_error
from akkm.theory import (
    expected_error_bound,
    nystroem_error,
    relative_error_bound,
    spectral_error_bound,
    spectrum,
    suggest_n_landmarks,
)


@pytest.fixture(scope="module")
def rows(digits):
    """200 images (200, 64), few enough for dense kernel matrices."""
    return digits[0][::8][:200]


@pytest.fixture(scope="module")
def labels(rows):
    return KernelKMeans(5, random_state=0).fit(rows).labels_


def membership(labels):
    """Normalised memberships Ũ (C, n), from their definition."""
    U = (labels == np.unique(labels)[:, None]).astype(float)
    return U / np.sqrt(U.sum(axis=1, keepdims=True))


def naive_bound(K, labels, m):
    """Bound of Theorem 1, from its formula."""
    n, U = len(K), membership(labels)
    inner = np.linalg.inv(np.linalg.inv(K) + m / n * np.diag(1 / K.diagonal()))
    return np.trace(K) - np.trace(U @ K @ U.T) + np.trace(U @ inner @ U.T)


def naive_residual(K, drawn):
    """Residual K - K_B K̂⁺ K_Bᵀ (n, n) of the drawn landmarks."""
    inverse = np.linalg.pinv(K[np.ix_(drawn, drawn)], rcond=1e-12, hermitian=True)
    return K - K[:, drawn] @ inverse @ K[drawn]


def error_in_span(K, labels, drawn):
    """The paper's error L(U, ξ): centers are in the span of the drawn landmarks."""
    U = membership(labels)
    return np.trace(K) - np.trace(U @ (K - naive_residual(K, drawn)) @ U.T)


class TestSpectrum:
    def test_exact_values_equal_those_of_the_kernel_matrix(self, rows):
        K = RBF(gamma=0.05)(rows)
        found = spectrum(rows, gamma=0.05)
        assert found.exact
        np.testing.assert_allclose(found.values, np.linalg.eigvalsh(K)[::-1], rtol=1e-8)
        assert found.trace == pytest.approx(200)
        assert found.largest_diagonal == 1
        assert found.rank == 200

    def test_coherences_equal_their_definition(self, rows):
        K = RBF(gamma=0.05)(rows)
        Z = np.linalg.eigh(K)[1][:, ::-1]
        found = spectrum(rows, gamma=0.05)
        for C in (1, 4, 200):
            expected = 200 / C * (Z[:, :C] ** 2).sum(axis=1).max()
            assert found.coherence(C) == pytest.approx(expected, rel=1e-6)
            assert 1 - 1e-9 <= found.coherence(C) <= 200 / C + 1e-9
        assert found.entry_coherence == pytest.approx(200 * (Z**2).max(), rel=1e-6)

    def test_rank_and_tail_of_a_linear_kernel_are_exact(self, rng):
        X = rng.standard_normal((50, 3))
        found = spectrum(X, "linear")
        assert found.rank == len(found.values) == 3
        squared = np.linalg.svd(X, compute_uv=False) ** 2
        assert found.tail(1) == pytest.approx(squared[1:].sum())
        assert found.tail(3) == found.tail(50) == 0
        assert found.leading(5)[3:].tolist() == [0, 0]
        assert found.eigenvalue(2) == pytest.approx(squared[1])
        assert found.eigenvalue(4) == 0

    def test_an_estimate_is_close_to_the_exact_spectrum(self, digits):
        X = digits[0][::2]
        exact = spectrum(X)
        found = spectrum(X, n_landmarks=400, random_state=0)
        assert not found.exact
        assert found.rank is None
        assert found.trace == exact.trace == 899
        np.testing.assert_allclose(found.values[:10], exact.values[:10], rtol=0.1)
        assert found.tail(10) == pytest.approx(exact.tail(10), rel=0.1)
        assert found.coherence(5) == pytest.approx(exact.coherence(5), rel=0.3)

    def test_an_estimate_uses_the_trace_and_diagonal_of_all_rows(self, rng):
        X = rng.standard_normal((200, 4)) * np.arange(1, 201)[:, None]
        found = spectrum(X, "linear", n_landmarks=20, random_state=0)
        assert found.trace == pytest.approx((X**2).sum())
        assert found.largest_diagonal == pytest.approx((X**2).sum(axis=1).max())
        assert found.rank == 4  # exact, because the rank is below n_landmarks

    def test_all_rows_as_landmarks_give_the_exact_spectrum(self, rows):
        drawn = spectrum(rows, n_landmarks=200, random_state=3)
        assert drawn.exact
        np.testing.assert_allclose(drawn.values, spectrum(rows).values, rtol=1e-6)

    def test_large_data_are_estimated(self, rng):
        X = rng.standard_normal((3001, 2))
        assert spectrum(X, random_state=0).n_landmarks == 256

    def test_results_depend_on_the_seed_but_not_on_threads(self, digits):
        found = [
            spectrum(digits[0], n_landmarks=100, random_state=seed, n_jobs=jobs)
            for seed, jobs in ((0, 1), (0, 2), (1, 1))
        ]
        for name in ("values", "row_peaks", "entry_peaks"):
            first, second, other = (getattr(f, name) for f in found)
            np.testing.assert_array_equal(first, second)
            assert not np.array_equal(first, other)

    def test_dense_sparse_and_precomputed_agree(self, rows):
        dense = spectrum(rows, n_landmarks=50, random_state=0)
        for found in (
            spectrum(sparse.csr_array(rows), n_landmarks=50, random_state=0),
            spectrum(
                RBF(gamma=1 / (64 * rows.var()))(rows),
                "precomputed",
                n_landmarks=50,
                random_state=0,
            ),
        ):
            np.testing.assert_allclose(found.values, dense.values, rtol=1e-8)
            np.testing.assert_allclose(found.row_peaks, dense.row_peaks, rtol=1e-6)
            assert found.trace == dense.trace

    def test_negative_eigenvalues_are_dropped_and_their_share_is_given(self):
        found = spectrum(np.diag([3.0, 2.0, -1.0]), "precomputed")
        np.testing.assert_allclose(found.values, [3, 2])
        assert found.negative_mass == pytest.approx(1 / 6)

    def test_invalid_arguments_are_refused(self, rows):
        with pytest.raises(ValueError, match="n_landmarks=201 is not valid; expected"):
            spectrum(rows, n_landmarks=201)
        with pytest.raises(ValueError, match="no positive eigenvalue"):
            spectrum(np.zeros((4, 2)), "linear")
        with pytest.raises(ValueError, match="Unknown kernel"):
            spectrum(rows, "gauss")
        with pytest.raises(ValueError, match="expected a square matrix"):
            spectrum(np.ones((3, 2)), "precomputed")
        few = spectrum(rows, n_landmarks=20, random_state=0)
        with pytest.raises(ValueError, match="n_clusters=21 is not valid"):
            few.tail(21)


class TestTheorem1:
    def test_bounds_equal_the_formula_of_the_paper(self, rows, labels):
        K = RBF(gamma=0.2)(rows)
        counts = [1, 7, 50, 200]
        bounds = expected_error_bound(rows, labels, counts, gamma=0.2)
        np.testing.assert_allclose(bounds, [naive_bound(K, labels, m) for m in counts])
        one = expected_error_bound(rows, labels, 7, gamma=0.2)
        assert isinstance(one, float)
        assert one == pytest.approx(bounds[1])

    def test_the_bound_allows_a_diagonal_that_is_not_constant(self, rows, labels):
        kernel = Linear() + RBF(gamma=0.5)
        bound = expected_error_bound(rows, labels, 30, kernel)
        assert bound == pytest.approx(naive_bound(kernel(rows), labels, 30))

    @pytest.mark.parametrize("m", [3, 10, 30, 100, 199])
    def test_the_mean_error_is_below_the_bound(self, rows, labels, m, rng):
        """Samples have m rows, or contain each row with probability m / n."""
        kernel = RBF(gamma=1 / (64 * rows.var()))
        K = kernel(rows)
        bound = expected_error_bound(rows, labels, m)
        drawn = [rng.choice(200, m, replace=False) for _ in range(20)]
        each = [np.flatnonzero(rng.random(200) < m / 200) for _ in range(20)]
        exact = clustering_error(rows, labels, kernel)
        for draws in (drawn, [d for d in each if d.size]):
            errors = [error_in_span(K, labels, d) for d in draws]
            assert exact - 1e-6 <= np.mean(errors) <= bound

    def test_the_mean_inertia_after_fitting_is_below_the_bound(self, rows, labels):
        """The fit starts from `labels`, and iterations can only lower the error."""
        found = []
        for seed in range(20):
            drawn = np.random.default_rng(seed).choice(200, 30, replace=False)
            model = ApproxKernelKMeans(5, landmarks=drawn, init=labels).fit(rows)
            found.append(model.inertia_)
        assert np.mean(found) <= expected_error_bound(rows, labels, 30)

    def test_the_bound_decreases_towards_the_exact_error(self, rows, labels):
        bounds = expected_error_bound(rows, labels, np.arange(1, 201, 28))
        exact = clustering_error(rows, labels)
        assert (np.diff(bounds) < 0).all()
        assert bounds[-1] > exact
        # All rows are repeated s times, so the exact error is multiplied by s. The
        # number of landmarks is always the number of rows.
        shares = [
            expected_error_bound(
                np.tile(rows[:100], (s, 1)),
                np.tile(labels[:100], s),
                100 * s,
                gamma=0.1,
            )
            / (s * clustering_error(rows[:100], labels[:100], gamma=0.1))
            for s in (1, 10)
        ]
        assert shares[1] - 1 < 0.2 * (shares[0] - 1)

    def test_rows_of_norm_zero_add_nothing_to_the_bound(self, rng):
        """The bound equals the bound of the nonzero rows alone, for the same m / n."""
        X = rng.standard_normal((20, 3))
        X[:10] = 0
        labels = np.repeat([0, 1], 10)
        K = X[10:] @ X[10:].T
        inner = K - K @ np.linalg.inv(K + 2 * np.diag(K.diagonal())) @ K
        exact = np.trace(K) - K.mean() * 10
        bound = expected_error_bound(X, labels, 10, "linear")
        assert bound == pytest.approx(exact + inner.mean() * 10)

    def test_dense_sparse_and_precomputed_agree(self, rows, labels):
        K = RBF(gamma=0.1)(rows)
        expected = expected_error_bound(rows, labels, 9, gamma=0.1)
        given = expected_error_bound(K, labels, 9, "precomputed")
        assert given == pytest.approx(expected)
        X = sparse.csr_array(rows)
        assert expected_error_bound(X, labels, 9, gamma=0.1) == pytest.approx(expected)

    def test_negative_eigenvalues_due_to_rounding_are_accepted(self, rows, labels):
        K = RBF(gamma=0.01)(rows)
        bound = expected_error_bound(K.astype(np.float32), labels, 9, "precomputed")
        expected = expected_error_bound(K, labels, 9, "precomputed")
        assert bound == pytest.approx(expected, rel=1e-4)

    def test_invalid_arguments_are_refused(self, rows, labels):
        with pytest.raises(ValueError, match=r"X has 5001 rows; expected at most 5000"):
            expected_error_bound(np.zeros((5001, 1)), np.zeros(5001), 5)
        for m in (0, 201, 2.5, [], [[1, 2]], "auto"):
            with pytest.raises(ValueError, match="is not valid; expected an integer"):
                expected_error_bound(rows, labels, m)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            expected_error_bound(rows, labels[1:], 5)
        with pytest.raises(ValueError, match="has negative eigenvalues; Theorem 1"):
            expected_error_bound(rows, labels, 5, "sigmoid", gamma=1.0, coef0=-1.0)


class TestCorollary1:
    def test_bounds_equal_those_computed_by_hand(self):
        """K has the eigenvalues 6, 3 and 1. There are 2 clusters and 2 landmarks."""
        vectors = np.linalg.qr(np.arange(9).reshape(3, 3) ** 2.0 + np.eye(3))[0]
        K = vectors @ np.diag([6.0, 3.0, 1.0]) @ vectors.T
        kappa = K.diagonal().max()
        bound = relative_error_bound(spectrum(K, "precomputed"), 2, 2)
        sharp = sum(x / (1 + x * 2 / (3 * kappa)) for x in (6, 3)) / 1
        assert bound.sharp == pytest.approx(1 + sharp)
        assert bound.simple == pytest.approx(1 + 2 * 3 * kappa / (2 * 1))

    @given(
        st.lists(st.floats(0.01, 100), min_size=4, max_size=12),
        st.integers(1, 3),
        st.integers(0, 2**31),
    )
    @settings(max_examples=50, deadline=None)
    def test_corollary_1_is_above_theorem_1(self, values, C, seed):
        """Both bounds are relative to the exact error; labels and K are random."""
        rng = np.random.default_rng(seed)
        n = len(values)
        Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
        K = (Q * values) @ Q.T
        K = (K + K.T) / 2
        labels = np.r_[np.arange(C), rng.integers(C, size=n - C)]
        counts = np.arange(1, n + 1)
        bound = relative_error_bound(spectrum(K, "precomputed"), C, counts)
        exact = clustering_error(K, labels, "precomputed")
        theorem = expected_error_bound(K, labels, counts, "precomputed") / exact
        assert (theorem <= bound.sharp * (1 + 1e-9)).all()
        assert (bound.sharp <= bound.simple * (1 + 1e-9)).all()
        assert (np.diff(bound.sharp) < 0).all()

    def test_the_example_of_the_paper_is_reproduced(self):
        """There are `a` nonzero eigenvalues, each equal to n divided by a.

        Then the bound is 1 + C a / (m (a - C)).
        """
        K = np.kron(np.eye(10), np.ones((8, 8)))  # a = 10, n = 80
        bound = relative_error_bound(spectrum(K, "precomputed"), 2, 40)
        assert bound.simple - 1 == pytest.approx(2 * 10 / (40 * 8))
        assert bound.sharp < bound.simple < 1.1

    def test_bounds_do_not_depend_on_the_scale_of_the_kernel(self, rows):
        one = relative_error_bound(spectrum(rows, gamma=0.1), 5, [10, 50])
        kernel = RBF(gamma=0.1) * Constant(7.0)
        seven = relative_error_bound(spectrum(rows, kernel), 5, [10, 50])
        np.testing.assert_allclose(one.sharp, seven.sharp)
        np.testing.assert_allclose(one.simple, seven.simple)

    def test_the_bound_is_infinite_if_the_exact_error_can_be_zero(self):
        bound = relative_error_bound(spectrum(np.eye(3), "precomputed"), 3, 2)
        assert bound.sharp == bound.simple == np.inf

    def test_invalid_arguments_are_refused(self):
        found = spectrum(np.array([[0.0, 1.0], [1.0, 0.0]]), "precomputed")
        with pytest.raises(ValueError, match=r"largest k\(x, x\) is 0"):
            relative_error_bound(found, 1, 1)
        found = spectrum(np.eye(3), "precomputed")
        for C in (0, 4, 1.5, True):
            with pytest.raises(ValueError, match=f"n_clusters={C} is not valid"):
                relative_error_bound(found, C, 1)
        with pytest.raises(
            ValueError, match="from 1 to n_samples=3, the number of rows"
        ):
            relative_error_bound(found, 1, 4)


class TestTheorem2:
    def test_bounds_equal_their_formulas(self, rows):
        found = spectrum(rows)
        bound = spectral_error_bound(found, 3, [5, 150], delta=0.1)
        after, tau = found.values[3], found.entry_coherence
        roots = np.sqrt(3 * 200 / np.array([5, 150]))
        np.testing.assert_allclose(
            bound.paper, after * (1 + 8 * tau * np.log(20) * roots)
        )
        needed = 2 * found.coherence(3) * 3 * np.log(3 / 0.1)
        assert bound.n_landmarks == int(needed) + 1
        epsilon = 1 - np.sqrt(needed / 150)
        assert bound.gittens[0] == np.inf
        assert bound.gittens[1] == pytest.approx(after * (1 + 200 / (epsilon * 150)))

    def test_measured_norms_are_below_the_bounds(self, rows, rng):
        found = spectrum(rows)
        K = RBF(gamma=1 / (64 * rows.var()))(rows)
        for m in (80, 140):
            bound = spectral_error_bound(found, 2, m)
            drawn = [rng.choice(200, m, replace=False) for _ in range(20)]
            norms = [np.linalg.norm(naive_residual(K, d), 2) for d in drawn]
            assert max(norms) <= bound.gittens < np.inf
            assert max(norms) <= bound.paper

    def test_bounds_decrease_with_the_number_of_landmarks(self, rows):
        bound = spectral_error_bound(spectrum(rows), 2, [80, 140, 200])
        assert (np.diff(bound.paper) < 0).all()
        assert (np.diff(bound.gittens) < 0).all()

    def test_the_bound_of_a_low_rank_kernel_is_zero(self, rng):
        found = spectrum(rng.standard_normal((300, 3)), "linear")
        bound = spectral_error_bound(found, 3, 200)
        assert bound.paper == bound.gittens == 0
        assert spectral_error_bound(spectrum(np.eye(2), "precomputed"), 2, 1).paper == 0

    @pytest.mark.parametrize("delta", [0, 1, -0.5, np.nan])
    def test_an_invalid_delta_is_refused(self, rows, delta):
        with pytest.raises(ValueError, match="is not valid; expected 0 < delta < 1"):
            spectral_error_bound(spectrum(rows), 2, 5, delta=delta)


class TestNystroemError:
    def test_errors_equal_those_of_the_dense_residual(self, rows):
        model = ApproxKernelKMeans(5, n_landmarks=40, random_state=0).fit(rows)
        R = naive_residual(model.kernel_(rows), model.landmark_indices_)
        error = nystroem_error(model, rows)
        assert not error.estimated
        assert error.trace == pytest.approx(np.trace(R))
        assert error.relative_trace == pytest.approx(np.trace(R) / 200)
        assert error.spectral_norm == pytest.approx(np.linalg.norm(R, 2))
        assert error.spectral_least == error.spectral_norm

    def test_new_rows_and_landmark_points_are_accepted(self, rows, digits):
        new = digits[0][1::9]
        model = ApproxKernelKMeans(5, landmarks=rows[:30]).fit(rows)
        together = np.vstack([new, rows[:30]])
        drawn = np.arange(len(new), len(together))
        R = naive_residual(model.kernel_(together), drawn)[: len(new), : len(new)]
        error = nystroem_error(model, new)
        assert error.trace == pytest.approx(np.trace(R))
        assert error.spectral_norm == pytest.approx(np.linalg.norm(R, 2))

    def test_precomputed_kernels_and_sparse_rows_are_accepted(self, rows):
        K = RBF(gamma=0.1)(rows)
        drawn = np.arange(3, 200, 13)
        R = naive_residual(K, drawn)
        given = ApproxKernelKMeans(5, kernel="precomputed", landmarks=drawn).fit(K)
        X = sparse.csr_array(rows)
        thin = ApproxKernelKMeans(5, gamma=0.1, landmarks=drawn).fit(X)
        for error in (nystroem_error(given, K), nystroem_error(thin, X)):
            assert error.trace == pytest.approx(np.trace(R))
            assert error.spectral_norm == pytest.approx(np.linalg.norm(R, 2))

    def test_the_estimated_norm_is_close_to_the_exact_norm(self, digits):
        X = digits[0][::3]
        model = ApproxKernelKMeans(10, n_landmarks=40, random_state=0).fit(X)
        exact = nystroem_error(model, X)
        found = nystroem_error(model, X, n_rows=250, random_state=0)
        assert found.estimated
        assert found.trace == exact.trace
        assert found.spectral_least < exact.spectral_norm
        assert found.spectral_norm == pytest.approx(exact.spectral_norm, rel=0.25)

    def test_the_norm_of_a_flat_residual_is_not_overestimated(self):
        K = np.eye(300)
        model = ApproxKernelKMeans(2, kernel="precomputed", landmarks=[0, 1]).fit(K)
        assert nystroem_error(model, K, n_rows=30, random_state=0).spectral_norm == 1

    def test_the_error_decreases_to_zero_with_all_rows(self, rows):
        traces = [
            nystroem_error(
                ApproxKernelKMeans(5, landmarks=np.arange(m)).fit(rows), rows
            ).relative_trace
            for m in (10, 40, 120, 200)
        ]
        assert (np.diff(traces) < 0).all()
        assert traces[-1] == pytest.approx(0, abs=1e-9)

    def test_negative_eigenvalues_are_dropped(self):
        """K̂ has the eigenvalues 2 and -1; only 2 is used."""
        K = np.diag([2.0, -1.0, 3.0])
        model = SimpleNamespace(
            kernel_=ApproxKernelKMeans(1, kernel="precomputed").fit(np.eye(3)).kernel_,
            landmarks_=np.array([0, 1]),
        )
        error = nystroem_error(model, K)
        assert error.trace == pytest.approx(2.0)  # the residual's diagonal is 0, -1, 3
        assert error.spectral_norm == pytest.approx(3.0)

    def test_results_depend_on_the_seed_but_not_on_threads(self, digits):
        X = digits[0].astype(np.float32)
        model = ApproxKernelKMeans(10, n_landmarks=60, random_state=0).fit(X)
        a, b, c = (
            nystroem_error(model, X, n_rows=100, random_state=seed, n_jobs=jobs)
            for seed, jobs in ((0, 1), (0, 2), (1, 2))
        )
        assert a == b
        assert a.spectral_norm != c.spectral_norm
        assert a.trace == c.trace

    def test_invalid_arguments_are_refused(self, rows):
        with pytest.raises(ValueError, match="expected a fitted ApproxKernelKMeans"):
            nystroem_error(ApproxKernelKMeans(), rows)
        model = ApproxKernelKMeans(2, n_landmarks=5, random_state=0).fit(rows)
        with pytest.raises(
            ValueError, match=r"X has shape \(200, 3\), which does not match"
        ):
            nystroem_error(model, rows[:, :3])
        with pytest.raises(ValueError, match="n_rows=0 is not valid"):
            nystroem_error(model, rows, n_rows=0)
        K = np.eye(6)
        strip = ApproxKernelKMeans(2, kernel="precomputed", landmarks=[0, 1, 2])
        with pytest.raises(ValueError, match=r"k\(x, x\)"):
            nystroem_error(strip.fit(K[:, :3]), K[:, :3])
        whole = ApproxKernelKMeans(2, kernel="precomputed", landmarks=[4, 5]).fit(K)
        with pytest.raises(ValueError, match="or the fitted kernel matrix"):
            nystroem_error(whole, K[:3, :3])


class TestSuggestion:
    @pytest.mark.parametrize("tolerance", [0.02, 0.1, 0.3])
    def test_the_smallest_number_within_tolerance_is_suggested(self, rows, tolerance):
        found = suggest_n_landmarks(rows, 2, tolerance=tolerance)
        counts = np.arange(1, 201)
        sharp = relative_error_bound(found.spectrum, 2, counts).sharp
        within = counts[(sharp <= 1 + tolerance) & (counts >= 8)]
        assert found.n_landmarks == within[0]
        assert found.bound == pytest.approx(sharp[within[0] - 1] - 1)
        assert found.square_root == 200
        assert f"{found.n_landmarks:,} landmarks" in found.reasons[0]
        assert found.reasons[-1] == 'n_landmarks="auto" would take 200.'

    def test_the_error_with_the_suggested_number_is_within_tolerance(self, rows):
        found = suggest_n_landmarks(rows, 5, tolerance=0.2)
        exact = KernelKMeans(5, random_state=0).fit(rows).inertia_
        fits = [
            ApproxKernelKMeans(5, n_landmarks=found.n_landmarks, random_state=seed)
            for seed in range(5)
        ]
        assert np.mean([f.fit(rows).inertia_ for f in fits]) <= 1.2 * exact

    def test_a_low_rank_kernel_needs_few_landmarks(self, rng):
        X = rng.standard_normal((800, 3))
        found = suggest_n_landmarks(X, 2, "linear", tolerance=1e-3)
        needed = 2 * found.spectrum.coherence(3) * 3 * np.log(3 / 0.05)
        assert found.n_landmarks == int(needed) + 1
        assert any("has rank 3" in reason for reason in found.reasons)
        model = ApproxKernelKMeans(
            2, kernel="linear", n_landmarks=found.n_landmarks, random_state=0
        )
        assert nystroem_error(model.fit(X), X).relative_trace < 1e-9

    def test_a_rank_that_uniform_landmarks_miss_is_not_trusted(self):
        """Only one of 300 rows points in the second direction. So coherence is high."""
        X = np.repeat([[1.0, 0.0]], 300, axis=0)
        X[7] = [0.0, 1.0]
        assert suggest_n_landmarks(X, 1, "linear", tolerance=1e-4).n_landmarks == 300

    def test_a_kernel_of_rank_n_clusters_is_explained(self):
        X = np.repeat(np.eye(3), 100, axis=0)
        found = suggest_n_landmarks(X, 3, "linear")
        assert "except the 3 largest are zero" in found.reasons[0]
        assert found.bound == np.inf
        assert 12 <= found.n_landmarks < 40

    def test_suggestions_are_between_four_per_cluster_and_all_rows(self, rows):
        least = suggest_n_landmarks(rows, 2, tolerance=100.0)
        assert least.n_landmarks == 8
        assert any("4 landmarks per cluster" in reason for reason in least.reasons)
        most = suggest_n_landmarks(rows, 2, tolerance=1e-9)
        assert most.n_landmarks == 200
        assert "Even if all 200 rows are landmarks" in most.reasons[0]
        assert suggest_n_landmarks(rows[:3], 2, tolerance=100.0).n_landmarks == 3

    def test_suggestions_for_many_rows_are_reproducible(self, rng):
        X = rng.standard_normal((3100, 5))
        first, same = (suggest_n_landmarks(X, 3, random_state=0) for _ in range(2))
        assert first.n_landmarks == same.n_landmarks
        assert first.reasons == same.reasons
        assert any("256 rows drawn uniformly" in reason for reason in first.reasons)
        better = spectrum(X, n_landmarks=600, random_state=1)
        sharp = relative_error_bound(better, 3, first.n_landmarks).sharp
        assert sharp == pytest.approx(1.05, abs=0.01)

    def test_negative_eigenvalues_are_mentioned(self):
        K = np.diag([3.0, 2.0, 1.0, -1.0])
        reasons = suggest_n_landmarks(K, 1, "precomputed").reasons
        share = "make up 14% of the sum of absolute eigenvalues"
        assert any(share in r for r in reasons)

    def test_invalid_arguments_are_refused(self, rows):
        for tolerance in (0, -1.0, np.nan):
            with pytest.raises(ValueError, match="expected a positive number"):
                suggest_n_landmarks(rows, 2, tolerance=tolerance)
        with pytest.raises(ValueError, match="n_clusters=201 is not valid"):
            suggest_n_landmarks(rows, 201)


def test_public_list_is_complete():
    public = {
        name
        for name, value in vars(theory).items()
        if getattr(value, "__module__", "").startswith("akkm.theory")
    }
    assert public == set(theory.__all__)
    assert all(getattr(theory, name).__doc__ for name in public)


def test_isolated_rows_do_not_spoil_an_estimate(monkeypatch):
    """Every 50th row is far from all others, so it is similar to no other row."""
    monkeypatch.setattr("akkm.theory._spectrum._EXTENDED_ROWS", 50)
    X = np.random.default_rng(0).normal(size=(4000, 2))
    X[::50] += 1e3 * np.arange(1, 81)[:, None]
    found = spectrum(X, gamma=0.5, random_state=0)
    assert not found.exact
    assert np.isfinite(found.row_peaks).all()
    assert found.coherence(5) >= 1
    assert suggest_n_landmarks(X, 5, gamma=0.5, random_state=0).n_landmarks >= 20


def test_eigenvalues_do_not_exceed_the_trace_for_heavy_tailed_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_t(1.5, size=(4000, 3))
    for seed in range(5):
        found = spectrum(X, "poly", gamma=1.0, random_state=seed)
        assert found.values.sum() <= found.trace * (1 + 1e-9)


def test_the_nystroem_error_of_zero_rows_is_zero(digits):
    X = np.zeros((40, 2))
    with pytest.warns(ConvergenceWarning):
        model = ApproxKernelKMeans(2, kernel="linear", random_state=0).fit(X)
    assert nystroem_error(model, X).relative_trace == 0
