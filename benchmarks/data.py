"""Data sets as float32 arrays, prepared once and kept in .cache/."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

CACHE = Path(__file__).parent / ".cache"

# Seven classes of the 10 % file are cut; this many rows the full file has of them.
KDD_COUNTS = {
    "smurf.": 2_807_886,
    "neptune.": 1_072_017,
    "normal.": 972_781,
    "satan.": 15_892,
    "ipsweep.": 12_481,
    "portsweep.": 10_413,
    "nmap.": 2_316,
}
_KDD_PROTOCOL, _KDD_SERVICE, _KDD_FLAG, _KDD_LABEL = 1, 2, 3, 41


def prepare(name: str, n: int, folder: Path | None) -> Path:
    """The cache file with n rows of a data set, made from `folder` if need be.

    Raises FileNotFoundError where the originals are needed and absent.
    """
    path = CACHE / f"{name}-{n}.npy"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        X = _mixture(n) if name == "mixture" else _LOADERS[name](_need(folder), n)
        unfinished = path.with_suffix(".tmp.npy")
        np.save(unfinished, np.ascontiguousarray(X, dtype=np.float32))
        unfinished.rename(path)
    return path


def _need(folder: Path | None) -> Path:
    if folder is None:
        raise FileNotFoundError(
            "no data folder: set AKKM_DATA or give --data; it holds covtype/, mnist/ "
            "and kddcup99/ with the original files"
        )
    return folder


def _covtype(folder: Path, n: int) -> Array:
    path = folder / "covtype" / "covtype.data.gz"
    X = np.loadtxt(path, delimiter=",", usecols=range(54), dtype=np.float32)
    return _min_max(X)[_some(len(X), n)]


def _mnist(folder: Path, n: int) -> Array:
    parts = []
    for part in ("train", "t10k"):
        path = folder / "mnist" / f"{part}-images-idx3-ubyte.gz"
        pixels = np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=16)
        parts.append(pixels.reshape(-1, 784))
    X = np.concatenate(parts)
    return X[_some(len(X), n)] / np.float32(255)


def mnist_classes(folder: Path) -> Array:
    """The digits (70,000,), in the order of the rows."""
    parts = []
    for part in ("train", "t10k"):
        path = folder / "mnist" / f"{part}-labels-idx1-ubyte.gz"
        parts.append(np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8)[8:])
    return np.concatenate(parts)


def _kdd(folder: Path, n: int) -> Array:
    X, label = _kdd_file(folder)
    rows = _kdd_rows(label)
    return X[rows[_some(len(rows), n)]]


def kdd_ten_percent(folder: Path) -> tuple[Array, Array]:
    """The file as it is: rows (494021, 50) and classes (494021,)."""
    X, label = _kdd_file(folder)
    return X, np.unique(label, return_inverse=True)[1]


def _kdd_file(folder: Path) -> tuple[Array, Array]:
    """50 columns: varying numbers, protocol and flag one-hot; `service` left out."""
    path = folder / "kddcup99" / "kddcup.data_10_percent.gz"
    words = (_KDD_PROTOCOL, _KDD_FLAG, _KDD_LABEL)
    numbers = [i for i in range(_KDD_LABEL) if i not in (*words, _KDD_SERVICE)]
    protocol, flag, label = np.loadtxt(
        path, delimiter=",", usecols=words, dtype="U16", unpack=True
    )
    columns = _min_max(np.loadtxt(path, delimiter=",", usecols=numbers))
    X = np.hstack(
        [columns[:, np.ptp(columns, axis=0) > 0], _one_hot(protocol), _one_hot(flag)]
    ).astype(np.float32)
    if X.shape[1] != 50:
        raise ValueError(f"{path} gave {X.shape[1]} columns, expected 50.")
    return X, label


def _kdd_rows(label: Array) -> Array:
    """Row numbers that make a stand-in with the full file's class counts, shuffled."""
    rng = np.random.default_rng(0)
    rows = [np.flatnonzero(~np.isin(label, list(KDD_COUNTS)))]
    for name, count in KDD_COUNTS.items():
        rows.append(rng.choice(np.flatnonzero(label == name), count))
    return rng.permutation(np.concatenate(rows))


def _mixture(n: int) -> Array:
    """20 Gaussians in 100 dimensions."""
    rng = np.random.default_rng(0)
    means = 2 * rng.standard_normal((20, 100), dtype=np.float32)
    X = means[rng.integers(20, size=n)]
    X += rng.standard_normal(X.shape, dtype=np.float32)
    return X


def _min_max(X: Array) -> Array:
    span = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(span > 0, span, 1)


def _one_hot(words: Array) -> Array:
    return np.unique(words)[None, :] == words[:, None]


def _some(total: int, n: int) -> Any:
    """Which n of the rows, in order."""
    if n > total:
        raise ValueError(f"{n} rows wanted of a data set of {total}.")
    if n == total:
        return slice(None)
    return np.sort(np.random.default_rng(0).choice(total, n, replace=False))


_LOADERS: dict[str, Callable[[Path, int], Array]] = {
    "covtype": _covtype,
    "kdd": _kdd,
    "mnist": _mnist,
}
