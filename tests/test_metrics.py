"""Clustering error, NMI and ARI, compared with their definitions."""

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from akkm import metrics
from akkm.kernels import RBF


def test_clustering_error_is_the_sum_of_squared_distances_to_the_means(digits, rng):
    X, labels = digits[0], rng.integers(5, size=1797)
    means = np.array([X[labels == k].mean(axis=0) for k in range(5)])
    expected = ((X - means[labels]) ** 2).sum()
    assert metrics.clustering_error(X, labels, "linear") == pytest.approx(expected)


def test_clustering_error_accepts_any_kernel_and_weights(digits, rng):
    X = digits[0][:300]
    names = np.array(["a", "b", "c"])[rng.integers(3, size=300)]
    w = rng.random(300)
    K = RBF(gamma=0.1)(X)
    expected = (w * K.diagonal()).sum()
    for name in "abc":
        u = w * (names == name)
        expected -= u @ K @ u / u.sum()
    error = metrics.clustering_error(X, names, gamma=0.1, sample_weight=w)
    assert error == pytest.approx(expected)
    assert metrics.clustering_error(
        K, names, "precomputed", sample_weight=w
    ) == pytest.approx(expected)


def test_clustering_error_equals_the_value_computed_by_hand():
    """The clusters are {0, 2} with mean 1, {10}, and {7} with weight zero."""
    X = np.array([[0.0], [2.0], [10.0], [7.0]])
    labels, w = [4, 4, 9, 1], [1, 1, 1, 0]
    assert metrics.clustering_error(X, labels, "linear", sample_weight=w) == 2.0


def test_error_reduction_is_relative_to_the_first_error():
    assert metrics.error_reduction(10.0, 4.0) == pytest.approx(0.6)
    with pytest.raises(ValueError, match="expected a positive clustering error"):
        metrics.error_reduction(0.0, 0.0)


def test_nmi_equals_equation_7_of_the_paper():
    """Compute by hand the NMI normalised by the geometric mean of the entropies."""
    a, b = [0, 0, 1, 1], [0, 1, 1, 1]
    n = np.array([[1, 1], [0, 2]])
    information = sum(
        n[i, j] / 4 * np.log(4 * n[i, j] / (n[i].sum() * n[:, j].sum()))
        for i in range(2)
        for j in range(2)
        if n[i, j]
    )
    entropies = [
        -(p * np.log(p)).sum() for p in (np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    ]
    assert metrics.nmi(a, b) == pytest.approx(information / np.sqrt(np.prod(entropies)))
    assert metrics.nmi(a, b) != pytest.approx(normalized_mutual_info_score(a, b))


@pytest.mark.parametrize("n_clusters", [1, 7, 300])
def test_nmi_equals_that_of_scikit_learn(rng, n_clusters):
    a, b = rng.integers(n_clusters, size=(2, 300))
    names = np.array([f"cluster {label}" for label in b])
    expected = normalized_mutual_info_score(a, b, average_method="geometric")
    assert metrics.nmi(a, names) == pytest.approx(expected, abs=1e-12)
    assert metrics.nmi(a, a) == pytest.approx(1)


def test_nmi_does_not_depend_on_the_scale_of_the_weights():
    """Rows of weight one half give the same NMI as rows of weight one."""
    counts = np.array([[3.0, 1.0], [0.0, 2.0]])
    expected = metrics.nmi([0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1])
    assert metrics.nmi_from_counts(counts / 2) == pytest.approx(expected)


def test_labelings_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        metrics.nmi([0, 1], [0, 1, 1])


def test_adjusted_rand_index_ignores_cluster_numbers():
    assert metrics.adjusted_rand_index([0, 0, 1, 1], [1, 1, 0, 0]) == 1.0
    assert metrics.adjusted_rand_index([0, 0, 1, 1], [0, 1, 0, 1]) < 0


def test_labels_of_the_wrong_length_are_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        metrics.clustering_error(np.zeros((3, 1)), [0, 1])
