"""The estimator DiffusionKernelKMeans."""

import pickle

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from akkm import DiffusionKernelKMeans
from akkm.cli._app import app
from akkm.core.threads import Threads
from akkm.diffusion import neighbour_graph as graph
from akkm.diffusion.graph_embedding import GraphEmbedding
from akkm.diffusion.landmark_embedding import LandmarkEmbedding
from akkm.diffusion.neighbour_search import ExactSearch


@pytest.fixture(scope="module")
def fitted(digits):
    """Model fitted to the digits; tests must not change it."""
    return DiffusionKernelKMeans(10, random_state=0, n_jobs=1).fit(digits[0])


class TestEstimator:
    def test_labels_are_better_than_those_of_k_means_on_digits(self, digits, fitted):
        X, y = digits
        other = DiffusionKernelKMeans(10, random_state=1).fit(X)
        for model in (fitted, other):
            assert normalized_mutual_info_score(y, model.labels_) > 0.85
        k_means = KMeans(10, random_state=0).fit(X)
        assert normalized_mutual_info_score(y, k_means.labels_) < 0.76

    def test_predict_returns_the_training_labels(self, digits):
        X = digits[0].astype(np.float32)
        model = DiffusionKernelKMeans(10, random_state=0).fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        np.testing.assert_array_equal(model.predict(X[5:9]), model.labels_[5:9])
        assert model.score(X) == pytest.approx(-model.inertia_, rel=1e-5)
        sampled = DiffusionKernelKMeans(10, max_rows=900, random_state=0).fit(X)
        np.testing.assert_array_equal(sampled.predict(X), sampled.labels_)
        assert adjusted_rand_score(sampled.labels_, model.labels_) > 0.7

    def test_many_rows_are_embedded_through_landmarks(self):
        X, y = make_moons(21_000, noise=0.07, random_state=0)
        X = X.astype(np.float32)
        model = DiffusionKernelKMeans(2, random_state=0).fit(X)
        assert isinstance(model._embedding, LandmarkEmbedding)
        assert adjusted_rand_score(y, model.labels_) > 0.99
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert model.embedding_.shape[0] == 21_000
        assert not model.outlying_.any()
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X[:50]), model.labels_[:50])
        # If only few of the rows are distinct, the graph of the distinct rows is used.
        few = DiffusionKernelKMeans(2, random_state=0).fit(X[:3000].repeat(8, axis=0))
        assert isinstance(few._embedding, GraphEmbedding)

    @pytest.mark.parametrize(
        "other", [{"metric": "manhattan"}, {"outliers": "mark"}, {"max_rows": 2000}]
    )
    def test_the_graph_of_a_sample_is_used_if_landmarks_cannot_be(self, other):
        X, y = make_moons(21_000, noise=0.05, random_state=0)
        model = DiffusionKernelKMeans(2, random_state=0, **other).fit(X)
        assert isinstance(model._embedding, GraphEmbedding)
        assert len(model._embedding.keys) == other.get("max_rows", 20_000)
        assert adjusted_rand_score(y, model.labels_) > 0.99

    def test_held_out_rows_get_the_labels_of_their_class(self, digits):
        X, y = digits
        model = DiffusionKernelKMeans(10, random_state=0).fit(X[::2])
        labels = model.predict(X[1::2])
        assert normalized_mutual_info_score(y[1::2], labels) > 0.8

    def test_a_weight_of_two_equals_a_repeated_row(self, digits, rng):
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

    def test_small_distant_groups_are_treated_as_outliers(self, rng):
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

    def test_nearby_components_share_a_cluster(self, rng):
        """The data are pairs of blobs; the two blobs of a pair are close together."""
        places = np.repeat(1000.0 * np.arange(4), 2) + np.tile([0, 40], 4)
        y = rng.integers(8, size=1200)
        X = np.column_stack([places[y], np.zeros(1200)]) + rng.normal(size=(1200, 2))
        model = DiffusionKernelKMeans(4, random_state=0).fit(X)
        assert model.n_components_ == 8
        assert adjusted_rand_score(y // 2, model.labels_) == 1.0

    def test_labels_do_not_depend_on_the_number_of_threads(self, digits, fitted):
        two = DiffusionKernelKMeans(10, random_state=0, n_jobs=2).fit(digits[0])
        np.testing.assert_array_equal(fitted.labels_, two.labels_)
        assert fitted.inertia_ == two.inertia_

    def test_sparse_rows_give_the_same_labels_as_dense_rows_also_after_pickling(
        self, digits, fitted
    ):
        X = sparse.csr_array(digits[0])
        model = DiffusionKernelKMeans(10, random_state=0).fit(X)
        np.testing.assert_array_equal(model.labels_, fitted.labels_)
        np.testing.assert_array_equal(model.predict(digits[0]), fitted.labels_)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), fitted.labels_)

    def test_the_cosine_metric_is_accepted(self, digits):
        X, y = digits
        model = DiffusionKernelKMeans(10, metric="cosine", random_state=0).fit(X)
        assert normalized_mutual_info_score(y, model.labels_) > 0.8

    def test_short_walks_use_all_eigenvectors_that_matter(self, rng):
        X, t = rng.normal(size=(300, 4)), 3
        model = DiffusionKernelKMeans(2, diffusion=t, random_state=0).fit(X)
        with Threads(1) as engine:
            found = ExactSearch(X, "euclidean").neighbours(15, engine, None, None)
        near = graph.Neighbours(*found)
        W = graph.shared_neighbour_similarity(near).toarray().astype(float)
        root = np.sqrt(W.sum(axis=1))
        values, vectors = np.linalg.eigh(W / root / root[:, None])
        K = vectors * values.clip(0) ** (2 * t) @ vectors.T
        length = np.sqrt(K.diagonal())
        points = model.embedding_
        np.testing.assert_allclose(
            points @ points.T, K / length / length[:, None], atol=0.01
        )

    def test_walks_too_short_for_the_eigenvectors_give_a_warning(self, rng):
        X = rng.normal(size=(1500, 4))
        with pytest.warns(UserWarning, match=r"diffusion=1 needs more than"):
            DiffusionKernelKMeans(2, diffusion=1, random_state=0).fit(X)

    @pytest.mark.parametrize("C", [2, 3, 5])
    @pytest.mark.parametrize("size", [2, 3, 8, 12])
    def test_few_rows_are_divided_into_distant_groups(self, C, size, rng):
        """Groups have fewer than 15 rows, so the fit must use fewer neighbours."""
        y = np.repeat(np.arange(C), size)
        X = 100.0 * y[:, None] + rng.normal(size=(len(y), 3))
        labels = DiffusionKernelKMeans(C, random_state=0).fit(X).labels_
        assert adjusted_rand_score(y, labels) == 1.0
        repeated = DiffusionKernelKMeans(C, random_state=0).fit(X.repeat(20, axis=0))
        assert adjusted_rand_score(y.repeat(20), repeated.labels_) == 1.0

    @pytest.mark.parametrize("size", [3, 8, 12, 15])
    def test_the_estimate_for_two_groups_of_few_rows_is_unsure(self, size, rng):
        y = np.repeat([0, 1], size)
        X = 100.0 * y[:, None] + rng.normal(size=(len(y), 3))
        with pytest.warns(UserWarning, match=f"only {2 * size} distinct rows"):
            model = DiffusionKernelKMeans("auto", random_state=0).fit(X)
        assert adjusted_rand_score(y, model.labels_) == 1.0
        assert not model.evidence_.sure

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"n_clusters": "many"}, "The 'n_clusters' parameter of"),
            ({"n_neighbors": 0}, "The 'n_neighbors' parameter of"),
            ({"diffusion": -1}, "The 'diffusion' parameter of"),
            ({"outliers": "drop"}, "The 'outliers' parameter of"),
            ({"max_rows": 1}, "The 'max_rows' parameter of"),
        ],
    )
    def test_invalid_parameters_are_refused(self, params, message, digits):
        with pytest.raises(ValueError, match=message):
            DiffusionKernelKMeans(**params).fit(digits[0])

    def test_the_command_line_writes_a_model_file_and_a_report(self, digits, tmp_path):

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
