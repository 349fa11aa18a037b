"""Two clustering errors, computed in the same way for the labels of every method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.core.gram import factor
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.kernels import Kernel
from akkm.rows import chunks

Array = NDArray[Any]

# Maximum number of rows on which the exact error is computed.
EXACT_ROWS = 20_000
# Seed of the rows and landmarks for the errors. No measured fit uses this seed.
_SEED = 20_260_000


def exact_error(X: Array, labels: Array, kernel: Kernel) -> float:
    """Return sum_i k(x_i, x_i) - sum_c (1 / n_c) sum_{i, j in c} k(x_i, x_j).

    k is the kernel, and n_c is the number of rows of cluster c. The sums are over at
    most 20,000 rows, which are the same for all methods.
    """
    rows = _fixed_sample(len(X), EXACT_ROWS)
    X, member = X[rows], _one_hot(labels[rows])  # (n, C)
    sums = _cluster_sums(Strip(X, kernel, X, np.float32), member)  # (C, n)
    within = np.einsum("kn,nk->k", sums, member)
    return _trace(X, kernel) - float((within / member.sum(axis=0).clip(1)).sum())


def nystroem_error(X: Array, labels: Array, kernel: Kernel, m: int) -> float:
    """Return sum_i k(x_i, x_i) - sum_c n_c |β_c|², approximated by m landmarks.

    k is the kernel. n_c is the number of rows of cluster c, and β_c is their mean in
    coordinates of the span of the landmarks. The landmarks are the same for all
    methods.
    """
    Z = X[_fixed_sample(len(X), m)]
    strip = Strip(X, kernel, Z, np.float32)
    gram = factor(strip.kernel_rows(Z), dtype=np.float32)
    sums = _cluster_sums(strip, _one_hot(labels))  # (C, m)
    counts = np.bincount(labels).clip(1)
    beta = (sums / counts[:, None]) @ gram.whitener
    return _trace(X, kernel) - float(counts @ (beta**2).sum(axis=1))


def _fixed_sample(n: int, size: int) -> Array:
    rng = np.random.default_rng(_SEED)
    return np.sort(rng.choice(n, min(n, size), replace=False))


def _one_hot(labels: Array) -> Array:
    return np.eye(labels.max() + 1, dtype=np.float32)[labels]


def _cluster_sums(strip: Strip, member: Array) -> Array:
    """Return the sum of the kernel rows of each cluster: (C, m)."""

    def tally(chunk: slice) -> Array:
        total = np.zeros((member.shape[1], strip.m))
        for rows, phi in strip.tiles(chunk):
            total += member[rows].T @ phi
        return total

    with Threads() as engine:
        return sum(engine.map(tally, chunks(strip.n)), np.zeros(()))


def _trace(X: Array, kernel: Kernel) -> float:
    return sum(float(kernel.diag(X[c]).sum(dtype=np.float64)) for c in chunks(len(X)))
