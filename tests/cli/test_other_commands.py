"""`akkm info`, `compare`, `demo`, `--help` and `--version`."""

import os
import re
import shutil

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import akkm
from akkm.cli._app import app
from akkm.cli._progress import iterations_left
from akkm.metrics import adjusted_rand_index, nmi
from tests.cli.commands import cluster_iris, output_of, run


def test_a_model_card_says_how_the_model_was_made_and_used(here):
    model, _ = cluster_iris()
    assert "card.md" in output_of("info", "m.skops", "--card", "card.md")
    text = (here / "card.md").read_text()
    for line in (
        "# Clusters by ApproxKernelKMeans",
        'model = akkm.load_model("m.skops")',
        "* Rows: 150",
        "colour: text, 3 values one-hot encoded",
        " n_clusters ",
    ):
        assert line in text, line
    table = re.findall(r"\|\s+(\d)\s+\|\s+(\d+)\s+\|\s+[\d.]+%\s+\|", text)
    assert [int(rows) for _, rows in table] == model.about["sizes"]
    for name, value in model.about["scores"].items():
        assert re.search(rf"\| +{name} +\| +{str(value)[:6]}", text), name
    assert "ends in .md" in run("info", "m.skops", "--card", "card.txt").stderr


def test_info_describes_the_model(here):
    cluster_iris()
    out = output_of("info", "m.skops")
    for text in (
        f"m.skops, written by akkm {akkm.__version__}",
        "akkm cluster iris.csv -k 3 --id name --label species",
        "iris.csv: 150 rows",
        "ApproxKernelKMeans, seed 0",
        "x0, x1, x2, x3: numbers, scaled",
        "colour: text, 3 values one-hot encoded",
        "cluster  rows  share",
    ):
        assert text in out, text


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_compare_accepts_ids_that_look_like_missing_values(kind, here):
    names = pa.array(["NA", "", "None", "Eva"])
    table = pa.table({"id": names, "x": [0.0, 0.1, 5.0, 5.1]})
    parquet.write_table(table, "x.parquet")
    args = ("cluster", "x.parquet", "-k", 2, "--id", "id", "--labels")
    output_of(*args, "a.csv")
    output_of(*args, f"b.{kind}")
    out = output_of("compare", "a.csv", f"b.{kind}")
    assert "rows in both      4, by id" in out
    assert "ARI               1.0000" in out


def test_compare_prints_scores_and_a_contingency_table(here):
    a = pa.table({"row": [0, 1, 2, 3, 4], "cluster": [0, 0, 1, 1, 10]})
    b = pa.table({"row": [5, 4, 3, 2, 1], "cluster": [9, 10, 10, 2, 2]})
    parquet.write_table(a, "a.parquet")
    csv.write_csv(b, "b.csv")
    out = output_of("compare", "a.parquet", "b.csv")
    left, right = [0, 1, 1, 10], [2, 2, 10, 10]
    both, only = "rows in both +4, by row", "1 in the first, 1 in the second"
    assert re.search(rf"{both}\nonly in one file +{only}\n", out)
    assert f"NMI               {nmi(left, right):.4f}" in out
    assert f"ARI               {adjusted_rand_index(left, right):.4f}" in out
    assert re.search(r"\n +2  10\n0 +1   0\n1 +1   1\n10 +0   1\n$", out)


def test_compare_writes_a_page_and_the_moved_rows(here):
    first = [0] * 60 + [1] * 30 + [2] * 10
    second = [5] * 40 + [6] * 20 + [1] * 28 + [2] * 12
    ids = [f"=id{i}" for i in range(100)]
    for name, clusters in (("a.parquet", first), ("b.parquet", second)):
        parquet.write_table(pa.table({"id": ids, "cluster": clusters}), name)
    args = ("compare", "a.parquet", "b.parquet")
    out = output_of(*args, "--report", "c.html", "--moved", "moved.csv")
    assert re.search(r"clusters +2 that lost or gained rows, 1 split\n", out)
    assert re.search(r"rows moved +2\n", out)
    assert re.search(r"written +c\.html\n +moved\.csv\n", out)
    page = " ".join((here / "c.html").read_text(encoding="utf-8").split())
    assert "Cluster 0 (60 rows) split: 40 rows are now in cluster 5, 20 in 6." in page
    assert "a.parquet compared with b.parquet" in page
    assert (here / "moved.csv").read_text().splitlines() == [
        "id,first,second", '"\'=id88",1,2', '"\'=id89",1,2',
    ]  # fmt: skip


@pytest.mark.parametrize("option", ["--report", "--moved"])
def test_compare_writes_nothing_if_it_fails(option, here):
    parquet.write_table(pa.table({"id": [1], "cluster": [0]}), "a.parquet")
    parquet.write_table(pa.table({"row": [1], "cluster": [0]}), "b.parquet")
    name = "x.html" if option == "--report" else "x.csv"
    result = run("compare", "a.parquet", "b.parquet", option, name)
    assert result.exit_code == 2
    assert not (here / name).exists()
    result = run("compare", "a.parquet", "b.parquet", "--moved", "b.parquet")
    assert "are the same file" in result.stderr


def test_compare_matches_rows_by_id(here):
    cluster_iris()
    shutil.move("out.parquet", "first.parquet")
    cluster_iris("--seed", "1")
    args = ("--id", "name", "--drop", "species", "--labels", "third.csv")
    output_of("cluster", "iris.csv", "-k", 2, *args)
    assert "by name" in output_of("compare", "first.parquet", "out.parquet")
    out = output_of("compare", "third.csv", "first.parquet")
    assert re.search(r"in both +150, by name", out)


def test_demo_writes_a_picture_and_a_report(here):
    out = output_of("demo", "--rows", 2000)
    assert (here / "akkm-demo.png").stat().st_size > 10_000
    page = (here / "akkm-demo.html").read_text(encoding="utf-8")
    assert "A disc in a ring" in page
    assert "Spread per cluster" in page  # the means are equal, so spreads are shown
    assert str(here / "akkm-demo.html") in out
    page = (here / "akkm-demo-customers.html").read_text(encoding="utf-8")
    assert page.count('<article class="cluster"') == 5
    spend = re.search(r">yearly spend</span> <strong>\$(1[78],\d+)", page)
    assert spend is not None  # the planted value is 17,400
    assert "very high yearly spend" in out
    assert re.search(r"akkm +1\.000", out)


def test_demo_without_matplotlib_writes_only_the_report(here, monkeypatch):
    monkeypatch.setattr("akkm.cli._demo.find_spec", lambda name: None)
    out = output_of("demo", "--rows", 2000)
    assert "picture  none; drawing needs matplotlib: pip install '.[plot]'" in out
    assert sorted(os.listdir()) == [
        "akkm-demo-customers.html", "akkm-demo.html", "iris.csv",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["", *sorted(app.commands)])
def test_help_has_an_example(name):
    out = output_of(*filter(None, [name, "--help"]))
    assert re.search(rf"Examples?:\n +akkm {name}", out)


def test_version_is_printed():
    assert output_of("--version") == f"akkm {akkm.__version__}\n"


def test_iterations_left_extrapolates_a_decreasing_series():
    assert iterations_left([1000, 100]) is None
    assert iterations_left([1000, 100, 10]) == pytest.approx(2)
    assert iterations_left([1000, 100, 0]) is None
    assert iterations_left([10, 100, 10]) is None
