"""The page that compares two fits."""

import re

import numpy as np
import pytest

from akkm.report import report_changes
from report.page_parts import HOSTILE, Outline, picture_data, section_ids, text_of


def labels(*counts):
    """Return the labels of both fits from triples (first, second, number of rows)."""
    first, second, n = np.array(counts).T
    return np.repeat(first, n), np.repeat(second, n)


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        (
            [(0, 7, 30), (1, 1, 9)],
            "Cluster 0 (30 rows) has the same rows, and is now called 7.",
        ),
        (
            [(0, 0, 6), (0, 1, 4), (1, 2, 5)],
            "Cluster 0 (10 rows) split: 6 rows are now in cluster 0, 4 in 1.",
        ),
        (
            [(0, 5, 60), (1, 5, 40)],
            "Cluster 0 (60 rows) merged with cluster 1 into cluster 5.",
        ),
        ([(0, 0, 9), (0, 1, 1), (1, 1, 9)], "Cluster 0 (10 rows) lost 1 row."),
        ([(0, 0, 9), (0, 1, 1), (1, 1, 9)], "Cluster 1 (9 rows) got 1 row."),
        (
            [(0, 0, 9), (1, 1, 9), (2, 0, 2), (2, 1, 2)],
            "Cluster 2 (4 rows) dissolved: 2 rows are now in cluster 0, 2 in 1.",
        ),
        (
            [(0, 0, 9), (1, 1, 9), (0, 9, 2), (1, 9, 2)],
            "Cluster 9 (4 rows) is new. Its rows come from clusters 0 and 1.",
        ),
    ],
)  # fmt: skip
def test_every_change_is_described_by_a_sentence(counts, sentence):
    assert f"<li>{sentence}</li>" in text_of(report_changes(*labels(*counts)))


def test_the_rows_that_moved_are_listed():
    first, second = labels((0, 0, 9), (0, 1, 1), (1, 1, 9))
    page = report_changes(first, second, ids=[f"id{i}" for i in range(19)])
    text = text_of(page)
    assert (
        "<strong>95 %</strong> of the 19 rows stayed with their cluster; 1 row moved"
        in text
    )
    assert re.search(r'class="name">id9</span></th> ?<td>0</td> ?<td>1</td>', text)
    assert "id8<" not in text
    assert section_ids(page) == ["changes", "flow", "moved", "agreement"]
    assert picture_data(page)["flow"]["links"] == [
        [0, 0, 9, False], [0, 1, 1, True], [1, 1, 9, False],
    ]  # fmt: skip


def test_equal_fits_have_no_moved_rows():
    page = report_changes(*labels((0, 3, 9), (1, 2, 9)))
    assert section_ids(page) == ["changes", "flow", "agreement"]
    assert "100 %</strong> of the 18 rows stayed" in text_of(page)


def test_a_page_about_many_clusters_has_no_picture(rng):
    first, second = rng.integers(90, size=3000), rng.integers(80, size=3000)
    page = report_changes(first, second)
    assert "flow" not in section_ids(page)
    assert "The first 1,000 of these rows" in text_of(page)


def test_hostile_names_are_escaped():
    first = np.array([HOSTILE, "b", "b"])
    page = report_changes(
        first, first[::-1], ids=[HOSTILE] * 3, names=[HOSTILE, HOSTILE], title=HOSTILE
    )
    outline = Outline(page.html)
    assert not outline.open
    assert [kind for kind, _ in outline.tags].count("script") == 2
    assert max(np.diff(outline.levels)) <= 1


def test_ids_need_one_entry_per_row():
    with pytest.raises(ValueError, match="ids has 1 entries, but there are 3 rows"):
        report_changes([0, 0, 1], [0, 1, 1], ids=["a"])
