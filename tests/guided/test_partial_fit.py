"""Known rows in `partial_fit`."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from akkm import ApproxKernelKMeans


@pytest.fixture(scope="module")
def problem():
    return make_blobs(1200, centers=4, cluster_std=2.5, random_state=5)


def create(**parameters):
    return ApproxKernelKMeans(4, gamma=0.05, random_state=0, **parameters)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_known_rows_of_each_batch_get_a_cluster_of_their_class(problem, storage):
    X, y = problem
    model = create()
    for start in range(0, 1200, 300):
        known = {i: f"class {y[start + i]}" for i in range(0, 300, 10)}
        model.partial_fit(storage(X[start : start + 300]), known=known)
        names = [model.label_names_[k] for k in model.labels_]
        assert all(names[i] == name for i, name in known.items())
        assert len(model.violated_["known"]) == 0
    assert sorted(set(model.label_names_)) == [f"class {k}" for k in range(4)]
    names = np.array([model.label_names_[k] for k in model.predict(X)])
    guided = (names == [f"class {k}" for k in y]).mean()
    model.partial_fit(storage(X[:100]))
    later = np.array([model.label_names_[k] for k in model.predict(X)])
    assert guided > 0.6
    assert (later == names).mean() > 0.9


def test_a_single_batch_with_known_rows_gives_nearly_the_labels_of_fit(problem):
    X, y = problem
    known = {i: int(y[i]) for i in range(40)}
    first = create().partial_fit(X, known=known)
    fitted = create().fit(X, known=known)
    names = [np.array(m.label_names_)[m.predict(X)] for m in (first, fitted)]
    assert (names[0] == names[1]).mean() > 0.9


def test_known_rows_of_earlier_batches_are_kept(problem):
    X, y = problem
    model = create().partial_fit(X[:300], known={i: int(y[i]) for i in range(40)})
    model.partial_fit(X[300:600], known={0: int(y[300])})
    assert sorted(model.label_names_) == [0, 1, 2, 3]


def test_known_without_any_class_changes_nothing(problem):
    X, _ = problem
    one = create().partial_fit(X[:600], known=np.full(600, -1)).partial_fit(X[600:])
    two = create().partial_fit(X[:600]).partial_fit(X[600:])
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert not hasattr(one, "label_names_")


def test_known_rows_after_fit_are_refused(problem):
    X, _ = problem
    model = create().fit(X)
    with pytest.raises(ValueError, match="known rows after fit"):
        model.partial_fit(X[:50], known={0: "a"})
    with pytest.raises(ValueError, match="does not exist"):
        create().partial_fit(X[:50], known={50: "a"})
