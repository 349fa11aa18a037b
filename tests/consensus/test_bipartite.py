"""Bipartite graph cut of rows and clusters, and the ensemble that uses it."""

import numpy as np
import pytest
from scipy import linalg
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from akkm import ConsensusKernelKMeans, DiffusionKernelKMeans, EnsembleKernelKMeans
from akkm.consensus import bipartite_cut
from akkm.consensus._bipartite import shared_weight
from akkm.consensus._contingency import contingency, fuse, jaccard
from akkm.consensus._labelings import encode
from akkm.consensus._partition import MetaGraph


def split(y, rng, most=6):
    """Split each cluster into parts, then give random labels to a tenth of the rows."""
    parts = y * most + rng.integers(rng.integers(2, most + 1), size=len(y))
    stray = rng.random(len(y)) < 0.1
    return np.where(stray, rng.permutation(parts), parts)


class TestCut:
    def test_the_shared_weight_is_the_weight_of_the_shared_rows(self, rng):
        labelings = [rng.integers(k, size=500) for k in (3, 7, 5)]
        w = rng.uniform(size=500)
        U = np.array([x == k for x in labelings for k in np.unique(x)], float)
        shared = contingency(fuse([encode(x) for x in labelings]), w)
        member = np.repeat(np.arange(3), [3, 7, 5])
        graph = MetaGraph(jaccard(shared), shared.diagonal(), member)
        np.testing.assert_allclose(shared_weight(graph), (U * w) @ U.T, atol=1e-12)

    def test_the_cut_equals_the_normalised_cut_of_the_whole_graph(self, rng):
        """For two parts, the sign of the second singular vector gives the cut."""
        y = np.repeat([0, 1], 200)
        labelings = [split(y, rng) for _ in range(8)]
        found = bipartite_cut(labelings, 2, random_state=0)
        U = np.array([x == k for x in labelings for k in np.unique(x)], float)
        B = U.T / np.sqrt(U.sum(axis=1))
        second = linalg.svd(B / np.sqrt(len(labelings)))[2][1]
        part = np.concatenate(found.meta.parts)
        assert adjusted_rand_score(second > 0, part) == 1.0
        # A row is in one cluster of each member. Its label is the part that contains
        # most of these clusters.
        votes = U.T @ np.eye(2)[part]
        clear = votes[:, 0] != votes[:, 1]
        np.testing.assert_array_equal(found.labels[clear], votes.argmax(axis=1)[clear])
        np.testing.assert_allclose(found.agreement, votes.max(axis=1) / 8)

    def test_split_clusters_are_joined_again(self, rng):
        y = rng.integers(5, size=2000)
        labelings = [split(y, rng) for _ in range(10)]
        ours = bipartite_cut(labelings, 5, random_state=0)
        assert adjusted_rand_score(y, ours.labels) > 0.99

    def test_a_weight_of_two_equals_a_repeated_row(self, rng):
        y = rng.integers(3, size=400)
        labelings = [split(y, rng) for _ in range(6)]
        w = rng.integers(0, 3, size=400)
        weighted = bipartite_cut(labelings, 3, sample_weight=w, random_state=0)
        repeated = bipartite_cut([x.repeat(w) for x in labelings], 3, random_state=0)
        np.testing.assert_array_equal(weighted.labels.repeat(w), repeated.labels)

    def test_the_majority_wins_whatever_the_number_of_parts(self, rng):
        """Each member splits cluster 0 into six parts.

        Five of eight members put row 0 into one of these parts.
        """
        y = np.repeat([0, 1], 600)
        labelings = []
        for q in range(8):
            labels = np.where(y == 0, rng.integers(6, size=1200), 6)
            labels[0] = 6 if q < 3 else 0
            labelings.append(labels)
        found = bipartite_cut(labelings, 2, random_state=0)
        np.testing.assert_array_equal(found.labels, y != y[0])
        assert found.agreement[0] == 5 / 8

    def test_members_that_agree_are_their_own_consensus(self):
        y = np.array(["b", "b", "a", "a", "c"])
        found = bipartite_cut([y, y, y], 3, random_state=0)
        assert found.labels.tolist() == [1, 1, 0, 0, 2]
        assert found.anmi == 1.0
        assert found.meta.vote([["c"], ["c"], ["c"]]).labels.tolist() == [2]

    def test_members_with_too_few_clusters_are_refused(self):
        with pytest.raises(ValueError, match="together have only 4 clusters"):
            bipartite_cut([[0, 0, 1], [0, 1, 1]], 5)

    def test_groups_that_no_member_joins_are_counted(self):
        members = [[0, 0, 1, 1, 2, 2, 3], [0, 0, 1, 2, 2, 2, 3]]
        assert bipartite_cut(members, 2, random_state=0).n_groups == 3
        # A row of weight zero does not join two groups.
        weights = [1, 1, 1, 0, 1, 1, 1]
        found = bipartite_cut(members, 2, sample_weight=weights, random_state=0)
        assert found.n_groups == 4


class TestEnsemble:
    @pytest.mark.parametrize(("C", "n"), [(2, 40), (5, 100)])
    def test_distant_groups_of_few_rows_are_found(self, C, n):
        for seed in range(3):
            rng = np.random.default_rng([seed, C, n])
            y = rng.integers(C, size=n)
            X = np.column_stack([100.0 * y, np.zeros(n)]) + rng.normal(size=(n, 2))
            model = ConsensusKernelKMeans(C, random_state=seed).fit(X)
            assert adjusted_rand_score(y, model.labels_) == 1.0
            np.testing.assert_array_equal(model.predict(X), model.labels_)

    def test_groups_that_no_member_joins_are_joined_by_distance(self):
        """Twelve groups lie at three distant places, four groups at each place.

        Members with many clusters join too few groups. So members are fitted again with
        fewer clusters. These members join the groups of a place.
        """
        rng = np.random.default_rng(1)
        y = rng.integers(12, size=1200)
        place = 1000.0 * (y // 4) + 40 * (y % 4)
        X = np.column_stack([place, np.zeros(1200)]) + rng.normal(size=(1200, 2))
        model = ConsensusKernelKMeans(3, n_members=6, random_state=1).fit(X)
        assert adjusted_rand_score(y // 4, model.labels_) == 1.0
        assert max(member.n_clusters for member in model.members_) < 12

    def test_labels_are_better_than_those_of_k_means(self, digits):
        X, y = digits
        nmi = normalized_mutual_info_score
        model = ConsensusKernelKMeans(10, random_state=0).fit(X)
        theirs = nmi(y, KMeans(10, n_init=10, random_state=0).fit_predict(X))
        assert nmi(y, model.labels_) > theirs + 0.08
        counts = [member.n_clusters for member in model.members_]
        assert min(counts) >= 20
        assert max(counts) <= 60
        assert len(set(counts)) > 10
        # Rows on which members disagree are misclassified more often.
        wrong = model.agreement_ < np.quantile(model.agreement_, 0.1)
        sure, unsure = (
            nmi(y[~wrong], model.labels_[~wrong]),
            nmi(y[wrong], model.labels_[wrong]),
        )
        assert sure > unsure
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        np.testing.assert_array_equal(model.predict(X[7:8]), model.labels_[7:8])

    def test_members_can_be_another_estimator(self):
        X, y = make_moons(600, noise=0.06, random_state=0)
        kind = DiffusionKernelKMeans(n_neighbors=10)
        model = ConsensusKernelKMeans(2, estimator=kind, n_members=5, random_state=0)
        assert adjusted_rand_score(y, model.fit(X).labels_) == 1.0
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert kind.get_params() == DiffusionKernelKMeans(n_neighbors=10).get_params()

    def test_labels_do_not_depend_on_the_number_of_threads(self, digits):
        X = digits[0][:600]
        one, two = (
            ConsensusKernelKMeans(10, n_members=4, random_state=0, n_jobs=n).fit(X)
            for n in (1, 2)
        )
        np.testing.assert_array_equal(one.labels_, two.labels_)

    def test_members_without_centers_are_refused(self, digits):
        with pytest.raises(ValueError, match="The 'estimator' parameter of Consensus"):
            ConsensusKernelKMeans(3, estimator=EnsembleKernelKMeans()).fit(digits[0])
