"""Number of clusters estimated from a spectrum: gaps, cuts and evidence."""

import numpy as np
import pytest
from scipy import sparse

from akkm.diffusion import estimate_k
from akkm.diffusion.estimate_k import (
    Cut,
    check_balance,
    cut_along_eigenvectors,
    estimate_n_clusters,
)


def spectrum(*rates):
    return np.exp(-np.array([0.0, *rates]))


def gap(ratio):
    """Largest difference of exp(-t) and exp(-ratio t), over a fine grid of times t."""
    t = np.exp(np.linspace(-12, 6, 200_001))
    return (np.exp(-t) - np.exp(-ratio * t)).max()


def chains(*lengths, link):
    """Similarities of points in a sequence of chains.

    The similarity of consecutive points is 1 within a chain, and `link` between the
    end of a chain and the start of the next chain.
    """
    ends = np.cumsum(lengths)
    beside = np.ones(ends[-1] - 1)
    beside[ends[:-1] - 1] = link
    return sparse.csr_array(sparse.diags_array([beside, beside], offsets=[-1, 1]))


def leading(W):
    scale = 1 / np.sqrt(W.sum(axis=1))
    values, vectors = np.linalg.eigh(W.toarray() * scale[:, None] * scale)
    return values[::-1], vectors[:, ::-1]


def ones(W):
    return np.ones(W.shape[0])


class TestGaps:
    def test_gaps_equal_their_definition(self):
        found = estimate_n_clusters(spectrum(1.0, 3.0, 30.0))
        np.testing.assert_array_equal(found.numbers, [2, 3])
        np.testing.assert_allclose(found.gaps, [gap(3), gap(10)], atol=1e-8)

    def test_the_finest_of_nested_clusters_are_counted(self):
        # The data are two distant pairs of clusters. The gap after 2 is widest, but the
        # gap after 4 is wide enough.
        found = estimate_n_clusters(spectrum(0.0, 1.0, 1.1, 20.0, 25.0))
        assert found.gaps[0] > found.gaps[2] > 0.55
        assert (found.n_clusters, found.second, found.sure) == (4, 2, True)

    @pytest.mark.parametrize(
        ("ratio", "number", "sure"), [(4.2, 2, False), (4.9, 3, False), (6.0, 3, True)]
    )
    def test_wide_gaps_are_accepted_and_wider_gaps_are_sure(self, ratio, number, sure):
        found = estimate_n_clusters(spectrum(1.0, 100.0, 100.0 * ratio, 101.0 * ratio))
        assert found.n_clusters == number
        assert found.sure == (sure or number == 2)

    def test_clusters_followed_by_negative_eigenvalues_are_counted(self):
        """The eigenvalues are those of three separate complete graphs."""
        found = estimate_n_clusters(np.array([1.0, 1.0, 1.0, -0.14, -0.14]))
        assert (found.n_clusters, found.sure) == (3, True)
        slow = estimate_n_clusters(np.array([1.0, 0.3, 0.2, 0.1, -0.1]))
        assert not slow.sure

    def test_the_widest_gap_decides_if_no_gap_is_wide_enough(self):
        found = estimate_n_clusters(spectrum(1.0, 2.0, 6.0, 7.0))
        assert (found.n_clusters, found.sure) == (3, False)
        assert "data without clusters" in found.why
        assert str(found) == f"3, unsure: {found.why}; next best 2 (0.25)"

    @pytest.mark.parametrize(
        ("sizes", "why"),
        [
            ([70, 30], "the gap"),
            ([85, 15], "one cluster has 85 % of the rows"),
            ([700, 297, 3], "one cluster has less than 0.5 % of the rows"),
        ],
    )
    def test_unbalanced_clusters_make_the_estimate_unsure(self, sizes, why):
        found = estimate_n_clusters(spectrum(*np.zeros(len(sizes) - 1), 1.0, 1.1))
        labels = np.repeat(np.arange(len(sizes)), sizes)
        judged = check_balance(found, labels)
        assert judged.why.startswith(why)
        assert judged.sure == (why == "the gap")
        assert (
            check_balance(found, np.arange(len(sizes)), np.array(sizes)).why
            == judged.why
        )

    def test_each_gap_is_measured_at_the_time_where_it_is_widest(self):
        values = np.array([1.0, 0.99, 0.9, 0.7, 0.4])
        found = estimate_n_clusters(values)
        times = np.exp(np.linspace(-5, 8, 20_001))
        for number, gap, t in zip(found.numbers, found.gaps, found.times, strict=True):
            along = values[number - 1] ** times - values[number] ** times
            assert gap == pytest.approx(along.max(), abs=1e-6)
            assert t == pytest.approx(times[along.argmax()], rel=1e-2)

    def test_a_single_eigenvalue_gives_an_unsure_estimate(self):
        assert not estimate_n_clusters(np.array([1.0])).sure


class TestCut:
    @pytest.mark.parametrize(
        ("lengths", "link", "number", "tight"),
        [
            ((60, 40, 50), 1e-4, 3, True),
            ((60, 40, 50), 1e-4, 2, True),
            ((60, 40, 50), 1e-4, 4, False),  # four parts need a cut within a chain
            ((100, 50), 1, 2, False),  # a link of 1 makes one long chain
            ((100, 50), 0, 2, True),
        ],
    )
    def test_a_cut_between_chains_is_tight(self, lengths, link, number, tight):
        W = chains(*lengths, link=link)
        assert cut_along_eigenvectors(W, *leading(W), ones(W), number).tight == tight

    def test_a_sample_of_the_rows_gives_the_same_cut(self, monkeypatch):
        W = chains(200, 20, 100, link=1e-4)
        cut = cut_along_eigenvectors(W, *leading(W), ones(W), 3)
        monkeypatch.setattr(estimate_k, "_CUT_ROWS", 15)
        monkeypatch.setattr(estimate_k, "_CUT_ROWS_PER_GROUP", 5)
        assert cut_along_eigenvectors(W, *leading(W), ones(W), 3) == cut
        assert cut.smallest == pytest.approx(20 / 320)

    def test_the_share_of_the_smallest_group_is_its_share_of_the_weight(self):
        W = chains(80, 20, link=0)
        rows = np.repeat([1.0, 3.0], [80, 20])
        assert cut_along_eigenvectors(
            W, *leading(W), ones(W), 2
        ).smallest == pytest.approx(0.2)
        assert cut_along_eigenvectors(
            W, *leading(W), rows, 2
        ).smallest == pytest.approx(60 / 140)

    def test_a_complete_graph_has_no_tight_cut(self):
        # Eigenvalues give a lower bound on the similarity that is cut. In a complete
        # graph, the actual cut is far above this bound.
        W = sparse.csr_array(np.ones((50, 50)))
        assert not cut_along_eigenvectors(W, *leading(W), ones(W), 2).tight

    def test_a_tight_cut_needs_no_wide_gap(self):
        asked = []

        def cut(number):
            asked.append(number)
            return Cut(0.1, number == 3)

        values = spectrum(1.0, 100.0, 250.0, 600.0)
        found = estimate_n_clusters(values, cut)
        assert 0.2 < found.gaps[1] < 0.5
        assert (found.n_clusters, found.sure) == (3, False)
        assert (
            "the clusters share almost no similarity, but the true number" in found.why
        )
        assert asked == [4, 3]  # larger numbers of clusters are tried first
        # If no cuts are given, the wide gap decides. If all gaps are tiny, a tight cut
        # is not enough.
        assert estimate_n_clusters(values).n_clusters == 2
        steps = spectrum(1.0, 1.2, 1.4, 1.6)
        assert (
            "without clusters" in estimate_n_clusters(steps, lambda _: Cut(1, True)).why
        )

    def test_groups_of_outliers_are_rejected(self):
        values = spectrum(0.0, 0.0, 1.0, 20.0, 21.0)
        assert estimate_n_clusters(values).n_clusters == 4
        for least, number in ((0.05, 3), (0.01, 4)):
            found = estimate_n_clusters(
                values, lambda k: Cut(0.02 if k == 4 else 0.3, False), least
            )
            assert (found.n_clusters, found.sure) == (number, True)
        # If every number is rejected, the estimate is the largest number with a wide
        # gap, and it is unsure.
        found = estimate_n_clusters(values, lambda k: Cut(0.001, False))
        assert (found.n_clusters, found.sure) == (4, False)
        assert found.why.endswith("but one cluster has only a few rows")
        values = spectrum(1.0, 2.5, 50.0, 51.0)
        found = estimate_n_clusters(
            values, lambda k: Cut(0.3 if k == 2 else 0.01, False), 0.1
        )
        assert (found.n_clusters, found.sure) == (2, False)
        assert "without clusters" in found.why
