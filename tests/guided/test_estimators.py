"""Constraints in every estimator that accepts them."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons

import akkm
import registry
from akkm.core.threads import Threads
from akkm.diffusion.carried_classes import ClassWalks
from akkm.diffusion.class_shares import (
    class_scores,
    class_shares,
    correct_classes,
    smooth_classes,
)
from akkm.diffusion.constrained_graph import constrain_graph
from akkm.guided.constraints import read_constraints


def takes_constraints(Estimator):
    return "known" in inspect.signature(Estimator.fit).parameters


def takes_coverage(Estimator):
    return takes_constraints(Estimator) and hasattr(Estimator, "coverage")


every = registry.every(takes_constraints)


@pytest.fixture(scope="module")
def problem():
    X, y = make_blobs(300, centers=4, cluster_std=2.5, random_state=5)
    rng = np.random.default_rng(0)
    rows = rng.choice(len(X), 60, replace=False)
    return X, {
        "known": {int(i): "abcd"[y[i]] for i in rows[:20]},
        "must_link": [(i, j) for i, j in rows[20:40].reshape(-1, 2) if y[i] == y[j]],
        "cannot_link": [(i, j) for i, j in rows[40:].reshape(-1, 2) if y[i] != y[j]],
    }


def test_the_documented_estimators_take_constraints():
    names = {E.__name__ for E in registry.select(takes_constraints)}
    assert names >= {
        *("ApproxKernelKMeans", "KernelKMeans", "TwoStepKernelKMeans"),
        *("SparseKernelKMeans", "DiffusionKernelKMeans"),
        *("EnsembleKernelKMeans", "ConsensusKernelKMeans"),
    }


@every
def test_hard_constraints_are_satisfied(Estimator, problem):
    X, constraints = problem
    one, two = (
        registry.create(Estimator, 4, n_jobs=n).fit(X, **constraints) for n in (1, 2)
    )
    labels, names = one.labels_, one.label_names_
    assert all(names[labels[i]] == c for i, c in constraints["known"].items())
    assert all(labels[i] == labels[j] for i, j in constraints["must_link"])
    assert all(labels[i] != labels[j] for i, j in constraints["cannot_link"])
    assert not any(len(rows) for rows in one.violated_.values())
    np.testing.assert_array_equal(two.labels_, labels)
    plain = registry.create(Estimator, 4).fit(X)
    assert (plain.labels_ != labels).any()
    assert not hasattr(plain, "violated_")


@every
def test_contradictions_are_refused(Estimator, problem):
    model = registry.create(Estimator, 2)
    with pytest.raises(ValueError, match="through the rows 0 - 2 - 1"):
        model.fit(problem[0], must_link=[(0, 2), (2, 1)], cannot_link=[(0, 1)])


@registry.every(takes_coverage)
def test_constrained_rows_keep_their_label_if_others_are_left_out(Estimator, problem):
    X, constraints = problem
    model = registry.create(Estimator, 4, coverage=0.5).fit(X, **constraints)
    rows = list(constraints["known"])
    assert (model.labels_[rows] >= 0).all()
    assert (model.labels_ < 0).sum() > 100


def test_members_of_an_ensemble_get_the_same_constraints(problem):
    X, constraints = problem
    model = akkm.EnsembleKernelKMeans(4, n_members=3, random_state=0)
    model.fit(X, **constraints)
    for member in model.members_:
        names = [member.label_names_[k] for k in member.labels_]
        assert all(names[i] == c for i, c in constraints["known"].items())


def test_weak_constraints_of_an_ensemble_may_be_violated():
    X = np.repeat([[0.0], [9.0]], 10, axis=0)
    model = akkm.EnsembleKernelKMeans(2, strength=0.0, random_state=0)
    model.fit(X, known={0: "a", 1: "a", 2: "b", 19: "b"})
    assert model.violated_["known"].tolist() == [2]
    assert model.labels_[2] == model.labels_[0] != model.labels_[19]


def test_an_ensemble_on_workers_satisfies_constraints(problem):
    da = pytest.importorskip("dask.array")
    X, constraints = problem
    model = akkm.EnsembleKernelKMeans(4, n_members=3, random_state=0)
    labels = model.fit(X, **constraints).labels_
    model.fit(da.from_array(X, chunks=(70, 2)), **constraints)
    np.testing.assert_array_equal(model.labels_.compute(), labels)


def test_members_that_take_no_constraints_are_refused(problem):
    X, constraints = problem
    member = akkm.NystroemSpectralClustering(4)
    model = akkm.ConsensusKernelKMeans(4, estimator=member)
    with pytest.raises(ValueError, match="does not take known"):
        model.fit(X, **constraints)


def test_two_step_k_means_uses_constrained_rows_as_landmarks(problem):
    X, constraints = problem
    model = akkm.TwoStepKernelKMeans(4, n_landmarks=30, random_state=0)
    model.fit(X, known=constraints["known"])
    assert set(constraints["known"]) <= set(model.landmark_indices_.tolist())


def test_walks_spread_known_classes_to_near_rows():
    """Four known rows in each of two noisy moons separate them better."""
    before, after = [], []
    for seed in (0, 1):
        X, y = make_moons(600, noise=0.15, random_state=seed)
        rng = np.random.default_rng(seed)
        rows = [rng.choice(np.flatnonzero(y == k), 4, replace=False) for k in (0, 1)]
        model = akkm.DiffusionKernelKMeans(2, random_state=0).fit(X)
        right = (model.labels_ == y).mean()
        before.append(max(right, 1 - right))
        model.fit(X, known={int(i): int(y[i]) for i in np.concatenate(rows)})
        after.append((np.array(model.label_names_)[model.labels_] == y).mean())
        assert (model.predict(X) == model.labels_).mean() > 0.98
    assert np.mean(after) > np.mean(before) + 0.05


def test_class_scores_solve_their_equation():
    rng = np.random.default_rng(0)
    W = sparse.random_array((60, 60), density=0.2, rng=rng).tocsr()
    W = W + W.T
    known, classes = np.array([4, 9, 30, 31]), np.array([0, 1, 1, 1])
    expected, weight = rng.random((60, 3)), 2.0
    scores = class_scores(W, expected, weight, known, classes)
    degree = np.asarray(W.sum(axis=1)).ravel()
    B = (1.01 * np.diag(degree) - W.toarray()) @ scores
    right = weight * degree[:, None] * expected / (degree @ expected)
    right[known, classes] += 1
    right /= np.array([1, 3, 0]) + weight
    right -= right.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(B, right, atol=2e-3 * np.abs(right).max())


def test_walks_stop_at_known_nodes_or_at_random():
    """The shares of a node follow from those of the nodes one step away."""
    rng = np.random.default_rng(0)
    W = sparse.random_array((40, 40), density=0.3, rng=rng).tocsr()
    W = W + W.T
    own, known = rng.integers(3, size=40), np.array([3, 8, 20])
    shares = correct_classes(W, np.eye(3)[own], known, np.array([2, 0, 1]))
    steps = W.toarray() / np.asarray(W.sum(axis=1)).reshape(-1, 1)
    expected = (steps @ shares + 0.01 * np.eye(3)[own]) / 1.01
    expected[known] = np.eye(3)[[2, 0, 1]]
    np.testing.assert_allclose(shares, expected, atol=5e-3)


def test_classes_without_known_nodes_keep_their_cluster():
    """Three groups of nodes in a chain; the classes of two of them are known."""
    groups = np.repeat([0, 1, 2], 20)
    W = np.where(groups[:, None] == groups, 1.0, 0.0)
    W[19, 20] = W[20, 19] = W[39, 40] = W[40, 39] = 1.0
    known, classes = np.array([5, 45]), np.array([1, 0])
    none = np.empty(0, dtype=np.int64)
    shares = class_shares(sparse.csr_array(W), groups, 3, none, none)
    np.testing.assert_array_equal(shares.argmax(axis=1), groups)
    shares = class_shares(sparse.csr_array(W), groups, 3, known, classes)
    np.testing.assert_array_equal(shares.argmax(axis=1), np.array([1, 2, 0])[groups])


def test_smoothing_gives_a_node_the_class_of_the_nodes_around_it():
    """In a chain, a wrong node between others of one class gets their class."""
    W = sparse.diags_array([[1.0] * 8, [2.0] * 9, [1.0] * 8], offsets=[-1, 0, 1])
    right = np.repeat([0, 1], [5, 4])
    wrong = right.copy()
    wrong[[2, 7]] = 1 - wrong[[2, 7]]
    known, none = np.array([2]), np.empty(0, dtype=np.int64)
    shares = smooth_classes(W.tocsr(), np.eye(2)[wrong], none, none)
    np.testing.assert_array_equal(shares.argmax(axis=1), right)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    shares = smooth_classes(W.tocsr(), np.eye(2)[wrong], known, wrong[known])
    assert shares[2].tolist() == [0, 1]


def test_constraints_edit_given_graphs_like_graphs_of_rows():
    X, y = make_moons(600, noise=0.15, random_state=0)
    rows = np.random.default_rng(0).choice(600, 8, replace=False)
    known = {int(i): int(y[i]) for i in rows}
    model = akkm.DiffusionKernelKMeans(2, n_neighbors=15, random_state=0)
    labels = model.fit(X, known=known).labels_
    W = akkm.neighbor_graph(X, n_neighbors=15, random_state=0)
    model.set_params(metric="precomputed_similarity").fit(W, known=known)
    assert model.embedding_.shape[1] >= 4
    assert (model.labels_ == labels).mean() > 0.99
    plain = model.fit(W).labels_
    assert max((plain == labels).mean(), (plain != labels).mean()) < 0.95


def test_graphs_are_edited_as_worked_out_by_hand():
    """Rows 0 - 1 - 2 - 3 in a chain; 0 and 3 belong together, 1 and 2 do not."""
    W = sparse.diags_array([[1.0] * 3, [1.0] * 3], offsets=[1, -1]).tocsr()
    found = read_constraints(9, must_link=[(0, 3)], cannot_link=[(1, 2)])
    edited = constrain_graph(W, found, np.arange(4)).toarray()
    expected = [[0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 0, 1], [1, 0, 1, 0]]
    np.testing.assert_allclose(edited, expected)


def test_rows_outside_the_graph_are_ignored():
    W = sparse.csr_array(np.ones((2, 2)))
    found = read_constraints(9, must_link=[(4, 7)], cannot_link=[(4, 8)])
    edited = constrain_graph(W, found, np.array([7, 1])).toarray()
    np.testing.assert_allclose(edited, np.ones((2, 2)))


def test_no_class_vanishes_where_clusters_overlap():
    """Two classes differ in one of six columns; four rows of each are known."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=1200)
    X = rng.normal(size=(1200, 6))
    X[:, 0] += 2 * y
    known = {int(i): int(y[i]) for k in (0, 1) for i in np.flatnonzero(y == k)[:4]}
    model = akkm.DiffusionKernelKMeans(2, random_state=0).fit(X, known=known)
    assert np.bincount(model.labels_).min() > 100


def test_classes_are_spread_to_the_points_around_known_points():
    """Two chains of points with a gap between them, and a third one without a class."""
    X = np.concatenate([np.arange(0, 3, 0.1), np.arange(9, 12, 0.1)])[:, None]
    X = np.concatenate([X, X[:3], np.arange(50, 53, 0.1)[:, None]])
    known, classes = np.array([2, 40]), np.array([1, 0])
    with Threads(1) as engine:
        rng = np.random.default_rng(0)
        carried = ClassWalks(X, 2, engine, rng).carry(known, classes)
    expected = np.repeat([1, 0, 1, -1], [30, 30, 3, 30])
    np.testing.assert_array_equal(carried, expected)
