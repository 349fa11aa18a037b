"""Data for the tests of the command line."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from sklearn.datasets import load_iris


@pytest.fixture(scope="session")
def iris():
    """Table of 150 flowers: each has a name, four numbers, a colour and a species."""
    data = load_iris()
    table = {"name": [f"flower {i}" for i in range(150)]}
    table |= {f"x{j}": data.data[:, j] for j in range(4)}
    table["colour"] = np.array(["blue", "violet", "white"])[np.arange(150) % 3]
    table["species"] = data.target_names[data.target]
    return pa.table({name: pa.array(values) for name, values in table.items()})


@pytest.fixture
def here(iris, tmp_path, monkeypatch):
    """Temporary current folder that contains only iris.csv."""
    monkeypatch.chdir(tmp_path)
    csv.write_csv(iris, "iris.csv")
    return tmp_path
