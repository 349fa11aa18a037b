"""Data sets as float32 arrays, prepared once and kept in .cache/."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.datasets import load

Array = NDArray[Any]

CACHE = Path(__file__).parent / ".cache"

# By the names that tasks have for them.
_NAMES = {"covtype": "covtype", "kdd": "kddcup99-full", "mnist": "mnist"}


def prepare(name: str, n: int, folder: Path | None) -> Path:
    """The cache file with n rows of a data set, made from `folder` if need be.

    Raises FileNotFoundError where the originals are needed and absent.
    """
    path = CACHE / f"{name}-{n}.npy"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        X = _mixture(n) if name == "mixture" else _rows(name, n, folder)
        unfinished = path.with_suffix(".tmp.npy")
        np.save(unfinished, np.ascontiguousarray(X, dtype=np.float32))
        unfinished.rename(path)
    return path


def _rows(name: str, n: int, folder: Path | None) -> Array:
    if folder is None:
        raise FileNotFoundError(
            "no data folder: set AKKM_DATA or give --data; it holds covtype/, mnist/ "
            "and kddcup99/ with the original files"
        )
    os.environ["AKKM_DATA"] = str(folder)
    X = load(_NAMES[name]).X
    return X[_some(len(X), n)]


def _mixture(n: int) -> Array:
    """20 Gaussians in 100 dimensions."""
    rng = np.random.default_rng(0)
    means = 2 * rng.standard_normal((20, 100), dtype=np.float32)
    X = means[rng.integers(20, size=n)]
    X += rng.standard_normal(X.shape, dtype=np.float32)
    return X


def _some(total: int, n: int) -> Any:
    """Which n of the rows, in order."""
    if n > total:
        raise ValueError(f"{n} rows wanted of a data set of {total}.")
    if n == total:
        return slice(None)
    return np.sort(np.random.default_rng(0).choice(total, n, replace=False))
