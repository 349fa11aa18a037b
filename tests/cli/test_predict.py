"""`akkm predict` assigns rows to the clusters of a saved model."""

import html
import re
import shlex

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import akkm
from akkm.tables import open_table
from tests.cli.commands import cluster_iris, output_of, run

METHODS = [
    [],
    ["--method", "exact", "--kernel", "poly", "--degree", "2", "--coef0", "0.5"],
    ["--method", "two-step", "--landmarks", "50", "--sampling", "k-means"],
    ["--method", "spectral", "--gamma", "0.5"],
    ["--method", "leaders", "--landmarks", "40", "--gamma", "median"],
    ["--ensemble", "4", "--landmarks", "20", "--seed", "3"],
]


def test_columns_may_be_in_any_order(here, iris):
    _, labels = cluster_iris()
    csv.write_csv(iris.select(iris.column_names[::-1]), "reversed.csv")
    output_of("predict", "m.skops", "reversed.csv", "--labels", "again.parquet")
    assert parquet.read_table("again.parquet").equals(labels)


def test_id_and_label_may_be_absent(here, iris):
    _, labels = cluster_iris()
    csv.write_csv(iris.drop_columns(["name", "species"]), "bare.csv")
    out = output_of("predict", "m.skops", "bare.csv", "--labels", "again.parquet")
    again = parquet.read_table("again.parquet")
    assert again.column_names[0] == "row"
    assert again["cluster"].equals(labels["cluster"])
    assert "scores" not in out


@pytest.mark.parametrize("method", METHODS, ids=" ".join)
def test_training_rows_keep_their_labels(method, here):
    _, labels = cluster_iris(*method)
    files = ("--labels", "again.parquet", "--report", "r.html")
    out = output_of("predict", "m.skops", "iris.csv", *files)
    assert parquet.read_table("again.parquet").equals(labels)
    assert ("agreement" in labels.column_names) == ("--ensemble" in method)
    assert re.search(r"scores +NMI 0\.\d{4}, ARI 0\.\d{4}\n", out)
    assert "<html" in (here / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("error", None),
        ("drop", None),
        ("mean", None),
        ("error", "drop"),
        ("drop", "mean"),
        ("mean", "error"),
    ],
)
def test_predict_uses_its_missing_option_or_that_of_the_model(first, then, here, iris):
    cluster_iris("--missing", first)
    holes = iris["x0"].to_pylist()
    holes[4:6] = [None, None]
    at = iris.column_names.index("x0")
    csv.write_csv(iris.set_column(at, "x0", pa.array(holes)), "holes.csv")
    args = ["predict", "m.skops", "holes.csv", "--labels", "l.csv"]
    args += ["--report", "r.html", *(["--missing", then] if then else [])]
    policy = then or first
    if policy == "error":
        result = run(*args)
        assert result.exit_code == 2
        assert "missing values: 2 in 'x0'" in result.stderr
        return
    out = output_of(*args)
    note = {
        "drop": "2 of 150 rows with missing values left out: 2 in 'x0'",
        "mean": "missing values filled (numbers with the mean, text as 'missing'): "
        "2 in 'x0'",
    }
    assert f"notes   {note[policy]}\n" in out
    page = (here / "r.html").read_text(encoding="utf-8")
    assert note[policy] in html.unescape(page)


def test_the_report_describes_the_new_rows(here, iris):
    numbered = iris.append_column("type", pa.array(np.arange(150) % 90))
    csv.write_csv(numbered, "n.csv")
    args = ("--drop", "name", "--model", "m.skops", "--report", "a.html")
    output_of("cluster", "n.csv", "-k", 3, *args)
    csv.write_csv(numbered.slice(0, 140), "new.csv")
    args = ("--labels", "l.csv", "--report", "b.html")
    output_of("predict", "m.skops", "new.csv", *args)
    note = "type: used as numbers; if these are codes"
    assert note in (here / "a.html").read_text(encoding="utf-8")
    assert note not in (here / "b.html").read_text(encoding="utf-8")


def test_unknown_columns_are_refused_and_can_be_dropped(here, iris):
    _, labels = cluster_iris()
    more = iris.append_column("size, cm", pa.array(np.arange(150)))
    csv.write_csv(more, "more.csv")
    args = ("predict", "m.skops", "more.csv", "--labels", "again.parquet")
    result = run(*args)
    assert result.exit_code == 2
    (advice,) = re.findall(r"\(leave them out: (.*)\)", result.stderr)
    output_of(*args, *shlex.split(advice))
    assert parquet.read_table("again.parquet").equals(labels)
    result = run(*args, *shlex.split(advice), "--drop", "x1")
    assert "--drop x1: the model was made with this column" in result.stderr


def test_the_model_predicts_in_python(here):
    _, labels = cluster_iris()
    model = akkm.load_model("m.skops")
    X = model.encoder.transform(open_table("iris.csv"))
    np.testing.assert_array_equal(model.estimator.predict(X), labels["cluster"])


def test_the_model_remembers_how_its_file_was_read(here, iris):
    options = csv.WriteOptions(include_header=False, delimiter=";")
    csv.write_csv(iris.drop_columns(["name"]), "plain.csv", options)
    args = ("--no-header", "--delimiter", ";", "--label", "5", "--model", "m.skops")
    output_of("cluster", "plain.csv", "-k", 3, *args, "--labels", "a.csv")
    output_of("predict", "m.skops", "plain.csv", "--labels", "b.csv")
    assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes()
