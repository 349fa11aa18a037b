"""Benchmarks run on small data, and stored pages match stored records."""

import doctest
import importlib
import inspect
import pkgutil
import warnings

import numpy as np
import pytest
from scipy import sparse

import akkm
import experiments
from experiments.benchmarks import (
    RESULTS,
    beyond,
    counting,
    images,
    known,
    many_clusters,
    memberships,
    methods,
    restarts,
    scale,
    solvers,
    speed,
    speed_tables,
    unknown_k,
    workers,
)
from experiments.benchmarks.cli import bench
from experiments.benchmarks.tasks import AKKM, BARE, SECTIONS, Task
from experiments.harness.store import JsonLines

MODULES = [
    module.name
    for module in pkgutil.walk_packages(experiments.__path__, "experiments.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_every_module_can_be_imported_and_its_examples_run(name, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    results = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert results.failed == 0


@pytest.mark.parametrize("name", bench.commands)
def test_command_line_options_are_the_arguments_of_main(name):
    module = importlib.import_module(f"experiments.benchmarks.{name}")
    arguments = inspect.signature(module.main).parameters
    assert [option.name for option in bench.commands[name].params] == list(arguments)


@pytest.mark.parametrize(
    "module",
    [beyond, counting, images, known, many_clusters, methods, restarts, workers],
    ids=lambda m: m.__name__,
)
def test_stored_pages_match_the_stored_records(module):
    name = module.__name__.rpartition(".")[2]
    page = module.report(JsonLines(RESULTS / f"{name}.jsonl"))
    assert (RESULTS / f"{name}.md").read_text() == page


def test_the_guide_contains_the_tables_of_the_stored_records():
    tables = beyond.summary(JsonLines(RESULTS / "beyond.jsonl"))
    assert tables in (beyond.DOCS / "which-method.md").read_text()


def test_the_speed_page_has_every_section():
    page = speed_tables.report(JsonLines(RESULTS / "raw.jsonl"), SECTIONS)
    for section in SECTIONS:
        assert f"## {section.title}\n" in page


@pytest.fixture
def task():
    params = {"gamma": 0.1}
    return Task("mixture", 600, 30, 3, "rbf", params, contestants=(AKKM,), seeds=1)


def test_speed_measures_costs_and_errors(task, rng):
    X = rng.standard_normal((600, 5), dtype=np.float32)
    record = speed.measure(task, AKKM, 0, X)
    assert record["seconds"] > 0
    assert record["peak_bytes"] > record["peak_above_data_bytes"] >= 0
    assert 0 < record["exact_error"] < 600
    assert record["exact_error"] <= record["nystroem_error"] * 1.001
    assert speed.measure(task, BARE, 0, X)["n_iter"] is None


def test_speed_runs_identify_their_task(task):
    section = SECTIONS[0].reduced(quick=True, seeds=1)
    run = next(section.runs())
    assert Task.of(run["settings"]).settings == section.tasks[0].settings
    assert run["contestant"] in section.tasks[0].contestants


def test_beyond_measures_a_method(digits, monkeypatch):
    X, y = digits
    monkeypatch.setitem(beyond.DATA, "digits", (lambda: (X[:300], y[:300], 10), False))
    record = beyond.measure_here("digits", "k-means", 0)
    assert 0.6 < record["nmi"] < 0.9
    assert record["clustered"] == 1
    assert record["peak_mb"] > record["above_data_mb"] >= 0


def test_beyond_plans_real_data_only_if_available(monkeypatch):
    monkeypatch.delenv("AKKM_DATA", raising=False)
    assert "digits" in {run["data"] for run in beyond.runs((), 1)}
    assert "Cover Type" not in {run["data"] for run in beyond.runs((), 1)}
    monkeypatch.setenv("AKKM_DATA", "folder")
    runs = list(beyond.runs(["Cover Type"], 2))
    assert {run["data"] for run in runs} == {"Cover Type"}
    assert sum(run["contestant"] == "HDBSCAN" for run in runs) == 1


def test_counting_measures_a_method():
    record = counting.measure(
        "3 Gaussians, 150 rows of 2 columns, 10 apart", "sparse", 0
    )
    assert record["found"] == 3


def test_unknown_k_measures_quality_on_labelled_rows_and_on_all_rows(monkeypatch):
    rows = np.zeros((6, 2)), np.array([0, 0, 0, 1, 1, 1])
    found = np.array([0, 0, -1, 1, 1, 1]), np.arange(6.0)
    monkeypatch.setitem(unknown_k.DATA, "tiny", lambda: rows)
    monkeypatch.setitem(unknown_k.METHODS, "half", (lambda *_: found, "akkm"))
    record = unknown_k.measure("tiny", "half", 0)
    assert record["found"] == 2
    assert record["coverage"] == pytest.approx(5 / 6, abs=1e-4)
    assert record["labelled"] == [1.0, 1.0]
    assert record["all"][0] < 1
    assert record["shares"]["0.5"] == [1.0, 1.0]


def test_quality_at_a_coverage_is_interpolated_between_shares():
    run = {"shares": {"0.5": [1.0, 0.8], "0.9": [0.6, 0.4]}, "all": [0.5, 0.2]}
    assert unknown_k.at_coverage(run, 0.7) == pytest.approx([0.8, 0.6])
    assert unknown_k.at_coverage(run, 0.95) == pytest.approx([0.55, 0.3])


def test_clusters_are_matched_one_to_one():
    labels, others = np.array([0, 0, 0, 1, 1, 2]), np.array([2, 2, 0, 0, 0, 0])
    assert memberships.matched(labels, others, 3).tolist() == [0, 0, 1, 1, 1, 1]


def test_calibration_counts_pairs_by_membership():
    shares, found = np.array([[0.9, 0.1], [0.75, 0.25]]), np.array([0, 1])
    bins = memberships.calibration(shares, found)
    assert bins[1] == [1, 0.1, 0.0]
    assert bins[2] == [1, 0.25, 1.0]
    assert bins[7] == [1, 0.75, 0.0]
    assert bins[9] == [1, 0.9, 1.0]


def test_memberships_are_calibrated_for_two_halves_of_overlapping_clusters():
    rng = np.random.default_rng(0)
    centers = 1.3 * rng.normal(size=(6, 5))
    X = centers[rng.integers(6, size=6000)] + rng.normal(size=(6000, 5))
    first, second = (
        akkm.SparseKernelKMeans(6, random_state=seed).fit(half)
        for seed, half in enumerate(np.array_split(X, 2))
    )
    shares = first.memberships(X[:3000]).toarray()
    found = memberships.matched(first.labels_, second.predict(X[:3000]), 6)
    for pairs, mean, share in memberships.calibration(shares, found):
        assert pairs > 100
        assert abs(mean - share) < 0.1


def test_restarts_use_the_points_of_the_estimator(monkeypatch):
    points, C = restarts.points_of("aKKm", "digits")
    assert len(points) == 1797
    assert C == 10
    monkeypatch.setattr(restarts, "points_of", lambda *_: (points[:300], 4))
    record = restarts.measure("digits", "aKKm", 0)
    assert record["breathing"] < 1.2 * record["ten restarts"]


def test_methods_measure_landmarks(monkeypatch, rng):
    X = rng.random((300, 4), dtype=np.float32)
    monkeypatch.setattr(methods, "_rows", lambda data: X)
    monkeypatch.setattr(methods, "_MEASURED", 200)
    few = methods.measure_landmarks("landmarks", "covtype", "uniform", 10, 0)
    many = methods.measure_landmarks("landmarks", "covtype", "uniform", 100, 0)
    assert 0 < many["error"] < few["error"] < 1


def test_images_measure_kernel_rows(monkeypatch, rng):
    X = sparse.random_array((150, 40), density=0.3, rng=rng, dtype=np.float32)
    monkeypatch.setattr(images, "pyramids", lambda: sparse.csr_array(X))
    monkeypatch.setattr(images, "_M", 20)
    record = images.measure_kernel("kernel", 0)
    assert record["seconds"] > 0
    assert record["numpy"] > 0


def test_conjugate_gradients_take_fewer_steps_than_steepest_descent(rng):
    A = rng.standard_normal((8, 8))
    K, B = A @ A.T + 8 * np.eye(8), rng.standard_normal((2, 8))
    steps = solvers.conjugate(K, B, 1e-6), solvers.steepest_descent(K, B, 1e-6)
    assert 0 < steps[0] <= 9
    assert steps[0] < steps[1]


def test_scale_fits_files_and_arrays(tmp_path):
    scale.write_parquet(tmp_path, 1200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        on_disk = scale.measure(str(tmp_path), None)
        in_memory = scale.measure(str(tmp_path), 1000)
    assert (on_disk["rows"], in_memory["rows"]) == (1200, 1000)
    assert on_disk["passes"] >= 1


def test_workers_measure_time_per_row():
    evaluated, skipped = workers.time_per_row(2000)
    assert evaluated > 0
    assert skipped > 0
