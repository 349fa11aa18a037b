"""`akkm plan`: what it prints, and its upper bound on the memory."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import akkm
from akkm.cli._plan_memory import Task, memory_lines
from akkm.cli._probe import Fit, Probe, probe
from akkm.clustering import ESTIMATORS
from tests.cli.commands import output_of, run


def test_plan_prints_features_landmarks_memory_and_time(here):
    args = ("-k", 3, "--id", "name", "--label", "species")
    out = output_of("plan", "iris.csv", *args, "--gamma", "median")
    for text in ("rows", "one-hot", "gamma: median", "landmarks  150: all rows"):
        assert text in out, text
    assert "theory" not in out  # no theory is needed if all rows are landmarks
    assert re.search(r"memory +at most \d+ MB, also with --labels", out)
    assert re.search(r"time +about \S+ .* with --labels; ", out)
    parts = ("start Python", "read and encode", "cluster", "write labels")
    assert re.search(", ".join(rf"\S+ s to {part}" for part in parts), out)
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


@pytest.mark.parametrize("method", ["sparse", "approx", "exact"])
def test_plan_chooses_the_number_of_clusters_once(method, here, monkeypatch):
    numbers = []
    estimator = ESTIMATORS[method]

    def fit(self, *args, _fit=estimator.fit, **kwargs):
        numbers.append(self.n_clusters)
        return _fit(self, *args, **kwargs)

    monkeypatch.setattr(estimator, "fit", fit)
    args = ("iris.csv", "--columns", "x0,x1,x2,x3", "--method", method)
    out = output_of("plan", *args)
    assert re.search(r"\S+ s to compare numbers of clusters, \S+ s to cluster", out)
    number = int(re.search(r"clusters +(\d+), (?:un)?sure: ", out)[1])
    assert "estimated on 150 of 150 rows" in out
    assert numbers == ["auto"] + [number] * 4


@pytest.mark.parametrize("options", [["--layers"], ["-k", "7-9"]], ids=" ".join)
def test_plan_compares_layers_as_cluster_does(options, here):
    args = ("iris.csv", "--columns", "x0,x1,x2,x3", *options)
    found = [
        re.search(r"clusters +(\d+), ", output_of(command, *args))[1]
        for command in ("plan", "cluster")
    ]
    assert found[0] == found[1]


def test_plan_includes_the_time_to_compare_layers(here):
    args = ("plan", "iris.csv", "-k", 4, "--drop", "name,species")
    assert "compare numbers of clusters" not in output_of(*args)
    assert "compare numbers of clusters" in output_of(*args, "--layers")


def test_plan_fits_a_sample(here, monkeypatch):
    monkeypatch.setattr("akkm.cli._plan._SAMPLE_ROWS", 100)
    monkeypatch.setattr("akkm.cli._plan._ROWS_PER_CLUSTER", 1)
    out = output_of("plan", "iris.csv", "-k", 3, "--drop", "name", "--landmarks", 20)
    assert 70 < int(re.search(r"s for (\d+) rows$", out, re.M)[1]) < 130
    assert "20: as given" in out


def test_plan_accepts_as_many_clusters_as_rows(here):
    out = output_of("plan", "iris.csv", "-k", 150, "--drop", "name")
    # Both fits use all 150 rows, because half of the rows are fewer than k.
    assert "s for 150 rows, " in out


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
    costs = Probe(Fit(100, 1.0, 5e6), Fit(200, 2.0, 6e6), 0.001)
    assert costs.growth(200) == costs.growth(10) == 0
    assert 10e6 < costs.growth(1200) < 21e6  # 10e6 is linear growth; a margin is added
    assert costs.seconds(1200, 1) == pytest.approx(12)
    assert costs.seconds(400, 2) == pytest.approx(8)
    assert costs.seconds(200, 1) == costs.seconds(200, 2) == 2


def test_the_time_to_choose_the_number_grows_only_with_choosing_grows():
    fits = Fit(100, 1.0, 5e6), Fit(200, 2.0, 6e6)
    assert Probe(*fits, 0.001, choosing_seconds=3).seconds_to_choose(1000) == 3
    costs = Probe(*fits, 0.001, choosing_seconds=3, choosing_grows=True)
    assert costs.seconds_to_choose(1000) == pytest.approx(15)
    assert costs.seconds_to_choose(100) == 3


def test_a_probe_never_predicts_less_than_it_measured():
    costs = Probe(Fit(100, 3.0, 9e6), Fit(200, 2.0, 6e6), 0.001, first_seconds=5)
    assert costs.growth(1000) > 0
    # 5 s to load libraries, 2 s for the sample, and 0.001 s for each of 1,000 more rows
    assert costs.seconds(1200, 1) == pytest.approx(8)


def test_a_probe_measures_the_memory_of_a_fit(rng):
    X = rng.random((3000, 4), dtype=np.float32)
    model = akkm.ApproxKernelKMeans(3, n_landmarks=500, random_state=0)
    costs = probe(model, X, 9000, lambda _: 400, 3, fitted=True)
    assert (costs.half.rows, costs.whole.rows) == (1500, 3000)
    assert model.landmarks_.shape[0] == 400
    assert costs.max_cache == model.cache_size * 2**20
    assert 400 * 400 * 8 < costs.half.peak < costs.whole.peak < 50e6
    assert costs.resident > costs.whole.peak


def test_a_probe_of_an_ensemble_fits_two_members(rng):
    X = rng.random((200, 4), dtype=np.float32)
    model = akkm.EnsembleKernelKMeans(
        3, n_members=50_000, n_landmarks=20, random_state=0
    )
    costs = probe(model, X, 200, lambda _: 20, 3, fitted=True)
    assert len(model.members_) == 2
    model.set_params(n_members=2)
    two = probe(model, X, 200, lambda _: 20, 3, fitted=True)
    assert costs.whole.seconds > 100 * two.whole.seconds  # for 50,000 members


@pytest.mark.parametrize("k", ["2-3", "4-8"])
def test_a_range_of_numbers_for_very_few_rows(k, here):
    with open("iris.csv") as file:
        lines = file.readlines()[:12]
    with open("tiny.csv", "w") as file:
        file.writelines(lines)
    args = ("tiny.csv", "--columns", "x0,x1,x2,x3", "-k", k)
    assert "landmarks" in output_of("plan", *args)


def test_many_rows_on_disk_need_less_memory_than_a_laptop_has():
    """The temporary files of 400 million rows are not counted: they can be removed."""
    task = Task("approx", 400_000_000, 400_000_000, 20, 8, 2048, 0, 1, 1e9, True)
    costs = Probe(Fit(25_000, 1, 130e6), Fit(50_000, 2, 170e6), 1e-6, resident=4e8)
    lines = memory_lines(task, costs, np.zeros((50_000, 20), "f4"), 2e8, 9e7)
    assert float(re.search(r"at most (\S+) GB", lines[0])[1]) < 12
    assert "up to 14.8 GB of temporary files" in lines[-1]


class TestSampleAndMemory:
    def test_a_sample_is_planned_as_it_will_be_clustered(self, here):
        args = ("iris.csv", "-k", 3, "--drop", "name,species", "--sample", 60)
        out = output_of("plan", *args)
        assert "clustered  60 random rows; the others will be assigned" in out
        assert "landmarks  60: all rows" in out
        fitted = int(re.search(r"s for (\d+) rows$", out, re.M)[1])
        assert 40 < fitted < 80

    def test_a_sample_smaller_than_k_is_refused(self, here):
        result = run("plan", "iris.csv", "-k", 4, "--sample", 3, "--drop", "name")
        assert "-k 4 with 3 rows" in result.stderr

    def test_rows_that_stay_on_disk_are_noted(self, here):
        args = ("iris.csv", "-k", 3, "--drop", "name", "--memory", 0.001)
        out = output_of("plan", *args)
        note = "rows stay on disk: encoded, they need 0.006 MB, more than --memory"
        assert note in out
        assert "x 4 bytes = 0.006 MB, on disk" in out
        assert note in output_of("cluster", *args)
        assert "on disk" not in output_of("plan", *args[:-2])

    def test_methods_that_need_all_rows_in_memory_say_so(self, here):
        args = ("iris.csv", "-k", 3, "--drop", "name", "--memory", 0.001)
        args += ("--method", "exact")
        planned, clustered = run("plan", *args), run("cluster", *args)
        assert "needs all rows in memory" in planned.stderr
        assert planned.stderr == clustered.stderr
        assert run("plan", *args, "--sample", 50).exit_code == 0

    def test_the_error_names_sparse_as_the_default_method(self, here):
        args = ("iris.csv", "--columns", "x0,x1,x2,x3", "--memory", 0.001)
        message = (
            "--method sparse, the default if no number of clusters is given, needs"
        )
        assert message in run("plan", *args).stderr


# This program runs `akkm plan` and `akkm cluster` with the same options. Then it prints
# the peak memory of the process in MB. Here `akkm plan` fits samples of 5,000 rows, so
# its bound for all rows is extrapolated.
PROGRAM = """
import sys
import akkm.cli._plan
from akkm.cli import main
from akkm.cli._probe import process_memory
akkm.cli._plan._SAMPLE_ROWS = 5_000
options = sys.argv[1:]
for command in (["plan"], ["cluster", "--labels", "labels.parquet"]):
    sys.argv[1:] = command + options
    try:
        main()
    except SystemExit as end:
        assert not end.code
print("peak", process_memory() / 1e6)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory by /proc")
@pytest.mark.parametrize(
    "options", ["-k 8 --method sparse", "-k 8 --memory 1", "-k auto", "-k 2-4"]
)
def test_no_run_uses_more_memory_than_its_plan_allows(options, tmp_path, rng):
    """A run may use less memory than planned, because caches are seldom full."""
    n = 3_000 if options == "-k 2-4" else 40_000  # comparing numbers takes long
    X = rng.normal(size=(8, 6))[rng.integers(8, size=n)] * 4
    np.save(tmp_path / "x.npy", X + rng.normal(size=X.shape))

    words = [sys.executable, "-c", PROGRAM, "x.npy"]
    words += [*options.split(), "--threads", "2"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    bound = float(re.search(r"memory +at most (\d+) MB", done.stdout)[1])
    used = float(re.search(r"peak (\S+)", done.stdout)[1])
    assert used <= bound < 4 * used
