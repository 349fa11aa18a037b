"""Fixtures shared by all tests."""

import gc
import os
import pathlib

# scikit-learn skips its array API checks unless this variable is set before SciPy is
# imported.
os.environ["SCIPY_ARRAY_API"] = "1"
# Threads of OpenMP sleep while they wait. Otherwise they would occupy a core that
# another test process needs.
os.environ["OMP_WAIT_POLICY"] = "passive"
# Schedulers and workers of Dask measure themselves many times per second, even while
# they wait. Most of these measurements are switched off, to save time.
os.environ["DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED"] = "False"
os.environ["DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL"] = "1s"
os.environ["DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL"] = "10s"

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_circles


def pytest_collection_modifyitems(items):
    """Run all modules that need Dask's workers one after the other.

    They run after three quarters of the other tests. So in most runs only one of two
    test processes starts workers, and the workers do not wait long.
    """
    modules = {item.path for item in items if _needs_workers(item)}
    needing = [item for item in items if item.path in modules]
    others = [item for item in items if item.path not in modules]
    place = len(others) * 3 // 4
    while 0 < place < len(others) and others[place].path == others[place - 1].path:
        place += 1  # a module stays in one piece
    items[:] = others[:place] + needing + others[place:]


def _needs_workers(item):
    """Whether a test names the fixture, or has "workers" as a parameter."""
    parameters = getattr(getattr(item, "callspec", None), "params", {}).values()
    return "workers" in getattr(item, "fixturenames", ()) or any(
        isinstance(value, str) and value == "workers" for value in parameters
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """Exempt all imported modules and collected tests from garbage collection.

    They live until the end. Searching them again and again would take time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(scope="session")
def digits():
    """Real images of digits (1797, 64) in [0, 1], read-only, and their classes."""
    X, y = load_digits(return_X_y=True)
    X /= 16
    X.flags.writeable = False
    return X, y


@pytest.fixture(scope="session")
def circles():
    X, y = make_circles(600, factor=0.3, noise=0.05, random_state=0)
    X.flags.writeable = False
    return X, y


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def workers():
    """Return a client of two Dask worker processes. It is not the current client."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(workers):
    """Make the client of `workers` current during a test."""
    with workers.as_current():
        yield workers


@pytest.fixture(scope="session")
def data_folder():
    """Folder of the real data sets, given by the environment variable AKKM_DATA."""
    folder = os.environ.get("AKKM_DATA")
    if not folder or not pathlib.Path(folder).is_dir():
        pytest.skip("AKKM_DATA does not name a folder with the real data sets")
    return pathlib.Path(folder)
