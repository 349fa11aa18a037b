"""The sparse landmark kernel: against dense mathematics, and its laws."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg, sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from akkm import SparseKernelKMeans
from akkm.core.threads import Threads
from akkm.diffusion.diffusion_time import diffusion_time, diffusion_weights
from akkm.diffusion.landmark_embedding import (
    fit_landmark_embedding,
    tie_to_large_components,
)
from akkm.diffusion.landmark_positions import place_landmarks
from akkm.diffusion.landmark_ties import Ties, tie_rows

CHECKED = [SparseKernelKMeans(**p) for p in ({}, {"n_clusters": 3})]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CHECKED)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_scikit_learn_checks_were_collected(request):
    names = [item.name for item in request.session.items]
    own = [name for name in names if "[SparseKernelKMeans(" in name]
    if not own:
        pytest.skip("other tests were asked for")
    assert len(own) >= 2 * 50


def nearest(X, points, p):
    """The p nearest points of each row, by all distances."""
    D = cdist(X, points, "sqeuclidean")
    order = D.argsort(axis=1, kind="stable")[:, :p]
    return order, np.take_along_axis(D, order, axis=1)


class TestTies:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("shift", [0.0, 1e3])
    def test_are_the_nearest(self, dtype, shift, rng):
        X = (rng.normal(size=(5000, 6)) + shift).astype(dtype)
        points = X[rng.choice(5000, 300, replace=False)]
        with Threads(2) as engine:
            ties = tie_rows(X, points, 4, engine)
        indices, squared = nearest(X.astype(float), points.astype(float), 4)
        np.testing.assert_array_equal(ties.indices, indices)
        np.testing.assert_allclose(ties.squared, squared, atol=1e-9)

    def test_sparse_rows_have_those_of_dense_ones(self, rng):
        X = rng.normal(size=(600, 20)) * (rng.random((600, 20)) < 0.3)
        points = X[:80]
        with Threads(1) as engine:
            dense = tie_rows(X, points, 3, engine)
            csr = tie_rows(sparse.csr_array(X), sparse.csr_array(points), 3, engine)
        np.testing.assert_array_equal(csr.indices, dense.indices)
        np.testing.assert_allclose(csr.squared, dense.squared)

    def test_of_a_row_do_not_depend_on_the_others(self, rng):
        X = rng.normal(size=(3000, 30)).astype(np.float32)
        points = X[:500]
        with Threads(1) as engine:
            together = tie_rows(X, points, 3, engine)
            alone = tie_rows(X[1234:1235], points, 3, engine)
        np.testing.assert_array_equal(alone.indices[0], together.indices[1234])
        np.testing.assert_array_equal(alone.squared[0], together.squared[1234])

    def test_weights_by_hand(self):
        ties = Ties(np.array([[0, 1, 2]]), np.array([[1.0, 1.0 + np.log(2), 99.0]]))
        np.testing.assert_allclose(ties.weights(1.0), [[2 / 3, 1 / 3, 0]])
        # Without any width only the nearest count.
        np.testing.assert_allclose(ties.weights(0.0), [[1, 0, 0]])


class TestSpread:
    def test_few_distinct_rows_are_all_landmarks(self, rng):
        X = rng.integers(3, size=(500, 2)).astype(float)
        with Threads(1) as engine:
            points = place_landmarks(X, 50, None, engine, rng)
        np.testing.assert_array_equal(np.unique(points, axis=0), np.unique(X, axis=0))
        assert len(points) == 9

    def test_a_crowd_gets_few(self, rng):
        """Nine of ten rows are within a thousandth of the others' spread."""
        X = np.r_[1e-3 * rng.normal(size=(9000, 3)), rng.uniform(1, 2, size=(1000, 3))]
        with Threads(1) as engine:
            points = place_landmarks(X, 100, None, engine, rng)
        assert (np.abs(points) < 0.1).all(axis=1).sum() <= 10
        assert len(np.unique(points, axis=0)) == len(points) >= 90

    def test_a_weight_of_two_is_a_row_given_twice(self, rng):
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
    def test_is_that_of_the_dense_kernel(self, rng):
        """Eigenvectors of W = P Λ⁻¹ Pᵀ, all n x n of it."""
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

    def test_near_components_go_together(self, rng):
        """Four groups without a link, two and two near each other: two clusters."""
        centers = np.array([[0.0, 0], [10, 0], [1000, 0], [1010, 0]])
        X = np.repeat(centers, 200, axis=0) + rng.uniform(size=(800, 2))
        model = SparseKernelKMeans(2, n_landmarks=80, random_state=0).fit(X)
        assert adjusted_rand_score(np.arange(800) // 400, model.labels_) == 1.0
        four = SparseKernelKMeans(4, n_landmarks=80, random_state=0).fit(X)
        assert adjusted_rand_score(np.arange(800) // 200, four.labels_) == 1.0

    def test_rows_without_weight_link_nothing(self):
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

    def test_a_few_far_rows_use_up_no_cluster(self, rng):
        X, y = make_moons(2000, noise=0.05, random_state=0)
        far = np.array([[50.0, 0], [0, 60], [-70, 0]])
        model = SparseKernelKMeans(2, random_state=0).fit(np.r_[X, far])
        assert adjusted_rand_score(y, model.labels_[:2000]) == 1.0
        np.testing.assert_array_equal(model.predict(far), model.labels_[2000:])


class TestEstimator:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("make", [make_moons, make_circles])
    def test_shapes_that_k_means_can_not(self, make, dtype):
        more = {"factor": 0.5} if make is make_circles else {}
        X, y = make(5000, noise=0.06, random_state=0, **more)
        model = SparseKernelKMeans(2, random_state=0).fit(X.astype(dtype))
        assert adjusted_rand_score(y, model.labels_) > 0.99
        assert model.embedding_.dtype == dtype
        np.testing.assert_array_equal(model.predict(X.astype(dtype)), model.labels_)

    def test_is_better_than_k_means_on_digits(self, digits):
        from sklearn.cluster import KMeans
        from sklearn.metrics import normalized_mutual_info_score as nmi

        X, y = digits
        theirs = nmi(y, KMeans(10, n_init=10, random_state=0).fit_predict(X))
        for seed in range(3):
            ours = SparseKernelKMeans(10, random_state=seed).fit(X)
            assert nmi(y, ours.labels_) > theirs + 0.08

    def test_labels_do_not_depend_on_threads_or_the_rest(self, digits):
        X = digits[0]
        one = SparseKernelKMeans(10, random_state=0, n_jobs=1).fit(X)
        two = SparseKernelKMeans(10, random_state=0, n_jobs=2).fit(X)
        np.testing.assert_array_equal(one.labels_, two.labels_)
        np.testing.assert_array_equal(one.predict(X), one.labels_)
        np.testing.assert_array_equal(one.predict(X[100:101]), one.labels_[100:101])
        distances = one.transform(X)
        np.testing.assert_array_equal(distances.argmin(axis=1), one.labels_)
        assert one.score(X) == pytest.approx(-one.inertia_, rel=1e-6)

    def test_sparse_rows_give_what_dense_ones_give(self, digits):
        X = digits[0]
        params = {"n_landmarks": 300, "random_state": 0}
        dense = SparseKernelKMeans(10, **params).fit(X)
        model = SparseKernelKMeans(10, **params).fit(sparse.csr_array(X))
        np.testing.assert_array_equal(model.labels_, dense.labels_)
        np.testing.assert_array_equal(model.predict(sparse.csr_array(X)), dense.labels_)

    def test_a_weight_of_two_is_a_row_given_twice(self, rng):
        X, _ = make_blobs(400, centers=5, cluster_std=0.5, random_state=1)
        w = rng.integers(0, 3, size=400)
        params = {"n_landmarks": 50, "random_state": 0}
        weighted = SparseKernelKMeans(5, **params).fit(X, sample_weight=w)
        repeated = SparseKernelKMeans(5, **params).fit(X.repeat(w, axis=0))
        assert adjusted_rand_score(weighted.labels_.repeat(w), repeated.labels_) == 1.0
        assert weighted.inertia_ == pytest.approx(repeated.inertia_)

    @pytest.mark.parametrize("n_clusters", [2, 7, 20])
    def test_counts_clusters(self, n_clusters, rng):
        centers = rng.uniform(-12, 12, size=(400, 5))
        apart = [centers[0]]  # far enough from one another
        for c in centers[1:]:
            if min(np.linalg.norm(c - a) for a in apart) > 8:
                apart.append(c)
        assert len(apart) >= n_clusters
        X, y = make_blobs(3000, centers=np.array(apart[:n_clusters]), random_state=0)
        model = SparseKernelKMeans("auto", random_state=0).fit(X)
        assert model.n_clusters_ == n_clusters
        assert model.evidence_.sure
        assert adjusted_rand_score(y, model.labels_) > 0.99

    def test_is_unsure_of_noise(self, rng):
        with pytest.warns(UserWarning, match="Unsure of the number of clusters"):
            SparseKernelKMeans("auto", random_state=0).fit(rng.random((2000, 3)))

    def test_given_landmarks(self, rng):
        X, y = make_moons(1000, noise=0.05, random_state=0)
        rows = rng.choice(1000, 100, replace=False)
        by_index = SparseKernelKMeans(2, landmarks=rows, random_state=0).fit(X)
        by_point = SparseKernelKMeans(2, landmarks=X[rows], random_state=0).fit(X)
        np.testing.assert_array_equal(by_index.labels_, by_point.labels_)
        np.testing.assert_array_equal(by_index.landmarks_, X[rows])
        drawn = SparseKernelKMeans(2, landmarks="uniform", random_state=0).fit(X)
        assert adjusted_rand_score(y, drawn.labels_) > 0.95

    def test_bad_settings(self, digits):
        X = digits[0]
        for params, message in [
            ({"n_neighbors": 0}, "n_neighbors=0 is not valid"),
            ({"diffusion": -1.0}, "expected a number of steps > 0 or 'auto'"),
            ({"landmarks": "best"}, "expected one of k-means, uniform"),
            ({"n_landmarks": 5000}, "n_landmarks=5000 is more than"),
            ({"n_landmarks": 3}, "expected an integer ≥ 8"),
        ]:
            with pytest.raises(ValueError, match=message):
                SparseKernelKMeans(8, **params).fit(X)


@pytest.mark.parametrize("more", [["--landmarks", "100"], ["--ensemble", "3"]])
def test_command_line_model_file_and_report(more, digits, tmp_path):
    from click.testing import CliRunner

    from akkm.cli._app import app

    data, model = tmp_path / "digits.npy", tmp_path / "m.skops"
    first, again = tmp_path / "1.csv", tmp_path / "2.csv"
    np.save(data, digits[0][:500])
    method = [data, "-k", "4", "--method", "sparse", *more]
    files = ["--labels", first, "--model", model, "--report", tmp_path / "r.html"]
    for command in (
        ["cluster", *method, *files],
        ["predict", model, data, "--labels", again],
        ["info", model],
        ["plan", *method],
    ):
        result = CliRunner().invoke(app, [str(word) for word in command])
        assert result.exit_code == 0, result.output
    assert first.read_text() == again.read_text()
    assert "<html" in (tmp_path / "r.html").read_text()


def test_options_that_have_no_meaning():
    from akkm.cli._method import build
    from akkm.cli._options import Encoding, Method

    encoding = Encoding((), (), None, None, (), "standard", "error")
    fine = Method(3, "sparse", "rbf", "scale", None, None, 50, None, 4, 0, None)
    model = build(fine, encoding)
    assert (model.n_members, model.estimator.n_landmarks) == (4, 50)
    for change, message in (
        ({"kernel": "linear"}, "--method sparse has a kernel of its own"),
        ({"sampling": "rpcholesky"}, "choose k-means or uniform"),
    ):
        with pytest.raises(ValueError, match=message):
            build(replace(fine, **change), encoding)
