"""Runs of the paper's experiments store records and failures, and can be resumed."""

import gc
import signal
import subprocess
import sys
import time
import weakref

import numpy as np
import pytest

from akkm.metrics import adjusted_rand_index, clustering_error, error_reduction, nmi
from experiments.paper import Cell, run
from experiments.paper import run as run_package
from experiments.paper.prepared import PreparedData
from experiments.paper.results import MEASURES, Results
from experiments.paper.run import contingency, seconds_left
from experiments.paper.store import Store

run_module = sys.modules[run_package.__module__]
# Fields that may differ between two runs of the same cell.
COSTS = ("when", "seconds", "cpu_seconds", "peak_bytes", "above_bytes", "total_seconds")
COSTS += ("threads",)  # the current number of BLAS threads


def without_costs(record):
    return {name: value for name, value in record.items() if name not in COSTS}


def n_lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_every_cell_succeeds_and_a_second_run_does_nothing(
    tiny_folder, all_cells, monkeypatch
):
    records = Store(tiny_folder).records
    assert len(records) == len(all_cells)
    assert [r["failed"] for r in records.values() if "failed" in r] == []
    monkeypatch.setattr(run_module, "fit", None)
    assert run(all_cells, tiny_folder) == 0


def test_a_record_contains_costs_scores_and_versions(tiny_folder):
    record = Store(tiny_folder).get(Cell("tiny-mnist", "aKKm", 50, 1))
    assert record["seconds"].keys() == {"sampling", "fit"}
    assert record["seconds"]["fit"] > 0
    assert record["peak_bytes"] > record["above_bytes"] >= 0
    assert record["memory_by"] in ("VmHWM", "ru_maxrss")
    assert record["versions"]["numpy"] == np.__version__
    assert np.sum(record["classes"]) == np.sum(record["exact"]) == 300
    assert record["n_iter"] >= 1
    assert record["stand_in"]
    ensemble = Store(tiny_folder).get(Cell("tiny-mnist", "ensemble", 5, 1))
    assert ensemble["seconds"].keys() == {"fit", "consensus"}


def test_a_cell_is_run_again_once_exact_labels_exist(tmp_path):
    cell = Cell("tiny-mnist", "aKKm", 10, 0)
    assert run([cell], tmp_path) == 1
    assert Store(tmp_path).get(cell)["exact"] is None
    assert run([cell, Cell("tiny-mnist", "KKm", None, 0)], tmp_path) == 2
    assert np.sum(Store(tmp_path).get(cell)["exact"]) == 300
    assert run([cell], tmp_path) == 0


def test_prepared_data_are_garbage_collected():
    prepared = PreparedData.load("tiny-mnist", {})
    prepared.start_error(0)
    reference = weakref.ref(prepared)
    del prepared
    gc.collect()
    assert reference() is None


def test_a_line_that_is_not_the_record_of_a_cell_is_named(tmp_path):
    (tmp_path / "mnist.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(ValueError, match=r"mnist\.jsonl, line 1 is not the record"):
        Store(tmp_path)


def test_a_killed_run_can_be_resumed(tiny_folder, plan, tmp_path):
    module = [sys.executable, "-m", "experiments", "paper", "run", "table3"]
    child = subprocess.Popen(
        [*module, "--tiny", "--folder", tmp_path], stdout=subprocess.DEVNULL
    )
    path = tmp_path / "tiny-imagenet12.jsonl"
    deadline = time.monotonic() + 120
    while n_lines(path) < 4 and time.monotonic() < deadline and child.poll() is None:
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()
    before = Store(tmp_path).records
    cells = next(e.cells for e in plan if e.name == "table3")
    assert 4 <= len(before) < len(cells)
    # A run killed while writing leaves an incomplete last line.
    with path.open("ab") as file:
        file.write(b'{"cell": {"data": "tiny-im')
    assert Store(tmp_path).records == before
    # To save time, resume only the first data set.
    cells = [cell for cell in cells if cell.data == "tiny-imagenet12"]
    assert run(cells, tmp_path) == len(cells) - len(before)
    resumed, complete = Store(tmp_path), Store(tiny_folder)
    assert before.items() <= resumed.records.items()
    for cell in cells:
        ours, theirs = resumed.get(cell), complete.get(cell)
        assert without_costs(ours) == without_costs(theirs), cell


def test_all_three_methods_start_from_the_same_labels(tmp_path):
    # If all rows are landmarks, the three methods are identical.
    cells = [Cell("tiny-covtype", "KKm", None, 0)]
    cells += [Cell("tiny-covtype", method, 300, 0) for method in ("aKKm", "tKKm")]
    run(cells, tmp_path)
    store = Store(tmp_path)
    assert len({store.get(cell)["digest"] for cell in cells}) == 1
    assert MEASURES["ari"](store.get(cells[1])) == 1


def test_the_reason_why_a_cell_failed_is_stored(tmp_path, plan, monkeypatch):
    def fail(prepared, cell):
        raise ValueError("too narrow")

    cells = plan[-1].cells[:1]
    monkeypatch.setattr(run_module, "fit", fail)
    run(cells, tmp_path)
    results = Results(Store(tmp_path), plan, tiny=True)
    data = cells[0].data.removeprefix("tiny-")
    reason = results.missing_reason(data, cells[0].method, cells[0].m)
    assert reason == "failed: ValueError: too narrow"
    assert run(cells, tmp_path) == 0


def test_remaining_time_is_estimated_from_similar_cells(tmp_path):
    store = Store(tmp_path)
    for seed, took in enumerate((1.0, 3.0)):
        cell = Cell("mnist", "aKKm", 100, seed)
        fields = {**cell.__dict__, "settings": []}
        store.add(cell, {"cell": fields, "total_seconds": took})
    missing = [Cell("mnist", "aKKm", 100, 2), Cell("mnist", "aKKm", 200, 0)]
    assert seconds_left(store, missing) == 2 + 4
    assert seconds_left(store, [Cell("mnist", "tKKm", 100, 0)]) is None
    assert seconds_left(store, []) == 0


def test_measures_of_contingency_tables_equal_those_of_labels(rng):
    a, b = rng.integers(4, size=200), rng.integers(3, size=200)
    b[:100] = a[:100] % 3
    record = {"classes": contingency(a, b), "exact": contingency(b, a)}
    assert MEASURES["nmi"](record) == pytest.approx(nmi(a, b))
    assert MEASURES["ari"](record) == pytest.approx(adjusted_rand_index(b, a))


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 2]])
def test_equal_trivial_partitions_have_ari_1(labels):
    a = np.array(labels)
    record = {"exact": contingency(a, a)}
    assert MEASURES["ari"](record) == adjusted_rand_index(a, a) == 1


def test_recorded_errors_equal_those_of_the_exact_kernel(tiny_folder):
    store, cell = Store(tiny_folder), Cell("tiny-mnist", "KKm", None, 1)
    record, labels = store.get(cell), store.exact_labels(cell)
    prepared = PreparedData.load("tiny-mnist", {})
    X, kernel = prepared.data.X, prepared.data.kernel
    before = clustering_error(X, prepared.start(1), kernel)
    after = clustering_error(X, labels, kernel)
    reduction = error_reduction(before, after)
    assert MEASURES["reduction"](record) == pytest.approx(reduction, rel=1e-4)
    assert record["inertia"] == pytest.approx(after, rel=1e-4)
