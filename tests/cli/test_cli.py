"""The command line: what it writes, what it says, and how it ends."""

import errno
import html
import json
import os
import pickle
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv, feather, parquet
from scipy import sparse
from sklearn.datasets import load_iris

import akkm
from akkm.cli._app import app
from akkm.cli._progress import iterations_left
from akkm.metrics import adjusted_rand_index, nmi
from akkm.model_file import load_model
from akkm.tables import open_table

AKKM = [sys.executable, "-m", "akkm.cli"]


def run(*args, **options):
    return CliRunner().invoke(app, [str(arg) for arg in args], **options)


def fine(*args, **options):
    result = run(*args, **options)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


@pytest.fixture(scope="session")
def iris():
    """150 flowers: a name, four numbers, a colour, and what they are."""
    data = load_iris()
    table = {"name": [f"flower {i}" for i in range(150)]}
    table |= {f"x{j}": data.data[:, j] for j in range(4)}
    table["colour"] = np.array(["blue", "violet", "white"])[np.arange(150) % 3]
    table["species"] = data.target_names[data.target]
    return pa.table({name: pa.array(values) for name, values in table.items()})


@pytest.fixture
def here(iris, tmp_path, monkeypatch):
    """A folder with the flowers in it, to work in."""
    monkeypatch.chdir(tmp_path)
    csv.write_csv(iris, "iris.csv")
    return tmp_path


def model_and_labels(*options):
    args = ("--id", "name", "--label", "species", "--quiet")
    files = ("--labels", "out.parquet", "--model", "m.skops")
    fine("cluster", "iris.csv", "-k", 3, *args, *files, *options)
    return load_model("m.skops"), parquet.read_table("out.parquet")


METHODS = [
    [],
    ["--method", "exact", "--kernel", "poly", "--degree", "2", "--coef0", "0.5"],
    ["--method", "two-step", "--landmarks", "50", "--sampling", "k-means"],
    ["--method", "spectral", "--gamma", "0.5"],
    ["--method", "leaders", "--landmarks", "40", "--gamma", "median"],
    ["--ensemble", "4", "--landmarks", "20", "--seed", "3"],
]


class TestCluster:
    def test_labels_with_distances_and_margins(self, here):
        saved, labels = model_and_labels()
        names = ["name", "cluster", "distance", "margin"]
        assert labels.column_names == names
        X = saved.encoder.transform(open_table("iris.csv")).X
        distances = np.sort(saved.estimator.transform(X), axis=1)
        np.testing.assert_array_equal(labels["cluster"], saved.estimator.predict(X))
        np.testing.assert_array_equal(labels["distance"], distances[:, 0])
        np.testing.assert_allclose(
            labels["margin"], distances[:, 1] - distances[:, 0], atol=1e-6
        )
        assert labels["name"].to_pylist()[7] == "flower 7"

    @pytest.mark.parametrize("method", METHODS, ids=" ".join)
    def test_predict_gives_the_labels_of_cluster(self, method, here):
        _, labels = model_and_labels(*method)
        fine("predict", "m.skops", "iris.csv", "--labels", "again.parquet")
        again = parquet.read_table("again.parquet")
        assert again.equals(labels)
        assert ("agreement" in labels.column_names) == ("--ensemble" in method)

    def test_an_ensemble_is_the_one_that_python_has(self, here):
        args = ("--method", "sparse", "--ensemble", "3", "--seed", "2")
        saved, labels = model_and_labels(*args)
        X = saved.encoder.transform(open_table("iris.csv")).X
        same = akkm.ConsensusKernelKMeans(3, n_members=3, random_state=2).fit(X)
        np.testing.assert_array_equal(labels["cluster"], same.labels_)
        assert {m.n_init for m in saved.estimator.members_} == {1}
        assert {m.n_init for m in same.members_} == {1}

    def test_options_reach_the_estimator(self, here):
        saved, _ = model_and_labels(
            *("--kernel", "poly", "--gamma", "0.5", "--degree", "2", "--coef0", "3"),
            *("--landmarks", "40", "--sampling", "leverage", "--seed", "9"),
            *("--threads", "1"),
        )
        expected = akkm.ApproxKernelKMeans(
            3,
            kernel="poly",
            gamma=0.5,
            degree=2.0,
            coef0=3.0,
            n_landmarks=40,
            landmarks="leverage",
            random_state=9,
            n_jobs=1,
        )
        assert str(saved.estimator.get_params()) == str(expected.get_params())

    def test_the_summary(self, here):
        files = ("--labels", "l.csv", "--model", "m.skops", "--report", "r.html")
        out = fine(
            *("cluster", "iris.csv", "-k", 3, "--id", "name", "--label", "species"),
            *files,
        )
        _, labels = model_and_labels()
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

    def test_the_report_has_the_command(self, here):
        fine("cluster", "iris.csv", "-k", 2, "--drop", "name", "--report", "a b.html")
        page = (here / "a b.html").read_text(encoding="utf-8")
        assert "akkm cluster iris.csv -k 2 --drop name --report" in page

    def test_the_report_tells_how_columns_are_encoded(self, here):
        fine("cluster", "iris.csv", "-k", 2, "--drop", "name", "--report", "r.html")
        page = (here / "r.html").read_text(encoding="utf-8")
        assert "colour: text, 3 values one-hot encoded" in page
        assert "left out, as requested: name" in page

    def test_the_report_shows_values_as_in_the_file(self, here):
        args = ("-k", 2, "--id", "name", "--label", "species", "--report", "r.html")
        fine("cluster", "iris.csv", *args)
        page = (here / "r.html").read_text(encoding="utf-8")
        assert "violet" in page  # a cell, not only the name of a column
        shown = json.loads(re.search(r"<script[^>]*json[^>]*>(.*?)</script>", page)[1])
        at = shown["map"]["features"].index("colour")
        assert {row[at] for row in shown["map"]["values"]} == {
            "blue",
            "violet",
            "white",
        }

    def test_what_to_do_if_nothing_was_written(self, here):
        out = fine("cluster", "iris.csv", "-k", 2, "--drop", "name")
        assert out.endswith("Nothing was written; --labels FILE keeps the clusters.\n")

    def test_how_a_file_is_read(self, here):
        """Decimal commas and words for missing values, and predict knows them."""
        text = (here / "iris.csv").read_text().replace(",", ";").replace(".", ",")
        lines = text.splitlines()
        lines[3] = re.sub(r";[^;]*", ";?", lines[3], count=1)
        (here / "e.csv").write_text("\n".join(lines))
        read = ("--delimiter", ";", "--decimal", ",", "--na", "?", "--missing", "drop")
        args = ("-k", 3, "--id", "name", "--label", "species", "--model", "m.skops")
        out = fine("cluster", "e.csv", *read, *args, "--labels", "a.csv")
        assert "1 of 150 rows left out, as values are missing: 1 in 'x0'" in out
        fine("predict", "m.skops", "e.csv", "--labels", "b.csv")
        assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes()

    @pytest.mark.parametrize("values", [None, np.nan])
    def test_labels_that_nobody_has(self, values, here, iris):
        """Rows without a label are left out of the scores; perhaps all of them."""
        truth = pa.array([values] * 150, pa.float64(), from_pandas=False)
        parquet.write_table(iris.append_column("truth", truth), "x.parquet")
        args = ("--drop", "name", "--label", "truth", "--report", "r.html")
        assert "scores      no row has a label\n" in fine(
            *("cluster", "x.parquet", "-k", 3, *args)
        )

    def test_nothing_is_said_or_written_if_nothing_is_wanted(self, here):
        assert fine("cluster", "iris.csv", "-k", 2, "--drop", "name", "--quiet") == ""
        assert os.listdir() == ["iris.csv"]

    def test_rows_are_numbered_without_an_id(self, here):
        text = (here / "iris.csv").read_text().splitlines()
        text[4] = re.sub(r"^([^,]*),[^,]*", r"\1,", text[4])  # x0 of row 3 is missing
        (here / "holes.csv").write_text("\n".join(text))
        args = ("-k", 3, "--drop", "name,species", "--missing", "drop", "--quiet")
        fine("cluster", "holes.csv", *args, "--labels", "out.csv")
        labels = csv.read_csv("out.csv")
        assert labels.column_names == ["row", "cluster", "distance", "margin"]
        expected = [i for i in range(150) if i != 3]
        assert labels["row"].to_pylist() == expected

    def test_one_cluster_has_no_next(self, here):
        args = ("-k", 1, "--drop", "name", "--labels", "out.parquet")
        fine("cluster", "iris.csv", *args)
        assert parquet.read_table("out.parquet")["margin"].null_count == 150

    def test_warnings_are_told_and_kept(self, here):
        (here / "few.csv").write_text("a,b\n" + "1,2\n3,4\n" * 20)
        out = fine("cluster", "few.csv", "-k", 5, "--model", "m.skops")
        assert "Warning: Number of distinct clusters (2) found smaller" in out
        assert any("distinct" in note for note in load_model("m.skops").about["notes"])

    def test_standard_input(self, here):
        args = ("-k", 3, "--id", "name", "--label", "species", "--quiet")
        fine("cluster", "iris.csv", *args, "--labels", "file.csv")
        piped = (here / "iris.csv").read_bytes()
        fine("cluster", "-", *args, "--labels", "pipe.csv", input=piped)
        assert (here / "file.csv").read_bytes() == (here / "pipe.csv").read_bytes()

    def test_files_of_one_table_give_the_same_labels(self, here, iris):
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
            fine("cluster", name, "-k", 3, "--quiet", "--labels", f"{name}.csv")
        first = (here / "a.csv.csv").read_bytes()
        assert all((here / f"{n}.csv").read_bytes() == first for n in names[1:])

    def test_sparse_rows(self, here):
        X = sparse.random_array((200, 30), density=0.2, rng=0, format="csr")
        sparse.save_npz("x.npz", X)
        args = ("--labels", "a.csv", "--model", "m.skops")
        fine("cluster", "x.npz", "-k", 4, *args)
        fine("predict", "m.skops", "x.npz", "--labels", "b.csv")
        assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes()
        assert "memory" in fine("plan", "x.npz", "-k", 4)


class TestOutputs:
    def test_existing_files_are_replaced(self, here):
        (here / "out.csv").write_text("old")
        args = ("cluster", "iris.csv", "-k", 2, "--drop", "name", "--labels")
        fine(*args, "out.csv")
        assert (
            (here / "out.csv").read_text().startswith("row,cluster,distance,margin\n0,")
        )

    def test_links_are_followed(self, here):
        (here / "real.csv").write_text("old")
        (here / "link.csv").symlink_to("real.csv")
        args = ("cluster", "iris.csv", "-k", 2, "--drop", "name", "--labels")
        fine(*args, "link.csv")
        assert (here / "link.csv").is_symlink()
        assert (here / "real.csv").read_text() != "old"

    def test_files_that_were_there_are_told(self, here):
        (here / "l.csv").write_text("old")
        args = ("cluster", "iris.csv", "-k", 2, "--drop", "name")
        out = fine(*args, "--labels", "l.csv", "--model", "m.skops")
        assert out.endswith("written  l.csv (replaced)\n         m.skops\n")

    def test_the_model_is_not_overwritten(self, here):
        model_and_labels()
        shutil.move("m.skops", "m.html")
        args = ("--labels", "l.csv", "--report", "./m.html")
        result = run("predict", "m.html", "iris.csv", *args)
        assert result.exit_code == 2
        assert "--report and MODEL are the same file" in result.stderr
        load_model("m.html")

    def test_stopped_after_all_was_written(self, here, monkeypatch):
        def interrupt(*args):
            raise KeyboardInterrupt

        monkeypatch.setattr("akkm.cli._cluster.summarise", interrupt)
        args = ("cluster", "iris.csv", "-k", 2, "--drop", "name", "--labels", "l.csv")
        result = run(*args)
        assert result.exit_code == 130
        assert result.stderr.strip() == "akkm: stopped; written: l.csv."
        assert (here / "l.csv").exists()

    @pytest.mark.parametrize(
        ("error", "code", "message"),
        [
            (MemoryError(), 2, "akkm: error: there is not enough memory"),
            (PermissionError(13, "Permission denied", "x"), 2, "x: Permission denied."),
            (ImportError("needs numba"), 2, "akkm: error: needs numba"),
            (ValueError("two\nlines"), 2, "akkm: error: two lines"),
            (KeyError("x"), 1, "this is a bug in akkm (KeyError: 'x')"),
            (KeyboardInterrupt(), 130, "akkm: stopped; no file was written."),
        ],
    )
    def test_exit_codes(self, error, code, message, here, monkeypatch):
        def fail(*args, **kwargs):
            raise error

        monkeypatch.setattr("akkm.cli._cluster.fit", fail)
        args = ("cluster", "iris.csv", "-k", 2, "--drop", "name", "--labels", "l.csv")
        result = run(*args)
        assert result.exit_code == code
        assert message in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1
        assert os.listdir() == ["iris.csv"]
        if code != 130:
            assert "Traceback" in run("--debug", *args).stderr


class TestPredict:
    def test_columns_in_any_order(self, here, iris):
        _, labels = model_and_labels()
        csv.write_csv(iris.select(iris.column_names[::-1]), "turned.csv")
        fine("predict", "m.skops", "turned.csv", "--labels", "again.parquet")
        assert parquet.read_table("again.parquet").equals(labels)

    def test_id_and_label_may_be_absent(self, here, iris):
        _, labels = model_and_labels()
        csv.write_csv(iris.drop_columns(["name", "species"]), "bare.csv")
        out = fine("predict", "m.skops", "bare.csv", "--labels", "again.parquet")
        again = parquet.read_table("again.parquet")
        assert again.column_names[0] == "row"
        assert again["cluster"].equals(labels["cluster"])
        assert "scores" not in out

    @pytest.mark.parametrize("method", METHODS, ids=" ".join)
    def test_scores_and_report(self, method, here):
        model_and_labels(*method)
        args = ("--labels", "l.csv", "--report", "r.html")
        out = fine("predict", "m.skops", "iris.csv", *args)
        assert re.search(r"scores +NMI 0\.\d{4}, ARI 0\.\d{4}\n", out)
        assert "<html" in (here / "r.html").read_text(encoding="utf-8")

    @pytest.mark.parametrize("first", ["error", "drop", "mean"])
    @pytest.mark.parametrize("then", [None, "error", "drop", "mean"])
    def test_missing_values(self, first, then, here, iris):
        """As the model was made, or as is said now; and what was done is told."""
        model_and_labels("--missing", first)
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
        out = fine(*args)
        said = {
            "drop": "2 of 150 rows left out, as values are missing: 2 in 'x0'",
            "mean": "missing values filled (numbers with the mean, text as 'missing'): "
            "2 in 'x0'",
        }
        assert f"notes   {said[policy]}\n" in out
        page = (here / "r.html").read_text(encoding="utf-8")
        assert html.escape(said[policy]) in page

    def test_the_report_does_not_tell_of_training(self, here, iris):
        numbered = iris.append_column("n", pa.array(np.arange(150)))
        csv.write_csv(numbered, "n.csv")
        args = ("--drop", "name", "--model", "m.skops", "--report", "a.html")
        fine("cluster", "n.csv", "-k", 3, *args)
        csv.write_csv(numbered.slice(0, 140), "new.csv")
        args = ("--labels", "l.csv", "--report", "b.html")
        fine("predict", "m.skops", "new.csv", *args)
        said = "n: seems to number the rows"
        assert said in (here / "a.html").read_text(encoding="utf-8")
        assert said not in (here / "b.html").read_text(encoding="utf-8")

    def test_more_columns(self, here, iris):
        _, labels = model_and_labels()
        more = iris.append_column("size, cm", pa.array(np.arange(150)))
        csv.write_csv(more, "more.csv")
        args = ("predict", "m.skops", "more.csv", "--labels", "again.parquet")
        result = run(*args)
        assert result.exit_code == 2
        (advice,) = re.findall(r"\(leave them out: (.*)\)", result.stderr)
        fine(*args, *shlex.split(advice))
        assert parquet.read_table("again.parquet").equals(labels)
        result = run(*args, *shlex.split(advice), "--drop", "x1")
        assert "--drop x1: the model was made with this column" in result.stderr

    def test_from_python(self, here):
        _, labels = model_and_labels()
        model = akkm.load_model("m.skops")
        X = model.encoder.transform(open_table("iris.csv")).X
        np.testing.assert_array_equal(model.estimator.predict(X), labels["cluster"])

    def test_the_model_knows_how_its_file_was_read(self, here, iris):
        options = csv.WriteOptions(include_header=False, delimiter=";")
        csv.write_csv(iris.drop_columns(["name"]), "plain.csv", options)
        args = ("--no-header", "--delimiter", ";", "--label", "5", "--model", "m.skops")
        fine("cluster", "plain.csv", "-k", 3, *args, "--labels", "a.csv")
        fine("predict", "m.skops", "plain.csv", "--labels", "b.csv")
        assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes()


class TestOtherCommands:
    def test_info(self, here):
        model_and_labels()
        out = fine("info", "m.skops")
        for text in (
            f"m.skops, by akkm {akkm.__version__}",
            "akkm cluster iris.csv -k 3 --id name --label species",
            "iris.csv: 150 rows",
            "ApproxKernelKMeans, seed 0",
            "x0, x1, x2, x3: numbers, scaled",
            "colour: text, 3 values one-hot encoded",
            "cluster  rows  share",
        ):
            assert text in out, text

    def test_plan(self, here):
        args = ("-k", 3, "--id", "name", "--label", "species")
        out = fine("plan", "iris.csv", *args, "--gamma", "median")
        for text in ("rows", "one-hot", "gamma: median", "landmarks  150: all rows"):
            assert text in out, text
        assert "theory" not in out  # all rows are landmarks
        assert re.search(r"memory +up to \d", out)
        assert re.search(r"time +about .* to read and encode, .* s to cluster", out)
        assert os.listdir() == ["iris.csv"]

    @pytest.mark.parametrize("method", METHODS, ids=" ".join)
    def test_plan_of_a_sample(self, method, here, monkeypatch):
        monkeypatch.setattr("akkm.cli._plan._SAMPLE", 100)
        monkeypatch.setattr("akkm.cli._plan._FEW", 100)
        args = ("-k", 3, "--id", "name", "--label", "species")
        out = fine("plan", "iris.csv", *args, *method)
        fitted = int(re.search(r"from a fit to (\d+) rows", out)[1])
        assert 70 < fitted < 130
        assert re.search(r"rows +150\n", out)
        assert ("theory promises" in out) == ("--ensemble" in method)

    def test_plan_of_many_clusters(self, here, monkeypatch):
        monkeypatch.setattr("akkm.cli._plan._SAMPLE", 20)
        out = fine("plan", "iris.csv", "-k", 14, "--drop", "name", "--landmarks", 20)
        fitted = int(re.search(r"from a fit to (\d+) rows", out)[1])
        assert 120 < fitted < 150
        assert "as you said" in out

    def test_plan_counts_what_is_kept(self, here):
        out = fine("plan", "iris.csv", "-k", 3, "--drop", "name")
        parsed = float(re.search(r"columns as parsed: up to (\S+) MB", out)[1])
        assert parsed == pytest.approx(150 * 7 * 8 / 1e6, rel=0.05)
        assert "up to 0.09 MB of kernel values" in out  # 150 x 150 x 4 bytes
        sparse.save_npz("x.npz", sparse.eye_array(40, format="csr"))
        assert "parsed" not in fine("plan", "x.npz", "-k", 3)

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_compare_names_like_missing_values(self, kind, here):
        """Somebody may be called NA, and somebody else not at all."""
        names = pa.array(["NA", "", "None", "Eva"])
        table = pa.table({"id": names, "x": [0.0, 0.1, 5.0, 5.1]})
        parquet.write_table(table, "x.parquet")
        args = ("cluster", "x.parquet", "-k", 2, "--id", "id", "--labels")
        fine(*args, "a.csv")
        fine(*args, f"b.{kind}")
        out = fine("compare", "a.csv", f"b.{kind}")
        assert "rows in both  4, by id" in out
        assert "ARI           1.0000" in out

    def test_compare(self, here):
        a = pa.table({"row": [0, 1, 2, 3, 4], "cluster": [0, 0, 1, 1, 10]})
        b = pa.table({"row": [5, 4, 3, 2, 1], "cluster": [9, 10, 10, 2, 2]})
        parquet.write_table(a, "a.parquet")
        csv.write_csv(b, "b.csv")
        out = fine("compare", "a.parquet", "b.csv")
        left, right = [0, 1, 1, 10], [2, 2, 10, 10]
        assert re.search(r"rows in both +4, by row\nin one only +1 and 1\n", out)
        assert f"NMI           {nmi(left, right):.4f}" in out
        assert f"ARI           {adjusted_rand_index(left, right):.4f}" in out
        assert re.search(r"\n +2  10\n0 +1   0\n1 +1   1\n10 +0   1\n$", out)

    def test_compare_by_id(self, here):
        model_and_labels()
        shutil.move("out.parquet", "first.parquet")
        model_and_labels("--seed", "1")
        args = ("--id", "name", "--drop", "species", "--labels", "third.csv")
        fine("cluster", "iris.csv", "-k", 2, *args)
        assert "by name" in fine("compare", "first.parquet", "out.parquet")
        out = fine("compare", "third.csv", "first.parquet")
        assert re.search(r"in both +150, by name", out)

    def test_demo(self, here):
        out = fine("demo", "--rows", 2000)
        assert (here / "akkm-demo.png").stat().st_size > 10_000
        page = (here / "akkm-demo.html").read_text(encoding="utf-8")
        assert "A disc in a ring" in page
        assert str(here / "akkm-demo.html") in out
        assert re.search(r"akkm +1\.000", out)

    def test_demo_without_matplotlib(self, here, monkeypatch):
        monkeypatch.setattr("akkm.cli._demo.find_spec", lambda name: None)
        out = fine("demo", "--rows", 2000)
        assert "picture  none, as it needs matplotlib: pip install 'akkm[plot]'" in out
        assert sorted(os.listdir()) == ["akkm-demo.html", "iris.csv"]

    @pytest.mark.parametrize("name", ["", *sorted(app.commands)])
    def test_help_has_an_example(self, name):
        out = fine(*filter(None, [name, "--help"]))
        assert re.search(rf"Examples?:\n +akkm {name}", out)

    def test_version(self):
        assert fine("--version") == f"akkm {akkm.__version__}\n"


def garbage(size=5000):
    return np.random.default_rng(0).bytes(size)


def numbers(path, rows=30, columns=("a", "b"), end=""):
    X = np.random.default_rng(0).random((rows, len(columns))).round(3)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in X)]
    path.write_text("\n".join(lines) + "\n" + end)


def made(name, content=None, end=""):
    """A file before the command runs: text, bytes, or numbers with an odd end."""

    def make(here):
        if content is None:
            numbers(here / name, end=end)
        elif isinstance(content, bytes):
            (here / name).write_bytes(content)
        else:
            (here / name).write_text(content)

    return make


def truncated(name):
    def make(here):
        table = pa.table({"a": np.arange(5000.0), "b": np.arange(5000.0) ** 2 % 7})
        if name.endswith(".parquet"):
            parquet.write_table(table, name)
        else:
            with pa.output_stream(name, compression="gzip") as stream:
                csv.write_csv(table, stream)
        whole = (here / name).read_bytes()
        (here / name).write_bytes(whole[: len(whole) // 2])

    return make


def modelled(change=None, data=None):
    """A model m.skops, damaged, and data d.csv."""

    def make(here):
        numbers(here / "d.csv")
        fine("cluster", "d.csv", "-k", 2, "--model", "m.skops", "--quiet")
        if change is not None:
            change(here / "m.skops")
        if data is not None:
            (here / "d.csv").write_text(data)

    return make


def with_version(version):
    def change(path):
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        header = json.loads(members["akkm.json"])
        members["akkm.json"] = json.dumps({**header, "akkm": version}).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)

    return change


def foreign(path):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = members["schema.json"].replace(b'"RBF"', b'"Bomb"')
    members["schema.json"] = schema
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def labelled(first, second):
    def make(here):
        (here / "a.csv").write_text(first)
        (here / "b.csv").write_text(second)

    return make


def tall(here):
    X = np.random.default_rng(0).random((400_100, 1)).round(4).astype(str)
    X[400_000] = "oops"
    (here / "d.csv").write_text("a,b\n" + "\n".join(f"{x},1" for (x,) in X) + "\n")


D = made("d.csv")
CLUSTER = "cluster d.csv -k 2 --labels out.csv --model out.skops --report out.html "
PREDICT = "predict m.skops d.csv --labels out.csv --report out.html "
BAD = {
    "no such file": (None, CLUSTER, "there is no such file"),
    "a directory": (lambda p: (p / "d.csv").mkdir(), CLUSTER, "folder"),
    "empty file": (made("d.csv", ""), CLUSTER, "empty"),
    "header only": (made("d.csv", "a,b\n"), CLUSTER, "no rows"),
    "ragged rows": (made("d.csv", end="1,2,3\n"), CLUSTER, "row 31 of the data"),
    "wrong delimiter": (made("d.csv", "a;b\n1;2\n3;4\n"), CLUSTER, "--delimiter"),
    "missing values": (made("d.csv", end=",0.5\n"), CLUSTER, "missing"),
    "NaN": (made("d.csv", end="NaN,0.5\n"), CLUSTER, "missing"),
    "infinity": (made("d.csv", end="inf,0.5\n"), CLUSTER, "infinit"),
    "minus infinity": (made("d.csv", end="0.5,-inf\n"), CLUSTER, "infinit"),
    "text far down": (tall, CLUSTER, "oops"),
    "duplicate columns": (made("d.csv", "a,a\n1,2\n3,4\n"), CLUSTER, "duplicate"),
    "binary garbage": (made("d.csv", garbage()), CLUSTER, "d.csv"),
    "not UTF-8": (made("d.csv", b"a,b\n\xff\xfe,1\n2,3\n"), CLUSTER, "UTF-8"),
    "truncated gzip": (
        truncated("d.csv.gz"),
        CLUSTER.replace("d.csv", "d.csv.gz"),
        "d.csv.gz",
    ),
    "truncated parquet": (
        truncated("d.parquet"),
        CLUSTER.replace("d.csv", "d.parquet"),
        "d.parquet",
    ),
    "parquet that is CSV": (
        made("d.parquet", "a,b\n1,2\n"),
        CLUSTER.replace("d.csv", "d.parquet"),
        "d.parquet",
    ),
    "unknown extension": (
        made("d.xlsx", "a"),
        CLUSTER.replace("d.csv", "d.xlsx"),
        "unknown file format",
    ),
    "npy of objects": (
        lambda p: np.save(p / "d.npy", np.array([[{}], [None]])),
        CLUSTER.replace("d.csv", "d.npy"),
        "d.npy",
    ),
    "npy in one dimension": (
        lambda p: np.save(p / "d.npy", np.arange(9.0)),
        CLUSTER.replace("d.csv", "d.npy"),
        "d.npy",
    ),
    "npz of several": (
        lambda p: np.savez(p / "d.npz", a=np.eye(3), b=np.eye(3)),
        CLUSTER.replace("d.csv", "d.npz"),
        "d.npz",
    ),
    "LIBSVM garbage": (
        made("d.svm", "1 a:b\n"),
        CLUSTER.replace("d.csv", "d.svm"),
        "d.svm",
    ),
    "unknown column": (D, f"{CLUSTER} --columns a,c", "'c'"),
    "unknown drop": (D, f"{CLUSTER} --drop bb", "'bb'"),
    "unknown id": (D, f"{CLUSTER} --id nobody", "'nobody'"),
    "unknown label": (D, f"{CLUSTER} --label truth", "'truth'"),
    "all dropped": (D, f"{CLUSTER} --drop a,b", "column"),
    "an empty name": (D, f"{CLUSTER} --columns a,,b", "empty name"),
    "k larger than n": (D, CLUSTER.replace("-k 2", "-k 31"), "31 clusters of 30 rows"),
    "k is 0": (D, CLUSTER.replace("-k 2", "-k 0"), "'-k'"),
    "k is text": (D, CLUSTER.replace("-k 2", "-k few"), "'few' is neither"),
    "no k": (D, CLUSTER.replace("-k 2", ""), "Missing option '-k'"),
    "unknown option": (D, f"{CLUSTER} --clusters 3", "--clusters"),
    "unknown command": (D, "clusters d.csv", "clusters"),
    "unknown kernel": (D, f"{CLUSTER} --kernel gauss", "'gauss'"),
    "kernel of two": (D, f"{CLUSTER} --kernel precomputed", "'precomputed'"),
    "negative gamma": (D, f"{CLUSTER} --gamma -1", "neither a positive number nor"),
    "gamma in words": (D, f"{CLUSTER} --gamma wide", "neither a positive number nor"),
    "half a landmark": (D, f"{CLUSTER} --landmarks 0.5", "neither a positive number"),
    "few landmarks": (D, f"{CLUSTER} --landmarks 1", "less than -k 2"),
    "many landmarks": (D, f"{CLUSTER} --landmarks 31", "--landmarks 31 of 30 rows"),
    "histograms": (D, f"{CLUSTER} --kernel chi2", "--scale minmax"),
    "exact ensemble": (D, f"{CLUSTER} --ensemble 3 --method exact", "--ensemble"),
    "exact landmarks": (D, f"{CLUSTER} --landmarks 9 --method exact", "no landmarks"),
    "degree of rbf": (D, f"{CLUSTER} --degree 2", "no degree"),
    "seed": (D, f"{CLUSTER} --seed -1", "'--seed'"),
    "delimiter": (D, f"{CLUSTER} --delimiter ;;", "expected one character"),
    "decimal commas": (
        made("d.csv", "a;b\n" + "1,5;2\n2,5;3\n" * 9),
        f"{CLUSTER} --delimiter ;",
        "add --decimal ','",
    ),
    "decimal": (D, f"{CLUSTER} --decimal x", "'--decimal'"),
    "decimal is the delimiter": (D, f"{CLUSTER} --decimal ,", "not the delimiter"),
    "labels of no kind": (D, "cluster d.csv -k 2 --labels out.txt", ".parquet or .csv"),
    "report of no kind": (D, f"{CLUSTER} --report out.txt", ".html or .htm"),
    "model of no kind": (D, f"{CLUSTER} --model out.pkl", "ends in .skops"),
    "no folder": (D, f"{CLUSTER} --labels no/out.csv", "there is no folder"),
    "out is a folder": (
        lambda p: (numbers(p / "d.csv"), (p / "out.csv").mkdir()),
        "cluster d.csv -k 2 --model out.skops --labels out.csv",
        "is a directory",
    ),
    "out is a device": (
        lambda p: (numbers(p / "d.csv"), (p / "x.skops").symlink_to("/dev/null")),
        "cluster d.csv -k 2 --model x.skops",
        "no regular file",
    ),
    "labels that are lists": (
        lambda p: parquet.write_table(
            pa.table({"a": [1, 2, 3], "y": [[1], [2], [3]]}), p / "d.parquet"
        ),
        CLUSTER.replace("d.csv", "d.parquet") + " --label y",
        "--label 'y' is of type list",
    ),
    "ids that CSV can't hold": (
        lambda p: parquet.write_table(
            pa.table({"a": [1, 2, 3], "y": [b"1", b"2", b"\xff"]}), p / "d.parquet"
        ),
        CLUSTER.replace("d.csv", "d.parquet") + " --id y",
        "--id is a column of type binary, which out.csv can't hold",
    ),
    "out is in": (D, "cluster d.csv -k 2 --labels d.csv", "are the same file"),
    "out twice": (
        lambda p: (numbers(p / "d.csv"), (p / "out.html").symlink_to("out.csv")),
        CLUSTER,
        "are the same file",
    ),
    "id of a reserved name": (
        made("d.csv", "cluster,b\n1,2\n3,4\n5,7\n"),
        f"{CLUSTER} --id cluster",
        "rename",
    ),
    "no such model": (D, PREDICT, "m.skops can't be read: No such file"),
    "model is a folder": (
        lambda p: (numbers(p / "d.csv"), (p / "m.skops").mkdir()),
        PREDICT,
        "Is a directory",
    ),
    "model is a pickle": (
        modelled(lambda p: p.write_bytes(pickle.dumps([1]))),
        PREDICT,
        "is not a model of akkm",
    ),
    "model is text": (
        modelled(lambda p: p.write_text("hello")),
        PREDICT,
        "is not a model of akkm",
    ),
    "model is cut": (
        modelled(lambda p: p.write_bytes(p.read_bytes()[:-200])),
        PREDICT,
        "is damaged",
    ),
    "model is changed": (
        modelled(lambda p: p.write_bytes(p.read_bytes().replace(b"gamma", b"gummy"))),
        PREDICT,
        "is damaged",
    ),
    "model of another version": (
        modelled(with_version("7.1.0")),
        PREDICT,
        "written by akkm 7.1.0",
    ),
    "model with a foreign type": (modelled(foreign), PREDICT, "RBF|Bomb"),
    "info of a foreign file": (D, "info d.csv", "is not a model of akkm"),
    "a column is missing": (modelled(data="a\n1\n2\n"), PREDICT, "'b'"),
    "a column too many": (modelled(data="a,b,c\n1,2,3\n4,5,6\n"), PREDICT, "'c'"),
    "text for numbers": (modelled(data="a,b\nx,2\ny,3\n"), PREDICT, "'a'"),
    "predict nothing": (modelled(data="a,b\n"), PREDICT, "no rows"),
    "compare nothing": (None, "compare a.csv b.csv", "there is no such file"),
    "no cluster": (
        labelled("row,x\n1,2\n", "row,cluster\n1,2\n"),
        "compare a.csv b.csv",
        "expected an id or row",
    ),
    "different ids": (
        labelled("row,cluster\n1,2\n", "id,cluster\n1,2\n"),
        "compare a.csv b.csv",
        "names its rows by 'row'",
    ),
    "no row in common": (
        labelled("row,cluster\n1,2\n", "row,cluster\n2,2\n"),
        "compare a.csv b.csv",
        "no row in common",
    ),
    "rows twice": (
        labelled("row,cluster\n1,2\n1,3\n", "row,cluster\n1,2\n"),
        "compare a.csv b.csv",
        "names some rows twice",
    ),
    "plan of nothing": (None, "plan d.csv -k 3", "there is no such file"),
    "plan with too many": (D, "plan d.csv -k 99", "99 clusters of 30 rows"),
}


def test_there_are_fifty_bad_inputs():
    assert len(BAD) >= 50


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make, command, message = BAD[name]
    if make is not None:
        make(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    result = run(*command.split())
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert re.match(r"akkm: error: .+\n\Z", result.stderr), result.stderr
    assert re.search(message, result.stderr), result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(tmp_path.rglob("*")) == before


def refuse(*args, **kwargs):
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("pathlib.Path.open", "d.csv: no permission to read it"),
        (
            "akkm.cli._outputs.AtomicFile",
            "--labels out.csv can't be written: Permission",
        ),
    ],
)
def test_no_permission(what, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    D(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(what, refuse)
        result = run(*CLUSTER.split())
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"akkm: error: {message}")
    assert os.listdir() == ["d.csv"]


class TestProcesses:
    """What only a process of its own can show."""

    @pytest.fixture
    def work(self, tmp_path):
        """A command that takes some seconds, and the folder it writes to."""
        rng = np.random.default_rng(0)
        X = 4 * rng.normal(size=(9, 10))[rng.integers(9, size=30_000)]
        np.save(tmp_path / "d.npy", X + rng.normal(size=X.shape))
        (tmp_path / "out").mkdir()
        outputs = ["out/l.parquet", "out/m.skops", "out/r.html"]
        options = zip(["--labels", "--model", "--report"], outputs, strict=True)
        args = [word for pair in options for word in pair]
        command = [*AKKM, "cluster", "d.npy", "-k", "9", "--threads", "1", *args]
        return command, tmp_path / "out"

    def start(self, command, folder):
        return subprocess.Popen(
            command,
            cwd=folder.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            text=True,
            # Tests that run in the background ignore Ctrl-C, and so would this.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def wait_for_hidden(self, process, folder):
        while process.poll() is None and not list(folder.glob(".*")):
            time.sleep(0.002)

    def test_exit_codes(self, here):
        for args, code in (
            (["--version"], 0),
            (["cluster", "iris.csv", "-k", "2", "--drop", "name"], 0),
            (["cluster", "iris.csv", "-k", "2"], 2),
            (["cluster", "nothing.csv", "-k", "2"], 2),
        ):
            done = subprocess.run([*AKKM, *args], capture_output=True, text=True)
            assert done.returncode == code, done.stderr
            assert done.stderr.count("\n") == (1 if code else 0)

    @pytest.mark.parametrize(
        ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
    )
    def test_stopped(self, number, code, work):
        command, folder = work
        process = self.start(command, folder)
        self.wait_for_hidden(process, folder)
        time.sleep(0.3)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert process.returncode == code, err
        assert out == ""
        assert "Traceback" not in err
        assert list(folder.iterdir()) == []
        if number == signal.SIGINT:
            assert err.strip() == "akkm: stopped; no file was written."

    @pytest.mark.parametrize("size", [1_000, 20_000, 60_000])
    def test_no_space_left(self, size, here):
        """Labels, the model or the report can't be written to their end."""
        resource = pytest.importorskip("resource")
        (here / "out.csv").write_text("old")
        files = ["--labels", "out.csv", "--model", "m.skops", "--report", "r.html"]
        done = subprocess.run(
            [*AKKM, "cluster", "iris.csv", "-k", "2", "--drop", "name", *files],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        )
        assert done.returncode == 2
        said = (
            r"akkm: error: .*(F|f)ile too large.*; no file was written\. Make room.*\n"
        )
        assert re.fullmatch(said, done.stderr), done.stderr
        assert sorted(os.listdir()) == ["iris.csv", "out.csv"]
        assert (here / "out.csv").read_text() == "old"

    def test_nobody_listens(self, here):
        """As in `akkm cluster ... | true`."""
        for args in (["cluster", "iris.csv", "-k", "2", "--drop", "name"], ["demo"]):
            read, write = os.pipe()
            os.close(read)
            more = ["--labels", "l.csv"] if args[0] == "cluster" else ["--rows", "2000"]
            done = subprocess.run(
                [*AKKM, *args, *more], stdout=write, stderr=subprocess.PIPE, text=True
            )
            os.close(write)
            assert (done.returncode, done.stderr) == (0, "")
        assert {"l.csv", "akkm-demo.html"} < set(os.listdir())

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
    def test_no_space_for_what_is_said(self, here):
        args = ["cluster", "iris.csv", "-k", "2", "--drop", "name", "--labels", "l.csv"]
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [*AKKM, *args], stdout=full, stderr=subprocess.PIPE, text=True
            )
        assert done.returncode == 2
        assert done.stderr == (
            "akkm: error: standard output: No space left on device; written: l.csv. "
            "Make room, or write elsewhere.\n"
        )
        assert (here / "l.csv").exists()

    def test_stopped_before_all_is_imported(self):
        """The first thing that is imported gets Ctrl-C instead."""
        program = """
            import os, signal, sys
            class Finder:
                def find_spec(self, name, path=None, target=None):
                    if name == "numpy":
                        os.kill(os.getpid(), signal.SIGINT)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.meta_path.insert(0, Finder())
            import akkm_start
            akkm_start.main()
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 130
        assert done.stderr == "akkm: stopped; no file was written.\n"

    def test_started_as_it_is_installed(self):
        program = "import sys, akkm_start; sys.argv[1:] = ['--version']; "
        done = subprocess.run(
            [sys.executable, "-c", program + "akkm_start.main()"],
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"akkm {akkm.__version__}\n"

    @pytest.mark.parametrize("renames", [0, 1, 2])
    def test_killed_between_renames(self, renames, here):
        """Each file is complete or not there."""
        program = f"""
            import os, signal
            done, replace = [], os.replace
            def last(source, target):
                if len(done) == {renames}:
                    os.kill(os.getpid(), signal.SIGKILL)
                done.append(target)
                replace(source, target)
            os.replace = last
            from akkm.cli import main
            main()
        """
        files = ["--labels", "l.csv", "--model", "m.skops", "--report", "r.html"]
        args = ["cluster", "iris.csv", "-k", "2", "--drop", "name", *files]
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), *args])
        assert done.returncode == -signal.SIGKILL
        there = ["l.csv", "m.skops", "r.html"]
        visible = sorted(p.name for p in here.iterdir() if p.name[0] not in ".i")
        assert visible == there[:renames]
        if renames > 0:
            assert (here / "l.csv").read_text().count("\n") == 151
        if renames > 1:
            load_model("m.skops")

    def test_killed_at_any_moment(self, work):
        """Each file is complete or not there."""
        command, folder = work
        process = self.start(command, folder)
        self.wait_for_hidden(process, folder)
        began = time.monotonic()
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        took = time.monotonic() - began
        seen = {3}
        for share in (0, 0.4, 0.8, 0.95):
            for path in folder.iterdir():
                path.unlink()
            process = self.start(command, folder)
            self.wait_for_hidden(process, folder)
            time.sleep(share * took)
            process.kill()
            process.communicate()
            visible = [p for p in folder.iterdir() if not p.name.startswith(".")]
            assert len(visible) in (0, 3)  # renames take no time
            seen.add(len(visible))
        assert seen == {0, 3}

    def test_progress_on_a_terminal(self, work):
        pty = pytest.importorskip("pty")
        command, folder = work
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            command,
            cwd=folder.parent,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        )
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        os.close(ours)
        assert process.wait() == 0
        text = shown.decode()
        for word in ("reading", r"iteration \d+, [\d,]+ labels changed", "rows/s"):
            assert re.search(word, text), word
        assert "\x1b[" in text


def test_iterations_left():
    assert iterations_left([1000, 100]) is None
    assert iterations_left([1000, 100, 10]) == pytest.approx(2)
    assert iterations_left([1000, 100, 0]) is None
    assert iterations_left([10, 100, 10]) is None
