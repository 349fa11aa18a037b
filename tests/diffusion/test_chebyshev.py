"""Leading eigenpairs by filtered subspace iteration."""

import numpy as np
import pytest
from scipy import sparse

from akkm.diffusion.chebyshev import leading_eigenpairs_by_filter


def random_walk(W):
    """D^(-1/2) W D^(-1/2) as CSR, and its leading eigenvector as a column.

    D is the diagonal matrix of the row sums of W.
    """
    degree = W.sum(axis=1)
    S = W / np.sqrt(degree) / np.sqrt(degree)[:, None]
    first = np.sqrt(degree / degree.sum())
    return sparse.csr_array(S), sparse.csr_array(first[:, None])


def assert_eigenpairs(S, values, vectors, expected):
    rates = 1 - expected
    np.testing.assert_allclose(1 - values, rates, rtol=0.02)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-6)
    error = np.linalg.norm(S @ vectors - vectors * values, axis=0)
    assert error.max() < 0.03


class TestEigenpairs:
    @pytest.mark.parametrize("n_pairs", [1, 5, 30])
    def test_eigenpairs_equal_those_of_a_dense_decomposition(self, n_pairs, rng):
        X = rng.normal(size=(400, 3)) + 2 * rng.integers(3, size=(400, 1))
        W = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
        S, known = random_walk(W)
        expected = np.linalg.eigvalsh(S.toarray())[::-1][1 : n_pairs + 1]
        values, vectors = leading_eigenpairs_by_filter(S, known, n_pairs, rng)
        assert_eigenpairs(S, values, vectors, expected)
        assert np.abs(known.T @ vectors).max() < 1e-6  # the known vector is left out

    def test_rates_far_below_the_precision_of_float32_are_found(self, rng):
        """One edge joins two groups of 300 rows, so the first rate is about 2e-9.

        A rate is 1 - eigenvalue.
        """
        W = np.kron(np.eye(2), rng.random((300, 300)))
        W = W + W.T
        W[0, 300] = W[300, 0] = 1e-4
        S, known = random_walk(W)
        expected = np.linalg.eigvalsh(S.toarray())[::-1][1:4]
        assert 1 - expected[0] < 1e-7
        values, _ = leading_eigenpairs_by_filter(S, known, 3, rng)
        np.testing.assert_allclose(1 - values, 1 - expected, rtol=0.02)

    def test_equal_eigenvalues_are_all_found(self, rng):
        """A ring of groups has pairs of equal eigenvalues."""
        ring = sparse.diags_array([1.0, 1.0], offsets=[1, -1], shape=(8, 8)).toarray()
        ring[0, -1] = ring[-1, 0] = 1
        W = np.kron(np.eye(8), np.ones((50, 50))) + np.kron(ring, np.eye(50))
        S, known = random_walk(W)
        expected = np.linalg.eigvalsh(S.toarray())[::-1][1:8]
        values, vectors = leading_eigenpairs_by_filter(S, known, 7, rng)
        assert_eigenpairs(S, values, vectors, expected)

    def test_the_order_of_rows_does_not_matter(self, rng):
        X = np.sort(rng.normal(size=(500, 1)), axis=0)
        W = np.exp(-50 * (X - X.T) ** 2)
        mixed = rng.permutation(500)
        found = []
        for order in (np.arange(500), mixed):
            S, known = random_walk(W[order][:, order])
            generator = np.random.default_rng(0)
            found.append(leading_eigenpairs_by_filter(S, known, 6, generator)[0])
        np.testing.assert_allclose(1 - found[0], 1 - found[1], rtol=0.02)

    def test_progress_is_reported(self, rng):
        S, known = random_walk(rng.random((300, 300)) + 1)
        S = (S + S.T) / 2
        lines = []
        leading_eigenpairs_by_filter(sparse.csr_array(S), known, 2, rng, lines.append)
        assert lines[-1].startswith("eigenvectors: ")
