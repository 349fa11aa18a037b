"""Results of checks, warnings and advice on the page."""

import re
import warnings

import numpy as np
import pytest

from akkm import ApproxKernelKMeans, EnsembleKernelKMeans, SparseKernelKMeans
from akkm.report import report
from report.page_parts import text_of


def warnings_of(page):
    """Return the warning box at the top of the page, or an empty string."""
    found = re.search(r'<div class="warnings".*?</div>', text_of(page))
    return found[0] if found else ""


def test_a_clear_result_has_no_warnings(model, blobs):
    page = report(model, blobs[0])
    assert "10 checks: 10 fine." in text_of(page)
    assert warnings_of(page) == ""
    assert page.html.count('class="fine"') == 10


def test_the_table_shows_the_result_of_each_check(model, blobs):
    table = re.search(
        r'<table class="checks">.*?</table>', text_of(report(model, blobs[0]))
    )
    cell = r'<span class="name">([^<]*)</span></th> ?<td>([^<]*)</td>'
    assert re.findall(cell, table[0]) == [
        ("Fit converged", "within 2 iterations"),
        ("Clusters found", "3 of 3"),
        ("Rows per cluster, on average", "280"),
        ("Largest cluster", "60 % of the rows"),
        ("Smallest cluster", "40 rows"),
        ("Widest column", "column 0: 46 % of the variance"),
        (
            "Similarity of rows (1: equal)",
            "0.59 typically, 0.99 to the nearest compared row",
        ),
        ("Share covered by the landmarks", "&gt; 99.9 %"),
        ("Rows near a border between clusters", "0.83 %"),
        ("Shown by the map", "71 % of the variance"),
    ]


@pytest.mark.filterwarnings("ignore:The kernel can.t resolve the data")
def test_doubts_are_at_the_top_of_the_page(wine):
    """The kernel is so narrow that each row is similar only to itself."""
    page = report(ApproxKernelKMeans(3, gamma=100.0, random_state=0).fit(wine), wine)
    found = warnings_of(page)
    assert "Read this first" in found
    assert re.search(r"one cluster: cluster \d has 99 % of them", found)
    assert "2 of 3 clusters have a single row: outliers, not groups" in found
    assert "The kernel is too narrow" in found
    assert (
        "Use a smaller gamma, such as gamma=&#39;median&#39;, or the default." in found
    )
    assert page.html.count('class="doubt"') == 3
    assert "do not judge clusters by it" in text_of(page)


def test_results_to_look_at_closer_are_listed_above_the_table(digits):
    X, _ = digits
    fitted = ApproxKernelKMeans(10, n_landmarks=60, random_state=0).fit(X)
    page = report(fitted, X)
    assert "<li>The landmarks span only 7" in page.html
    assert "and see whether the clusters change." in text_of(page)
    assert page.html.count('class="look"') == 2


def tiny_cluster(rng):
    middle = np.repeat([[0.0, 0.0], [9, 0], [0, 9], [9, 9]], 1000, axis=0)
    X = np.vstack([rng.normal(size=(4000, 2)) + middle, [[60.0, 60.0]] * 2])
    start = np.repeat([0, 1, 2, 3, 4], [1000, 1000, 1000, 1000, 2])
    return ApproxKernelKMeans(5, kernel="linear", init=start), X


def few_landmarks(rng):
    return ApproxKernelKMeans(8, n_landmarks=32, random_state=0), rng.normal(
        size=(2000, 50)
    )


def disagreement(rng):
    return EnsembleKernelKMeans(8, n_landmarks=32, random_state=0), rng.normal(
        size=(1000, 50)
    )


def wide_column(rng):
    X = rng.normal(size=(200, 3)) * [1, 1, 60]
    return ApproxKernelKMeans(3, random_state=0), X


def not_positive_definite(rng):
    def odd(X, Y):
        return np.cos(3 * (X @ Y.T)) - 0.5

    return ApproxKernelKMeans(3, kernel=odd, random_state=0), rng.normal(size=(300, 4))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (tiny_cluster, "Cluster 4 has less than 0.10 % of the rows: perhaps outliers"),
        (few_landmarks, "Borders run through dense regions: "),
        (few_landmarks, "a wider kernel (smaller gamma)."),
        (disagreement, "of the rows, fewer than 60 % of the members agree"),
        (wide_column, "One column dominates the others: column 2 has 99.9 % of the"),
        (not_positive_definite, "The kernel is far from positive definite: "),
        (
            lambda rng: (ApproxKernelKMeans(60, random_state=0), rng.random((90, 2))),
            "Each cluster has only 1.5 rows on average",
        ),
        (
            lambda rng: (
                ApproxKernelKMeans(3, random_state=0),
                np.repeat([[0.0], [5.0]], 10, axis=0),
            ),
            "Fewer clusters than requested: 2 instead of 3.",
        ),
        (
            lambda rng: (
                ApproxKernelKMeans(3, gamma=1e-9, random_state=0),
                rng.random((90, 2)),
            ),
            "The kernel is too wide: nearly all rows are equally similar",
        ),
        (
            lambda rng: (
                ApproxKernelKMeans(
                    5, init=rng.integers(5, size=500), max_iter=2, random_state=0
                ),
                rng.random((500, 2)),
            ),
            "Not converged: the run stopped at max_iter = 2 while",
        ),
        (
            lambda rng: (
                EnsembleKernelKMeans(
                    5, init=rng.integers(5, size=500), max_iter=2, random_state=0
                ),
                rng.random((500, 2)),
            ),
            "Not converged: 10 of 10 runs stopped at max_iter = 2 while",
        ),
        (
            lambda rng: (
                SparseKernelKMeans("auto", random_state=0),
                rng.random((800, 2)),
            ),
            "The estimate of 4 clusters is unsure: ",
        ),
    ],
)
def test_every_problem_is_described_with_advice(make, text, rng):
    estimator, X = make(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X)
    assert text in text_of(report(estimator, X))
