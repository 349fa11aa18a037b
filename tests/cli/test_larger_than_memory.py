"""Data larger than --memory get the same clusters as if they were in memory."""

import gzip
import re

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv, parquet

from akkm.cli._app import app

ROWS = 6_000
CLUSTER = ("-k", 4, "--landmarks", 60, "--id", "key", "--label", "kind")
MEASURES = ("distance", "margin")


def run(*args, **options):
    return CliRunner().invoke(app, [str(arg) for arg in args], **options)


def succeed(*args, **options):
    result = run(*args, **options)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def table():
    """Table with an id, four numbers, a category and a group in each row."""
    rng = np.random.default_rng(0)
    kind = rng.integers(4, size=ROWS)
    columns = {f"x{j}": rng.normal(kind * (j + 1), 1.0) for j in range(4)}
    columns["color"] = np.array(["red", "green", "blue", "gray"])[
        np.where(rng.random(ROWS) < 0.2, rng.integers(4, size=ROWS), kind)
    ]
    return pa.table({"key": 7 * np.arange(ROWS), **columns, "kind": kind})


@pytest.fixture(scope="module")
def files(table, tmp_path_factory):
    """Folder with the table in three formats; values are missing in gaps.parquet."""
    folder = tmp_path_factory.mktemp("files")
    csv.write_csv(table, folder / "x.csv")
    (folder / "x.csv.gz").write_bytes(gzip.compress((folder / "x.csv").read_bytes()))
    (folder / "parts").mkdir()
    for i in range(3):
        part = table.slice(2_000 * i, 2_000)
        path = folder / "parts" / f"{i}.parquet"
        parquet.write_table(part, path, row_group_size=500)
    gaps = pa.array(table["x1"].to_numpy(), mask=np.arange(ROWS) % 9 == 0)
    parquet.write_table(
        table.set_column(2, "x1", gaps), folder / "gaps.parquet", row_group_size=800
    )
    return folder


@pytest.fixture(scope="module")
def expected(files):
    """Printed summary, labels and model path of a fit in memory."""
    labels, model = files / "expected.parquet", files / "expected.skops"
    out = succeed(
        "cluster", files / "parts", *CLUSTER, "--labels", labels, "--model", model
    )
    assert "on disk" not in out
    return out, parquet.read_table(labels), model


def assert_same_labels(found, expected):
    assert found.schema == expected.schema
    for name in expected.column_names:
        if name in MEASURES:  # their rounding depends on the batch size
            ours, theirs = (t[name].to_numpy() for t in (found, expected))
            np.testing.assert_allclose(ours, theirs, atol=1e-5)
        else:
            assert found[name].to_pylist() == expected[name].to_pylist()


@pytest.mark.parametrize("name", ["parts", "x.csv", "x.csv.gz"])
def test_rows_on_disk_get_the_same_labels_as_in_memory(name, files, expected, tmp_path):
    labels = tmp_path / "labels.parquet"
    out = succeed("cluster", files / name, *CLUSTER, "--labels", labels, "--memory", 0)
    assert_same_labels(parquet.read_table(labels), expected[1])
    assert re.search(r"rows stay on disk: encoded, they need 0.19 MB, more than", out)
    scores = re.compile("scores .*")
    assert scores.search(out)[0] == scores.search(expected[0])[0]


def test_standard_input_gets_the_same_clusters_as_in_memory(files, expected, tmp_path):
    labels = tmp_path / "labels.parquet"
    args = ("cluster", "-", *CLUSTER, "--labels", labels, "--memory", 0)
    succeed(*args, input=(files / "x.csv").read_bytes())
    assert_same_labels(parquet.read_table(labels), expected[1])


@pytest.mark.parametrize("missing", ["drop", "mean"])
def test_missing_values_are_treated_as_in_memory(missing, files, tmp_path):
    found = []
    for memory in (0, 1024):
        labels = tmp_path / f"{memory}.parquet"
        succeed(
            *("cluster", files / "gaps.parquet", "-k", 4, "--landmarks", 60),
            *("--missing", missing, "--memory", memory, "--labels", labels),
        )
        found.append(parquet.read_table(labels))
    assert_same_labels(*found)
    assert found[0]["row"][0].as_py() == (missing == "drop")


def test_predict_on_disk_gives_the_same_labels_as_in_memory(files, expected, tmp_path):
    labels, report = tmp_path / "labels.parquet", tmp_path / "report.html"
    succeed(
        *("predict", expected[2], files / "x.csv", "--labels", labels),
        *("--report", report, "--memory", 0),
    )
    assert_same_labels(parquet.read_table(labels), expected[1])
    assert "random sample" not in report.read_text()  # all rows are described


def test_a_report_of_a_sample_says_so(files, tmp_path, monkeypatch):
    monkeypatch.setattr("akkm.cli._work._REPORTED", 500)
    report = tmp_path / "report.html"
    succeed("cluster", files / "parts", *CLUSTER, "--report", report, "--memory", 0)
    page = report.read_text()
    assert "this page describes a random sample of 500 of 6,000 rows" in page
    assert "new rows" not in page.lower()
    assert "Clustering error of the fit" in page


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--method", "exact"], "--method exact"),
        (["--method", "sparse"], "--method sparse"),
        (["--ensemble", 3], "--ensemble 3"),
    ],
)
def test_methods_that_need_all_rows_in_memory_say_so(options, name, files):
    result = run("cluster", files / "parts", "-k", 4, *options, "--memory", 0.1)
    assert result.exit_code == 2
    assert result.stderr.startswith(
        f"akkm: error: {name} needs all rows in memory: 6,000 rows x 9 features x 4 "
        "bytes = 0.22 MB, but --memory allows 0.1 MB. Allow more (--memory 1), cluster "
        "a random sample (--sample N), or use --method approx"
    )


def test_a_folder_is_named_without_its_slash(files):
    out = succeed("cluster", f"{files / 'parts'}/", "-k", 4, "--landmarks", 40)
    assert "data        parts\n" in out


class TestSample:
    @pytest.mark.parametrize("memory", [0, 1024])
    @pytest.mark.parametrize("method", ["approx", "exact", "leaders"])
    def test_all_rows_are_assigned(self, method, memory, files, tmp_path):
        labels, report = tmp_path / "labels.parquet", tmp_path / "report.html"
        out = succeed(
            *("cluster", files / "parts", "-k", 4, "--id", "key", "--label", "kind"),
            *("--method", method, "--sample", 400, "--memory", memory),
            *("--labels", labels, "--report", report),
        )
        assert "400 random rows; the others were assigned" in out
        assert parquet.read_table(labels).num_rows == ROWS
        assert float(re.search(r"ARI ([\d.]+)", out)[1]) > 0.8
        assert "6,000" in report.read_text()

    def test_predict_with_a_sampled_model_gives_the_same_labels(self, files, tmp_path):
        model, labels = tmp_path / "m.skops", tmp_path / "sample.parquet"
        again = tmp_path / "again.parquet"
        args = ("--sample", 400, "--labels", labels, "--model", model)
        succeed("cluster", files / "x.csv", *CLUSTER, *args)
        succeed("predict", model, files / "x.csv", "--labels", again)
        assert_same_labels(parquet.read_table(again), parquet.read_table(labels))

    def test_a_sample_larger_than_the_table_uses_all_rows(self, files, expected):
        out = succeed("cluster", files / "parts", *CLUSTER, "--sample", 10**6)
        times = re.compile("time .*|written.*|Nothing was.*", re.DOTALL)
        sizes = re.compile(r"cluster +rows +share\n(.*\d%)", re.DOTALL)
        assert sizes.search(out)[1] == sizes.search(expected[0])[1]
        assert times.sub("", out) == times.sub("", expected[0])

    def test_a_sample_smaller_than_k_is_refused(self, files):
        result = run("cluster", files / "parts", "-k", 4, "--sample", 3)
        assert "-k 4 with 3 rows" in result.stderr
