"""Comparison of two fits: clusters that split, merged or changed; moved rows."""

import numpy as np
import pytest

from akkm.inspect import compare_fits
from akkm.metrics import adjusted_rand_index, nmi


def changes(first, second):
    found = compare_fits(np.asarray(first), np.asarray(second))
    return {change.cluster: change for change in found.changes}, found


def repeat(*counts):
    """Return the labels of both fits from triples (first, second, number of rows)."""
    first, second, n = np.array(counts).T
    return np.repeat(first, n), np.repeat(second, n)


class TestCompareFits:
    def test_clusters_with_new_numbers_but_the_same_rows_are_unchanged(self):
        by_cluster, found = changes(*repeat((0, 7, 30), (1, 3, 20)))
        assert by_cluster["0"].kind == by_cluster["1"].kind == "same"
        assert by_cluster["0"].targets == ("7",)
        assert not found.moved.any()
        assert found.new == ()

    def test_a_cluster_splits(self):
        by_cluster, found = changes(*repeat((0, 0, 60), (0, 1, 40), (1, 2, 50)))
        assert by_cluster["0"].kind == "split"
        assert by_cluster["0"].targets == ("0", "1")
        assert by_cluster["0"].counts == (60, 40)
        assert by_cluster["1"].kind == "same"
        assert not found.moved.any()

    def test_clusters_merge(self):
        by_cluster, found = changes(*repeat((0, 5, 60), (1, 5, 40), (2, 2, 50)))
        assert by_cluster["0"].kind == by_cluster["1"].kind == "merged"
        assert by_cluster["0"].targets == ("5",)
        assert by_cluster["0"].others == ("1",)
        assert not found.moved.any()

    def test_rows_move_between_clusters(self):
        by_cluster, found = changes(
            *repeat((0, 0, 90), (0, 1, 10), (1, 1, 100), (2, 2, 50))
        )
        assert by_cluster["0"].kind == by_cluster["1"].kind == "changed"
        assert (by_cluster["0"].n_left, by_cluster["0"].n_joined) == (10, 0)
        assert (by_cluster["1"].n_left, by_cluster["1"].n_joined) == (0, 10)
        assert by_cluster["2"].kind == "same"
        assert np.flatnonzero(found.moved).tolist() == list(range(90, 100))

    def test_a_cluster_dissolves_into_others(self):
        by_cluster, found = changes(
            *repeat(
                (0, 0, 100), (1, 1, 100), (2, 0, 20), (2, 1, 20), (2, 2, 5), (3, 2, 90)
            )
        )
        assert by_cluster["2"].kind == "dissolved"
        assert by_cluster["2"].targets[:2] == ("0", "1")
        assert by_cluster["0"].kind == "changed"
        assert found.moved.sum() == 45

    def test_a_new_cluster_has_rows_of_several_clusters(self):
        by_cluster, found = changes(
            *repeat(
                (0, 0, 80), (0, 9, 20), (1, 1, 80), (1, 9, 20), (2, 2, 80), (2, 9, 20)
            )
        )
        assert [change.cluster for change in found.new] == ["9"]
        assert found.new[0].targets == ("0", "1", "2")
        assert found.new[0].counts == (20, 20, 20)
        assert {change.kind for change in by_cluster.values()} == {"changed"}
        assert found.moved.sum() == 60

    def test_every_row_of_every_cluster_is_counted_once(self, rng):
        first, second = rng.integers(6, size=500), rng.integers(4, size=500)
        found = compare_fits(first, second)
        assert found.table.sum() == 500
        assert found.nmi == pytest.approx(nmi(first, second))
        assert found.ari == pytest.approx(adjusted_rand_index(first, second))
        assert len(found.changes) == 6
        for change in found.changes:
            assert change.size == (first == int(change.cluster)).sum()

    def test_names_that_are_numbers_are_sorted_as_numbers(self):
        found = compare_fits(np.array([10, 2, 2]), np.array(["b", "a", "a"]))
        assert found.first == ("2", "10")
        assert found.second == ("a", "b")

    def test_lengths_must_agree(self):
        with pytest.raises(ValueError, match="first has 2 labels, but second has 3"):
            compare_fits(np.zeros(2), np.zeros(3))
