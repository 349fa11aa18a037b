"""Records and report of runs on tiny data, shared by all tests and test processes."""

import fcntl
import os

import pytest

from experiments.paper import experiments, run, write_report
from experiments.paper.plan import unique
from experiments.paper.results import Results
from experiments.paper.store import Store


@pytest.fixture(scope="session")
def plan():
    return experiments(tiny=True)


@pytest.fixture(scope="session")
def all_cells(plan):
    return unique(cell for experiment in plan for cell in experiment.cells)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory):
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def tiny_folder(shared_folder, all_cells):
    """Folder with records of all cells. Only one test process runs the cells."""
    with open(shared_folder / "tiny.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run(all_cells, shared_folder / "tiny")
    return shared_folder / "tiny"


@pytest.fixture(scope="session")
def report_folder(shared_folder, tiny_folder):
    """Folder with the report on the records in `tiny_folder`."""
    out = shared_folder / "tiny-report"
    with open(shared_folder / "report.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            write_report(tiny_folder, out, tiny=True)
    return out


@pytest.fixture
def results(tiny_folder, plan):
    return Results(Store(tiny_folder), plan, tiny=True)
