"""Rows and classes from original files or from scikit-learn's fetchers."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.datasets.files import data_folder, original

Array = NDArray[Any]
Arrays = dict[str, Array]  # X: (n, d) float32; classes: (n,) uint8, numbered from 0

# The 10 % file has fewer rows of these seven classes than the full file. The numbers
# are the row counts in the full file.
_KDD_COUNTS = {
    "smurf.": 2_807_886,
    "neptune.": 1_072_017,
    "normal.": 972_781,
    "satan.": 15_892,
    "ipsweep.": 12_481,
    "portsweep.": 10_413,
    "nmap.": 2_316,
}
# Columns of the KDD files that contain words; all others contain numbers.
_KDD_PROTOCOL, _KDD_SERVICE, _KDD_FLAG, _KDD_LABEL = 1, 2, 3, 41
_KDD_NUMBERS = [
    i for i in range(_KDD_LABEL) if i not in (_KDD_PROTOCOL, _KDD_SERVICE, _KDD_FLAG)
]


def mnist() -> Arrays:
    """Return all 70,000 digits, training images first; pixels from 0 to 1."""
    if data_folder() is None:
        pixels, digits = _fetched("fetch_openml", "mnist_784", version=1)
        pixels = pixels.astype(np.uint8)
    else:
        pixels = np.concatenate([_idx(f"{p}-images-idx3", 16) for p in _MNIST_PARTS])
        digits = np.concatenate([_idx(f"{p}-labels-idx1", 8) for p in _MNIST_PARTS])
    X = pixels.reshape(-1, 784) / np.float32(255)
    return {"X": X, "classes": digits.astype(np.uint8)}


_MNIST_PARTS = ("train", "t10k")


def _idx(name: str, header: int) -> Array:
    raw = gzip.decompress(original(f"mnist/{name}-ubyte.gz").read_bytes())
    return np.frombuffer(raw, np.uint8, offset=header)


def covtype() -> Arrays:
    """Return Cover Type: 54 columns, each scaled to [0, 1], and the classes."""
    if data_folder() is None:
        X, types = _fetched("fetch_covtype")
    else:
        path = original("covtype/covtype.data.gz")
        table = np.loadtxt(path, delimiter=",", dtype=np.float32)
        X, types = table[:, :54], table[:, 54]
    return {"X": _min_max(X.astype(np.float32)), "classes": _numbered(types)}


def kdd_ten_percent() -> Arrays:
    """Return the 10 % file, and the row numbers of the stand-in for the full file.

    X has 50 columns. Numeric columns that are not constant are scaled to [0, 1].
    Protocol and flag are one-hot encoded. The column `service` is left out.
    """
    if data_folder() is None:
        table, labels = _fetched_kdd(percent10=True)
    else:
        path = original("kddcup99/kddcup.data_10_percent.gz")
        words = (_KDD_PROTOCOL, _KDD_FLAG, _KDD_LABEL)
        protocol, flag, labels = np.loadtxt(
            path, delimiter=",", usecols=words, dtype="U16", unpack=True
        )
        numbers = np.loadtxt(path, delimiter=",", usecols=_KDD_NUMBERS)
        table = numbers, protocol, flag
    arrays = {"X": kdd_columns(*table), "classes": _numbered(labels)}
    return arrays | {"stand_in": _stand_in(labels)}


def kdd_full() -> Arrays:
    """Return the full KDD Cup 99 file, always fetched by scikit-learn."""
    table, labels = _fetched_kdd(percent10=False)
    return {"X": kdd_columns(*table), "classes": _numbered(labels)}


def _fetched_kdd(percent10: bool) -> tuple[tuple[Array, Array, Array], Array]:
    """Return (numbers, protocol, flag) of all rows, and the classes of the rows."""
    table, labels = _fetched("fetch_kddcup99", percent10=percent10)
    protocol, flag = (table[:, i].astype("U16") for i in (_KDD_PROTOCOL, _KDD_FLAG))
    numbers = table[:, _KDD_NUMBERS].astype(float)
    return (numbers, protocol, flag), labels.astype("U16")


def kdd_columns(numbers: Array, protocol: Array, flag: Array) -> Array:
    """Encode 38 numeric columns, protocol and flag; return 50 columns of float32."""
    columns = _min_max(numbers)
    varying = columns[:, np.ptp(columns, axis=0) > 0]
    X = np.hstack([varying, _one_hot(protocol), _one_hot(flag)])
    if X.shape[1] != 50:
        raise ValueError(
            f"The KDD Cup 99 file gave {X.shape[1]} columns, expected 50. It may be "
            "incomplete: download it again."
        )
    return X.astype(np.float32)


def _stand_in(labels: Array) -> Array:
    """Return the row numbers of the stand-in, shuffled.

    The rows are drawn from the 10 % file, so that the class counts are those of the
    full file.
    """
    rng = np.random.default_rng(0)
    rows = [np.flatnonzero(~np.isin(labels, list(_KDD_COUNTS)))]
    for name, count in _KDD_COUNTS.items():
        rows.append(rng.choice(np.flatnonzero(labels == name), count))
    return rng.permutation(np.concatenate(rows)).astype(np.int32)


def _fetched(fetcher: str, *args: Any, **options: Any) -> tuple[Array, Array]:
    """Return rows and classes from a scikit-learn fetcher, which verifies checksums."""
    from sklearn import datasets

    fetch: Callable[..., Any] = getattr(datasets, fetcher)
    frame = {"as_frame": False} if fetcher == "fetch_openml" else {}
    try:
        X, y = fetch(*args, return_X_y=True, **frame, **options)
    except OSError as error:
        raise FileNotFoundError(
            f"scikit-learn's {fetcher} could not fetch the data ({error}). Set "
            "AKKM_DATA to a folder with the original files, or connect to a network."
        ) from error
    return X, y


def _numbered(labels: Array) -> Array:
    return np.unique(labels, return_inverse=True)[1].astype(np.uint8)


def _min_max(X: Array) -> Array:
    span = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(span > 0, span, 1)


def _one_hot(words: Array) -> Array:
    return np.unique(words)[None, :] == words[:, None]
