"""Landmarks: their positions, the ties of rows to landmarks, and the embedding."""

import numpy as np
import pytest
from scipy import linalg, sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from akkm import SparseKernelKMeans
from akkm.core.threads import Threads
from akkm.diffusion.diffusion_time import diffusion_time, diffusion_weights
from akkm.diffusion.landmark_embedding import (
    fit_landmark_embedding,
    tie_to_large_components,
)
from akkm.diffusion.landmark_positions import place_landmarks
from akkm.diffusion.landmark_ties import Ties, tie_rows


def nearest(X, points, p):
    """Indices and squared distances (n, p) of the p points nearest to each row."""
    D = cdist(X, points, "sqeuclidean")
    order = D.argsort(axis=1, kind="stable")[:, :p]
    return order, np.take_along_axis(D, order, axis=1)


class TestTies:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("shift", [0.0, 1e3])
    def test_ties_are_the_nearest_landmarks(self, dtype, shift, rng):
        X = (rng.normal(size=(5000, 6)) + shift).astype(dtype)
        points = X[rng.choice(5000, 300, replace=False)]
        with Threads(2) as engine:
            ties = tie_rows(X, points, 4, engine)
        indices, squared = nearest(X.astype(float), points.astype(float), 4)
        np.testing.assert_array_equal(ties.indices, indices)
        np.testing.assert_allclose(ties.squared, squared, atol=1e-9)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_the_first_of_equally_near_landmarks_are_taken(self, dtype, rng):
        """Rounding of products must not decide between landmarks at equal distances."""
        grid = rng.integers(0, 4, size=(300, 2))
        X = (grid + 1000.1).astype(dtype)  # products are rounded, differences are not
        for points in (X[:80], X[20:80]):
            with Threads(1) as engine:
                ties = tie_rows(X, points, 3, engine)
            expected, _ = nearest(X.astype(float), points.astype(float), 3)
            np.testing.assert_array_equal(ties.indices, expected)

    def test_squares_that_overflow_in_float32_do_no_harm(self, rng):
        X = (1e22 * rng.normal(size=(12, 2))).astype(np.float32)
        with Threads(1) as engine:
            ties = tie_rows(X, X[:6], 2, engine)
        indices, squared = nearest(X.astype(float), X[:6].astype(float), 2)
        np.testing.assert_array_equal(ties.indices, indices)
        np.testing.assert_allclose(ties.squared, squared)

    def test_sparse_rows_have_the_same_ties_as_dense_rows(self, rng):
        X = rng.normal(size=(600, 20)) * (rng.random((600, 20)) < 0.3)
        points = X[:80]
        with Threads(1) as engine:
            dense = tie_rows(X, points, 3, engine)
            csr = tie_rows(sparse.csr_array(X), sparse.csr_array(points), 3, engine)
        np.testing.assert_array_equal(csr.indices, dense.indices)
        np.testing.assert_allclose(csr.squared, dense.squared)

    def test_ties_of_a_row_do_not_depend_on_other_rows(self, rng):
        X = rng.normal(size=(3000, 30)).astype(np.float32)
        points = X[:500]
        with Threads(1) as engine:
            together = tie_rows(X, points, 3, engine)
            alone = tie_rows(X[1234:1235], points, 3, engine)
        np.testing.assert_array_equal(alone.indices[0], together.indices[1234])
        np.testing.assert_array_equal(alone.squared[0], together.squared[1234])

    def test_tie_weights_equal_those_computed_by_hand(self):
        ties = Ties(np.array([[0, 1, 2]]), np.array([[1.0, 1.0 + np.log(2), 99.0]]))
        np.testing.assert_allclose(ties.weights(1.0), [[2 / 3, 1 / 3, 0]])
        # For a width of zero, only the nearest landmark counts.
        np.testing.assert_allclose(ties.weights(0.0), [[1, 0, 0]])


class TestPositions:
    def test_all_distinct_rows_are_landmarks_if_they_are_few(self, rng):
        X = rng.integers(3, size=(500, 2)).astype(float)
        with Threads(1) as engine:
            points = place_landmarks(X, 50, None, engine, rng)
        np.testing.assert_array_equal(np.unique(points, axis=0), np.unique(X, axis=0))
        assert len(points) == 9

    def test_a_dense_group_gets_few_landmarks(self, rng):
        """90 % of the rows form a group that is much narrower than the rest."""
        X = np.r_[1e-3 * rng.normal(size=(9000, 3)), rng.uniform(1, 2, size=(1000, 3))]
        with Threads(1) as engine:
            points = place_landmarks(X, 100, None, engine, rng)
        assert (np.abs(points) < 0.1).all(axis=1).sum() <= 10
        assert len(np.unique(points, axis=0)) == len(points) >= 90

    def test_a_weight_of_two_equals_a_repeated_row(self, rng):
        X = rng.normal(size=(800, 3))
        w = rng.integers(0, 3, size=800)
        with Threads(1) as engine:
            weighted = place_landmarks(
                X, 60, w.astype(float), engine, np.random.default_rng(0)
            )
            repeated = place_landmarks(
                X.repeat(w, axis=0), 60, None, engine, np.random.default_rng(0)
            )
        np.testing.assert_allclose(weighted, repeated)


class TestEmbedding:
    def test_embedding_equals_that_of_the_dense_kernel(self, rng):
        """Compare with eigenvectors of the (n, n) matrix D^½ P Λ⁻¹ Pᵀ D^½.

        P (n, m) contains the weights of the ties. D is the diagonal matrix of sample
        weights, and Λ is the diagonal matrix of the column sums of D P.
        """
        X = rng.normal(size=(400, 2))
        w = rng.uniform(0.5, 2, size=400)
        with Threads(1) as engine:
            tied = tie_to_large_components(X, X[:60], w, 4, 3, engine)
            found, ours = fit_landmark_embedding(
                X, X[:60], engine, n_clusters=3, weights=w, rng=rng, n_neighbors=4
            )
        P = tied.ties.matrix(tied.width, len(tied.points)).toarray()
        assert tied.component.max() == 0
        root = np.sqrt(w)[:, None]
        W = root * (P / (w @ P)) @ P.T * root.T
        values, vectors = linalg.eigh(W)
        values, vectors = values[::-1][:26], vectors[:, ::-1][:, :26] / root
        np.testing.assert_allclose(found.kernel.eigenvalues, values, atol=1e-9)
        t = diffusion_time(values, 3)
        assert found.kernel.t == pytest.approx(t)
        weights = diffusion_weights(values, t)
        rows = vectors[:, : len(weights)] * weights
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        np.testing.assert_allclose(ours @ ours.T, rows @ rows.T, atol=1e-6)
        with Threads(1) as engine:
            np.testing.assert_array_equal(found(X, engine), ours)

    def test_nearby_components_share_a_cluster(self, rng):
        """Four unconnected groups form two pairs of nearby groups."""
        centers = np.array([[0.0, 0], [10, 0], [1000, 0], [1010, 0]])
        X = np.repeat(centers, 200, axis=0) + rng.uniform(size=(800, 2))
        model = SparseKernelKMeans(2, n_landmarks=80, random_state=0).fit(X)
        assert adjusted_rand_score(np.arange(800) // 400, model.labels_) == 1.0
        four = SparseKernelKMeans(4, n_landmarks=80, random_state=0).fit(X)
        assert adjusted_rand_score(np.arange(800) // 200, four.labels_) == 1.0

    def test_rows_of_weight_zero_connect_nothing(self):
        X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2], [0.6]]).repeat(
            3, axis=0
        )
        points = np.array([[0.0], [0.2], [1.0], [1.2]])
        w = np.ones(21)
        for weight, count in ((1.0, 1), (0.0, 2)):
            w[18:] = weight
            with Threads(1) as engine:
                tied = tie_to_large_components(X, points, w, 2, 2, engine)
            assert tied.component.max() + 1 == count

    def test_a_few_distant_rows_get_no_cluster_of_their_own(self, rng):
        X, y = make_moons(2000, noise=0.05, random_state=0)
        far = np.array([[50.0, 0], [0, 60], [-70, 0]])
        model = SparseKernelKMeans(2, random_state=0).fit(np.r_[X, far])
        assert adjusted_rand_score(y, model.labels_[:2000]) == 1.0
        np.testing.assert_array_equal(model.predict(far), model.labels_[2000:])
