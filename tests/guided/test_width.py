"""gamma="known": the kernel width that separates known rows best."""

import numpy as np
import pytest
from sklearn.datasets import make_circles

from akkm import ApproxKernelKMeans, KernelKMeans
from akkm.guided.width import share_nearest_to_own_class


def test_the_share_of_rows_near_their_class_equals_that_of_a_loop():
    rng = np.random.default_rng(0)
    X, classes = rng.normal(size=(30, 2)), rng.integers(0, 3, 30)
    classes[0] = 4  # a class of one row, and a class without rows
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    right = []
    for i in np.flatnonzero(classes != 4):
        squared = {}
        for c in np.unique(classes):
            own = np.flatnonzero((classes == c) & (np.arange(30) != i))
            squared[c] = K[np.ix_(own, own)].mean() - 2 * K[i, own].mean()
        right.append(min(squared, key=squared.get) == classes[i])
    assert share_nearest_to_own_class(K, classes) == pytest.approx(np.mean(right))


@pytest.mark.parametrize("Estimator", [ApproxKernelKMeans, KernelKMeans])
def test_the_width_follows_the_known_rows(Estimator):
    X, y = make_circles(400, factor=0.4, noise=0.05, random_state=0)
    X = 30 * X  # at this scale, a kernel with gamma = 1 can't resolve the rings
    known = {i: int(y[i]) for i in range(40)}
    model = Estimator(2, gamma="known", random_state=0).fit(X, known=known)
    assert model.gamma == "known"
    assert (np.array(model.label_names_)[model.labels_] == y).mean() > 0.99


@pytest.mark.parametrize(
    ("options", "known", "message"),
    [
        ({}, None, "gamma='known' needs known classes; pass known="),
        ({}, {0: "a", 1: "b"}, "got 2 known rows; expected at least two rows"),
        ({"kernel": "cosine"}, {0: "a", 1: "b"}, "needs a kernel with a width"),
    ],
)
def test_a_width_that_can_not_be_chosen_is_refused(options, known, message):
    model = ApproxKernelKMeans(2, gamma="known", **options)
    with pytest.raises(ValueError, match=message):
        model.fit(np.arange(9.0)[:, None], known=known)
    assert model.gamma == "known"
