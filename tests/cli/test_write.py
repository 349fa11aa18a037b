"""`--write` writes the table with clusters; `--checkpoint` resumes a fit."""

import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from akkm import ApproxKernelKMeans, cluster
from akkm.approx.checkpoint import Checkpoint
from customers import customers
from tests.cli.commands import output_of, run

N = 1_500
TEXT = csv.ConvertOptions(column_types={"code": pa.string()}, strings_can_be_null=True)


@pytest.fixture(scope="module")
def table():
    table, _ = customers(N)
    return table.append_column("code", pa.array([f"{i % 7:03}" for i in range(N)]))


@pytest.fixture
def here(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    csv.write_csv(table, "x.csv")
    parquet.write_table(table, "x.parquet", row_group_size=400)
    return tmp_path


def read(path):
    if path.endswith("parquet"):
        return parquet.read_table(path)
    return csv.read_csv(path, convert_options=TEXT)


@pytest.mark.parametrize(
    ("source", "memory"), [("x.csv", 0.01), ("x.parquet", 0.01), ("x.csv", 1024)]
)
def test_reports_list_the_words_of_free_text(source, memory, here):
    output_of("cluster", source, "-k", 5, "--report", "r.html", "--memory", memory)
    page = (here / "r.html").read_text()
    assert page.count('<span class="what">words in comment</span>') == 5
    out = output_of(
        "cluster", source, "-k", 5, "--words", "comment", "--model", "m.skops"
    )
    assert "comment: text, encoded by 63 words (TF-IDF, 20 principal components)" in out
    output_of("predict", "m.skops", source, "--labels", "l.csv", "--memory", memory)


@pytest.fixture(scope="module")
def expected(table):
    return cluster(table, 5, text=["code"])


# For any two of the parameters, each pair of their values occurs once.
@pytest.mark.parametrize(
    ("source", "target", "memory"),
    [
        ("x.csv", "t.csv", 1024),
        ("x.csv", "t.parquet", 0.01),
        ("x.parquet", "t.csv", 0.01),
        ("x.parquet", "t.parquet", 1024),
    ],
)
def test_three_columns_are_added_to_the_table(
    source, target, memory, here, table, expected
):
    files = ("--write", target, "--labels", "l.parquet", "--memory", memory)
    output_of("cluster", source, "-k", 5, "--text", "code", *files)
    written, given = read(target), read(source)
    assert written.column_names[:-3] == table.column_names
    for name in table.column_names:
        ours, theirs = (t[name].cast(pa.string()).to_pylist() for t in (written, given))
        # Arrow reads times from CSV files with nine decimals; compare without them.
        ours, theirs = (
            [(v or "").partition(".0")[0] for v in c] for c in (ours, theirs)
        )
        assert ours == theirs, name
    labels = parquet.read_table("l.parquet")["cluster"].to_numpy()
    np.testing.assert_array_equal(written["cluster"].to_numpy(), labels)
    np.testing.assert_array_equal(expected.labels, labels)
    np.testing.assert_allclose(written["certainty"], expected.certainty, atol=1e-6)
    names = np.array(expected.names)[labels].tolist()
    assert written["cluster_name"].to_pylist() == names


def test_rows_that_are_left_out_have_no_cluster(here, table):
    output_of("cluster", "x.csv", "-k", 3, "--missing", "drop", "--write", "t.parquet")
    written = parquet.read_table("t.parquet")
    gaps = pa.compute.is_null(table["income"]).to_numpy()
    none = pa.compute.is_null(written["cluster"]).to_numpy()
    assert none[gaps].all()
    assert 0 < none.sum() < N
    assert (pa.compute.is_null(written["cluster_name"]).to_numpy() == none).all()


def test_predict_writes_the_same_clusters_and_names(here, table):
    output_of("cluster", "x.csv", "-k", 4, "--model", "m.skops", "--write", "a.csv")
    args = ("--labels", "l.csv", "--write", "b.csv")
    output_of("predict", "m.skops", "x.csv", *args)
    ours, theirs = read("a.csv"), read("b.csv")
    assert ours["cluster"].equals(theirs["cluster"])
    assert ours["cluster_name"].equals(theirs["cluster_name"])


def test_the_certainty_of_an_ensemble_is_a_share_of_its_members(here):
    options = ("--ensemble", 3, "--write", "t.parquet")
    output_of("cluster", "x.parquet", "-k", 3, *options)
    certainty = parquet.read_table("t.parquet")["certainty"].to_numpy()
    assert set(certainty.round(2)) <= {0.33, 0.67, 1.0}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("x.csv", "--write", "t.xlsx"), "t.xlsx"),
        (("x.csv", "--write", "x.csv"), "x.csv"),
        (("s.svm", "--write", "t.csv"), "sparse table, which has no columns"),
        (("list.parquet", "--drop", "x", "--write", "t.csv"), "write .parquet"),
        (("x.csv", "--checkpoint", "c", "--ensemble", 3), "combined with --ensemble"),
        (("x.csv", "--checkpoint", "c", "--method", "exact"), "--method exact can't"),
        (("x.csv", "--checkpoint", "c", "--sample", 100), "combined with --sample"),
    ],
)
def test_invalid_options_are_refused(args, message, here):
    (here / "s.svm").write_text("1 0:2 2:7\n0 1:1 2:3\n" * 9)
    lists = pa.table({"x": [[1]] * 30, "a": np.arange(30) % 9, "b": np.arange(30) % 4})
    parquet.write_table(lists, "list.parquet")
    before = (here / "x.csv").read_bytes()
    result = run("cluster", *args, "-k", 2)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (here / "t.csv").exists()
    assert (here / "x.csv").read_bytes() == before


def test_an_interrupted_fit_is_resumed(here, monkeypatch):
    args = ("cluster", "x.parquet", "-k", 5, "--labels", "l.parquet")
    output_of(*args)
    expected = parquet.read_table("l.parquet")
    write = Checkpoint.write

    def stop(self, position):
        write(self, position)
        raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "write", stop)
    result = run(*args, "--checkpoint", "state")
    assert result.exit_code == 130
    monkeypatch.undo()
    monkeypatch.chdir(here)
    output_of(*args, "--checkpoint", "state")
    assert parquet.read_table("l.parquet").equals(expected)
    assert (here / "state").is_dir()
    changed = run(*args[:3], 4, "--checkpoint", "state")
    assert changed.exit_code == 2
    assert "state" in changed.stderr
    assert ApproxKernelKMeans().checkpoint is None


@pytest.mark.parametrize("memory", [1024, 0.1])
def test_written_names_equal_those_in_the_report(memory, tmp_path, rng):
    """Many clusters are similar, and names are derived from a sample of the rows."""
    X = rng.normal(size=(22_000, 3)).round(2)
    columns = {name: X[:, j] for j, name in enumerate("abc")}
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    page, table = tmp_path / "x.html", tmp_path / "out.parquet"
    args = ("-k", 20, "--memory", memory, "--report", page, "--write", table)
    output_of("cluster", tmp_path / "x.parquet", *args, "--landmarks", 20)
    shown = re.findall(r'data-name="([^"]*)"', page.read_text(encoding="utf-8"))
    written = parquet.read_table(table)["cluster_name"].unique().to_pylist()
    assert sorted(map(str.lower, shown)) == sorted(map(str.lower, written))
