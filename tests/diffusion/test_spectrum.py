"""Eigenpairs of a similarity matrix, and the number of diffusion steps."""

import numpy as np
import pytest
from scipy import linalg

from akkm.core.threads import Threads
from akkm.diffusion import neighbour_graph as graph
from akkm.diffusion.diffusion_time import (
    diffusion_map,
    diffusion_time,
    diffusion_weights,
)
from akkm.diffusion.neighbour_search import ExactSearch
from akkm.diffusion.spectrum import leading_eigenpairs


def find(X, k):
    with Threads(1) as engine:
        search = ExactSearch(X, "euclidean")
        return graph.Neighbours(*search.neighbours(k, engine, None, None))


class TestEigenpairs:
    @pytest.mark.parametrize(
        ("options", "error"),
        [({}, 1e-6), ({"dense_rows": 10}, 1e-3)],
        ids=["dense", "filtered"],
    )
    def test_eigenpairs_equal_those_of_the_dense_matrix(self, options, error, rng):
        X = rng.normal(size=(300, 2)) + np.repeat(50 * np.eye(2), 150, axis=0)
        W = graph.shared_neighbour_similarity(find(X, 12))
        label, _ = graph.label_components(W)
        assert label.max() >= 1  # two components or more: eigenvalue 1 is repeated
        values, vectors = leading_eigenpairs(W, label, 20, rng, **options)
        dense_W = W.toarray().astype(float)
        root = np.sqrt(np.maximum(dense_W.sum(axis=1), 1e-300))
        S = dense_W / root / root[:, None]
        lone = dense_W.sum(axis=1) == 0
        S[lone, lone] = 1
        expected = linalg.eigvalsh(S)[::-1][:20]
        np.testing.assert_allclose(values, expected, atol=error)
        np.testing.assert_allclose(S @ vectors, vectors * values, atol=10 * error)

    def test_a_failing_solver_is_replaced(self, rng, monkeypatch):
        """LAPACK's usual method fails on a few matrices. Here it is made to fail."""
        W = graph.shared_neighbour_similarity(find(rng.normal(size=(300, 3)), 12))
        label, _ = graph.label_components(W)
        expected = leading_eigenpairs(W, label, 20, rng)[0]
        eigh = linalg.eigh

        def failing_eigh(S, **options):
            if "subset_by_index" in options:
                raise linalg.LinAlgError("Internal Error.")
            return eigh(S, **options)

        monkeypatch.setattr(linalg, "eigh", failing_eigh)
        values = leading_eigenpairs(W, label, 20, rng)[0]
        np.testing.assert_allclose(values, expected, atol=1e-8)


class TestDiffusionTime:
    def test_the_kernels_trace_is_nine_tenths_of_the_number_of_clusters(self, rng):
        values = np.sort(rng.uniform(0.5, 1, 40))[::-1] / 1.0
        values[0] = 1
        for C in (2, 5, 20):
            t = diffusion_time(values, C)
            assert (values ** (2 * t)).sum() == pytest.approx(0.9 * C)

    def test_the_diffusion_time_stays_within_its_range(self):
        assert diffusion_time(np.ones(5), 3) > 1e7
        assert diffusion_time(np.array([1.0, 1e-9]), 50) < 0.02
        assert np.isfinite(diffusion_time(np.zeros(3), 2))

    def test_inner_products_are_the_diffusion_kernel(self, rng):
        """The kernel is S^(2t), scaled to a diagonal of ones."""
        S = rng.random((30, 30))
        S = S @ S.T
        values, vectors = np.linalg.eigh(S / np.linalg.norm(S, 2))
        values, vectors = values[::-1], vectors[:, ::-1]
        K = vectors * values.clip(0) ** 3.0 @ vectors.T  # t = 1.5
        length = np.sqrt(np.diag(K))
        points = diffusion_map(vectors, values, 1.5)
        np.testing.assert_allclose(
            points @ points.T, K / length / length[:, None], atol=2e-3
        )
        assert points.shape[1] == len(diffusion_weights(values, 1.5))
