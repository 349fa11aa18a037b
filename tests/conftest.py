"""Fixtures shared by all tests."""

import os
import pathlib

# scikit-learn skips its array API checks unless this variable is set before SciPy is
# imported.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_circles


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
