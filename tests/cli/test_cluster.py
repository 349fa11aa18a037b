"""`akkm cluster` writes labels, a model and a report, and prints a summary."""

import json
import os
import re
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from scipy import sparse
from sklearn.datasets import load_iris

import akkm
from akkm.cli._cluster import fit
from akkm.cli._progress import Phase, Phases
from akkm.metrics import adjusted_rand_index, nmi
from akkm.model_file import load_model
from akkm.tables import open_table
from tests.cli.commands import cluster_iris, output_of


def test_labels_have_distances_and_margins(here):
    saved, labels = cluster_iris()
    names = ["name", "cluster", "distance", "margin"]
    assert labels.column_names == names
    X = saved.encoder.transform(open_table("iris.csv"))
    distances = np.sort(saved.estimator.transform(X), axis=1)
    np.testing.assert_array_equal(labels["cluster"], saved.estimator.predict(X))
    np.testing.assert_array_equal(labels["distance"], distances[:, 0])
    np.testing.assert_allclose(
        labels["margin"], distances[:, 1] - distances[:, 0], atol=1e-6
    )
    assert labels["name"].to_pylist()[7] == "flower 7"


def test_an_ensemble_gives_the_same_labels_as_the_python_estimator(here):
    args = ("--method", "sparse", "--ensemble", "3", "--seed", "2")
    saved, labels = cluster_iris(*args)
    X = saved.encoder.transform(open_table("iris.csv"))
    same = akkm.ConsensusKernelKMeans(3, n_members=3, random_state=2).fit(X)
    np.testing.assert_array_equal(labels["cluster"], same.labels_)
    assert {m.n_init for m in saved.estimator.members_} == {1}
    assert {m.n_init for m in same.members_} == {1}


def test_options_reach_the_estimator(here):
    saved, _ = cluster_iris(
        *("--kernel", "poly", "--gamma", "0.5", "--degree", "2", "--coef0", "3"),
        *("--landmarks", "40", "--sampling", "leverage", "--seed", "9"),
        *("--threads", "1", "--tol", "0.01"),
    )
    expected = akkm.ApproxKernelKMeans(
        3,
        kernel="poly",
        gamma=0.5,
        degree=2.0,
        coef0=3.0,
        n_landmarks=40,
        landmarks="leverage",
        tol=0.01,
        random_state=9,
        n_jobs=1,
    )
    assert str(saved.estimator.get_params()) == str(expected.get_params())


def test_the_summary_describes_data_model_scores_and_files(here):
    files = ("--labels", "l.csv", "--model", "m.skops", "--report", "r.html")
    out = output_of(
        *("cluster", "iris.csv", "-k", 3, "--id", "name", "--label", "species"), *files
    )
    _, labels = cluster_iris()
    truth = load_iris().target
    found = labels["cluster"].to_numpy()
    ari = adjusted_rand_index(truth, found)
    for pattern in (
        r"rows +150\n",
        r"features +7\n",  # four numbers and three colours
        r"columns +x0, x1, x2, x3: numbers, scaled to mean 0",
        r"colour: text, 3 values one-hot encoded",
        r"held out: name, species",
        r"kernel +RBF\(gamma=0\.\d+",
        r"landmarks +150 \(uniform\), rank \d+",
        r"error +\d+\.\d+",
        rf"NMI {nmi(truth, found):.4f}, ARI {ari:.4f}",
        r"cluster +rows +share\n0 +\d+ +\d+\.\d%\n1 ",
        r"written +l\.csv\n +m\.skops\n +r\.html\n$",
    ):
        assert re.search(pattern, out), (pattern, out)
    assert "\x1b" not in out
    assert "<html" in (here / "r.html").read_text(encoding="utf-8")


def test_the_report_shows_the_command(here):
    output_of("cluster", "iris.csv", "-k", 2, "--drop", "name", "--report", "a b.html")
    page = (here / "a b.html").read_text(encoding="utf-8")
    assert "akkm cluster iris.csv -k 2 --drop name --report" in page


def test_the_report_shows_how_columns_are_encoded(here):
    output_of("cluster", "iris.csv", "-k", 2, "--drop", "name", "--report", "r.html")
    page = (here / "r.html").read_text(encoding="utf-8")
    assert "colour, species: text, 3 values one-hot encoded" in page
    assert "left out, as requested: name" in page


def test_the_report_shows_values_as_in_the_file(here):
    args = ("-k", 2, "--id", "name", "--label", "species", "--report", "r.html")
    output_of("cluster", "iris.csv", *args)
    page = (here / "r.html").read_text(encoding="utf-8")
    assert "violet" in page  # the value of a cell, not a column name
    shown = json.loads(re.search(r"<script[^>]*json[^>]*>(.*?)</script>", page)[1])
    at = shown["map"]["features"].index("colour")
    assert {row[at] for row in shown["map"]["values"]} == {"blue", "violet", "white"}


def test_a_run_without_output_files_mentions_the_option_labels(here):
    out = output_of("cluster", "iris.csv", "-k", 2, "--drop", "name")
    assert out.endswith("Nothing was written; --labels FILE saves the clusters.\n")


def test_predict_reuses_decimal_and_na_options_of_the_model(here):
    text = (here / "iris.csv").read_text().replace(",", ";").replace(".", ",")
    lines = text.splitlines()
    lines[3] = re.sub(r";[^;]*", ";?", lines[3], count=1)
    (here / "e.csv").write_text("\n".join(lines))
    read = ("--delimiter", ";", "--decimal", ",", "--na", "?", "--missing", "drop")
    args = ("-k", 3, "--id", "name", "--label", "species", "--model", "m.skops")
    out = output_of("cluster", "e.csv", *read, *args, "--labels", "a.csv")
    assert "1 of 150 rows with missing values left out: 1 in 'x0'" in out
    output_of("predict", "m.skops", "e.csv", "--labels", "b.csv")
    assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes()


@pytest.mark.parametrize("values", [None, np.nan])
def test_a_label_column_without_values_gives_no_scores(values, here, iris):
    truth = pa.array([values] * 150, pa.float64(), from_pandas=False)
    parquet.write_table(iris.append_column("truth", truth), "x.parquet")
    args = ("--drop", "name", "--label", "truth", "--report", "r.html")
    assert "scores      no row has a label\n" in output_of(
        *("cluster", "x.parquet", "-k", 3, *args)
    )


def test_quiet_prints_nothing(here):
    assert output_of("cluster", "iris.csv", "-k", 2, "--drop", "name", "--quiet") == ""
    assert os.listdir() == ["iris.csv"]


def test_without_an_id_labels_have_row_numbers(here):
    text = (here / "iris.csv").read_text().splitlines()
    text[4] = re.sub(r"^([^,]*),[^,]*", r"\1,", text[4])  # x0 of row 3 is missing
    (here / "holes.csv").write_text("\n".join(text))
    args = ("-k", 3, "--drop", "name,species", "--missing", "drop", "--quiet")
    output_of("cluster", "holes.csv", *args, "--labels", "out.csv")
    labels = csv.read_csv("out.csv")
    assert labels.column_names == ["row", "cluster", "distance", "margin"]
    expected = [i for i in range(150) if i != 3]
    assert labels["row"].to_pylist() == expected


def test_one_cluster_has_no_margin(here):
    args = ("-k", 1, "--drop", "name", "--labels", "out.parquet")
    output_of("cluster", "iris.csv", *args)
    assert parquet.read_table("out.parquet")["margin"].null_count == 150


def test_warnings_are_printed_and_saved(here):
    (here / "few.csv").write_text("a,b\n" + "1,2\n3,4\n" * 20)
    out = output_of("cluster", "few.csv", "-k", 5, "--model", "m.skops")
    assert "Warning: Number of distinct clusters (2) found smaller" in out
    assert any("distinct" in note for note in load_model("m.skops").about["notes"])


def test_standard_input_gives_the_same_labels_as_the_file(here):
    args = ("-k", 3, "--id", "name", "--label", "species", "--quiet")
    output_of("cluster", "iris.csv", *args, "--labels", "file.csv")
    piped = (here / "iris.csv").read_bytes()
    output_of("cluster", "-", *args, "--labels", "pipe.csv", input=piped)
    assert (here / "file.csv").read_bytes() == (here / "pipe.csv").read_bytes()


def test_all_formats_give_the_same_labels(here, iris):
    numbers = iris.select([f"x{j}" for j in range(4)])
    X = np.column_stack([column.to_numpy() for column in numbers.columns])
    csv.write_csv(numbers, "a.csv")
    with pa.output_stream("b.csv.gz", compression="gzip") as stream:
        csv.write_csv(numbers, stream)
    parquet.write_table(numbers, "c.parquet")
    feather.write_feather(numbers, "d.feather")
    np.save("e.npy", X)
    np.savez("f.npz", X)
    names = ["a.csv", "b.csv.gz", "c.parquet", "d.feather", "e.npy", "f.npz"]
    for name in names:
        output_of("cluster", name, "-k", 3, "--quiet", "--labels", f"{name}.csv")
    first = (here / "a.csv.csv").read_bytes()
    assert all((here / f"{n}.csv").read_bytes() == first for n in names[1:])


def test_sparse_rows_work_with_cluster_predict_and_plan(here):
    X = sparse.random(200, 30, density=0.2, random_state=0, format="csr")
    sparse.save_npz("x.npz", X)
    args = ("--labels", "a.csv", "--model", "m.skops")
    output_of("cluster", "x.npz", "-k", 4, *args)
    output_of("predict", "m.skops", "x.npz", "--labels", "b.csv")
    assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes()
    assert "memory" in output_of("plan", "x.npz", "-k", 4)


@pytest.mark.parametrize(
    ("estimator", "text"),
    [
        (akkm.ApproxKernelKMeans, "choosing landmarks, initialising"),
        (akkm.SparseKernelKMeans, "choosing landmarks, initialising"),
        (akkm.DiffusionKernelKMeans, "building the graph of neighbours"),
        (akkm.KernelKMeans, "initialising"),
        (akkm.LeadersKernelKMeans, "choosing leaders"),
        (akkm.ConsensusKernelKMeans, "fitting members"),
    ],
)
def test_the_progress_names_what_the_method_does_first(estimator, text, monkeypatch):
    shown = []
    monkeypatch.setattr(Phase, "show", lambda self, detail, **_: shown.append(detail))
    with Phases(shown=False) as phases:
        fit(estimator(3, random_state=0), load_iris().data, phases)
    assert shown[0] == text


def test_without_a_terminal_progress_is_written_as_lines(monkeypatch, capfd):
    monkeypatch.setattr("akkm.cli._progress._SECONDS", 0.01)
    with Phases(shown=True) as phases, phases.phase("clustering") as phase:
        phase.show("iteration 1")
        time.sleep(0.1)
    lines = capfd.readouterr().err.splitlines()
    assert lines[-1] == "akkm: clustering, iteration 1 (0 s)"
    with Phases(shown=False):  # --quiet
        time.sleep(0.05)
    assert capfd.readouterr().err == ""
