"""Random data: ordinary rows, and rows with traits that break careless code."""

import pathlib
import tempfile
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import parquet
from scipy import sparse

import akkm

DTYPES = ["float64", "float32", "int64", "int32", "uint8", "bool", "float16", ">f8"]
DENSE = ["list", "C", "F", "read-only", "strided", "memory-mapped", "pandas", "polars"]
SPARSE = ["csr", "csc", "coo", "csr-int64", "csr-unsorted", "csr-zeros", "csr_matrix"]
STORED = ["open_rows-npy", "open_rows-parquet", "dask-array", "dask-frame"]


@dataclass
class Rows:
    """Rows (n, d) of some dtype, and the traits that make them unusual."""

    X: np.ndarray
    traits: list[str] = field(default_factory=list)


def draw_rows(random, *, nonnegative):
    """Draw a data set of up to 200 rows. Most data sets have one or two traits."""
    rng = np.random.default_rng(random.randrange(2**32))
    n = random.choice([1, 2, 3, 5, 8, 12, 12, 20, 20, 30, 30, 40, 40, 60, 100, 200])
    d = random.choice([1, 1, 2, 2, 3, 4, 6, 10, 30])
    kind = random.choice(["normal", "blobs", "blobs", "grid", "mostly zero", "uniform"])
    X = _points(kind, n, d, rng)
    rows = Rows(X, [] if kind in ("normal", "blobs", "uniform") else [kind])
    for name, (chance, change) in _CHANGES.items():
        if random.random() < chance:
            rows.X = change(rows.X, random, rng)
            rows.traits.append(name)
    if nonnegative and random.random() < 0.97:
        rows.X = np.abs(rows.X)
    dtype = random.choice(["float64"] * 6 + ["float32"] * 6 + DTYPES)
    rows.X = _convert(rows.X, dtype, rows.traits)
    return rows


def _points(kind, n, d, rng):
    if kind == "normal":
        return rng.normal(size=(n, d))
    if kind == "uniform":
        return rng.random((n, d))
    if kind == "blobs":
        centers = 8 * rng.normal(size=(rng.integers(1, 6), d))
        return centers[rng.integers(len(centers), size=n)] + rng.normal(size=(n, d))
    if kind == "grid":
        return rng.integers(0, 4, size=(n, d)).astype(float)
    return np.where(rng.random((n, d)) < 0.2, rng.random((n, d)), 0.0)


def _scaled(X, random, rng):
    return X * 10.0 ** random.uniform(-8, 12)


def _shifted(X, random, rng):
    return X + 10.0 ** random.uniform(0, 8) * X.std()


def _repeated(X, random, rng):
    return X[rng.integers(max(1, len(X) // random.choice([2, 5, 20])), size=len(X))]


def _constant(X, random, rng):
    X = X.copy()
    X[:, rng.integers(X.shape[1])] = random.choice([0.0, 1.0, 1e6])
    return X


def _with_one(factor):
    def change(X, random, rng):
        X = X.copy()
        X[rng.integers(len(X))] *= factor(random)
        return X

    return change


def _with_entry(*values):
    def change(X, random, rng):
        X = X.copy()
        X[rng.integers(len(X)), rng.integers(X.shape[1])] = random.choice(values)
        return X

    return change


# For each trait: its probability, and the change that gives it to the rows.
_CHANGES = {
    "duplicates": (0.15, _repeated),
    "constant column": (0.08, _constant),
    "equal rows": (0.02, lambda X, random, rng: np.repeat(X[:1], len(X), axis=0)),
    "shifted": (0.08, _shifted),
    "scaled": (0.3, _scaled),
    "extreme row": (0.08, _with_one(lambda random: 10.0 ** random.uniform(2, 12))),
    "zero row": (0.05, _with_one(lambda random: 0.0)),
    "huge": (0.015, lambda X, random, rng: X * 10.0 ** random.uniform(30, 300)),
    "tiny": (0.015, lambda X, random, rng: X * 10.0 ** random.uniform(-310, -30)),
    "not finite": (0.02, _with_entry(np.nan, np.inf, -np.inf)),
}


def _convert(X, dtype, traits):
    """Convert rows to the dtype and update the traits. Integers are clipped."""
    kind = np.dtype(dtype).kind
    if kind in "biu":
        X = np.nan_to_num(X, nan=0.0, posinf=0.0, neginf=0.0)
        if "not finite" in traits:
            traits.remove("not finite")
        traits.append("integers")
        if kind == "b":
            return np.median(X) < X
        limits = np.iinfo(dtype)
        top = float(limits.max) / 2
        return np.clip(np.round(X), -top if kind == "i" else 0, top).astype(dtype)
    with np.errstate(over="ignore"):
        converted = X.astype(dtype)
    if np.isinf(converted).any() and "not finite" not in traits:
        traits.append("not finite")
    if dtype == "float16":
        traits.append("float16")
    return converted


class Folder:
    """A temporary folder for the files of a case."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="akkm-fuzz-")
        self._count = 0

    def name(self, ending):
        self._count += 1
        return pathlib.Path(self._folder.name) / f"{self._count}{ending}"

    def close(self):
        self._folder.cleanup()


def stored_as(container, X, folder):
    """Return the rows X in a container, such as "csr" or "pandas"."""
    if container in DENSE:
        return _dense(container, X, folder)
    if container in SPARSE:
        return _sparse(container, X)
    return _stored(container, X, folder)


def _dense(container, X, folder):
    if container == "list":
        return X.tolist()
    if container == "F":
        return np.asfortranarray(X)
    if container == "read-only":
        X = X.copy()
        X.flags.writeable = False
    if container == "strided":
        return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    if container == "memory-mapped":
        path = folder.name(".npy")
        np.save(path, X)
        return np.load(path, mmap_mode="r")
    if container == "pandas":
        return pd.DataFrame(_native(X), columns=_names(X))
    if container == "polars":
        if X.dtype == np.float16:
            X = X.astype(np.float32)
        return pl.DataFrame(dict(zip(_names(X), _native(X).T.copy(), strict=True)))
    return X


def _sparse(container, X):
    X = _native(X)
    if X.dtype == np.float16:  # scipy.sparse has no float16
        X = X.astype(np.float32)
    if container == "csr_matrix":
        return sparse.csr_matrix(X)
    S = sparse.csr_array(X)
    if container in ("csc", "coo"):
        return S.asformat(container)
    if container == "csr-int64":
        S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    if container == "csr-unsorted":
        for start, stop in zip(S.indptr, S.indptr[1:], strict=False):
            S.indices[start:stop] = S.indices[start:stop][::-1].copy()
            S.data[start:stop] = S.data[start:stop][::-1].copy()
        S.has_sorted_indices = False
    if container == "csr-zeros":  # zeros are stored explicitly
        n, d = X.shape
        S = sparse.csr_array(
            (X.ravel().copy(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)),
            shape=X.shape,
        )
    return S


def _stored(container, X, folder):
    X = _native(X)
    if container == "open_rows-npy":
        path = folder.name(".npy")
        np.save(path, X)
        return akkm.open_rows(path)
    if container == "open_rows-parquet":
        path = folder.name(".parquet")
        table = pa.table(dict(zip(_names(X), X.T.copy(), strict=True)))
        parquet.write_table(table, path, row_group_size=17)
        return akkm.open_rows(path)
    import dask.array as da
    import dask.dataframe as dd

    if container == "dask-array":
        return da.from_array(X, chunks=(max(1, len(X) // 3), X.shape[1]))
    return dd.from_pandas(pd.DataFrame(X, columns=_names(X)), npartitions=3)


def _native(X):
    return X.astype(X.dtype.newbyteorder("="))


def _names(X):
    return [f"x{j}" for j in range(X.shape[1])]
