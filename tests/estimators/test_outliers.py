"""Rows that are marked as outliers have the label -1 and belong to no cluster."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

import akkm.plot
from akkm import ConsensusKernelKMeans, DiffusionKernelKMeans, LeadersKernelKMeans
from akkm.inspect import Inspection, compare_with_classes
from akkm.report import report

mpl.use("Agg")
N, FAR = 3_000, 24


@pytest.fixture(scope="module")
def data():
    """Two moons of 1,500 rows each, then four distant groups of 6 rows each."""
    rng = np.random.default_rng(0)
    X, y = make_moons(N, noise=0.05, random_state=0)
    far = np.repeat(rng.normal(scale=100, size=(4, 2)), 6, axis=0)
    far += rng.normal(scale=0.01, size=far.shape)
    return np.vstack([X, far]), y


MEMBER = DiffusionKernelKMeans(2, outliers="mark", n_neighbors=5, random_state=0)


@pytest.fixture(scope="module")
def marked(data):
    model = MEMBER.fit(data[0])
    assert (model.labels_[N:] == -1).all()
    return model


@pytest.fixture(scope="module")
def consensus(data):
    model = ConsensusKernelKMeans(2, n_members=4, estimator=MEMBER, random_state=0)
    return model.fit(data[0])


class TestConsensus:
    def test_rows_that_most_members_mark_are_outliers(self, data, consensus):
        _, y = data
        assert all((m.labels_[N:] == -1).all() for m in consensus.members_)
        assert (consensus.labels_[N:] == -1).all()
        assert (consensus.agreement_[N:] == 1).all()
        assert (consensus.labels_[:N] >= 0).all()
        assert adjusted_rand_score(y, consensus.labels_[:N]) > 0.99

    def test_predict_returns_the_training_labels(self, data, consensus):
        np.testing.assert_array_equal(consensus.predict(data[0]), consensus.labels_)
        votes = consensus._votes(data[0])
        np.testing.assert_allclose(votes.agreement, consensus.agreement_)

    def test_predict_returns_the_training_labels_of_leader_members(self, digits):
        X = digits[0][:500]
        member = LeadersKernelKMeans(n_leaders=40)
        model = ConsensusKernelKMeans(
            10, n_members=3, estimator=member, random_state=0
        ).fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)


class TestFacts:
    def test_sizes_leave_out_outliers(self, data, marked):
        facts = Inspection(marked, data[0])
        assert facts.sizes.tolist() == np.bincount(marked.labels_[:N]).tolist()
        assert (facts.n_rows, facts.n_clustered, facts.n_outliers) == (N + FAR, N, FAR)

    def test_facts_describe_only_the_rows_in_clusters(self, data, marked):
        facts = Inspection(marked, data[0])
        assert facts.distances.sample.rows.max() < N
        assert facts.map.sample.rows.max() < N
        assert facts.map.sample.weights.sum() == pytest.approx(N)
        means = data[0][:N].mean(axis=0)
        clusters = [data[0][marked.labels_ == k].mean(axis=0) for k in (0, 1)]
        z = (clusters - means) / data[0][:N].std(axis=0)
        found = facts.columns
        np.testing.assert_allclose(found.z, z[:, found.columns], atol=1e-9)

    def test_classes_are_compared_without_outliers(self, data, marked):
        classes = np.r_[data[1], np.zeros(FAR, dtype=int)]
        found = compare_with_classes(classes, marked.labels_)
        assert found.table.sum() == N

    def test_plots_leave_out_outliers(self, data, marked):
        ax = akkm.plot.sizes(marked)
        assert sum(bar.get_width() for bar in ax.patches) == N
        assert "24 outliers" in ax.get_xlabel()
        assert len(akkm.plot.map(marked, data[0]).collections) == 2
        akkm.plot.margins(marked, data[0])
        akkm.plot.features(marked, data[0])

    @pytest.mark.parametrize("kind", ["marked", "consensus"])
    def test_the_report_states_the_number_of_outliers(self, kind, data, request):
        page = report(request.getfixturevalue(kind), data[0]).html
        assert "Rows without a cluster" in page
        assert "3,024 rows in 2 clusters" in page
