"""`akkm info`, `plan`, `compare`, `demo`, `--help` and `--version`."""

import os
import re
import shutil

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from scipy import sparse

import akkm
from akkm.cli._app import app
from akkm.cli._probe import Fit, Probe, probe
from akkm.cli._progress import iterations_left
from akkm.metrics import adjusted_rand_index, nmi
from tests.cli.commands import cluster_iris, output_of


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


def test_plan_prints_features_landmarks_memory_and_time(here):
    args = ("-k", 3, "--id", "name", "--label", "species")
    out = output_of("plan", "iris.csv", *args, "--gamma", "median")
    for text in ("rows", "one-hot", "gamma: median", "landmarks  150: all rows"):
        assert text in out, text
    assert "theory" not in out  # all rows are landmarks
    assert re.search(r"memory +up to \d", out)
    assert re.search(r"time +about .* to read and encode, .* s to cluster", out)
    assert os.listdir() == ["iris.csv"]


@pytest.mark.parametrize(
    "options",
    [
        ["--method", "exact"],
        ["--method", "leaders", "--landmarks", "40"],
        ["--method", "sparse"],
        ["-k", "auto", "--method", "diffusion"],
        ["--ensemble", "4", "--landmarks", "20"],
    ],
    ids=" ".join,
)
def test_plan_works_for_each_method(options, here):
    out = output_of("plan", "iris.csv", "-k", 3, "--drop", "name,species", *options)
    assert re.search(r"rows +150\n", out)
    assert re.search(r"estimated from fits: \S+ s for 75 rows, \S+ s for 150 rows", out)
    assert ("theory guarantees" in out) == ("--ensemble" in options)
    assert ("estimated on 150 of 150 rows" in out) == ("auto" in options)


def test_plan_fits_a_sample(here, monkeypatch):
    monkeypatch.setattr("akkm.cli._plan._SAMPLE_ROWS", 100)
    monkeypatch.setattr("akkm.cli._plan._ROWS_PER_CLUSTER", 1)
    out = output_of("plan", "iris.csv", "-k", 3, "--drop", "name", "--landmarks", 20)
    assert 70 < int(re.search(r"s for (\d+) rows$", out, re.M)[1]) < 130
    assert "20: as given" in out


def test_plan_accepts_as_many_clusters_as_rows(here):
    out = output_of("plan", "iris.csv", "-k", 150, "--drop", "name")
    assert "s for 150 rows, " in out  # half of the rows are fewer than k


def test_plan_itemises_the_memory(here):
    out = output_of("plan", "iris.csv", "-k", 3, "--drop", "name")
    assert "the rows: 150 x 10 x 4 bytes = 0.006 MB" in out
    assert "parsed columns" in out
    assert "up to 0.09 MB of cached kernel values" in out  # 150 x 150 x 4 bytes
    sparse.save_npz("x.npz", sparse.eye_array(40, format="csr"))
    out = output_of("plan", "x.npz", "-k", 3)
    assert "the rows: 40 x 1 entries x 8 bytes" in out
    assert "parsed" not in out


def test_a_probe_extrapolates_linearly():
    costs = Probe(Fit(100, 1.0, 5e6), Fit(200, 2.0, 6e6), 0.001, 0)
    assert costs.memory(200) == 6e6
    assert costs.memory(1200) == pytest.approx(16e6)
    assert costs.seconds(1200, 1) == pytest.approx(12)
    assert costs.seconds(400, 2) == pytest.approx(8)
    assert costs.seconds(200, 1) == costs.seconds(200, 2) == 2


def test_a_probe_never_predicts_less_than_it_measured():
    costs = Probe(Fit(100, 3.0, 9e6), Fit(200, 2.0, 6e6), 0.001, 0)
    assert costs.memory(1000) == 6e6
    assert costs.seconds(1200, 1) == pytest.approx(3)  # every row is assigned once


def test_a_probe_measures_the_memory_of_a_fit(rng):
    X = rng.random((3000, 4), dtype=np.float32)
    model = akkm.ApproxKernelKMeans(3, n_landmarks=500, random_state=0)
    costs = probe(model, X, 400, 3)
    assert (costs.half.rows, costs.whole.rows) == (1500, 3000)
    assert model.landmarks_.shape[0] == 400
    assert costs.max_cache == model.cache_size * 2**20
    assert 400 * 400 * 8 < costs.half.peak < costs.whole.peak < 50e6


def test_a_probe_of_an_ensemble_fits_two_members(rng):
    X = rng.random((200, 4), dtype=np.float32)
    model = akkm.EnsembleKernelKMeans(3, n_members=50, n_landmarks=20, random_state=0)
    probe(model, X, 20, 3)
    assert len(model.members_) == 2


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_compare_accepts_ids_that_look_like_missing_values(kind, here):
    names = pa.array(["NA", "", "None", "Eva"])
    table = pa.table({"id": names, "x": [0.0, 0.1, 5.0, 5.1]})
    parquet.write_table(table, "x.parquet")
    args = ("cluster", "x.parquet", "-k", 2, "--id", "id", "--labels")
    output_of(*args, "a.csv")
    output_of(*args, f"b.{kind}")
    out = output_of("compare", "a.csv", f"b.{kind}")
    assert "rows in both  4, by id" in out
    assert "ARI           1.0000" in out


def test_compare_prints_scores_and_a_contingency_table(here):
    a = pa.table({"row": [0, 1, 2, 3, 4], "cluster": [0, 0, 1, 1, 10]})
    b = pa.table({"row": [5, 4, 3, 2, 1], "cluster": [9, 10, 10, 2, 2]})
    parquet.write_table(a, "a.parquet")
    csv.write_csv(b, "b.csv")
    out = output_of("compare", "a.parquet", "b.csv")
    left, right = [0, 1, 1, 10], [2, 2, 10, 10]
    assert re.search(r"rows in both +4, by row\nin one only +1 and 1\n", out)
    assert f"NMI           {nmi(left, right):.4f}" in out
    assert f"ARI           {adjusted_rand_index(left, right):.4f}" in out
    assert re.search(r"\n +2  10\n0 +1   0\n1 +1   1\n10 +0   1\n$", out)


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
    assert "Spread per cluster" in page  # the means are equal
    assert str(here / "akkm-demo.html") in out
    assert re.search(r"akkm +1\.000", out)


def test_demo_without_matplotlib_writes_only_the_report(here, monkeypatch):
    monkeypatch.setattr("akkm.cli._demo.find_spec", lambda name: None)
    out = output_of("demo", "--rows", 2000)
    assert "picture  none; drawing needs matplotlib: pip install '.[plot]'" in out
    assert sorted(os.listdir()) == ["akkm-demo.html", "iris.csv"]


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
