"""ClusterLayers, and n_clusters="auto" in every estimator."""

import functools

import numpy as np
import pytest
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.datasets import make_blobs

import akkm
from akkm import ApproxKernelKMeans, ClusterLayers, SparseKernelKMeans
from registry import create, every, has_centers

X6 = make_blobs(300, centers=10 * np.eye(6)[:, :5], cluster_std=1.0, random_state=0)[0]
# Clusters that touch each other, so that all certainties differ.
OVERLAPPING = make_blobs(
    600, centers=10 * np.eye(6)[:, :5], cluster_std=3.5, random_state=0
)[0]


@pytest.fixture(scope="module")
def fitted():
    """Function that fits six clusters, once per estimator; tests must not change it."""

    @functools.cache
    def fit(Estimator, rows):
        return create(Estimator, 6).fit({"X6": X6, "OVERLAPPING": OVERLAPPING}[rows])

    return fit


def nested_data():
    """Two groups of three blobs."""
    rng = np.random.default_rng(0)
    groups = np.array([[0.0, 0.0], [40.0, 0.0]])
    centers = (groups[:, None] + [[0, 0], [6, 0], [0, 6]]).reshape(6, 2)
    return centers[np.arange(900) % 6] + rng.normal(size=(900, 2))


@every()
@pytest.mark.filterwarnings("ignore:The estimate of")
def test_auto_finds_planted_clusters_and_gives_the_same_labels_as_six(
    Estimator, fitted
):
    auto = create(Estimator, "auto").fit(X6)
    assert auto.n_clusters_ == 6
    assert len(np.unique(auto.labels_)) == 6
    if Estimator is not akkm.DiffusionKernelKMeans:
        given = fitted(Estimator, "X6")
        np.testing.assert_array_equal(auto.labels_, given.labels_)


def test_auto_is_unsure_about_very_few_rows():
    with pytest.warns(UserWarning, match="there are only 12 rows"):
        model = ApproxKernelKMeans("auto", random_state=0).fit(X6[:12])
    assert model.n_clusters_ == 2


def test_auto_works_with_a_precomputed_kernel():
    K = akkm.kernels.RBF(sigma=3.0)(X6, X6)
    model = ApproxKernelKMeans("auto", kernel="precomputed", random_state=0)
    with pytest.warns(UserWarning, match="is unsure"):
        model.fit(K)
    assert model.n_clusters_ == 6


def test_partial_fit_refuses_auto():
    with pytest.raises(ValueError, match="n_clusters='auto' needs all rows"):
        ApproxKernelKMeans("auto").partial_fit(X6)


def test_a_second_fit_uses_the_new_number_of_clusters():
    model = ApproxKernelKMeans(3, random_state=0).fit(X6)
    assert model.set_params(n_clusters=4).fit(X6).n_clusters_ == 4


@pytest.mark.parametrize(
    "estimator", [None, SparseKernelKMeans(), ApproxKernelKMeans(gamma=0.01)]
)
@pytest.mark.filterwarnings("ignore:The estimate of")
def test_layers_are_nested(estimator):
    X = nested_data()
    model = ClusterLayers(6, estimator=estimator, random_state=0).fit(X)
    assert is_valid_linkage(model.tree_)
    assert model.layer_numbers_[-1] == 6
    for coarse, fine in zip(model.layers_, model.layers_[1:], strict=False):
        assert all(len(np.unique(coarse[fine == c])) == 1 for c in np.unique(fine))
    for number, labels in zip(model.layer_numbers_, model.layers_, strict=True):
        assert len(np.unique(labels)) == number


@pytest.fixture(scope="module")
def nested():
    """Layers of two groups of three blobs; tests must not change them."""
    return ClusterLayers(random_state=0).fit(nested_data())


def test_layers_show_clusters_of_clusters(nested):
    model = nested
    assert (model.layer_numbers_[0], model.layer_numbers_[-1]) == (2, 6)
    groups = np.arange(900) % 6 // 3
    assert len(set(zip(groups.tolist(), model.layers_[0].tolist(), strict=True))) == 2


def test_predict_returns_the_labels_of_each_layer(nested):
    X, model = nested_data(), nested
    for position, labels in enumerate(model.layers_):
        np.testing.assert_array_equal(model.predict(X, layer=position), labels)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_predict_refuses_a_layer_that_does_not_exist(nested):
    with pytest.raises(ValueError, match=r"layer=9, but there are \d layers"):
        nested.predict([[0.0, 0.0]], layer=9)


def test_a_range_limits_the_number_of_clusters():
    model = ClusterLayers((2, 4), estimator=ApproxKernelKMeans(), random_state=0)
    assert 2 <= model.fit(X6).n_clusters_ <= 4


@pytest.mark.parametrize("pair", [(5, 3), (1, 3), (2,), (2, "auto")])
def test_an_invalid_range_is_refused(pair):
    with pytest.raises(ValueError, match=r"2 <= least <= most"):
        ClusterLayers(pair).fit(X6)


@pytest.mark.parametrize("estimator", [None, ApproxKernelKMeans()])
@pytest.mark.parametrize("coverage", [0.9])
@pytest.mark.filterwarnings("ignore:The estimate of")
def test_coverage_is_met_and_predict_applies_the_same_limit(estimator, coverage):
    X = nested_data()
    model = ClusterLayers(6, estimator=estimator, coverage=coverage, random_state=0)
    model.fit(X)
    assert abs((model.labels_ >= 0).sum() - coverage * len(X)) <= 1
    for position, labels in enumerate(model.layers_):
        np.testing.assert_array_equal(model.predict(X, layer=position), labels)
    left_out = model.labels_ < 0
    assert model.certainty_[left_out].max() <= model.certainty_[~left_out].min()


@every(has_centers)
@pytest.mark.parametrize("coverage", [0.9, "auto"])
def test_every_method_meets_coverage_and_predicts_with_the_same_limit(
    Estimator, coverage, fitted
):
    every_row = fitted(Estimator, "OVERLAPPING")
    model = create(Estimator, 6, coverage=coverage).fit(OVERLAPPING)
    left_out = model.labels_ < 0
    if coverage != "auto":
        assert abs((~left_out).sum() - coverage * len(OVERLAPPING)) <= 1
    np.testing.assert_array_equal(model.predict(OVERLAPPING), model.labels_)
    np.testing.assert_array_equal(
        model.labels_[~left_out], every_row.labels_[~left_out]
    )
    np.testing.assert_allclose(
        model.certainty_, model.certainty(OVERLAPPING), atol=1e-6
    )
    assert (model.certainty_[left_out] < model.certainty_limit_).all()
    assert (model.certainty_[~left_out] >= model.certainty_limit_).all()


def test_equal_rows_are_left_out_together_or_not_at_all():
    X = np.repeat([[0.0], [1.0], [2.2], [6.0], [7.0], [8.0]], 50, axis=0)
    model = ApproxKernelKMeans(2, kernel="linear", coverage=0.9, random_state=0).fit(X)
    shares = [(model.labels_[X[:, 0] == x] < 0).mean() for x in np.unique(X)]
    assert set(shares) <= {0.0, 1.0}
    assert (model.labels_ >= 0).mean() >= 0.9


def test_a_second_fit_without_coverage_forgets_the_limit():
    model = ApproxKernelKMeans(6, coverage=0.5, random_state=0).fit(X6)
    model.set_params(coverage=1.0).fit(X6)
    assert not hasattr(model, "certainty_limit_")
    assert (model.labels_ >= 0).all()


def test_coverage_is_refused_where_labels_are_not_all_in_memory(tmp_path):
    dask_array = pytest.importorskip("dask.array")
    model = ApproxKernelKMeans(6, coverage=0.5, random_state=0)
    with pytest.raises(ValueError, match="X is a Dask collection"):
        model.fit(dask_array.from_array(X6, chunks=(150, 5)))
    with pytest.raises(ValueError, match="partial_fit gets batches"):
        model.partial_fit(X6)
    with pytest.raises(ValueError, match="with labels_file="):
        model.set_params(labels_file=str(tmp_path / "labels.npy")).fit(X6)


@every(has_centers)
def test_memberships_sum_to_one_and_are_largest_for_the_nearest_center(
    Estimator, fitted
):
    model = fitted(Estimator, "X6")
    for top in (1, 3, 10):
        found = model.memberships(X6, top=top)
        assert found.shape == (300, 6)
        assert found.nnz <= 300 * top
        np.testing.assert_allclose(found.sum(axis=1), 1)
    distances = model.transform(X6)
    best = found.toarray().argmax(axis=1)
    np.testing.assert_allclose(distances[np.arange(300), best], distances.min(axis=1))


@every(has_centers)
def test_certainty_compares_distances_to_the_two_nearest_centers(Estimator, fitted):
    model = fitted(Estimator, "X6")
    distances, labels = model.transform(X6), model.predict(X6)
    own = np.take_along_axis(distances, labels[:, None], axis=1)[:, 0]
    np.put_along_axis(distances, labels[:, None], np.inf, axis=1)
    other = distances.min(axis=1)
    expected = ((other - own) / (other + own)).clip(0)
    np.testing.assert_allclose(model.certainty(X6), expected, rtol=1e-5, atol=1e-7)


def test_certainty_in_a_graph_counts_walks_that_stay_in_the_cluster():
    model = akkm.DiffusionKernelKMeans(6, random_state=0).fit(OVERLAPPING)
    lists, labels = model._embedding.neighbours.indices, model.labels_
    place = model._embedding._equal_points(OVERLAPPING)
    own = np.empty(len(labels), dtype=int)
    own[place] = labels  # clusters of the points of the graph
    P = np.zeros((len(own), len(own)))
    np.put_along_axis(P, lists, 1 / lists.shape[1], axis=1)
    within = P * (own[:, None] == own)
    stay = (within @ within @ within).sum(axis=1)[place]
    assert 0 < stay.min() < 0.5
    d = np.sort(model.transform(OVERLAPPING), axis=1)
    expected = stay * (d[:, 1] - d[:, 0]) / (d[:, 1] + d[:, 0])
    np.testing.assert_allclose(model.certainty(OVERLAPPING), expected, atol=1e-7)


def test_walks_from_new_rows_are_like_those_from_equal_training_rows():
    model = akkm.DiffusionKernelKMeans(6, random_state=0).fit(OVERLAPPING)
    known, new = model._staying(OVERLAPPING), model._staying(OVERLAPPING + 1e-6)
    assert np.mean(known) < 0.9
    assert np.abs(known - new).mean() < 0.05


def test_exemplars_are_rows_of_their_cluster():
    model = ClusterLayers(6, random_state=0).fit(X6)
    for c, rows in enumerate(model.exemplars_):
        assert 1 <= len(rows) <= 5
        assert (model.estimator_.labels_[rows] == c).all()


@every(has_centers)
def test_every_method_finds_exemplars_of_each_cluster(Estimator, fitted):
    model = fitted(Estimator, "OVERLAPPING")
    certainty = model.certainty(OVERLAPPING)
    for c, rows in enumerate(model.exemplars(OVERLAPPING, top=3)):
        inside = np.flatnonzero(model.labels_ == c)
        assert np.isin(rows, inside).all()
        assert certainty[rows].min() >= np.sort(certainty[inside])[-3]


@pytest.mark.filterwarnings("ignore:The estimate of")
def test_a_clear_graph_is_not_fitted_again(monkeypatch):
    fits = []
    fit = akkm.DiffusionKernelKMeans._fit
    counted = lambda self, run: (fits.append(self.n_clusters), fit(self, run))  # noqa: E731
    monkeypatch.setattr(akkm.DiffusionKernelKMeans, "_fit", counted)
    model = ClusterLayers(random_state=0).fit(OVERLAPPING)
    assert model.estimator_.stability_ is not None  # the spectrum was not conclusive
    assert fits == ["auto"]


@pytest.mark.filterwarnings("ignore:The estimate of")
def test_the_order_of_rows_does_not_change_the_numbers():
    """In the second table, every tenth row is in the same cluster."""
    rng = np.random.default_rng(0)
    X = (10 * rng.normal(size=(10, 4)))[np.arange(4000) % 10]
    X += rng.normal(size=X.shape)
    estimator = ApproxKernelKMeans(kernel="linear")
    for rows in (rng.permutation(4000), np.arange(4000)):
        model = ClusterLayers((2, 14), estimator=estimator, random_state=0)
        assert model.fit(X[rows]).n_clusters_ == 10


@pytest.mark.filterwarnings("ignore:The estimate of . clusters is unsure")
def test_numbers_are_measured_again_in_a_graph_with_more_neighbours(monkeypatch):
    for module in ("akkm.estimators._layers", "akkm.diffusion.choose_neighbours"):
        monkeypatch.setattr(f"{module}.is_clear", lambda *_: False)
    choose = "akkm.diffusion.choose_neighbours.choose_n_neighbors"
    monkeypatch.setattr(choose, lambda *_: 40)
    model = ClusterLayers(random_state=0).fit(OVERLAPPING[:300])
    assert model.estimator_.n_neighbors_ == 40
    assert model.estimator_.n_clusters == "auto"
    assert model.stability_ is model.estimator_.stability_
    assert model.n_clusters_ == model.stability_.n_clusters
