"""Checks find problems of a fit and grade them."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from akkm import (
    ApproxKernelKMeans,
    EnsembleKernelKMeans,
    KernelKMeans,
    NystroemSpectralClustering,
    SparseKernelKMeans,
)
from akkm.inspect import Inspection

# Names of all checks of a model with landmarks, in the order of `Inspection.checks`.
NAMES = [
    "converged",
    "clusters_found",
    "rows_per_cluster",
    "largest_cluster",
    "smallest_cluster",
    "widest_column",
    "kernel_width",
    "landmark_coverage",
    "certainty",
    "map",
]


def graded(fitted, X, grade="doubt"):
    """Return the values of all checks with the given grade, by check name."""
    checks = Inspection(fitted, X).checks
    return {check.name: check.values for check in checks if check.grade == grade}


def test_a_clear_result_passes_all_checks(model, blobs):
    assert list(graded(model, blobs[0], "fine")) == NAMES


def test_cluster_sizes_of_new_rows_are_not_checked(model, blobs):
    facts = Inspection(model, blobs[0][:9], new_rows=True)
    assert [check.name for check in facts.checks] == [
        "converged", "widest_column", "landmark_coverage", "certainty", "map"
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore:The kernel can.t resolve the data")
def test_a_kernel_that_isolates_every_row_is_doubted(wine):
    fitted = ApproxKernelKMeans(3, gamma=100.0, random_state=0).fit(wine)
    doubts = graded(fitted, wine)
    assert doubts["largest_cluster"]["share"] > 0.9
    assert doubts["smallest_cluster"]["n_single"] == 2
    assert doubts["kernel_width"]["too_narrow"]
    assert graded(fitted, wine, "look closer")["map"]["share"] < 0.1


@pytest.mark.parametrize("estimator", [KernelKMeans, NystroemSpectralClustering])
@pytest.mark.parametrize(("gamma", "narrow"), [(100.0, True), (1e-6, False)])
@pytest.mark.filterwarnings("ignore")
def test_too_narrow_and_too_wide_kernels_are_doubted(estimator, gamma, narrow, wine):
    fitted = estimator(3, gamma=gamma, random_state=0).fit(wine)
    assert graded(fitted, wine)["kernel_width"]["too_narrow"] == narrow


@pytest.mark.parametrize("estimator", [KernelKMeans, NystroemSpectralClustering])
def test_the_default_width_is_fine(estimator, wine):
    fitted = estimator(3, random_state=0).fit(wine)
    assert "kernel_width" in graded(fitted, wine, "fine")


def test_too_few_rows_per_cluster_are_doubted(wine):
    fitted = ApproxKernelKMeans(100, random_state=0).fit(wine)
    assert graded(fitted, wine)["rows_per_cluster"]["mean"] == 1.78


def test_a_column_that_dominates_the_others_is_doubted(wine):
    X = wine * np.array([1.0] * 12 + [60.0])
    fitted = ApproxKernelKMeans(3, random_state=0).fit(X)
    assert graded(fitted, X)["widest_column"]["column"] == "column 12"


def test_moderate_certainty_and_coverage_ask_for_a_closer_look(digits):
    X, _ = digits
    fitted = ApproxKernelKMeans(10, n_landmarks=60, random_state=0).fit(X)
    assert graded(fitted, X) == {}
    closer = graded(fitted, X, "look closer")
    assert 0.1 < closer["certainty"]["uncertain"] <= 1 / 3
    assert 0.5 <= closer["landmark_coverage"]["share"] < 0.8


@pytest.mark.parametrize("estimator", [ApproxKernelKMeans, EnsembleKernelKMeans])
def test_a_fit_that_did_not_converge_is_doubted(estimator, digits, rng):
    X, start = digits[0], rng.integers(10, size=1797)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = estimator(10, init=start, max_iter=2, random_state=0).fit(X)
    found = graded(fitted, X)["converged"]
    assert found["n_stopped"] > 0
    assert (found["n_iter"], found["max_iter"]) == (2, 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fewer_clusters_than_requested_are_doubted():
    X = np.repeat([[0.0], [5.0]], 10, axis=0)
    fitted = ApproxKernelKMeans(3, random_state=0).fit(X)
    assert graded(fitted, X)["clusters_found"] == {"found": 2, "requested": 3}


@pytest.mark.filterwarnings("ignore")
def test_a_kernel_that_is_not_positive_definite_is_doubted(blobs):
    def odd(X, Y):
        return np.cos(3 * (X @ Y.T)) - 0.5

    X = blobs[0]
    fitted = ApproxKernelKMeans(3, kernel=odd, random_state=0).fit(X)
    assert graded(fitted, X)["negative_eigenvalues"]["share"] > 0.1


def test_low_certainty_and_low_coverage_are_doubted(rng):
    X = rng.normal(size=(2000, 50))
    fitted = ApproxKernelKMeans(8, n_landmarks=32, random_state=0).fit(X)
    doubts = graded(fitted, X)
    assert doubts["certainty"]["uncertain"] > 1 / 3
    assert doubts["landmark_coverage"]["share"] < 0.5


def test_a_tiny_cluster_asks_for_a_closer_look(rng):
    middle = np.repeat([[0.0, 0.0], [9, 0], [0, 9], [9, 9]], 1000, axis=0)
    X = np.vstack([rng.normal(size=(4000, 2)) + middle, [[60.0, 60.0]] * 2])
    start = np.repeat([0, 1, 2, 3, 4], [1000, 1000, 1000, 1000, 2])
    fitted = ApproxKernelKMeans(5, kernel="linear", init=start).fit(X)
    assert graded(fitted, X, "look closer")["smallest_cluster"]["tiny"] == [4]


def test_members_that_disagree_are_doubted(rng):
    X = rng.normal(size=(1000, 50))
    fitted = EnsembleKernelKMeans(8, n_landmarks=32, random_state=0).fit(X)
    assert graded(fitted, X)["certainty"]["from_votes"]


def test_an_estimated_number_of_clusters_is_checked(rng):
    X, _ = make_blobs([300, 300, 240], 4, random_state=1)
    sure = SparseKernelKMeans("auto", random_state=0).fit(X)
    assert graded(sure, X, "fine")["estimated_clusters"]["n_clusters"] == 3
    X = rng.random((800, 2))
    with pytest.warns(UserWarning, match="is unsure"):
        unsure = SparseKernelKMeans("auto", random_state=0).fit(X)
    assert not graded(unsure, X)["estimated_clusters"]["sure"]
