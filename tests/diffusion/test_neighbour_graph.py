"""Neighbours, shared-neighbour similarities and components."""

import numpy as np
import pytest
from scipy import sparse

from akkm.core.threads import Threads
from akkm.diffusion import neighbour_graph as graph
from akkm.diffusion.neighbour_search import ExactSearch


def naive_similarities(X, k):
    """Similarities W (n, n) from their definition, one pair of rows at a time."""
    n = len(X)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(D, np.inf)
    A = np.zeros((n, n))
    for i in range(n):
        A[i, np.argsort(D[i])[:k]] = 1
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            mutual, either = min(A[i, j], A[j, i]), max(A[i, j], A[j, i])
            W[i, j] = (A[i] @ A[j]) * (mutual + 0.05 * either)
    return W


def find(X, k):
    with Threads(1) as engine:
        search = ExactSearch(X, "euclidean")
        return graph.Neighbours(*search.neighbours(k, engine, None, None))


class TestSimilarity:
    # The search uses a tree if d = 3, and blocks of distances if d = 40.
    @pytest.mark.parametrize("d", [3, 40])
    def test_similarity_equals_its_definition(self, d, rng):
        X = rng.normal(size=(120, d))
        W = graph.shared_neighbour_similarity(find(X, 7)).toarray()
        np.testing.assert_allclose(W, naive_similarities(X, 7), rtol=1e-6)

    def test_the_similarity_of_a_new_row_equals_its_definition(self, rng):
        X = rng.normal(size=(200, 5))
        near = find(X[:-1], 8)
        D = np.linalg.norm(X[-1] - X[:-1], axis=1)
        first = np.argsort(D)[:8]
        W = graph.new_row_similarity(near, first[None], D[first][None]).toarray()[0]
        assert set(np.flatnonzero(W)) == set(first)
        for j in first:
            shared = len(set(first) & set(near.indices[j]))
            mutual = float(D[j] <= near.reach[j]) + 0.05
            assert W[j] == pytest.approx(mutual * (shared + 0.05))


class TestComponents:
    def test_components_are_numbered_from_the_largest_to_the_smallest(self):
        W = sparse.block_diag([np.ones((2, 2)), np.ones((4, 4)), [[0.0]]])
        label, sizes = graph.label_components(sparse.csr_array(W))
        assert sizes.tolist() == [4, 2, 1]
        assert label.tolist() == [1, 1, 0, 0, 0, 0, 2]

    def test_a_small_component_is_attached_at_its_shortest_distance(self):
        X = np.array([[0.0], [1.0], [10.0], [4.0], [7.9]])
        inside = np.array([True, True, True, False, False])
        label = np.array([0, 0, 1, 2, 2])
        search = ExactSearch(X, "euclidean")
        with Threads(1) as engine:
            to = graph.attach_small_components(
                X[~inside], search, inside, label, engine
            )
        # The component {4, 7.9} is attached to 10: 7.9 is nearer to 10 than 4 is to 1.
        assert to.tolist() == [0, 1, 2, 2, 2]

    def test_links_join_all_components(self, rng):
        X = rng.normal(size=(300, 2)) + np.repeat(100 * np.eye(3)[:, :2], 100, axis=0)
        W = graph.shared_neighbour_similarity(find(X, 10))
        label, _ = graph.label_components(W)
        assert label.max() >= 2
        linked = graph.link_components(X, W, label, 10, "euclidean", rng)
        assert graph.label_components(linked)[0].max() == 0
        assert abs(linked - linked.T).max() == 0
