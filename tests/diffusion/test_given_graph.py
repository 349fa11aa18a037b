"""Graphs given to DiffusionKernelKMeans instead of rows, and `neighbor_graph`."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, SpectralClustering
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import kneighbors_graph
from sklearn.utils import get_tags

import akkm
from akkm import DiffusionKernelKMeans, neighbor_graph

MODES = {"distance": "precomputed", "similarity": "precomputed_similarity"}


def given(mode, n_clusters=2, **params):
    params = {"random_state": 0, "metric": MODES[mode], "n_neighbors": 15, **params}
    return DiffusionKernelKMeans(n_clusters, **params)


def of_rows(n_clusters, **params):
    return DiffusionKernelKMeans(n_clusters, n_neighbors=15, random_state=0, **params)


@pytest.fixture(scope="module")
def moons():
    return make_moons(900, noise=0.07, random_state=0)


@pytest.mark.parametrize("mode", MODES)
class TestRoundTrip:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("n_clusters", [2, "auto"])
    def test_the_graph_of_rows_gives_the_same_labels_as_the_rows(
        self, mode, n_clusters, dtype, moons
    ):
        X = moons[0].astype(dtype)
        rows = of_rows(n_clusters).fit(X)
        G = neighbor_graph(X, mode=mode)
        model = given(mode, n_clusters).fit(G)
        np.testing.assert_array_equal(model.labels_, rows.labels_)
        assert model.n_clusters_ == rows.n_clusters_
        assert model.embedding_.dtype == dtype

    def test_a_large_graph_gives_the_same_labels_as_the_rows(self, mode):
        X, _ = make_blobs(3_000, 10, centers=6, cluster_std=3, random_state=0)
        rows = of_rows(6).fit(X)
        model = given(mode, 6).fit(neighbor_graph(X, mode=mode))
        np.testing.assert_array_equal(model.labels_, rows.labels_)

    def test_the_embedding_equals_that_of_the_rows_up_to_a_rotation(self, mode, moons):
        X = moons[0]
        rows = of_rows(5).fit(X)
        model = given(mode, 5).fit(neighbor_graph(X, mode=mode))
        np.testing.assert_allclose(model.eigenvalues_, rows.eigenvalues_, atol=1e-6)
        first, second = model.embedding_, rows.embedding_
        np.testing.assert_allclose(first @ first.T, second @ second.T, atol=1e-4)
        assert model.inertia_ == pytest.approx(rows.inertia_, rel=1e-3)

    @pytest.mark.parametrize("metric", ["cosine", "manhattan"])
    def test_other_metrics_give_nearly_the_same_labels_as_the_rows(
        self, mode, metric, digits
    ):
        X, _ = digits
        # A single run of k-means may end in another local optimum, because the two
        # embeddings differ by a rotation.
        rows = of_rows(10, metric=metric, n_init=10).fit(X)
        G = neighbor_graph(X, metric=metric, mode=mode)
        model = given(mode, 10, n_init=10).fit(G)
        # Two clusterings of these rows have nearly the same error.
        assert model.inertia_ == pytest.approx(rows.inertia_, rel=0.02)
        assert adjusted_rand_score(model.labels_, rows.labels_) > 0.8

    def test_the_graph_of_a_search_by_cells_shows_the_clusters(
        self, mode, rng, monkeypatch
    ):
        from akkm.diffusion import neighbour_search

        monkeypatch.setattr(neighbour_search, "EXACT_ROWS", 1_000)
        X, y = make_blobs(3_000, 20, centers=6, cluster_std=3.0, random_state=0)
        G = neighbor_graph(X, mode=mode, random_state=0)
        assert (abs(G - G.T)).nnz == 0
        assert adjusted_rand_score(given(mode, 6).fit(G).labels_, y) > 0.95

    def test_equal_rows_get_equal_labels(self, mode, moons):
        X = np.vstack([moons[0], moons[0][:100].repeat(30, axis=0)])
        y = np.r_[moons[1], moons[1][:100].repeat(30)]
        rows = of_rows(2).fit(X)
        model = given(mode).fit(neighbor_graph(X, mode=mode))
        assert adjusted_rand_score(y, model.labels_) == 1.0
        if mode == "distance":
            np.testing.assert_array_equal(model.labels_, rows.labels_)


@pytest.mark.parametrize("mode", MODES)
class TestPredict:
    def test_the_training_matrix_gives_the_training_labels(self, mode, moons):
        G = neighbor_graph(moons[0], mode=mode)
        model = given(mode, 5).fit(G)
        np.testing.assert_array_equal(model.predict(G), model.labels_)
        np.testing.assert_array_equal(model.predict(G[5:60]), model.labels_[5:60])
        assert model.score(G) == pytest.approx(-model.inertia_, rel=1e-6)
        assert model.transform(G).shape == (900, 5)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(G), model.labels_)

    def test_new_rows_get_the_labels_of_their_class(self, mode, moons):
        """New rows are given by their distances or similarities to training rows."""
        (X, y), train = moons, np.arange(900) % 3 > 0
        model = given(mode).fit(neighbor_graph(X[train], mode=mode))
        new = kneighbors_graph_of_new_rows(X[~train], X[train])
        if mode == "similarity":
            new.data = np.exp(-np.square(new.data / 0.1))
        labels = model.predict(new)
        classes = np.r_[model.labels_, labels], np.r_[y[train], y[~train]]
        assert adjusted_rand_score(*classes) > 0.99

    def test_cross_validation_selects_rows_and_columns(self, mode, moons):
        X, y = moons
        G = neighbor_graph(X, n_neighbors=30, mode=mode)
        model = given(mode, n_neighbors=15)
        assert get_tags(model).input_tags.pairwise
        labels = cross_val_predict(model, G, y, cv=5)
        assert labels.shape == (900,)

    def test_a_row_without_neighbours_is_an_outlier(self, mode, moons):
        G = neighbor_graph(moons[0], mode=mode)
        model = given(mode, outliers="mark").fit(G)
        empty = sparse.csr_array((2, 900))
        assert model.predict(empty).tolist() == [-1, -1]

    def test_the_graph_in_a_model_file_is_checked(self, mode, moons, tmp_path):
        from sklearn.base import clone

        from akkm.model_file import _checks

        G = neighbor_graph(moons[0], mode=mode)
        model = clone(given(mode)).fit(G)
        for name in ("labels_", "embedding_", "outlying_"):
            delattr(model, name)
        _checks.require_consistent(model)
        model._embedding.places[0] = 10**6
        with pytest.raises(ValueError, match="not all from 0 to 899"):
            _checks.require_consistent(model)


def kneighbors_graph_of_new_rows(new, X, k=15):
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=k).fit(X)
    return sparse.csr_array(search.kneighbors_graph(new, mode="distance"))


class TestWeights:
    @pytest.mark.parametrize("mode", MODES)
    def test_a_row_of_weight_zero_has_no_influence(self, mode, moons, rng):
        X = moons[0]
        w = (np.arange(900) % 4 > 0).astype(float)
        G = neighbor_graph(X, n_neighbors=40, mode=mode)
        model = given(mode, 4).fit(G, sample_weight=w)
        inside = G[w > 0][:, w > 0]
        alone = given(mode, 4).fit(inside)
        np.testing.assert_array_equal(model.labels_[w > 0], alone.labels_)
        assert set(model.labels_) == {0, 1, 2, 3}
        np.testing.assert_array_equal(model.predict(G), model.labels_)

    def test_a_weight_of_two_acts_like_a_second_row_at_distance_zero(self, moons, rng):
        X = moons[0][:500]
        w = rng.integers(1, 3, 500)
        G = neighbor_graph(X, mode="distance")
        weighted = given("distance", 4).fit(G, sample_weight=w)
        twice = neighbor_graph(X.repeat(w, axis=0), mode="distance")
        model = given("distance", 4).fit(twice)
        np.testing.assert_array_equal(weighted.labels_.repeat(w), model.labels_)


class TestOutliers:
    @pytest.fixture
    def with_far_rows(self, moons, rng):
        """Two moons, and four distant groups of 18 rows."""
        far = np.repeat(rng.normal(scale=100, size=(4, 2)), 18, axis=0)
        return np.vstack([moons[0], far + rng.normal(scale=0.01, size=far.shape)])

    @pytest.mark.parametrize("mode", MODES)
    def test_small_components_are_marked_as_outliers(self, mode, with_far_rows, moons):
        G = neighbor_graph(with_far_rows, mode=mode)
        model = given(mode, outliers="mark").fit(G)
        assert (model.labels_[900:] == -1).all()
        assert model.outlying_[900:].all()
        assert adjusted_rand_score(moons[1], model.labels_[:900]) == 1.0
        np.testing.assert_array_equal(model.predict(G), model.labels_)

    @pytest.mark.parametrize("mode", MODES)
    def test_a_warning_counts_the_rows_without_a_link(self, mode, with_far_rows):
        G = neighbor_graph(with_far_rows, mode=mode)
        with pytest.warns(UserWarning, match="72 rows have no link to a large"):
            model = given(mode).fit(G)
        assert set(model.labels_) == {0, 1}

    def test_small_components_are_attached_along_short_distances(self, rng):
        """Three rows form a small group; one of them has a link to a large group."""
        X, y = make_blobs(600, 2, centers=[[0, 0], [50, 0]], random_state=0)
        G = neighbor_graph(X, mode="distance").tolil()
        G.resize((603, 603))
        for i, j, d in [(600, 601, 0.1), (601, 602, 0.1), (600, 602, 0.1)]:
            G[i, j] = G[j, i] = d
        G[600, 5] = G[5, 600] = 3.0
        model = given("distance", n_neighbors=15).fit(G.tocsr())
        assert model.outlying_[600:].all()
        assert (model.labels_[600:] == model.labels_[5]).all()
        assert adjusted_rand_score(y, model.labels_[:600]) == 1.0

    @pytest.mark.parametrize("mode", MODES)
    def test_more_components_than_clusters_give_a_warning(self, mode):
        X, _ = make_blobs(600, 2, centers=100 * np.eye(4, 2), random_state=0)
        X[:300] += 1000
        G = neighbor_graph(X, mode=mode)
        with pytest.warns(UserWarning, match="components, but n_clusters=2"):
            model = given(mode).fit(G)
        assert model.n_components_ > 2


class TestBadInput:
    @pytest.fixture
    def G(self):
        return neighbor_graph(make_moons(60, random_state=0)[0], mode="distance")

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (
                lambda G: G.toarray(),
                "with a dense array of shape .*; expected a sparse",
            ),
            (lambda G: G[:, :50], r"X of shape \(60, 50\); expected a square matrix"),
            (lambda G: -G, "negative entries, down to -"),
            (
                lambda G: sparse.triu(G).tocsr(),
                r"not symmetric: entry .* is 0.* X\.maximum\(X\.T\)",
            ),
            (lambda G: G * np.inf, "infinity"),
            (lambda G: 0 * G, "No row of X is similar"),
        ],
    )
    def test_messages_name_the_problem(self, mode, change, message, G):
        with pytest.raises(ValueError, match=message):
            given(mode).fit(change(G))

    @pytest.mark.parametrize(
        "change", [lambda G: G + sparse.eye_array(60), lambda G: G.astype(bool) * 1.0]
    )
    def test_similarities_given_as_distances_are_refused(self, change, G):
        with pytest.raises(ValueError, match="metric='precomputed_similarity'"):
            given("distance").fit(change(G))

    def test_a_stored_similarity_of_zero_is_no_edge(self, moons):
        W = neighbor_graph(moons[0])
        zeros = W.copy().tolil()
        far = [(0, int(np.abs(moons[0] - moons[0][0]).sum(axis=1).argmax()))]
        for i, j in far:
            zeros[i, j] = zeros[j, i] = 1.0
        zeros = zeros.tocsr()
        zeros.data[zeros.data == 1.0] = 0.0
        before = zeros.nnz
        model = given("similarity", 5).fit(zeros)
        np.testing.assert_array_equal(
            model.labels_, given("similarity", 5).fit(W).labels_
        )
        assert zeros.nnz == before, "the user's matrix was changed"

    def test_new_rows_need_a_column_for_each_training_row(self, G):
        model = given("distance").fit(G)
        with pytest.raises(ValueError, match="59 features"):
            model.predict(G[:, :59])
        with pytest.raises(ValueError, match="expected a sparse"):
            model.predict(G.toarray())

    def test_matrices_in_files_are_refused(self, tmp_path):
        np.save(tmp_path / "x.npy", np.zeros((5, 5)))
        with pytest.raises(ValueError, match="needs the matrix in memory"):
            given("distance").fit(akkm.open_rows(tmp_path / "x.npy"))


class TestNeighborGraph:
    def test_other_tools_accept_the_graph(self):
        X, y = make_moons(900, noise=0.12, random_state=0)
        W = neighbor_graph(X, mode="similarity")
        spectral = SpectralClustering(2, affinity="precomputed", random_state=0)
        assert adjusted_rand_score(y, spectral.fit_predict(W)) > 0.7
        X, y = make_moons(900, noise=0.07, random_state=0)
        D = neighbor_graph(X, mode="distance")
        dbscan = DBSCAN(eps=0.2, metric="precomputed")
        assert adjusted_rand_score(y, dbscan.fit_predict(D)) > 0.95

    @pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "l1"])
    @pytest.mark.parametrize("cells", [False, True])
    def test_distances_equal_those_of_scikit_learn(
        self, metric, cells, digits, monkeypatch
    ):
        from akkm.diffusion import neighbour_search

        if cells:
            monkeypatch.setattr(neighbour_search, "EXACT_ROWS", 100)
        X = np.unique(digits[0], axis=0)[:1500]
        D = neighbor_graph(X, n_neighbors=5, metric=metric, mode="distance")
        assert D.shape == (1500, 1500)
        assert abs(D - D.T).nnz == 0
        expected = kneighbors_graph(X, 5, mode="distance", metric=metric)
        farthest = expected.max(axis=1).toarray().ravel()
        five = np.sort([np.sort(D[[i]].data)[:5] for i in range(1500)])
        reached = np.mean(five[:, -1] <= farthest * (1 + 1e-6) + 1e-9)
        assert reached == 1 if not cells else reached > 0.8
        same = D.multiply(expected != 0) - expected.multiply(D != 0)
        assert abs(same).max() < 1e-7

    def test_similarities_equal_those_in_the_fit(self, moons):
        from akkm.core.threads import Threads
        from akkm.diffusion import neighbour_graph as graph
        from akkm.diffusion.neighbour_search import ExactSearch

        X = moons[0]
        with Threads(1) as engine:
            found = ExactSearch(X, "euclidean").neighbours(15, engine, None, None)
        W = graph.shared_neighbour_similarity(graph.Neighbours(*found))
        assert abs(neighbor_graph(X, n_neighbors=15) - W).max() == 0

    def test_equal_rows_are_tied_to_the_first_of_them(self):
        X = np.array([[0.0], [1.0], [2.0], [1.0], [1.0], [5.0]])
        D = neighbor_graph(X, n_neighbors=1, mode="distance")
        stored = {(i, j): D[i, j] for i, j in zip(*D.tocoo().coords, strict=True)}
        expected = {(0, 1): 1, (1, 0): 1, (1, 2): 1, (2, 1): 1, (2, 5): 3, (5, 2): 3}
        expected |= {(1, 3): 0, (3, 1): 0, (1, 4): 0, (4, 1): 0}
        assert stored == expected
        W = neighbor_graph(X, n_neighbors=1, mode="similarity")
        assert W[1, 3] == W[3, 1] > 0

    def test_sparse_rows_give_the_same_graph_as_dense_rows(self, digits):
        X = digits[0][:300]
        dense, csr = (neighbor_graph(x) for x in (X, sparse.csr_array(X)))
        assert abs(dense - csr).max() == 0

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"n_neighbors": 0}, "n_neighbors"),
            ({"n_neighbors": 60}, "n_neighbors=60 .* 60 distinct rows"),
            ({"mode": "affinity"}, "mode='affinity'; expected 'similarity' or"),
            ({"metric": "precomputed"}, "metric='precomputed'"),
            ({"metric": "unknown"}, "unknown"),
        ],
    )
    def test_invalid_parameters_are_refused(self, params, message, moons):
        with pytest.raises(ValueError, match=message):
            neighbor_graph(moons[0][:60], **params)
