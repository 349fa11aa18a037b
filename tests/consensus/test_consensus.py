"""The meta-clustering algorithm (MCLA), compared with its definition."""

import pickle
import sys
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from akkm import consensus
from akkm.consensus import mcla
from akkm.consensus._contingency import contingency, fuse, jaccard
from akkm.consensus._labelings import encode
from akkm.consensus._partition import MetaGraph, matching
from akkm.metrics import nmi_from_counts

PARTITIONERS = ["matching", "metis"]


@pytest.fixture(params=PARTITIONERS)
def partitioner(request):
    if request.param == "metis":
        pytest.importorskip("pymetis")
    return request.param


# Oracles: definitions applied to dense indicator vectors.


def indicators(labelings):
    """Indicator vectors (V, n) of all clusters of all members."""
    return np.array(
        [labels == value for labels in labelings for value in np.unique(labels)], float
    )


def naive_jaccard(U):
    similarity = np.zeros((len(U), len(U)))
    for i in range(len(U)):
        for j in range(len(U)):
            if i != j:
                both = U[i] @ U[j]
                similarity[i, j] = both / (U[i] @ U[i] + U[j] @ U[j] - both)
    return similarity


def naive_means(U, part, n_clusters):
    """Mean indicator vectors (C, n) of the meta-clusters."""
    return np.array(
        [
            U[part == k].mean(axis=0) if (part == k).any() else 0 * U[0]
            for k in range(n_clusters)
        ]
    )


def assert_votes_follow_the_definition(result, labelings, n_clusters):
    U, part = indicators(labelings), np.concatenate(result.meta.parts)
    means = naive_means(U, part, n_clusters)
    n = len(labelings[0])
    won = means[result.labels, np.arange(n)]
    np.testing.assert_allclose(won, means.max(axis=0), rtol=1e-12)
    ties = np.isclose(means, means.max(axis=0), rtol=1e-12).sum(axis=0) > 1
    np.testing.assert_array_equal(result.labels[~ties], means.argmax(axis=0)[~ties])
    agreement = [
        U[part == k, i].sum() / len(labelings) for i, k in enumerate(result.labels)
    ]
    np.testing.assert_allclose(result.agreement, agreement)
    return ties


def noisy_copies(rng, n=5000, r=10, n_clusters=23, noise=0.2):
    """Planted labels (n,), and r copies with noise and renumbered clusters."""
    plant = rng.integers(n_clusters, size=n)
    members = []
    for _ in range(r):
        wrong = rng.random(n) < noise
        copy = np.where(wrong, rng.integers(n_clusters, size=n), plant)
        members.append(rng.permutation(n_clusters)[copy])
    return plant, members


def same_partition(a, b):
    return adjusted_rand_score(a, b) == 1


# Comparisons with the oracles.


@pytest.mark.parametrize("clusters", [[3], [4, 4], [2, 5, 3, 1, 7], [40] * 6])
def test_jaccard_similarities_equal_those_of_indicator_vectors(rng, clusters):
    labelings = [rng.integers(c, size=300) for c in clusters]
    shared = contingency(fuse([encode(labels) for labels in labelings]), None)
    U = indicators(labelings)
    np.testing.assert_array_equal(shared, U @ U.T)
    np.testing.assert_allclose(jaccard(shared), naive_jaccard(U))


@pytest.mark.parametrize("noise", [0.3, 1.0])
@pytest.mark.parametrize("clusters", [[4] * 6, [2, 5, 3, 4, 7, 4], [9, 8]])
def test_labels_and_agreement_follow_the_definition(rng, partitioner, clusters, noise):
    plant = rng.integers(20, size=400)
    labelings = [
        np.where(rng.random(400) < noise, rng.integers(c, size=400), plant % c)
        for c in clusters
    ]
    result = mcla(labelings, 4, partitioner=partitioner, random_state=0)
    ties = assert_votes_follow_the_definition(result, labelings, 4)
    assert ties.any()
    assert result.labels.dtype == np.int32


def test_consensus_of_three_members_by_hand():
    """The third member assigns one of six rows differently and is outvoted."""
    labelings = [[5, 5, 5, -2, -2, -2], list("aaabbb"), [0, 0, 1, 1, 1, 1]]
    result = mcla(labelings, 2)
    # Clusters are numbered in the sorted order of the first member's labels: -2, 5.
    np.testing.assert_array_equal(result.labels, [1, 1, 1, 0, 0, 0])
    np.testing.assert_allclose(result.agreement, [1, 1, 2 / 3, 1, 1, 1])
    parts = [part.tolist() for part in result.meta.parts]
    assert parts == [[0, 1], [1, 0], [1, 0]]
    np.testing.assert_array_equal(result.meta.sizes, [3, 3])


def test_mean_votes_decide_instead_of_counts():
    """With 2 votes each, a meta-cluster of 2 clusters beats a meta-cluster of 4."""
    meta = consensus.MetaClusters(
        values=tuple(np.array([0, 1]) for _ in range(5)),
        parts=tuple(np.array(p) for p in ([0, 1], [0, 1], [1, 2], [1, 2], [2, 2])),
        sizes=np.array([2, 4, 4]),
        salt=np.zeros((6, 3), dtype=np.uint64),
    )
    votes = meta.vote([[0, 1], [0, 1], [0, 0], [0, 1], [0, 1]])
    # Mean votes of row 0: 2/2 > 2/4. Mean votes of row 1: 3/4 > 2/4.
    np.testing.assert_array_equal(votes.labels, [0, 1])
    np.testing.assert_allclose(votes.agreement, [0.4, 0.6])


def test_one_member_is_its_own_consensus(rng, partitioner):
    labels = rng.integers(6, size=100)
    result = mcla([labels], 6, partitioner=partitioner, random_state=0)
    if partitioner == "matching":
        np.testing.assert_array_equal(result.labels, labels)
        np.testing.assert_array_equal(result.agreement, np.ones(100))
        assert result.anmi == pytest.approx(1)
    assert_votes_follow_the_definition(result, [labels], 6)


# Recovery of known partitions.


def test_a_planted_partition_is_recovered(rng):
    plant, labelings = noisy_copies(rng)
    labels = mcla(labelings, 23, random_state=0).labels
    assert adjusted_rand_score(plant, labels) > 0.999
    assert max(adjusted_rand_score(plant, m) for m in labelings) < 0.7


@pytest.mark.parametrize("noise", [0.2, 0.5])
def test_both_partitioners_give_the_same_labels(rng, noise):
    """Noise gives many ties; both partitioners break them in the same way."""
    pytest.importorskip("pymetis")
    _, labelings = noisy_copies(rng, noise=noise)
    by_matching, by_metis = (
        mcla(labelings, 23, partitioner=p, random_state=0) for p in PARTITIONERS
    )
    np.testing.assert_array_equal(by_matching.labels, by_metis.labels)


def test_members_are_matched_one_to_one(rng):
    _, labelings = noisy_copies(rng, n=500, noise=0.9)
    for part in mcla(labelings, 23).meta.parts:
        np.testing.assert_array_equal(np.sort(part), np.arange(23))


def test_members_may_have_different_numbers_of_clusters(rng):
    """A meta-cluster may get none or several clusters of one member."""
    plant = rng.integers(4, size=1000)
    labelings = [plant, plant // 2, plant * 3 + rng.integers(3, size=1000), plant]
    result = mcla(labelings, 4)
    assert same_partition(result.labels, plant)
    merged, split = result.meta.parts[1:3]
    assert len(set(merged)) == 2
    np.testing.assert_array_equal(split, np.repeat(result.meta.parts[0], 3))


def test_members_may_have_more_clusters_than_requested(rng):
    labelings = [rng.permutation(np.arange(300) % 7) for _ in range(3)]
    for part in mcla(labelings, 3).meta.parts:
        assert np.bincount(part, minlength=3).max() <= 3


def test_more_clusters_can_be_requested_than_any_member_has(partitioner):
    labelings = [[0, 0, 1, 1], [0, 1, 0, 1]]
    result = mcla(labelings, 3, partitioner=partitioner, random_state=0)
    assert set(result.labels) <= {0, 1, 2}
    assert_votes_follow_the_definition(result, np.array(labelings), 3)


def test_matching_is_no_worse_than_the_planted_assignment(rng):
    """Compare the sums of all similarities within meta-clusters."""
    n, r, c = 2000, 6, 8
    plant = rng.integers(c, size=n)
    noise = rng.random((r, n)) < 0.6
    labelings = np.where(noise, rng.integers(c, size=(r, n)), plant)
    shared = contingency(fuse([encode(m) for m in labelings]), None)
    graph = MetaGraph(jaccard(shared), shared.diagonal(), np.repeat(np.arange(r), c))
    found, planted = matching(graph, c, rng), np.tile(np.arange(c), r)
    inside = [
        graph.similarity[part[:, None] == part].sum() for part in (found, planted)
    ]
    assert inside[0] >= inside[1] * (1 - 1e-12)


@pytest.mark.parametrize("clusters", [[4, 4, 4, 4], [4, 2, 3, 4, 4], [3, 5, 4, 6]])
def test_no_other_match_of_a_single_member_is_better(rng, clusters):
    """Try all matches of one member's clusters to the meta-clusters.

    A match is good if clusters are similar to the other members' clusters in the same
    meta-cluster.
    """
    n_clusters = 4
    labelings = [rng.integers(c, size=200) for c in clusters]
    similarity = naive_jaccard(indicators(labelings))
    parts = mcla(labelings, n_clusters).meta.parts
    part, member = np.concatenate(parts), np.repeat(np.arange(len(clusters)), clusters)
    for q, c in enumerate(clusters):
        own, others = member == q, member != q
        means = np.array(
            [
                similarity[own][:, others & (part == k)].mean(axis=1)
                for k in range(n_clusters)
            ]
        )
        slots = np.tile(np.arange(n_clusters), -(-c // n_clusters))
        best = max(
            means[list(match), np.arange(c)].sum() for match in permutations(slots, c)
        )
        assert means[parts[q], np.arange(c)].sum() == pytest.approx(best, abs=1e-7)


# Invariants.


@pytest.mark.parametrize("noise", [0.3, 0.9])
def test_a_weight_of_two_equals_a_repeated_row(rng, partitioner, noise):
    _, labelings = noisy_copies(rng, n=600, r=5, n_clusters=7, noise=noise)
    weights = rng.integers(1, 4, size=600)
    twice = [np.repeat(labels, weights) for labels in labelings]
    a = mcla(
        labelings, 7, partitioner=partitioner, sample_weight=weights, random_state=1
    )
    b = mcla(twice, 7, partitioner=partitioner, random_state=1)
    np.testing.assert_array_equal(np.repeat(a.labels, weights), b.labels)
    assert a.anmi == pytest.approx(b.anmi, abs=1e-12)


def test_rows_of_weight_zero_do_not_change_the_consensus(rng, partitioner):
    """Some clusters contain only rows of weight zero."""
    plant, labelings = noisy_copies(rng, n=600, r=5, n_clusters=7)
    labelings = [np.append(labels, [99, labels[0], 98]) for labels in labelings]
    labelings[0][-3:] = labelings[0][[0, 0, 1]]
    weights = np.append(rng.random(600) < 0.8, [0, 0, 0])
    given = weights > 0
    a = mcla(
        labelings, 7, partitioner=partitioner, sample_weight=weights, random_state=1
    )
    b = mcla([m[given] for m in labelings], 7, partitioner=partitioner, random_state=1)
    np.testing.assert_array_equal(a.labels[given], b.labels)
    np.testing.assert_array_equal(a.agreement[given], b.agreement)
    assert a.anmi == pytest.approx(b.anmi, abs=1e-12)
    # A row of weight zero gets the label of rows that are in the same clusters.
    assert adjusted_rand_score(a.labels[:600], plant) > 0.95
    np.testing.assert_array_equal(a.labels[[-3, -2]], a.labels[[0, 0]])


@pytest.mark.parametrize("noise", [0.3, 0.9])
def test_reordering_the_rows_reorders_the_labels(rng, partitioner, noise):
    _, labelings = noisy_copies(rng, n=9000, r=4, n_clusters=5, noise=noise)
    order = rng.permutation(9000)
    a = mcla(labelings, 5, partitioner=partitioner, random_state=3)
    b = mcla([m[order] for m in labelings], 5, partitioner=partitioner, random_state=3)
    np.testing.assert_array_equal(a.labels[order], b.labels)
    np.testing.assert_array_equal(a.agreement[order], b.agreement)


@pytest.mark.parametrize("noise", [0.3, 0.7])
def test_renaming_labels_changes_only_the_numbering(rng, noise):
    _, labelings = noisy_copies(rng, n=2000, r=4, n_clusters=5, noise=noise)
    names = np.array(["x", "aa", "b", "zebra", "c"])
    others = [
        names[labelings[0]],
        labelings[1] * -1_000_000_007,
        labelings[2] / 7,
        np.array([3, 1, 4, 0, 2], dtype=np.uint64)[labelings[3]],
    ]
    a = mcla(labelings, 5, random_state=3)
    b = mcla(others, 5, random_state=3)
    assert same_partition(a.labels, b.labels)
    np.testing.assert_array_equal(a.agreement, b.agreement)
    assert a.anmi == pytest.approx(b.anmi)


@pytest.mark.parametrize("noise", [0.3, 0.9])
def test_results_do_not_depend_on_the_number_of_threads(rng, noise):
    _, labelings = noisy_copies(rng, n=20_000, r=4, n_clusters=5, noise=noise)
    weights = rng.random(20_000)
    a, b = (
        mcla(labelings, 5, sample_weight=weights, random_state=3, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.agreement, b.agreement)
    assert a.anmi == b.anmi


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int64, np.float32, object, str]
)
def test_labels_of_any_type_are_accepted(rng, dtype):
    _, labelings = noisy_copies(rng, n=300, r=3, n_clusters=5)
    a = mcla(labelings, 5, random_state=0)
    b = mcla([labels.astype(dtype) for labels in labelings], 5, random_state=0)
    np.testing.assert_array_equal(a.labels, b.labels)


def test_each_row_of_an_array_is_a_member(rng):
    _, labelings = noisy_copies(rng, n=300, r=3, n_clusters=5)
    stacked = np.array(labelings, order="F")
    stacked.flags.writeable = False
    np.testing.assert_array_equal(
        mcla(stacked, 5, random_state=0).labels,
        mcla(labelings, 5, random_state=0).labels,
    )


@pytest.mark.parametrize("high", [2**16 - 1, 2**16, 2**62])
def test_labels_with_a_wide_range_are_encoded(rng, high):
    labels = rng.integers(2, size=50)
    far = np.array([-1, high - 2])[labels]
    np.testing.assert_array_equal(encode(far).codes, labels)
    assert encode(far).codes.dtype == np.uint8
    huge = np.array([2**64 - 2, 2**64 - 1], dtype=np.uint64)[labels]
    np.testing.assert_array_equal(encode(huge).codes, labels)


def test_more_than_256_members_or_clusters_are_counted_correctly(rng):
    labelings = [rng.permutation(np.arange(900) % 300) for _ in range(2)]
    result = mcla(labelings, 300, random_state=0)
    assert_votes_follow_the_definition(result, labelings, 300)
    many = [rng.permutation(2)[np.arange(6) % 2] for _ in range(300)]
    result = mcla(many, 2, random_state=0)
    np.testing.assert_array_equal(result.agreement, np.ones(6))


# Ties.


def test_ties_depend_on_the_seed_but_are_equal_for_equal_rows(rng):
    patterns = np.array([(a, b) for a in range(4) for b in range(4)])
    # Rows on which both members agree determine a one-to-one match of the clusters. On
    # each remaining row, two meta-clusters tie.
    rows = np.concatenate([np.arange(16), rng.permutation(np.repeat(range(16), 3))])
    rows = np.concatenate([rows, np.repeat([0, 5, 10, 15], 50)])
    labelings = patterns[rows].T
    drawn = []
    for seed in range(200):
        result = mcla(labelings, 4, random_state=seed, n_jobs=1)
        of_pattern = result.labels[:16]
        np.testing.assert_array_equal(result.labels, of_pattern[rows])
        drawn.append(of_pattern)
    first = np.array(drawn) == patterns[:, 0]
    second = np.array(drawn) == patterns[:, 1]
    assert (first | second).all()
    same = patterns[:, 0] == patterns[:, 1]
    share = first[:, ~same].mean(axis=0)
    assert share.min() > 0.3  # both outcomes are about equally frequent
    assert share.max() < 0.7
    np.testing.assert_array_equal(
        drawn[7], mcla(labelings, 4, random_state=7).labels[:16]
    )


@pytest.mark.parametrize(("counts", "sizes"), [((1, 2), (3, 6)), ((1, 49), (1, 49))])
def test_equal_means_of_meta_clusters_of_different_size_are_ties(counts, sizes):
    """1/3 = 2/6 and 1/1 = 49/49, although 49 · (1/49) < 1 in floating point."""
    r = sum(counts)
    won = set()
    for seed in range(20):
        salt = np.random.default_rng(seed).integers(
            2**64, size=(r + 1, 2), dtype=np.uint64
        )
        meta = consensus.MetaClusters(
            values=(np.array([0]),) * r,
            parts=tuple(np.array([k]) for k in np.repeat([0, 1], counts)),
            sizes=np.array(sizes),
            salt=salt,
        )
        won.add(int(meta.vote([[0]] * r, n_jobs=1).labels[0]))
    assert won == {0, 1}


# New rows.


def test_votes_for_the_training_rows_equal_the_labels(rng, partitioner):
    _, labelings = noisy_copies(rng, n=10_000, r=4, n_clusters=5, noise=0.8)
    result = mcla(labelings, 5, partitioner=partitioner, random_state=0)
    for meta in (result.meta, pickle.loads(pickle.dumps(result.meta))):
        votes = meta.vote(labelings)
        np.testing.assert_array_equal(votes.labels, result.labels)
        np.testing.assert_array_equal(votes.agreement, result.agreement)
    some = rng.permutation(10_000)[:3]
    votes = result.meta.vote([m[some] for m in labelings], n_jobs=1)
    np.testing.assert_array_equal(votes.labels, result.labels[some])


def test_unseen_labels_are_refused():
    meta = mcla([[0, 0, 1], ["a", "b", "b"]], 2).meta
    with pytest.raises(ValueError, match=r"labelings\[1\].*did not exist.*'c'\. Give"):
        meta.vote([[0, 1], ["a", "c"]])
    with pytest.raises(ValueError, match=r"labelings\[0\].*: 'a', 'b'\."):
        meta.vote([["a", "b"], ["a", "b"]])
    with pytest.raises(ValueError, match=r"2, 3, 4, 5, 6, \.\.\.\. Give"):
        meta.vote([np.arange(9), ["a"] * 9])
    with pytest.raises(ValueError, match="has 1 members; expected the 2"):
        meta.vote([[0, 1]])


# Average normalised mutual information (ANMI).


def test_anmi_is_the_mean_nmi_of_scikit_learn(rng, partitioner):
    labelings = [rng.integers(c, size=500) for c in (1, 3, 5, 5, 8)]
    result = mcla(labelings, 5, partitioner=partitioner, random_state=0)
    expected = np.mean(
        [
            normalized_mutual_info_score(result.labels, m, average_method="geometric")
            for m in labelings
        ]
    )
    assert result.anmi == pytest.approx(expected, abs=1e-12)


def test_members_with_one_cluster_have_an_anmi_of_one(partitioner):
    result = mcla([[3, 3, 3], [1, 1, 1]], 1, partitioner=partitioner)
    np.testing.assert_array_equal(result.labels, [0, 0, 0])
    assert result.anmi == 1.0


@settings(deadline=None)
@given(
    st.integers(1, 40).flatmap(
        lambda n: hnp.arrays(int, (2, n), elements=st.integers(-3, 3))
    )
)
def test_nmi_equals_that_of_scikit_learn(labelings):
    a, b = (encode(labels) for labels in labelings)
    counts = np.zeros((len(a.values), len(b.values)))
    np.add.at(counts, (a.codes, b.codes), 1)
    expected = normalized_mutual_info_score(*labelings, average_method="geometric")
    assert nmi_from_counts(counts) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None)
@given(
    labelings=st.tuples(st.integers(1, 5), st.integers(1, 30)).flatmap(
        lambda shape: hnp.arrays(int, shape, elements=st.integers(-2, 3))
    ),
    n_clusters=st.integers(1, 5),
    seed=st.integers(0, 5),
)
def test_random_labelings_follow_the_definition(labelings, n_clusters, seed):
    count = [len(np.unique(labels)) for labels in labelings]
    if sum(count) < n_clusters:
        return
    result = mcla(labelings, n_clusters, random_state=seed, n_jobs=1)
    assert_votes_follow_the_definition(result, labelings, n_clusters)
    for part, clusters in zip(result.meta.parts, count, strict=True):
        assert np.bincount(part).max() <= -(-clusters // n_clusters)
    U = indicators(labelings)
    shared = contingency(fuse([encode(labels) for labels in labelings]), None)
    np.testing.assert_array_equal(shared, U @ U.T)


# Bad input.


@pytest.mark.parametrize(
    ("labelings", "options", "message"),
    [
        ([], {}, "labelings is empty; expected at least one"),
        ([[0, 1], [0, 1, 1]], {}, r"labelings\[1\] has shape \(3,\); .* shape \(2,\)"),
        ([0, 1], {}, r"labelings\[0\] has shape \(\); expected one label per row"),
        ([[]], {}, r"labelings\[0\] has shape \(0,\)"),
        ([[0, 1], [0.0, np.nan]], {}, r"labelings\[1\] has missing labels"),
        ([np.array(["a", None], dtype=object)], {}, "missing labels"),
        ([[0, 1]], {"n_clusters": 0}, "n_clusters=0 is not valid; expected an integer"),
        ([[0, 1]], {"n_clusters": 2.0}, r"n_clusters=2\.0 is not valid"),
        ([[0, 1]], {"n_clusters": True}, "n_clusters=True is not valid"),
        ([[0, 1]], {"n_clusters": 3}, "n_clusters=3, but all .* only 2 clusters"),
        ([[0, 1]], {"sample_weight": [1, 0]}, "only 1 clusters .*Lower n_clusters"),
        ([[0, 1]], {"sample_weight": [1]}, r"sample_weight.shape == \(1,\), expected"),
        ([[0, 1]], {"sample_weight": [1, -1]}, "Negative values in data passed"),
        ([[0, 1]], {"sample_weight": [0, 0]}, "at least one non-zero"),
        ([[0, 1]], {"sample_weight": [1, np.inf]}, "sample_weight contains infinity"),
        ([[0, 1]], {"partitioner": "kway"}, "'kway'; expected one of matching, metis"),
    ],
)
def test_invalid_arguments_are_refused(labelings, options, message):
    with pytest.raises(ValueError, match=message):
        mcla(labelings, **{"n_clusters": 2, **options})


def test_a_missing_pymetis_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(ImportError, match=r"pip install '\.\[metis\]'"):
        mcla([[0, 1], [0, 1]], 2, partitioner="metis")
    assert mcla([[0, 1], [0, 1]], 2).anmi == 1


def test_metis_is_reproducible(rng):
    pytest.importorskip("pymetis")
    labelings = rng.integers(6, size=(5, 200))
    a, b = (mcla(labelings, 6, partitioner="metis", random_state=4) for _ in range(2))
    np.testing.assert_array_equal(a.labels, b.labels)
    for p, q in zip(a.meta.parts, b.meta.parts, strict=True):
        np.testing.assert_array_equal(p, q)


def test_public_objects_have_examples():
    public = {
        "Consensus",
        "MetaClusters",
        "Votes",
        "bipartite_cut",
        "get_partitioner",
        "mcla",
    }
    assert set(consensus.__all__) == public
    for name in consensus.__all__:
        assert ">>> " in getattr(consensus, name).__doc__


def test_a_transposed_array_is_refused(rng):
    with pytest.raises(ValueError, match=r"labelings.T\?"):
        mcla(rng.integers(3, size=(1500, 4)), 3)
