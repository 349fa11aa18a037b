"""What a fit would take: memory term by term, time from a fit to a sample."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from akkm.cli._console import megabytes
from akkm.cli._options import Method

# What the loop remembers of each row, in bytes; see docs/design.md.
_STATE = 21
# What ties to landmarks take per row, with --method sparse.
_TIED = 60
# Bytes per row of the graph with --method diffusion: for each pair of its neighbours,
# and for each eigenvector, several of which Lanczos keeps for one that is wanted.
_PAIR, _VECTOR = 32, 30
# How time grows with the rows of that graph; neighbours of all in all are in between.
_GROWTH = 1.5
# Matrices of m x m numbers that exist at a time while landmarks are factored.
_SQUARES = 4
# Kernel values and parsed columns that are kept, at most; Python and its libraries.
_CACHE, _PARSED, _PYTHON = 1024 * 2**20, 512 * 2**20, 210e6
# Near enough to a row to have its neighbours, and not the row itself.
_ALMOST = 1 + 1e-6


@dataclass(frozen=True)
class Trial:
    """A fit to a sample of s rows, and what it took."""

    rows: int
    seconds: float  # for the whole fit
    per_row: float  # seconds to put a new row into its cluster
    passes: float  # how often a row was looked at


def try_out(estimator: Any, X: Any, m: int) -> Trial:
    """Fit a sample with as many landmarks as all rows would have."""
    params = estimator.get_params()
    few = min(m, X.shape[0])
    named = {"n_landmarks", "n_leaders"} & set(params)
    estimator.set_params(**dict.fromkeys(named, few))
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X)
    took = time.perf_counter() - start
    start = time.perf_counter()
    estimator.predict(X * X.dtype.type(_ALMOST))
    per_row = (time.perf_counter() - start) / X.shape[0]
    history = getattr(estimator, "history_", np.ones((1, 2)) * X.shape[0])
    passes = float(history[:, 1].sum()) / X.shape[0]
    return Trial(X.shape[0], took, per_row, passes)


def extrapolate(trial: Trial, n: int, method: Method) -> float:
    """Seconds for n rows."""
    more = n - trial.rows
    if method.method == "exact":  # compares all pairs of rows
        return trial.seconds * max(1.0, n / trial.rows) ** 2
    if method.ensemble is not None:
        return trial.seconds * max(1.0, n / trial.rows)
    if method.method == "diffusion":
        return trial.seconds * max(1.0, n / trial.rows) ** _GROWTH
    # What is left grows by the row: each is looked at, once more at the end.
    return trial.seconds + max(0, more) * trial.per_row * (trial.passes + 1)


def memory(
    n: int, X: Any, columns: int, m: int, method: Method, fitted: Any
) -> list[tuple[str, str]]:
    """What it will take, term by term; `columns` are those of the file.

    `fitted` is the estimator after a fit to a sample X (s, d).
    """
    d = X.shape[1]
    if hasattr(X, "nnz"):
        data, reading = 8.0 * X.nnz * n / X.shape[0], 0.0
        rows = f"{n:,} x {X.nnz / X.shape[0]:.1f} entries x 8 bytes"
    else:
        data, reading = 4.0 * n * d, min(_PARSED, 8.0 * n * columns)
        rows = f"{n:,} x {d:,} x 4 bytes"
    if method.method == "exact":
        kept, beside = 0.0, 2 * 4.0 * n * fitted._wanted
        work = f"2 x {n:,} x {fitted._wanted} x 4 bytes"
    elif method.method == "sparse":
        row = _STATE + _TIED + 4 * _places(fitted)
        kept, beside = 0.0, float(row) * n + _SQUARES * 8.0 * m * m
        work = f"{n:,} x {row} bytes + {_SQUARES} x {m:,}² x 8 bytes"
    elif method.method == "diffusion":
        one: Any = _member(fitted)
        row = _STATE + 4 * _places(fitted)
        row += _PAIR * one.n_neighbors**2 + _VECTOR * len(one.eigenvalues_)
        kept, beside = 0.0, float(row) * n
        work = f"{n:,} in the graph x {row:,} bytes"
    else:
        kept = min(_CACHE, 4.0 * n * m)
        beside = _STATE * n + _SQUARES * 8.0 * m * m
        work = f"{n:,} x {_STATE} bytes + {_SQUARES} x {m:,}² x 8 bytes"
    total = _PYTHON + data + max(reading, beside + kept)
    facts = [
        ("memory", f"up to {megabytes(total)}, of which {megabytes(_PYTHON)} Python"),
        ("", f"the rows: {rows} = {megabytes(data)}"),
    ]
    if reading:
        text = f"while reading, columns as parsed: up to {megabytes(reading)}"
        facts.append(("", text))
    facts.append(("", f"while clustering: {work} = {megabytes(beside)}"))
    if kept:
        text = f"and up to {megabytes(kept)} of kernel values of rows in doubt"
        facts.append(("", text))
    return facts


def _places(fitted: Any) -> int:
    """Numbers that a row has in the embedding in which it is clustered."""
    return int(_member(fitted).embedding_.shape[1])


def _member(fitted: Any) -> Any:
    """The estimator, or the largest member of an ensemble."""
    members = getattr(fitted, "members_", [fitted])
    return max(members, key=lambda member: len(getattr(member, "eigenvalues_", ())))
