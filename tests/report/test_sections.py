"""Sections of the page, and the data of its pictures."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from akkm import (
    ApproxKernelKMeans,
    ClusterLayers,
    DiffusionKernelKMeans,
    EnsembleKernelKMeans,
    KernelKMeans,
    SparseKernelKMeans,
    open_rows,
)
from akkm.metrics import nmi
from akkm.report import report
from registry import ESTIMATORS
from report.page_parts import ALWAYS, Outline, picture_data, section_ids, text_of

# Sections besides `ALWAYS`. Estimators that are not listed have one: "landmarks".
MORE = {
    KernelKMeans: [],
    ClusterLayers: ["evidence", "layers"],
    SparseKernelKMeans: ["landmarks", "evidence"],
    DiffusionKernelKMeans: ["evidence"],
}


class TestEveryEstimator:
    def test_the_page_has_the_sections_of_the_estimator(self, fitted, blobs):
        X, y = blobs
        page = report(fitted, X, labels_true=y)
        more = MORE.get(type(fitted), ["landmarks"])
        assert sorted(section_ids(page)) == sorted([*ALWAYS, *more, "scores"])
        assert "scores" not in section_ids(report(fitted, X))
        points = picture_data(page)["map"]
        assert len(points["x"]) == len(points["distance"]) == 840

    def test_headings_and_tags_are_properly_nested(self, fitted, blobs):
        outline = Outline(report(fitted, blobs[0]).html)
        assert outline.levels[0] == 1
        assert max(np.diff(outline.levels)) <= 1
        assert not outline.open

    def test_a_page_about_new_rows_shows_predicted_labels(self, fitted, blobs):
        new = blobs[0][::4] + 0.01
        page = report(fitted, new, new_rows=True)
        labels = fitted.predict(new).tolist()
        assert picture_data(page)["map"]["cluster"] == labels
        assert "210 new rows" in page.html
        assert "<dt>Iterations of the fit</dt>" in page.html
        assert "Convergence of the fit" in page.html
        assert "Largest cluster" not in page.html


@pytest.fixture(scope="module")
def ring():
    """Report of a disc in a ring, with a column of noise; cluster means are equal."""
    rng = np.random.default_rng(0)
    angle, ring = rng.uniform(0, 2 * np.pi, 2000), np.arange(2000) % 2
    radius = ring + rng.normal(scale=0.05, size=2000)
    noise = rng.normal(scale=0.1, size=2000)
    X = np.c_[noise, radius * np.cos(angle), radius * np.sin(angle)]
    model = DiffusionKernelKMeans(2, random_state=0).fit(X)
    assert nmi(model.labels_, ring) == 1
    return report(model, X, feature_names=["noise", "x", "y"])


class TestClustersWithEqualMeans:
    def test_the_page_compares_spreads(self, ring):
        text = text_of(ring)
        assert "The means of the clusters hardly differ in any column" in text
        table = ring.html[ring.html.index("<caption>Spread per cluster") :]
        table = table[: table.index("</table>")]
        names = re.findall(r'class="name">(\w+)<', table)
        assert (sorted(names[:2]), names[2:]) == (["x", "y"], ["noise"])
        low, high = sorted(map(float, re.findall(r">(\d\.\d+)<", table)[:2]))
        assert low < 0.1 < 1.3 < high
        assert re.search(r"Cluster \d, 50 % of the rows: small spread of [xy]", text)

    def test_clusters_with_different_means_are_compared_by_means(self, model, blobs):
        html = report(model, blobs[0]).html
        assert "Standardised means per cluster" in html
        assert "Spread per cluster" not in html

    def test_the_page_says_if_no_column_sets_the_clusters_apart(self, rng):
        """Rows are at the corners of a square. Opposite corners form a cluster."""
        X = rng.normal(scale=0.05, size=(400, 2))
        X += np.array([[0, 0], [1, 1], [0, 1], [1, 0]])[np.arange(400) // 100]
        kernel = lambda A, B: (2 * A - 1).prod(1)[:, None] * (2 * B - 1).prod(1)  # noqa: E731
        model = ApproxKernelKMeans(2, kernel=kernel, random_state=0).fit(X)
        assert "No single column sets the clusters apart" in text_of(report(model, X))


def test_estimators_with_other_sections_are_registered():
    assert set(MORE) < set(ESTIMATORS)


def test_a_page_may_describe_a_single_new_row(model, blobs):
    assert "<dd>1 of 3</dd>" in report(model, blobs[0][:1], new_rows=True).html


def test_sparse_rows_give_the_same_page(digits):
    X, _ = digits
    fitted = ApproxKernelKMeans(10, random_state=0).fit(X)
    dense = picture_data(report(fitted, X))
    compressed = picture_data(report(fitted, sparse.csr_array(X)))
    np.testing.assert_allclose(
        compressed["map"]["distance"], dense["map"]["distance"], atol=2e-4
    )
    assert compressed["map"]["values"] == dense["map"]["values"]
    assert compressed["certainty"] == dense["certainty"]


def test_rows_in_a_file_give_the_same_page(blobs, tmp_path):
    X = blobs[0].astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    fitted = ApproxKernelKMeans(3, random_state=0).fit(X)
    stored = open_rows(tmp_path / "rows.npy")
    assert report(fitted, stored).html == report(fitted, X).html


def test_the_same_model_gives_the_same_page(model, blobs):
    assert report(model, blobs[0]).html == report(model, blobs[0]).html


@pytest.mark.parametrize("landmarks", ["uniform", [5, 600, 820, 830]])
def test_precomputed_kernels_have_no_features_section(landmarks, model, blobs):
    K = model.kernel_(blobs[0])
    if landmarks != "uniform":
        K = K[:, landmarks]  # columns of the landmarks only
    fitted = ApproxKernelKMeans(
        3, kernel="precomputed", landmarks=landmarks, random_state=0
    ).fit(K)
    assert "features" not in section_ids(report(fitted, K))


def test_a_page_of_one_cluster_has_no_certainty_section(blobs):
    page = report(ApproxKernelKMeans(1, random_state=0).fit(blobs[0]), blobs[0])
    assert "certainty" not in section_ids(page)


def test_few_iterations_are_described_without_a_picture(model, blobs):
    page = report(model, blobs[0])
    assert len(model.history_) == 2
    assert "convergence" not in picture_data(page)
    assert 'id="convergence-picture"' not in page.html
    text = text_of(page)
    assert "each row got a label, then no label changed in the last iteration." in text
    assert "The initialisation made 4 runs on a sample" in text


def test_many_iterations_are_drawn(digits, rng):
    X, start = digits[0], rng.integers(10, size=1797)
    long = ApproxKernelKMeans(10, init=start, random_state=0).fit(X)
    page = report(long, X)
    drawn = picture_data(page)["convergence"]
    np.testing.assert_array_equal(
        np.transpose([drawn["changed"][0], drawn["evaluated"]]), long.history_
    )
    assert "restarts" not in page.html


def test_each_member_has_a_row_in_the_iteration_table(blobs):
    fitted = EnsembleKernelKMeans(3, random_state=0).fit(blobs[0])
    text = text_of(report(fitted, blobs[0]))
    assert "10 of 10 members converged" in text
    assert "labels changed in the last iteration</th>" in text


class TestEvidence:
    def test_the_estimate_is_described_and_drawn(self):
        X, _ = make_blobs([300, 300, 240], 4, random_state=1)
        fitted = SparseKernelKMeans("auto", random_state=0).fit(X)
        page = report(fitted, X)
        assert "<p>Estimate: 3 clusters, sure: the gap" in text_of(page)
        drawn = picture_data(page)["evidence"]
        assert (drawn["best"], drawn["limit"]) == (3, 0.55)
        np.testing.assert_allclose(
            drawn["gaps"], fitted.evidence_.gaps[: len(drawn["gaps"])], atol=1e-4
        )

    def test_a_requested_number_is_compared_with_the_estimate(self, blobs):
        fitted = SparseKernelKMeans(4, random_state=0).fit(blobs[0])
        text = text_of(report(fitted, blobs[0]))
        assert "<p>4 clusters were requested. Estimate: 3 clusters" in text
        # A requested number of clusters is not checked.
        assert "Estimated number of clusters" not in text


def test_a_sampled_map_has_the_distances_of_its_rows(rng):
    X = rng.normal(size=(3000, 3))
    fitted = ApproxKernelKMeans(3, random_state=0).fit(X)
    points = picture_data(report(fitted, X))["map"]
    rows = [int(name[4:].replace(",", "")) for name in points["name"]]
    assert len(rows) == 2000
    d = fitted.transform(X[rows])
    at = np.arange(2000)
    np.testing.assert_allclose(points["distance"], d[at, points["cluster"]], rtol=1e-3)
    np.testing.assert_allclose(points["other"], d[at, points["next"]], rtol=1e-3)


def test_pages_of_many_rows_and_clusters_stay_small(rng):
    X = rng.normal(size=(3000, 3)).astype(np.float32)
    fitted = ApproxKernelKMeans(100, n_landmarks=100, random_state=0).fit(X)
    page = report(fitted, X, labels_true=np.arange(3000) % 70)
    assert len(page.html) < 700_000
    assert len(picture_data(page)["map"]["x"]) == 2000
    assert "the 60 largest of 100 clusters" in page.html
    largest = np.sort(np.bincount(fitted.labels_))[-60:]
    assert sorted(picture_data(page)["sizes"]["counts"]) == largest.tolist()
    assert "The 10 smallest classes are not shown" in page.html
