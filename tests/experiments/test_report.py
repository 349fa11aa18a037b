"""The report on the paper's experiments as Markdown and HTML."""

import html.parser
import os
import re
import sys

import pytest

from experiments.paper import Cell, write_report
from experiments.paper.claims import CLAIMS
from experiments.paper.results import Spread
from experiments.paper.store import Store
from experiments.paper.tables import number_of_runs

FIGURES = {f"figure{i}.png" for i in (1, 3, 4, 5, 6)}


class Page(html.parser.HTMLParser):
    """The tags, sources and links of a page."""

    def __init__(self, text):
        super().__init__()
        self.sources, self.tags, self.links = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        self.sources += [found[x] for x in ("src", "srcset") if x in found]
        self.links += [found["href"]] if "href" in found else []


@pytest.fixture(scope="module")
def text(report_folder):
    return (report_folder / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def page(report_folder):
    return (report_folder / "index.html").read_text("utf-8")


def test_table_rows_show_the_number_of_averaged_runs():
    three, ten = Spread(0.5, 0.1, 3), Spread(0.5, 0.1, 10)
    assert number_of_runs([ten, None, ten]) == "10"
    assert number_of_runs([ten, three, None]) == "3 to 10"
    assert number_of_runs([None]) == "–"


def test_all_files_are_written(report_folder):
    assert set(os.listdir(report_folder)) == {"README.md", "index.html", *FIGURES}
    for name in FIGURES:
        assert (report_folder / name).read_bytes().startswith(b"\x89PNG")


def test_a_complete_run_has_every_table_figure_and_claim(text, all_cells):
    n = len(all_cells)
    assert "not run yet" not in text
    assert f"{n} of {n} cells were run, 0 of them failed" in text
    for place in ("Table 2(a)", "Table 2(d)", "Table 3", "Table 4(b)", "Table 5"):
        assert place in text
    assert "left out, as in the paper: too many pairs of rows" in text
    for claim in CLAIMS:
        assert claim.text in text
    for name in FIGURES:
        assert f"]({name})" in text


def test_all_rows_of_a_markdown_table_have_the_same_number_of_cells(text):
    tables = re.findall(r"(?:^\|.*\n)+", text, re.M)
    assert len(tables) > 15
    for table in tables:
        widths = {re.sub(r"\\\|", "", x).count("|") for x in table.splitlines()}
        assert len(widths) == 1, table


def test_the_page_needs_no_other_file(page):
    parsed = Page(page)
    assert "script" not in parsed.tags
    assert "link" not in parsed.tags
    assert len(parsed.sources) == 5
    assert all(source.startswith("data:image/png") for source in parsed.sources)
    assert all(link.startswith("#") for link in parsed.links)
    assert "url(" not in page
    assert "default-src 'none'" in page


def test_the_page_has_as_many_tables_as_the_markdown(text, page):
    parsed = Page(page)
    assert parsed.tags.count("table") == len(re.findall(r"(?:^\|.*\n)+", text, re.M))
    assert len(parsed.links) == text.count("\n## ")


def test_a_partial_report_marks_missing_cells_and_stand_ins(tmp_path):
    cell = Cell("kddcup99-full", "tKKm", 100, 0)
    record = {"title": "KDD Cup 99, stand-in", "stand_in": True}
    record |= {"cell": {**cell.__dict__, "settings": []}, "failed": "no"}
    record |= {"rows": 10, "columns": 2, "processor": "x", "threads": 1}
    Store(tmp_path).add(cell, record | {"versions": {}})
    text = write_report(tmp_path)[0].read_text("utf-8")
    assert re.search(r"1 of 1,\d+ cells were run, 1 of them failed", text)
    assert "not run yet" in text
    assert "failed: no" in text
    assert "0.47 ± 0.14" in text  # published number
    for line in text.splitlines():
        if "KDD Cup 99" in line and "10 % file" not in line:
            assert "stand-in" in line


def test_the_report_needs_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"\.\[plot\]"):
        write_report(tmp_path)
