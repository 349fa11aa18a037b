"""Search for nearest neighbours in cells, which are groups of nearby points."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise_distances

from akkm.core.threads import Threads
from akkm.diffusion import cell_search, neighbour_lists
from akkm.diffusion.cell_search import build_cells
from akkm.diffusion.neighbour_search import search_for


def mixture(rng, n=4000, d=24, dtype=np.float32):
    means = rng.normal(size=(20, d)) * 3
    X = means[rng.integers(20, size=n)] + rng.normal(size=(n, d))
    return X.astype(dtype)


def neighbours(X, k, metric="euclidean", threads=1, seed=0):
    """Return the neighbours, the search, its order of the rows, and its reach.

    The neighbours (n, k) are row numbers of X. The reach (n,), in the order
    of the search, is the distance of each row to its farthest neighbour, as
    `search.new_rows` measures it.
    """
    rng = np.random.default_rng(seed)
    with Threads(threads) as engine:
        search, order = build_cells(X, metric, engine, rng)
        indices, reach = search.neighbours(k, engine, rng, lambda text: None)
    found = np.empty_like(indices)
    found[order] = order[indices]
    return found, search, order, reach


def exact_neighbours(X, k, metric="euclidean"):
    D = pairwise_distances(X, metric=metric)
    np.fill_diagonal(D, np.inf)
    return np.argsort(D, axis=1)[:, :k]


def recall(found, expected):
    pairs = zip(found.tolist(), expected.tolist(), strict=True)
    return np.mean([len({*a} & {*b}) / len(b) for a, b in pairs])


class TestNeighbours:
    @pytest.mark.parametrize(
        ("metric", "dtype"),
        [
            ("euclidean", np.float32),
            ("euclidean", np.float64),
            ("cosine", np.float64),
            ("correlation", np.float32),
            ("manhattan", np.float32),
        ],
    )
    def test_nearly_all_neighbours_are_found(self, metric, dtype, rng):
        X = mixture(rng, n=2500, dtype=dtype)
        found = neighbours(X, 10, metric)[0]
        assert recall(found, exact_neighbours(X, 10, metric)) > 0.95

    def test_no_point_is_its_own_neighbour_or_listed_twice(self, rng):
        found = neighbours(mixture(rng), 12)[0]
        assert (found != np.arange(len(found))[:, None]).all()
        assert (np.diff(np.sort(found, axis=1), axis=1) > 0).all()

    def test_neighbours_are_sorted_by_distance(self, rng):
        X = mixture(rng, dtype=np.float64)
        found = neighbours(X, 8)[0]
        D = np.linalg.norm(X[:, None] - X[found], axis=2)
        assert (np.diff(D, axis=1) > -1e-9).all()

    def test_rows_with_many_columns_have_the_right_neighbours(self, rng):
        """Cells are formed in a projection, but distances use all columns."""
        X = mixture(rng, n=3000, d=150)
        assert recall(neighbours(X, 10)[0], exact_neighbours(X, 10)) > 0.95

    def test_sparse_rows_have_the_same_neighbours_as_dense_rows(self, rng):
        X = mixture(rng, n=2000, d=90)
        X[rng.random(X.shape) < 0.7] = 0
        expected = exact_neighbours(X, 10)
        assert recall(neighbours(sparse.csr_array(X), 10)[0], expected) > 0.95

    def test_rows_far_from_the_origin_lose_no_precision(self, rng):
        X = mixture(rng, d=20)
        expected = exact_neighbours(X.astype(np.float64), 10)
        moved = X + np.float32(1e4)  # float32 keeps three decimals of each entry
        assert recall(neighbours(moved, 10)[0], expected) > 0.93

    def test_threads_do_not_affect_the_result(self, rng):
        X = mixture(rng)
        one, many = neighbours(X, 10, threads=1)[0], neighbours(X, 10, threads=3)[0]
        np.testing.assert_array_equal(one, many)

    def test_reverse_neighbours_are_considered(self, rng):
        """Let j be a neighbour of i.

        If i is nearer to j than j's farthest neighbour, i must be a neighbour of j.
        """
        X = mixture(rng, dtype=np.float64)
        found = neighbours(X, 6)[0]
        D = np.linalg.norm(X[:, None] - X[found], axis=2)
        farthest = D.max(axis=1)
        for i, j in zip(*np.nonzero(farthest[found] > D + 1e-9), strict=True):
            assert i in found[found[i, j]]

    def test_rows_whose_cells_are_too_small_are_searched_exactly(
        self, rng, monkeypatch
    ):
        monkeypatch.setattr(cell_search, "_MOST_CELLS", 1)
        X = mixture(rng, n=1500)
        X[:5] = 1e4 * np.eye(5, 24)  # each of these rows is a cell of its own
        X = np.vstack([X, X[:5] + 1])
        found = neighbours(X, 10)[0]
        expected = exact_neighbours(X.astype(np.float64), 10)
        assert recall(found[:5], expected[:5]) == 1

    def test_more_cells_are_compared_until_the_recall_suffices(self, rng, monkeypatch):
        """In data without clusters, the neighbours of a row are in many cells."""
        X = rng.normal(size=(4000, 30)).astype(np.float32)
        expected = exact_neighbours(X, 10)
        assert recall(neighbours(X, 10)[0], expected) > 0.95
        monkeypatch.setattr(cell_search, "_RECALL", 0.5)
        monkeypatch.setattr(cell_search, "_LEAST_RECALL", 0.5)
        assert recall(neighbours(X, 10)[0], expected) < 0.9


class TestNewRows:
    def test_new_rows_get_near_points(self, rng):
        X = mixture(rng, n=3000)
        _, search, order, _ = neighbours(X[:2500], 5)
        with Threads(1) as engine:
            indices, distances = search.new_rows.nearest(X[2500:], 5, engine)
        D = pairwise_distances(X[2500:], X[:2500]).astype(np.float64)
        expected = np.argsort(D, axis=1)[:, :5]
        assert recall(order[indices], expected) > 0.8
        squared = np.take_along_axis(D, order[indices], axis=1) ** 2
        np.testing.assert_allclose(distances, squared, rtol=1e-3, atol=1e-3)

    def test_the_reach_is_measured_like_distances_of_new_rows(self, rng):
        X = mixture(rng, n=2000, d=100)
        _, search, order, reach = neighbours(X, 7)
        with Threads(1) as engine:
            indices, distances = search.new_rows.nearest(X[order], 8, engine)
        own = indices[:, 0] == np.arange(len(X))
        assert own.mean() > 0.99  # the nearest point of a row is the row itself
        near = distances[:, -1] <= reach * 1.001 + 1e-3
        # Both `distances` and `reach` are measured in the projection. Distances in all
        # columns are larger.
        assert near.mean() > 0.9

    def test_only_kept_points_are_returned(self, rng):
        X = mixture(rng, n=2000)
        _, search, order, _ = neighbours(X, 5)
        kept = rng.random(2000) < 0.1
        with Threads(1) as engine:
            nearest, distances = search.nearest_kept(X[:300], kept, engine)
        assert kept[nearest].all()
        D = pairwise_distances(X[:300], X[order[kept]])
        exact = D.min(axis=1) ** 2
        assert np.isclose(distances, exact, rtol=1e-3, atol=1e-3).mean() > 0.95

    @pytest.mark.parametrize(
        ("d", "metric", "least"),
        [(8, "euclidean", 0.9), (90, "euclidean", 0.55), (90, "cosine", 0.55)],
    )
    def test_exact_searches_place_new_rows_by_cells(self, d, metric, least, rng):
        """The neighbours of 2,000 points are exact; new rows use near cells only.

        With 90 columns, new rows are compared in 64 coordinates. These rows are noise
        in all directions, so such distances differ much from those in all columns.
        """
        X = mixture(rng, n=2200, d=d)
        points, new = X[:2000], X[2000:]
        with Threads(1) as engine:
            search, order = search_for(points, metric, engine, rng)
            indices, reach = search.neighbours(10, engine, rng, None)
            found, distances = search.new_rows.nearest(new, 10, engine)
            again, own = search.new_rows.nearest(points[order], 1, engine)
        same = np.empty_like(indices)
        same[order] = order[indices]
        assert recall(same, exact_neighbours(points, 10, metric)) == 1
        D = pairwise_distances(new, points, metric=metric)
        assert recall(order[found], np.argsort(D, axis=1)[:, :10]) > least
        assert (np.diff(distances, axis=1) >= 0).all()
        # A point is its own nearest point, and its neighbours are within its reach.
        assert (again[:, 0] == np.arange(2000)).all()
        assert own.max() < 0.01 * reach.min()

    def test_one_exact_search_serves_several_numbers_of_neighbours(
        self, rng, monkeypatch
    ):
        """Small integers have many equal distances; blocks have 500 points."""
        monkeypatch.setattr(cell_search, "_EXACT_BLOCK", 500)
        X = rng.integers(4, size=(1100, 20)).astype(np.float32)
        with Threads(2) as engine:
            search, order = search_for(X, "euclidean", engine, rng, most=30)
            D = pairwise_distances(X[order], metric="sqeuclidean").round()
            np.fill_diagonal(D, np.inf)
            for k in (5, 30, 60):  # more than `most` neighbours need another search
                indices, _ = search.neighbours(k, engine, rng, None)
                found = np.take_along_axis(D, indices, axis=1)
                assert (found == np.sort(D, axis=1)[:, :k]).all()
                equal = np.diff(found, axis=1) == 0
                assert (np.diff(indices, axis=1)[equal] > 0).all()


class TestLists:
    def test_the_smallest_entries_are_found_with_and_without_ties(self, rng):
        for D in (rng.random((50, 30)), rng.integers(3, size=(50, 30)) / 2):
            columns = neighbour_lists._smallest(D, 7)
            found = np.sort(np.take_along_axis(D, columns, axis=1), axis=1)
            assert (found == np.sort(D, axis=1)[:, :7]).all()
            assert (np.diff(np.sort(columns, axis=1), axis=1) > 0).all()


def test_wide_rows_are_compared_in_their_leading_coordinates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1300, 1100)).astype(np.float32)
    X[:, :5] += 6 * rng.normal(size=(20, 5)).astype(np.float32)[np.arange(1300) % 20]
    with Threads(1) as engine:
        search, order = search_for(X, "euclidean", engine, rng)
        found = search.neighbours(10, engine, rng, lambda text: None)[0].astype(int)
        C = search.new_rows.coordinates(X[order])
        kept = np.arange(1300) < 100
        nearest = search.nearest_kept(X[:50], kept, engine)[0]
    assert C.shape[1] < 100
    distances = pairwise_distances(C)
    np.fill_diagonal(distances, np.inf)
    expected = np.sort(distances, axis=1)[:, :10]
    near = np.sort(np.take_along_axis(distances, found, axis=1), axis=1)
    np.testing.assert_allclose(near, expected, rtol=1e-3)
    assert kept[nearest].all()
    in_columns = np.argsort(pairwise_distances(X[order]), axis=1)[:, 1:11]
    same, before = (
        (order[lists] % 20 == order[:, None] % 20).mean()
        for lists in (found, in_columns)
    )
    assert same > before + 0.1
