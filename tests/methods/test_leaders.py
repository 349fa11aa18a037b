"""Leaders, compared with an oracle that visits one row after the other."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from akkm import KernelKMeans, LeadersKernelKMeans
from akkm.core.threads import Threads
from akkm.kernels import RBF, Linear
from akkm.methods.leaders import LeaderSearch
from oracles import exact_kernel_k_means, leaders


@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.05), Linear()])
def test_one_pass_equals_the_definition(kernel, threshold, digits, rng):
    X = digits[0][:350]
    threshold *= 1 if isinstance(kernel, RBF) else 4
    can_lead = rng.random(350) < 0.8
    for weights in (None, can_lead.astype(float)):
        expected, followed = leaders(
            X, kernel, threshold, None if weights is None else can_lead
        )
        with Threads(2) as engine:
            search = LeaderSearch(X, kernel, engine, weights, batch=100, block=30)
            found = search.one_pass(threshold)
        assert found.indices.tolist() == expected
        known = np.array(followed) >= 0
        np.testing.assert_array_equal(found.followed[known], np.array(followed)[known])


def test_followers_take_the_label_of_their_leader(digits, rng):
    X, start = digits[0], rng.integers(10, size=1797)
    kernel = RBF(gamma=0.05)
    model = LeadersKernelKMeans(10, kernel=kernel, threshold=0.7, init=start).fit(X)
    found, followed = leaders(X, kernel, 0.7)
    assert model.leader_indices_.tolist() == found
    weights = np.bincount(followed)
    np.testing.assert_array_equal(model.leader_weights_, weights)
    expected, _ = exact_kernel_k_means(
        kernel(X[found]), start[found], 10, weights.astype(float)
    )
    np.testing.assert_array_equal(model.labels_, expected[followed])
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(X[found], model.leaders_)
    distances = model.transform(X)[np.arange(1797), model.labels_]
    assert model.inertia_ == pytest.approx((distances**2).sum())
    assert model.score(X) == pytest.approx(-model.inertia_)


@pytest.mark.parametrize("wanted", [30, 100, 400])
def test_finds_about_as_many_leaders_as_requested(wanted, digits):
    model = LeadersKernelKMeans(10, n_leaders=wanted, random_state=0).fit(digits[0])
    assert wanted / 1.25 <= len(model.leader_indices_) <= 1.25 * wanted
    same = LeadersKernelKMeans(10, threshold=model.threshold_, random_state=0)
    np.testing.assert_array_equal(
        same.fit(digits[0]).leader_indices_, model.leader_indices_
    )


def test_the_search_for_a_threshold_uses_a_larger_sample_if_necessary(rng):
    """For uniform points in 20 dimensions, a larger sample has more leaders."""
    X = rng.random((5000, 20))
    model = LeadersKernelKMeans(3, n_leaders=40, gamma=0.5, random_state=0).fit(X)
    assert 30 <= len(model.leader_indices_) <= 50


def test_all_rows_as_leaders_give_exact_kernel_k_means(digits):
    X = digits[0][:400]
    start = np.arange(400) % 5
    model = LeadersKernelKMeans(5, n_leaders=400, init=start).fit(X)
    exact = KernelKMeans(5, init=start).fit(X)
    np.testing.assert_array_equal(model.labels_, exact.labels_)
    assert model.inertia_ == pytest.approx(exact.inertia_)


def test_new_rows_far_from_all_leaders_follow_the_nearest():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    model = LeadersKernelKMeans(2, kernel="linear", threshold=0.1, random_state=0)
    model.fit(X)
    np.testing.assert_array_equal(
        model.predict([[-5.0], [30.0]]), model.labels_[[0, 3]]
    )


def test_invalid_thresholds_are_refused(digits):
    X = digits[0]
    for threshold in (-1.0, np.nan, np.inf, "small", None):
        with pytest.raises(ValueError, match="The 'threshold' parameter of"):
            LeadersKernelKMeans(3, threshold=threshold).fit(X)
    with pytest.raises(ValueError, match="The 'n_leaders' parameter of"):
        LeadersKernelKMeans(3, n_leaders=0).fit(X)
    with pytest.raises(ValueError, match="gives 1 leaders, fewer than n_clusters=3"):
        LeadersKernelKMeans(3, threshold=1e3).fit(X)


def test_kernels_that_are_not_positive_definite_are_accepted(digits):
    """k(x, x) is zero for all rows, but distances between rows are not zero."""
    model = LeadersKernelKMeans(
        10, kernel="additive_chi2", n_leaders=60, random_state=0
    )
    with pytest.warns(UserWarning, match="far from positive definite"):
        model.fit(digits[0])
    assert 50 <= len(model.leader_indices_) <= 72


def test_all_rows_can_be_leaders_with_an_indefinite_kernel(rng):
    X = rng.normal(size=(150, 4))
    model = LeadersKernelKMeans(3, kernel="sigmoid", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert (model.leader_weights_ == 1).all()


def test_equidistant_rows_are_all_leaders_or_refused():
    few = LeadersKernelKMeans(3, kernel="precomputed", n_leaders=50, random_state=0)
    assert len(few.fit(np.eye(600)).leader_indices_) == 600
    with pytest.raises(ValueError, match="No threshold gives about 50 leaders"):
        few.fit(np.eye(1500))


def test_warns_if_there_are_fewer_distinct_rows_than_clusters():
    X = np.repeat(np.eye(5), 100, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(5\) found"):
        model = LeadersKernelKMeans(8, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_sparse_rows_give_the_same_labels_as_dense_rows(digits):
    X = sparse.csr_array(digits[0])
    model = LeadersKernelKMeans(10, n_leaders=100, random_state=0).fit(X)
    dense = LeadersKernelKMeans(10, n_leaders=100, random_state=0).fit(digits[0])
    np.testing.assert_array_equal(model.labels_, dense.labels_)
