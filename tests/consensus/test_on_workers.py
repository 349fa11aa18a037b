"""Consensus of labelings that are Dask arrays."""

import numpy as np
import pytest

from akkm.consensus import mcla
from akkm.consensus.on_workers import distinct_label_rows, vote_on_workers

da = pytest.importorskip("dask.array")


@pytest.fixture
def labelings(rng):
    plant = rng.integers(4, size=1000)
    wrong = rng.random((5, 1000)) < 0.3
    return np.where(wrong, rng.integers(4, size=(5, 1000)), plant)


def on_workers(labelings):
    return [da.from_array(labels, chunks=(300,)) for labels in labelings]


@pytest.mark.parametrize("weighted", [False, True])
def test_each_distinct_row_has_the_total_weight_of_its_copies(labelings, weighted, rng):
    weights = rng.random(1000) if weighted else None
    rows, totals = distinct_label_rows(on_workers(labelings), weights)
    expected, which = np.unique(labelings, axis=1, return_inverse=True)
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_allclose(totals, np.bincount(which.ravel(), weights))


def test_the_consensus_of_distinct_rows_equals_that_of_all_rows(labelings):
    everything = mcla(labelings, 4, random_state=0)
    rows, weights = distinct_label_rows(on_workers(labelings), None)
    distinct = mcla(rows, 4, sample_weight=weights, random_state=0)
    votes = distinct.meta.vote(labelings)
    np.testing.assert_array_equal(votes.agreement, everything.agreement)
    assert (votes.labels == everything.labels).mean() == 1.0


def test_votes_have_the_same_chunks_and_equal_those_in_memory(labelings):
    meta = mcla(labelings, 4, random_state=0).meta
    labels, agreement = vote_on_workers(on_workers(labelings), meta.vote)
    expected = meta.vote(labelings)
    assert labels.chunks == agreement.chunks == ((300, 300, 300, 100),)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels.compute(), expected.labels)
    np.testing.assert_array_equal(agreement.compute(), expected.agreement)
