"""The section about layers: the tree, the sizes and the stability."""

import copy
import sys

import numpy as np
import pytest

from akkm import ApproxKernelKMeans, ClusterLayers
from akkm.inspect import Layers
from akkm.report import report
from akkm.report._layers import tree_data
from report.page_parts import picture_data, section_ids, text_of


@pytest.fixture(scope="module")
def layered():
    """Rows and layers of two groups of two clusters each."""
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [6.0, 0.0], [40.0, 0.0], [46.0, 0.0]])
    X = centers[np.arange(400) % 4] + rng.normal(size=(400, 2))
    model = ClusterLayers(4, estimator=ApproxKernelKMeans(gamma=0.005), random_state=0)
    return X, model.fit(X)


def test_the_tree_has_every_merge_and_the_sizes_of_the_clusters(layered):
    X, model = layered
    drawn = picture_data(report(model, X))["tree"]
    assert sorted(drawn["clusters"]) == [0, 1, 2, 3]
    sizes = np.bincount(model.labels_)[drawn["clusters"]]
    assert drawn["sizes"] == sizes.tolist()
    assert len(drawn["merges"]) == 3
    assert drawn["merges"][-1][0] == 1  # heights are relative to the last merge
    assert drawn["layers"] == model.layer_numbers_


def test_branches_do_not_cross_and_layers_cut_as_many_branches_as_clusters():
    tree = np.array([[0, 2, 1, 2], [1, 3, 2, 2], [4, 5, 4, 4]], dtype=float)
    drawn = tree_data(Layers((2, 4), tree, None), np.array([1, 2, 3, 4]))
    assert drawn["clusters"] == [0, 2, 1, 3]
    assert [merge[3:] for merge in drawn["merges"]] == [[0, 1], [2, 3], [0.5, 2.5]]
    for number, cut in zip(drawn["layers"], drawn["cuts"], strict=True):
        crossed = [
            h for merge in drawn["merges"] for h in merge[1:3] if h < cut < merge[0]
        ]
        assert len(crossed) == number


def test_the_curve_has_the_measurements(layered):
    X, model = layered
    drawn = picture_data(report(model, X))["stability"]
    assert drawn["numbers"] == model.stability_.numbers.tolist()
    np.testing.assert_allclose(
        drawn["stability"], model.stability_.stability, atol=1e-3
    )
    assert drawn["marked"][-1] == 4


def test_without_a_tree_the_section_shows_the_stability_only(layered):
    X, model = layered
    estimator = copy.copy(model.estimator_)
    estimator.stability_ = model.stability_
    page = report(estimator, X)
    assert "layers" in section_ids(page)
    assert "tree" not in picture_data(page)
    assert "Layers as a table" not in page.html


def test_a_very_large_tree_is_not_drawn(layered, monkeypatch):
    X, model = layered
    monkeypatch.setattr(sys.modules["akkm.report._layers"], "MAX_LEAVES", 3)
    page = report(model, X)
    assert "tree" not in picture_data(page)
    assert "The tree of 4 clusters is too large to be drawn" in text_of(page)
