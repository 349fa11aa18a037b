"""The estimator SparseKernelKMeans."""

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from akkm import DiffusionKernelKMeans, SparseKernelKMeans
from akkm.cli._app import app


class TestEstimator:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("make", [make_moons, make_circles])
    def test_moons_and_circles_are_separated(self, make, dtype):
        more = {"factor": 0.5} if make is make_circles else {}
        X, y = make(5000, noise=0.06, random_state=0, **more)
        model = SparseKernelKMeans(2, random_state=0).fit(X.astype(dtype))
        assert adjusted_rand_score(y, model.labels_) > 0.99
        assert model.embedding_.dtype == dtype
        np.testing.assert_array_equal(model.predict(X.astype(dtype)), model.labels_)

    def test_labels_are_better_than_those_of_k_means_on_digits(self, digits):
        X, y = digits
        nmi = normalized_mutual_info_score
        theirs = nmi(y, KMeans(10, n_init=3, random_state=0).fit_predict(X))
        for seed in range(2):
            ours = SparseKernelKMeans(10, random_state=seed).fit(X)
            assert nmi(y, ours.labels_) > theirs + 0.08

    def test_labels_do_not_depend_on_threads_or_other_rows(self, digits):
        X = digits[0]
        one = SparseKernelKMeans(10, random_state=0, n_jobs=1).fit(X)
        two = SparseKernelKMeans(10, random_state=0, n_jobs=2).fit(X)
        np.testing.assert_array_equal(one.labels_, two.labels_)
        np.testing.assert_array_equal(one.predict(X), one.labels_)
        np.testing.assert_array_equal(one.predict(X[100:101]), one.labels_[100:101])
        distances = one.transform(X)
        np.testing.assert_array_equal(distances.argmin(axis=1), one.labels_)
        assert one.score(X) == pytest.approx(-one.inertia_, rel=1e-6)

    def test_sparse_rows_give_the_same_labels_as_dense_rows(self, digits):
        X = digits[0]
        params = {"n_landmarks": 300, "random_state": 0}
        dense = SparseKernelKMeans(10, **params).fit(X)
        model = SparseKernelKMeans(10, **params).fit(sparse.csr_array(X))
        np.testing.assert_array_equal(model.labels_, dense.labels_)
        np.testing.assert_array_equal(model.predict(sparse.csr_array(X)), dense.labels_)

    def test_a_weight_of_two_equals_a_repeated_row(self, rng):
        X, _ = make_blobs(400, centers=5, cluster_std=0.5, random_state=1)
        w = rng.integers(0, 3, size=400)
        params = {"n_landmarks": 50, "random_state": 0}
        weighted = SparseKernelKMeans(5, **params).fit(X, sample_weight=w)
        repeated = SparseKernelKMeans(5, **params).fit(X.repeat(w, axis=0))
        assert adjusted_rand_score(weighted.labels_.repeat(w), repeated.labels_) == 1.0
        assert weighted.inertia_ == pytest.approx(repeated.inertia_)

    def test_landmarks_can_be_given(self, rng):
        X, y = make_moons(1000, noise=0.05, random_state=0)
        rows = rng.choice(1000, 100, replace=False)
        by_index = SparseKernelKMeans(2, landmarks=rows, random_state=0).fit(X)
        by_point = SparseKernelKMeans(2, landmarks=X[rows], random_state=0).fit(X)
        np.testing.assert_array_equal(by_index.labels_, by_point.labels_)
        np.testing.assert_array_equal(by_index.landmarks_, X[rows])
        drawn = SparseKernelKMeans(2, landmarks="uniform", random_state=0).fit(X)
        assert adjusted_rand_score(y, drawn.labels_) > 0.95

    def test_invalid_parameters_are_refused(self, digits):
        X = digits[0]
        for params, message in [
            ({"n_neighbors": 0}, "The 'n_neighbors' parameter of"),
            ({"diffusion": -1.0}, "The 'diffusion' parameter of SparseKernelKMeans"),
            ({"landmarks": "best"}, "The 'landmarks' parameter of"),
            ({"n_landmarks": 5000}, "n_landmarks=5000 is more than"),
            ({"n_landmarks": 3}, "expected an integer ≥ 8"),
        ]:
            with pytest.raises(ValueError, match=message):
                SparseKernelKMeans(8, **params).fit(X)


@pytest.mark.parametrize("more", [["--landmarks", "100"], ["--ensemble", "3"]])
def test_the_command_line_writes_a_model_file_and_a_report(more, digits, tmp_path):

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


def test_command_line_options_that_do_not_apply_are_refused():
    from akkm.cli._method import build
    from akkm.cli._options import Method

    options = (3, "sparse", "rbf", "scale", None, None, 50, None, 4, 0, None)
    fine = Method(*options, layers=False, coverage=1.0, tol=None)
    model = build(fine, "standard")
    assert (model.n_members, model.estimator.n_landmarks) == (4, 50)
    for change, message in (
        ({"kernel": "linear"}, "--method sparse has its own kernel"),
        ({"sampling": "rpcholesky"}, "expected k-means or uniform"),
    ):
        with pytest.raises(ValueError, match=message):
            build(replace(fine, **change), "standard")


@pytest.fixture(scope="module")
def directions():
    """Six directions in 80 columns; the lengths of the rows vary without meaning."""
    rng = np.random.default_rng(0)
    y = np.arange(900) % 6
    X = rng.normal(size=(6, 80))[y] + 0.6 * rng.normal(size=(900, 80))
    return X * rng.uniform(0.2, 5, size=(900, 1)), y


def test_cosine_equals_the_fit_to_rows_of_unit_length(directions):
    X, y = directions
    model = SparseKernelKMeans(6, metric="cosine", random_state=0).fit(X)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    expected = SparseKernelKMeans(6, random_state=0).fit(unit)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(7 * X), model.labels_)
    sparse_rows = SparseKernelKMeans(6, metric="cosine", random_state=0)
    assert adjusted_rand_score(sparse_rows.fit(sparse.csr_array(X)).labels_, y) == 1


@pytest.mark.parametrize("Estimator", [SparseKernelKMeans, DiffusionKernelKMeans])
def test_strongly_varying_lengths_of_embeddings_give_a_warning(Estimator, directions):
    X, _ = directions
    with pytest.warns(UserWarning, match="The lengths of the rows vary strongly"):
        Estimator(6, random_state=0).fit(X)
    Estimator(6, metric="cosine", random_state=0).fit(X)  # no warning
    Estimator(6, random_state=0).fit(np.abs(X))  # no embedding: no negative entries
