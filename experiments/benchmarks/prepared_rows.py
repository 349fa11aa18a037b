"""Rows of data sets as float32 arrays, prepared once and cached as files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.atomic_file import AtomicFile
from experiments.benchmarks import CACHE
from experiments.datasets import load

Array = NDArray[Any]

# Name of a data set in benchmarks -> its name in `experiments.datasets`.
_NAMES = {"covtype": "covtype", "kdd": "kddcup99-full", "mnist": "mnist"}


def require_data() -> None:
    """Raise FileNotFoundError if AKKM_DATA is not set."""
    if not os.environ.get("AKKM_DATA"):
        raise FileNotFoundError(
            "AKKM_DATA is not set, and this benchmark needs real data. Set AKKM_DATA "
            "to the folder with the original files in covtype/, mnist/ and kddcup99/."
        )


def prepare(name: str, n: int) -> Path:
    """Return the cache file with n rows of a data set; create it if necessary."""
    path = CACHE / f"{name}-{n}.npy"
    if not path.exists():
        X = _mixture(n) if name == "mixture" else _sample(name, n)
        CACHE.mkdir(exist_ok=True)
        with AtomicFile(path) as file:
            np.save(file, np.ascontiguousarray(X, dtype=np.float32))
    return path


def _sample(name: str, n: int) -> Array:
    """Return n random rows of a real data set, in their original order."""
    require_data()
    X = load(_NAMES[name]).X
    if n > len(X):
        raise ValueError(f"{name} has {len(X)} rows, fewer than the requested {n}.")
    if n == len(X):
        return X
    return X[np.sort(np.random.default_rng(0).choice(len(X), n, replace=False))]


def _mixture(n: int) -> Array:
    """Return n rows of 20 Gaussians in 100 dimensions."""
    rng = np.random.default_rng(0)
    means = 2 * rng.standard_normal((20, 100), dtype=np.float32)
    X = means[rng.integers(20, size=n)]
    X += rng.standard_normal(X.shape, dtype=np.float32)
    return X
