"""Diffusion kernel k-means: graph, spectrum, counting, and the estimator."""

import pickle
import sys
import types

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from akkm import DiffusionKernelKMeans
from akkm.core.threads import Threads
from akkm.diffusion import neighbour_graph as graph
from akkm.diffusion.diffusion_time import (
    diffusion_map,
    diffusion_time,
    diffusion_weights,
)
from akkm.diffusion.estimate_k import estimate_n_clusters
from akkm.diffusion.graph_embedding import GraphEmbedding
from akkm.diffusion.landmark_embedding import LandmarkEmbedding
from akkm.diffusion.spectrum import leading_eigenpairs


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([DiffusionKernelKMeans(), DiffusionKernelKMeans(n_clusters=3)])
def test_scikit_learn_check(estimator, check):
    check(estimator)


def naive_similarities(X, k):
    """W by its definition, pair by pair."""
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
        return graph.find_neighbours(X, k, "euclidean", engine, 0)


class TestGraph:
    @pytest.mark.parametrize("d", [3, 40])  # a tree, and products in blocks
    def test_similarities_by_their_definition(self, d, rng):
        X = rng.normal(size=(120, d))
        W = graph.shared_neighbour_similarity(find(X, 7)).toarray()
        np.testing.assert_allclose(W, naive_similarities(X, 7), rtol=1e-6)

    def test_a_training_row_as_a_new_one_has_its_own_edges(self, rng):
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

    def test_components_are_numbered_from_the_largest(self):
        W = sparse.block_diag([np.ones((2, 2)), np.ones((4, 4)), [[0.0]]])
        label, sizes = graph.label_components(sparse.csr_array(W))
        assert sizes.tolist() == [4, 2, 1]
        assert label.tolist() == [1, 1, 0, 0, 0, 0, 2]

    def test_a_small_component_goes_by_its_shortest_link(self):
        X = np.array([[0.0], [1.0], [10.0], [4.0], [7.9]])
        inside = np.array([True, True, True, False, False])
        label = np.array([0, 0, 1, 2, 2])
        with Threads(1) as engine:
            to = graph.attach_small_components(X, inside, label, "euclidean", engine)
        assert to.tolist() == [0, 1, 2, 2, 2]  # 7.9 is nearest to 10

    def test_links_join_all_components(self, rng):
        X = rng.normal(size=(300, 2)) + np.repeat(100 * np.eye(3)[:, :2], 100, axis=0)
        W = graph.shared_neighbour_similarity(find(X, 10))
        label, _ = graph.label_components(W)
        assert label.max() >= 2
        linked = graph.link_components(X, W, label, 10, "euclidean", rng)
        assert graph.label_components(linked)[0].max() == 0
        assert abs(linked - linked.T).max() == 0


class TestApproximateSearch:
    def test_neighbours_come_from_pynndescent(self, rng, monkeypatch):
        """Compiling pynndescent takes longer than all tests here: a stand-in."""

        class NNDescent:
            def __init__(self, X, metric, n_neighbors, random_state, n_jobs):
                assert random_state == 7
                with Threads(n_jobs) as engine:
                    self.neighbor_graph = graph.nearest_points(
                        X, X, n_neighbors, metric, engine
                    )

        X = rng.normal(size=(200, 20))
        exact = find(X, 5)
        stand_in = types.SimpleNamespace(NNDescent=NNDescent)
        monkeypatch.setitem(sys.modules, "pynndescent", stand_in)
        with Threads(1) as engine:
            near = graph.find_neighbours(X, 5, "euclidean", engine, 7, exact_rows=100)
        np.testing.assert_array_equal(near.indices, exact.indices)
        np.testing.assert_array_equal(near.reach, exact.reach)

    def test_a_missing_pynndescent_is_named(self, rng, monkeypatch):
        monkeypatch.setitem(sys.modules, "pynndescent", None)
        X = rng.normal(size=(200, 20))
        with (
            Threads(1) as engine,
            pytest.raises(ImportError, match=r"pip install 'akkm\[graph\]'"),
        ):
            graph.find_neighbours(X, 5, "euclidean", engine, 0, exact_rows=100)


class TestSpectrum:
    @pytest.mark.parametrize(
        "options", [{}, {"dense_rows": 10, "tolerance": 1e-10}], ids=["dense", "sparse"]
    )
    def test_pairs_are_those_of_the_whole_matrix(self, options, rng):
        X = rng.normal(size=(300, 2)) + np.repeat(50 * np.eye(2), 150, axis=0)
        W = graph.shared_neighbour_similarity(find(X, 12))
        label, _ = graph.label_components(W)
        assert label.max() >= 1  # an eigenvalue of 1 that is there twice
        values, vectors = leading_eigenpairs(W, label, 20, rng, **options)
        dense_W = W.toarray().astype(float)
        root = np.sqrt(np.maximum(dense_W.sum(axis=1), 1e-300))
        S = dense_W / root / root[:, None]
        lone = dense_W.sum(axis=1) == 0
        S[lone, lone] = 1
        expected = linalg.eigvalsh(S)[::-1][:20]
        np.testing.assert_allclose(values, expected, atol=1e-6)
        np.testing.assert_allclose(S @ vectors, vectors * values, atol=1e-5)

    def test_time_meets_its_sum(self, rng):
        values = np.sort(rng.uniform(0.5, 1, 40))[::-1] / 1.0
        values[0] = 1
        for C in (2, 5, 20):
            t = diffusion_time(values, C)
            assert (values ** (2 * t)).sum() == pytest.approx(0.9 * C)

    def test_time_at_its_limits(self):
        assert diffusion_time(np.ones(5), 3) > 1e7
        assert diffusion_time(np.array([1.0, 1e-9]), 50) < 0.02
        assert np.isfinite(diffusion_time(np.zeros(3), 2))

    def test_embedding_is_the_kernel(self, rng):
        """Inner products before scaling are S^(2t)."""
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


class TestCounting:
    def test_gap_is_the_widest_over_all_times(self):
        values = np.array([1.0, 0.99, 0.9, 0.7, 0.4])
        found = estimate_n_clusters(values)
        times = np.exp(np.linspace(-5, 8, 20_001))
        for number, gap, t in zip(found.numbers, found.gaps, found.times, strict=True):
            along = values[number - 1] ** times - values[number] ** times
            assert gap == pytest.approx(along.max(), abs=1e-6)
            assert t == pytest.approx(times[along.argmax()], rel=1e-2)

    @pytest.mark.parametrize("C", [2, 7, 30])
    def test_planted_mixtures(self, C):
        X, _ = make_blobs(1500, centers=10 * _grid(C), random_state=0)
        model = DiffusionKernelKMeans("auto", random_state=0).fit(X)
        assert model.n_clusters_ == C
        assert model.evidence_.sure

    @pytest.mark.parametrize("make", [make_moons, make_circles])
    def test_shapes(self, make):
        options = {"factor": 0.5} if make is make_circles else {}
        X, y = make(1500, noise=0.05, random_state=1, **options)
        model = DiffusionKernelKMeans("auto", random_state=0).fit(X)
        assert model.n_clusters_ == 2
        assert adjusted_rand_score(y, model.labels_) == 1.0

    def test_unsure_of_noise(self, rng):
        with pytest.warns(UserWarning, match="Unsure of the number of clusters"):
            model = DiffusionKernelKMeans("auto", random_state=0).fit(
                rng.random((1500, 2))
            )
        assert not model.evidence_.sure

    def test_too_short_a_spectrum(self):
        assert not estimate_n_clusters(np.array([1.0])).sure


def _grid(C):
    side = int(np.ceil(np.sqrt(C)))
    return np.array([(i % side, i // side) for i in range(C)], dtype=float)


class TestEstimator:
    def test_better_than_k_means_on_digits(self, digits):
        X, y = digits
        for seed in range(3):
            ours = DiffusionKernelKMeans(10, random_state=seed).fit(X)
            straight = KMeans(10, random_state=seed).fit(X)
            assert normalized_mutual_info_score(y, ours.labels_) > 0.85
            assert normalized_mutual_info_score(y, straight.labels_) < 0.76

    def test_labels_are_predictions(self, digits):
        X = digits[0].astype(np.float32)
        model = DiffusionKernelKMeans(10, random_state=0).fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        np.testing.assert_array_equal(model.predict(X[5:9]), model.labels_[5:9])
        assert model.score(X) == pytest.approx(-model.inertia_, rel=1e-5)
        sampled = DiffusionKernelKMeans(10, max_rows=900, random_state=0).fit(X)
        np.testing.assert_array_equal(sampled.predict(X), sampled.labels_)
        assert adjusted_rand_score(sampled.labels_, model.labels_) > 0.7

    def test_more_rows_than_a_graph_takes_go_through_landmarks(self):
        X, y = make_moons(21_000, noise=0.07, random_state=0)
        X = X.astype(np.float32)
        model = DiffusionKernelKMeans(2, random_state=0).fit(X)
        assert isinstance(model._walks, LandmarkEmbedding)
        assert adjusted_rand_score(y, model.labels_) > 0.99
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert model.embedding_.shape[0] == 21_000
        assert not model.outlying_.any()
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X[:50]), model.labels_[:50])
        # Many rows that are few distinct ones have their graph.
        few = DiffusionKernelKMeans(2, random_state=0).fit(X[:3000].repeat(8, axis=0))
        assert isinstance(few._walks, GraphEmbedding)

    @pytest.mark.parametrize(
        "other", [{"metric": "manhattan"}, {"outliers": "mark"}, {"max_rows": 2000}]
    )
    def test_a_sample_has_the_graph_where_landmarks_will_not_do(self, other):
        X, y = make_moons(21_000, noise=0.05, random_state=0)
        model = DiffusionKernelKMeans(2, random_state=0, **other).fit(X)
        assert isinstance(model._walks, GraphEmbedding)
        assert len(model._walks.points) == other.get("max_rows", 20_000)
        assert adjusted_rand_score(y, model.labels_) > 0.99

    def test_rows_held_out_get_the_labels_of_their_class(self, digits):
        X, y = digits
        model = DiffusionKernelKMeans(10, random_state=0).fit(X[::2])
        labels = model.predict(X[1::2])
        assert normalized_mutual_info_score(y[1::2], labels) > 0.8

    def test_weight_two_is_a_row_twice(self, digits, rng):
        X = digits[0][:600]
        w = rng.integers(0, 3, 600)
        weighted = DiffusionKernelKMeans(6, random_state=0).fit(X, sample_weight=w)
        twice = DiffusionKernelKMeans(6, random_state=0).fit(X.repeat(w, axis=0))
        assert adjusted_rand_score(weighted.labels_.repeat(w), twice.labels_) == 1.0
        assert weighted.inertia_ == pytest.approx(twice.inertia_)

    def test_many_duplicates_do_not_change_the_graph(self):
        X, y = make_moons(800, noise=0.05, random_state=0)
        X, y = np.vstack([X, X[:1].repeat(3000, axis=0)]), np.r_[y, y[:1].repeat(3000)]
        model = DiffusionKernelKMeans(2, random_state=0).fit(X)
        assert adjusted_rand_score(y, model.labels_) == 1.0

    def test_far_off_groups_use_up_no_cluster(self, rng):
        X, y = make_moons(1000, noise=0.05, random_state=0)
        far = np.repeat(rng.normal(scale=100, size=(4, 2)), 20, axis=0)
        far += rng.normal(scale=0.01, size=far.shape)
        both = np.vstack([X, far])
        model = DiffusionKernelKMeans(2, random_state=0).fit(both)
        assert adjusted_rand_score(y, model.labels_[:1000]) > 0.99
        assert model.outlying_[1000:].all()
        assert set(model.labels_) == {0, 1}
        marked = DiffusionKernelKMeans(2, outliers="mark", random_state=0).fit(both)
        assert (marked.labels_[1000:] == -1).all()
        np.testing.assert_array_equal(marked.predict(both), marked.labels_)

    def test_more_components_than_clusters(self, rng):
        """Pairs of blobs, the blobs of a pair near one another."""
        places = np.repeat(1000.0 * np.arange(4), 2) + np.tile([0, 40], 4)
        y = rng.integers(8, size=1200)
        X = np.column_stack([places[y], np.zeros(1200)]) + rng.normal(size=(1200, 2))
        model = DiffusionKernelKMeans(4, random_state=0).fit(X)
        assert model.n_components_ == 8
        assert adjusted_rand_score(y // 2, model.labels_) == 1.0

    def test_same_seed_same_labels_whatever_the_threads(self, digits):
        one, two = (
            DiffusionKernelKMeans(10, random_state=1, n_jobs=j).fit(digits[0])
            for j in (1, 2)
        )
        np.testing.assert_array_equal(one.labels_, two.labels_)
        assert one.inertia_ == two.inertia_

    def test_sparse_rows_and_pickle(self, digits):
        X = digits[0]
        dense = DiffusionKernelKMeans(10, random_state=0).fit(X)
        thin = DiffusionKernelKMeans(10, random_state=0).fit(sparse.csr_array(X))
        np.testing.assert_array_equal(thin.labels_, dense.labels_)
        np.testing.assert_array_equal(thin.predict(X), dense.labels_)
        again = pickle.loads(pickle.dumps(thin))
        np.testing.assert_array_equal(again.predict(sparse.csr_array(X)), dense.labels_)

    def test_other_metrics(self, digits):
        X, y = digits
        model = DiffusionKernelKMeans(10, metric="cosine", random_state=0).fit(X)
        assert normalized_mutual_info_score(y, model.labels_) > 0.8

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"n_clusters": "many"}, "n_clusters='many' is not valid"),
            ({"n_neighbors": 0}, "n_neighbors=0 is not valid"),
            ({"diffusion": -1}, "diffusion=-1 is not valid"),
            ({"outliers": "drop"}, "outliers='drop' is not valid"),
            ({"max_rows": 1}, "max_rows=1 is not valid"),
        ],
    )
    def test_bad_parameters(self, params, message, digits):
        with pytest.raises(ValueError, match=message):
            DiffusionKernelKMeans(**params).fit(digits[0])

    def test_command_line_model_file_and_report(self, digits, tmp_path):
        from click.testing import CliRunner

        from akkm.cli._app import app

        data, model = tmp_path / "digits.npy", tmp_path / "m.skops"
        first, again = tmp_path / "1.csv", tmp_path / "2.csv"
        np.save(data, digits[0][:500])
        run = ["cluster", data, "-k", "4", "--method", "diffusion", "--labels", first]
        run += ["--model", model, "--report", tmp_path / "r.html"]
        for command in (
            run,
            ["predict", model, data, "--labels", again],
            ["plan", data, "-k", "4", "--method", "diffusion"],
        ):
            result = CliRunner().invoke(app, [str(word) for word in command])
            assert result.exit_code == 0, result.output
        assert first.read_text() == again.read_text()
        assert "<html" in (tmp_path / "r.html").read_text()
