"""Plots: contents of the axes, for every estimator."""

import copy
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from akkm import ApproxKernelKMeans, EnsembleKernelKMeans, KernelKMeans, plot
from akkm.inspect import Inspection
from registry import ESTIMATORS

pytest.importorskip("matplotlib").use("agg")
pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def blobs():
    return make_blobs([200, 150, 50], 4, random_state=3)


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module", params=ESTIMATORS, ids=lambda kind: kind.__name__)
def fitted(request, blobs):
    """Each fitted estimator in turn."""
    return request.param(3, random_state=0).fit(blobs[0])


@pytest.fixture(scope="module")
def model(blobs):
    return ApproxKernelKMeans(3, random_state=0).fit(blobs[0])


class TestEveryEstimator:
    def test_map_draws_every_row(self, fitted, blobs):
        ax = pyplot.figure().subplots()
        assert plot.map(fitted, blobs[0], ax) is ax
        assert sum(len(part.get_offsets()) for part in ax.collections) == 400

    def test_sizes_draws_one_bar_per_cluster(self, fitted, blobs):
        bars = plot.sizes(fitted, blobs[0]).patches
        assert sorted(bar.get_width() for bar in bars) == [50, 150, 200]

    def test_convergence_ends_at_zero(self, fitted, blobs):
        lines = plot.convergence(fitted, blobs[0]).lines
        assert lines[0].get_ydata()[-1] == 0

    def test_features_draws_one_cell_per_column_and_cluster(self, fitted, blobs):
        ax = plot.features(fitted, blobs[0], feature_names=list("abcd"))
        assert ax.images[0].get_array().shape == (4, 3)

    def test_margins_count_every_row(self, fitted, blobs):
        bars = plot.margins(fitted, blobs[0]).patches
        assert sum(bar.get_height() for bar in bars) == pytest.approx(400)

    def test_a_model_without_labels_needs_the_rows(self, fitted, blobs):
        bare = copy.copy(fitted)
        for name in ("labels_", "agreement_", "embedding_"):
            vars(bare).pop(name, None)
        parts = plot.map(bare, blobs[0]).collections
        assert sum(len(part.get_offsets()) for part in parts) == 400
        assert sum(bar.get_width() for bar in plot.sizes(bare, blobs[0]).patches) == 400
        plot.convergence(bare)
        with pytest.raises(ValueError, match="Pass X, the rows"):
            plot.sizes(bare)


def test_new_axes_are_created_if_none_are_given(model):
    assert plot.sizes(model) is not plot.sizes(model)


def test_map_equals_kernel_pca(blobs):
    """All rows are landmarks, so the map shows the exact leading components."""
    X, _ = blobs
    model = ApproxKernelKMeans(3, landmarks=np.arange(400), random_state=0).fit(X)
    ax = plot.map(model, X)
    K = model.kernel_(X)
    K = K - K.mean(0) - K.mean(1)[:, None] + K.mean()
    values = np.linalg.eigvalsh(K)
    drawn = np.vstack([part.get_offsets() for part in ax.collections])
    np.testing.assert_allclose((drawn**2).sum(0), values[[-1, -2]], rtol=1e-6)


def test_map_draws_a_sample_with_rows_of_every_cluster(rng):
    X = np.vstack([rng.normal(size=(5000, 3)), rng.normal(size=(3, 3)) + 50])
    far = (np.arange(5003) >= 5000).astype(int)
    model = ApproxKernelKMeans(2, kernel="linear", init=far, random_state=0).fit(X)
    ax = plot.map(model, X, n_rows=300)
    assert sorted(len(part.get_offsets()) for part in ax.collections) == [3, 297]


def test_clusters_have_distinct_pairs_of_colour_and_marker():
    looks = [plot._marker(k) for k in range(168)]
    assert len({(look["color"], look["marker"]) for look in looks}) == 168
    assert len({look["marker"] for look in looks[:8]}) == 8
    assert len({look["color"] for look in looks[:23]}) == 21


def test_feature_means_of_dense_and_sparse_rows_are_standardised(digits):
    X, _ = digits
    model = ApproxKernelKMeans(10, random_state=0).fit(X)
    images = [
        plot.features(model, rows, n_features=5).images[0].get_array()
        for rows in (X, sparse.csr_array(X))
    ]
    np.testing.assert_allclose(*images, atol=1e-10)
    z = [(X[model.labels_ == k].mean(0) - X.mean(0)) for k in range(10)]
    with np.errstate(invalid="ignore"):
        z = np.nan_to_num(np.array(z) / X.std(0))
    telling = np.bincount(model.labels_) @ z**2
    np.testing.assert_allclose(images[0].T, z[:, np.argsort(-telling)[:5]], atol=1e-8)


def test_margins_shows_certainties_and_separates_rows_near_a_border():
    X = np.array([[-5.0], [-1.0], [0.5], [5.5]])  # centers at -3 and 3, linear kernel
    model = KernelKMeans(2, kernel="linear", init=[0, 0, 1, 1]).fit(X)
    ax = plot.margins(model, X)
    edges = np.linspace(0, 0.6, 13)  # the certainties are 3/5, 1/3, 1/6, 6/11
    heights = np.reshape([bar.get_height() for bar in ax.patches], (2, 12))
    np.testing.assert_array_equal(heights[0], np.histogram([1 / 6], edges)[0])
    np.testing.assert_array_equal(
        heights[1], np.histogram([0.6, 1 / 3, 6 / 11], edges)[0]
    )


def test_margins_are_binned_as_in_the_report(blobs):
    X, _ = blobs
    for estimator in (ApproxKernelKMeans, EnsembleKernelKMeans):
        model = estimator(3, random_state=0).fit(X)
        counts, uncertain, edges = Inspection(model, X).certainty.histogram()
        bars = plot.margins(model, X).patches
        heights = np.reshape([bar.get_height() for bar in bars], (2, -1))
        np.testing.assert_array_equal(heights[0], uncertain)
        np.testing.assert_array_equal(heights.sum(axis=0), counts)
        np.testing.assert_allclose([bar.get_x() for bar in bars], [*edges[:-1]] * 2)


def test_akkm_plot_is_available_without_importing_matplotlib():
    code = "import akkm, sys; akkm.plot.map; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


class TestErrors:
    @pytest.mark.parametrize("picture", [plot.map, plot.sizes, plot.convergence])
    def test_a_wrong_number_of_rows_is_refused(self, picture, model, blobs):
        with pytest.raises(ValueError, match="fitted to 400; give the rows"):
            picture(model, blobs[0][:10])

    def test_a_wrong_number_of_feature_names_is_refused(self, model, blobs):
        with pytest.raises(ValueError, match="feature_names has 1 names, but X has 4"):
            plot.features(model, blobs[0], feature_names=["a"])

    def test_an_object_that_is_not_a_model_is_refused(self):
        with pytest.raises(TypeError, match="expected a fitted estimator of akkm"):
            plot.sizes(object())

    def test_margins_of_one_cluster_are_refused(self, blobs):
        with pytest.raises(ValueError, match="defined for two or more clusters"):
            plot.margins(ApproxKernelKMeans(1).fit(blobs[0]), blobs[0])

    def test_columns_with_equal_means_in_all_clusters_are_refused(self, blobs):
        with pytest.raises(ValueError, match="no columns to draw"):
            plot.features(ApproxKernelKMeans(1).fit(blobs[0]), blobs[0])

    def test_a_model_without_recorded_iterations_is_refused(self, model):
        bare = copy.copy(model)
        del bare.history_
        with pytest.raises(ValueError, match="has no history_"):
            plot.convergence(bare)

    def test_a_missing_matplotlib_is_reported(self, model, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
        with pytest.raises(ImportError, match=r"pip install '\.\[plot\]'"):
            plot.sizes(model)
