"""Facts about a fitted model equal their definitions."""

import copy
import dataclasses

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise_distances

import akkm.inspect
from akkm import ApproxKernelKMeans, EnsembleKernelKMeans, KernelKMeans
from akkm.inspect import Certainty, Inspection, RowSample, sample_rows
from akkm.inspect._columns import column_differences
from registry import ESTIMATORS


def test_every_public_name_is_documented():
    for name in akkm.inspect.__all__:
        assert getattr(akkm.inspect, name).__doc__


def test_there_are_estimators_to_inspect():
    assert len(ESTIMATORS) >= 9


@pytest.fixture(scope="module")
def facts(fitted, blobs):
    return Inspection(fitted, blobs[0])


class TestEveryEstimator:
    def test_labels_and_sizes_are_those_of_the_model(self, facts, fitted):
        assert (facts.n_rows, facts.n_columns, facts.n_clusters) == (840, 4, 3)
        np.testing.assert_array_equal(facts.labels, fitted.labels_)
        np.testing.assert_array_equal(facts.sizes, np.bincount(fitted.labels_))
        assert facts.clusters.tolist() == [0, 1, 2]

    def test_all_rows_have_distances_and_certainty(self, facts):
        np.testing.assert_array_equal(facts.distances.sample.rows, np.arange(840))
        assert (facts.distances.own < facts.distances.next).mean() > 0.95
        counts, uncertain, edges = facts.certainty.histogram()
        assert counts.sum() == pytest.approx(840)
        assert (uncertain <= counts).all()
        assert len(edges) == len(counts) + 1
        assert facts.certainty.uncertain_share < 0.1

    def test_all_rows_are_on_the_map(self, facts):
        assert facts.map.xy.shape == (840, 2)
        assert 0.3 < facts.map.share <= 1

    def test_a_clear_result_passes_all_checks(self, facts):
        assert {check.grade for check in facts.checks} == {"fine"}

    def test_inspection_does_not_change_the_model(self, fitted, blobs):
        before = copy.copy(vars(fitted))
        facts = Inspection(fitted, blobs[0][:9] + 0.01, new_rows=True)
        assert facts.certainty is not None
        assert vars(fitted).keys() == before.keys()
        assert all(vars(fitted)[name] is before[name] for name in before)


@pytest.fixture(scope="module")
def linear(blobs):
    """Rows, a model with linear kernel, and its centers, which are means of rows."""
    X, _ = blobs
    fitted = KernelKMeans(3, kernel="linear", random_state=0).fit(X)
    centers = np.array([X[fitted.labels_ == k].mean(0) for k in range(3)])
    return X, fitted, centers


class TestDistances:
    def test_distances_equal_their_definition(self, linear):
        X, fitted, centers = linear
        d = pairwise_distances(X, centers)
        order = np.argsort(d, axis=1)
        found = Inspection(fitted, X).distances
        at = np.arange(840)
        np.testing.assert_array_equal(found.labels, fitted.labels_)
        np.testing.assert_allclose(found.own, d[at, fitted.labels_], atol=1e-6)
        np.testing.assert_array_equal(found.next_cluster, order[:, 1])
        np.testing.assert_allclose(found.next, d[at, order[:, 1]], atol=1e-6)

    def test_rows_near_a_border_are_uncertain(self, linear):
        X, fitted, centers = linear
        order = np.argsort(pairwise_distances(X, centers), axis=1)
        own, other = centers[order[:, 0]], centers[order[:, 1]]
        middle, half = (own + other) / 2, (own - other) / 2
        place = ((X - middle) * half).sum(1) / (half**2).sum(1)
        found = Inspection(fitted, X).certainty
        np.testing.assert_array_equal(found.uncertain, place < 1 / 3)
        np.testing.assert_array_equal(found.of([7, 9]), found.values[[7, 9]])
        assert found.uncertain_share == pytest.approx((place < 1 / 3).mean())

    def test_typical_rows_are_nearest_to_their_center(self, linear):
        X, fitted, centers = linear
        found = Inspection(fitted, X).distances
        inside = np.flatnonzero(fitted.labels_ == 0)
        d = np.linalg.norm(X[inside] - centers[0], axis=1)
        places = found.typical(0, 3)
        np.testing.assert_array_equal(
            found.sample.rows[places], inside[np.argsort(d)[:3]]
        )

    def test_only_one_of_several_equal_rows_is_typical(self):
        X = np.array([[0.0], [0.0], [1.0], [10.0], [11.0]])
        fitted = KernelKMeans(2, kernel="linear", init=[0, 0, 0, 1, 1]).fit(X)
        found = Inspection(fitted, X).distances
        assert found.typical(0, 3).tolist() == [0, 2]

    def test_an_empty_cluster_is_never_the_second_nearest(self, linear):
        X, fitted, _ = linear
        nearest = np.bincount(Inspection(fitted, X).distances.next_cluster).argmax()
        facts = Inspection(fitted, X[fitted.labels_ != nearest], new_rows=True)
        assert nearest not in facts.distances.next_cluster

    def test_one_cluster_has_no_distances(self, blobs):
        facts = Inspection(ApproxKernelKMeans(1).fit(blobs[0]), blobs[0])
        assert facts.distances is None
        assert facts.certainty is None
        assert len(facts.map.xy) == 840


class TestCertainty:
    def test_the_certainty_is_that_of_the_estimator(self, facts, blobs):
        if facts.certainty.from_votes:
            expected = facts.model.agreement_
        else:
            expected = facts.model.certainty(blobs[0])
        np.testing.assert_allclose(facts.certainty.values, expected, atol=2e-5)

    def test_votes_are_those_of_the_ensemble(self, blobs):
        X, _ = blobs
        fitted = EnsembleKernelKMeans(3, random_state=0).fit(X)
        found = Inspection(fitted, X).certainty
        assert found.from_votes
        np.testing.assert_array_equal(found.values, fitted.agreement_)

    def test_a_vote_on_a_bin_edge_is_in_the_bin_above(self):
        sample = RowSample(np.arange(2), np.ones(2))
        found = Certainty.from_agreement(sample, np.array([0.6, 1.0]))
        counts, uncertain, edges = found.histogram()
        assert counts.tolist() == [0, 0, 0, 0, 0, 0, 1, 0, 0, 1]
        assert uncertain.sum() == 0
        assert edges[[0, -1]].tolist() == [0, 1]

    def test_the_bins_of_small_certainties_are_narrow(self):
        sample = RowSample(np.arange(3), np.array([1.0, 1.0, 5.0]))
        values, near = np.array([0.0, 0.0031, 0.0312]), np.array([True, False, False])
        counts, uncertain, edges = Certainty(sample, values, near).histogram()
        assert (counts[0], counts[1], counts[-1], counts.sum()) == (1, 1, 5, 7)
        assert (uncertain[0], uncertain.sum()) == (1, 1)
        np.testing.assert_allclose(edges, np.arange(17) * 0.002)


class TestSample:
    def test_weights_sum_to_the_size_of_each_cluster(self):
        labels = np.repeat([0, 1, 3], [9000, 990, 10])
        sample = sample_rows(labels, 500)
        assert len(sample.rows) == 500
        assert (np.diff(sample.rows) > 0).all()
        for k, size in ((0, 9000), (1, 990), (3, 10)):
            inside = labels[sample.rows] == k
            assert sample.weights[inside].sum() == pytest.approx(size)

    def test_small_clusters_are_sampled_completely(self):
        labels = np.repeat([0, 1, 3], [9000, 990, 10])
        assert (labels[sample_rows(labels, 500).rows] == 3).sum() == 10

    def test_all_rows_are_sampled_if_there_are_few(self):
        sample = sample_rows(np.zeros(5, dtype=int), 10)
        assert sample.rows.tolist() == [0, 1, 2, 3, 4]

    def test_the_map_of_many_rows_shows_a_sample(self, rng):
        X = rng.normal(size=(3000, 3)).astype(np.float32)
        facts = Inspection(ApproxKernelKMeans(3, random_state=0).fit(X), X)
        assert len(facts.map.sample.rows) == 2000
        assert facts.map.sample.weights.sum() == pytest.approx(3000)

    def test_the_map_is_sampled_from_rows_with_known_distances(self, rng):
        X = rng.normal(size=(9000, 3)).astype(np.float32)
        facts = Inspection(ApproxKernelKMeans(3, random_state=0).fit(X), X)
        every = facts.distances
        third = np.arange(0, 9000, 3)
        facts.distances = dataclasses.replace(
            every,
            sample=RowSample(third, np.full(3000, 3.0)),
            labels=every.labels[third],
        )
        sample = facts.map.sample
        assert len(sample.rows) == 2000
        assert np.isin(sample.rows, third).all()
        assert sample.weights.sum() == pytest.approx(9000)


class TestQuality:
    def test_similarity_equals_its_definition(self, wine):
        fitted = KernelKMeans(3, random_state=0).fit(wine)
        K = fitted.kernel_(wine)
        np.fill_diagonal(K, np.nan)
        found = Inspection(fitted, wine).similarity
        assert found.nearest == pytest.approx(np.median(np.nanmax(K, axis=1)))
        assert found.typical == pytest.approx(np.nanmedian(K))
        assert found.low == pytest.approx(np.nanquantile(K, 0.05))

    def test_a_precomputed_kernel_has_the_same_similarity(self, wine):
        fitted = KernelKMeans(3, random_state=0).fit(wine)
        K = fitted.kernel_(wine)
        given = KernelKMeans(3, kernel="precomputed", random_state=0).fit(K)
        expected = Inspection(fitted, wine).similarity.nearest
        assert Inspection(given, K).similarity.nearest == pytest.approx(expected)

    def test_similarity_needs_a_kernel_with_constant_diagonal(self, wine):
        fitted = KernelKMeans(3, kernel="linear", random_state=0).fit(wine)
        assert Inspection(fitted, wine).similarity is None

    def test_landmarks_at_all_rows_capture_everything(self, wine):
        fitted = ApproxKernelKMeans(3, landmarks=np.arange(178), random_state=0)
        found = Inspection(fitted.fit(wine), wine).landmarks
        assert found.captured == pytest.approx(1)
        assert (found.kind, found.counts, found.n_rows) == ("landmarks", (178,), 178)

    def test_convergence_equals_the_history_of_the_fit(self, model):
        found = Inspection(model).convergence
        np.testing.assert_array_equal(found.histories[0], model.history_)
        assert (found.n_stopped, found.n_restarts) == (0, 4)

    def test_the_widest_column_is_found(self, blobs):
        X = blobs[0] * [1, 1, 1, 1000]
        found = Inspection(ApproxKernelKMeans(3, random_state=0).fit(X), X).columns
        assert found.widest == "column 3"
        assert found.widest_share > 0.99


class TestArguments:
    def test_labels_are_inspected_without_rows_but_the_map_needs_them(self, model):
        facts = Inspection(model)
        assert facts.sizes.sum() == 840
        with pytest.raises(ValueError, match=r"has no rows, .* Pass X"):
            facts.map  # noqa: B018

    def test_a_model_from_a_file_needs_rows_for_labels(self, model):
        bare = copy.copy(model)
        del bare.labels_
        with pytest.raises(ValueError, match="Pass X, the rows to be labelled"):
            Inspection(bare).sizes  # noqa: B018

    def test_other_objects_are_refused(self, blobs):
        with pytest.raises(TypeError, match="expected a fitted estimator of akkm"):
            Inspection(object(), blobs[0])

    def test_a_wrong_number_of_rows_is_refused(self, model, blobs):
        with pytest.raises(ValueError, match=r"X has 5 rows, but .* fitted to 840"):
            Inspection(model, blobs[0][:5])

    def test_a_wrong_number_of_names_is_refused(self, model, blobs):
        with pytest.raises(ValueError, match="feature_names has 1 names, but X has 4"):
            Inspection(model, blobs[0], feature_names=["a"])

    def test_new_rows_need_a_kernel_function(self, model, blobs):
        K = model.kernel_(blobs[0])
        given = ApproxKernelKMeans(3, kernel="precomputed", random_state=0).fit(K)
        with pytest.raises(ValueError, match="with a precomputed kernel"):
            Inspection(given, K[:5], new_rows=True)

    @pytest.mark.parametrize("landmarks", ["uniform", [5, 600, 820, 830]])
    def test_precomputed_kernels_have_no_columns(self, landmarks, model, blobs):
        K = model.kernel_(blobs[0])
        if landmarks != "uniform":
            K = K[:, landmarks]  # columns of the landmarks only
        fitted = ApproxKernelKMeans(
            3, kernel="precomputed", landmarks=landmarks, random_state=0
        ).fit(K)
        facts = Inspection(fitted, K)
        assert facts.columns is None
        assert facts.row_values() is None
        assert facts.map.xy.shape == (840, 2)


class TestColumnDifferences:
    def test_spreads_are_relative_standard_deviations(self, blobs, model):
        X, labels = blobs[0], model.labels_
        for rows in (X + 1000, sparse.csr_array(X)):
            found = column_differences(rows, labels, "abcd")
            expected = np.array([X[labels == k].std(axis=0) for k in range(3)])
            expected = (expected / X.std(axis=0))[:, found.columns]
            np.testing.assert_allclose(found.spread, expected, rtol=1e-9)
            assert found.means_differ

    def test_columns_with_equal_means_are_ordered_by_spread(self):
        X = np.array([[1, 0, 1], [-1, 0, -1], [1, 9, 4], [-1, -9, -4]], dtype=float)
        found = column_differences(X, np.array([0, 0, 1, 1]), "abc")
        assert found.names == ("b", "c")  # means are equal; spreads of b and c differ
        assert not found.means_differ
        assert found.spread[:, 0] == pytest.approx([0, 2**0.5])
