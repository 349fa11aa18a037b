"""The contestants of the speed benchmark: functions (task, seed, X) -> Result.

A contestant is a method of akkm or another library whose time and memory are measured.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from experiments.benchmarks import tasks
from experiments.benchmarks.tasks import Task
from experiments.harness.costs import cores

Array = NDArray[Any]
FillRows = Callable[[Array, Array], None]  # (X, out): write kernel rows to out

# Number of rows whose kernel values `bare_pass` computes at a time.
_BLOCK_ROWS = 1024


class Result(NamedTuple):
    """The result of a fit."""

    labels: Array | None
    n_iter: int | None


def akkm(name: str, task: Task, seed: int, X: Array, **options: Any) -> Result:
    """Fit an estimator of akkm."""
    import akkm

    options |= task.params | {"kernel": task.kernel, "random_state": seed}
    model = getattr(akkm, name)(task.n_clusters, **options).fit(X)
    return Result(model.labels_, model.n_iter_)


def with_landmarks(
    name: str, task: Task, seed: int, X: Array, **options: Any
) -> Result:
    """Fit an estimator of akkm with m landmarks."""
    return akkm(name, task, seed, X, n_landmarks=task.m, **options)


def leaders(task: Task, seed: int, X: Array) -> Result:
    """Fit LeadersKernelKMeans with about m leaders."""
    return akkm("LeadersKernelKMeans", task, seed, X, n_leaders=task.m)


approximate = partial(with_landmarks, "ApproxKernelKMeans")


def sklearn(name: str, task: Task, seed: int, X: Array, **options: Any) -> Result:
    """Fit a scikit-learn clusterer to Nystroem features."""
    from sklearn import cluster
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(
        Nystroem(task.kernel, n_components=task.m, random_state=seed, **task.params),
        getattr(cluster, name)(task.n_clusters, random_state=seed, **options),
    ).fit(X)
    return Result(model[-1].labels_, model[-1].n_iter_)


def sklearn_kmeans(task: Task, seed: int, X: Array) -> Result:
    """Fit KMeans to Nystroem features."""
    return sklearn("KMeans", task, seed, X, n_init=task.restarts)


def tslearn(task: Task, seed: int, X: Array) -> Result:
    """Fit tslearn's exact kernel k-means."""
    from tslearn.clustering import KernelKMeans

    options = {"kernel": task.kernel, "kernel_params": dict(task.params)}
    model = KernelKMeans(task.n_clusters, n_init=1, random_state=seed, **options)
    model.fit(X[:, :, None])
    return Result(model.labels_, model.n_iter_)


def bare_pass(task: Task, seed: int, X: Array) -> Result:
    """Compute the kernel values of all rows with m landmarks, and nothing else.

    This takes one matrix product (GEMM) and one elementwise function.
    """
    Z = X[np.random.default_rng(seed).choice(len(X), task.m, replace=False)]
    starts = range(0, len(X), _BLOCK_ROWS)

    def work(thread: int) -> None:
        fill = FILLS[task.kernel](Z, **task.params)
        out = np.empty((_BLOCK_ROWS, task.m), dtype=np.float32)
        for start in starts[thread :: cores()]:
            rows = X[start : start + _BLOCK_ROWS]
            fill(rows, out[: len(rows)])

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(cores()) as pool:
        list(pool.map(work, range(cores())))
    return Result(None, None)


def _fill_rbf(Z: Array, gamma: float) -> FillRows:
    # The exponent is (x, -gamma |x|², 1) · (2 gamma z, 1, -gamma |z|²).
    rate = np.float32(gamma)
    d = Z.shape[1]
    left = np.ones((_BLOCK_ROWS, d + 2), dtype=np.float32)
    right = np.ones((d + 2, len(Z)), dtype=np.float32)
    right[:d] = 2 * rate * Z.T
    right[d + 1] = -rate * (Z * Z).sum(axis=1)

    def fill(X: Array, out: Array) -> None:
        left[: len(X), :d] = X
        left[: len(X), d] = -rate * np.einsum("ij,ij->i", X, X)
        np.matmul(left[: len(X)], right, out=out)
        np.exp(out, out=out)

    return fill


def _fill_sigmoid(Z: Array, gamma: float, coef0: float) -> FillRows:
    right = np.float32(gamma) * np.ascontiguousarray(Z.T)

    def fill(X: Array, out: Array) -> None:
        np.matmul(X, right, out=out)
        out += np.float32(coef0)
        np.tanh(out, out=out)

    return fill


def _fill_poly(Z: Array, gamma: float, degree: int, coef0: float) -> FillRows:
    right = np.float32(gamma) * np.ascontiguousarray(Z.T)
    base = np.empty((_BLOCK_ROWS, len(Z)), dtype=np.float32)

    def fill(X: Array, out: Array) -> None:
        t = base[: len(X)]
        np.matmul(X, right, out=t)
        t += np.float32(coef0)
        np.multiply(t, t, out=out)
        for _ in range(degree - 2):
            out *= t

    return fill


def _fill_cosine(Z: Array) -> FillRows:
    right = np.ascontiguousarray((Z / np.linalg.norm(Z, axis=1, keepdims=True)).T)

    def fill(X: Array, out: Array) -> None:
        np.matmul(X, right, out=out)
        out /= np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]

    return fill


# For each kernel: a function that takes landmarks Z and parameters of the kernel, and
# returns a function (X, out) that writes the kernel rows of X to out.
FILLS: dict[str, Callable[..., FillRows]] = {
    "cosine": _fill_cosine,
    "rbf": _fill_rbf,
    "sigmoid": _fill_sigmoid,
    "poly": _fill_poly,
}

CONTESTANTS: dict[str, Callable[[Task, int, Array], Result]] = {
    tasks.AKKM: approximate,
    tasks.AKKM_ONCE: partial(approximate, n_init=1),
    tasks.EXACT_ONCE: partial(akkm, "KernelKMeans", n_init=1),
    tasks.TWO_STEP: partial(with_landmarks, "TwoStepKernelKMeans"),
    tasks.SPECTRAL: partial(with_landmarks, "NystroemSpectralClustering"),
    tasks.LEADERS: leaders,
    tasks.ENSEMBLE: partial(with_landmarks, "EnsembleKernelKMeans"),
    tasks.KMEANS: sklearn_kmeans,
    tasks.MINIBATCH: partial(sklearn, "MiniBatchKMeans"),
    tasks.TSLEARN: tslearn,
    tasks.BARE: bare_pass,
}


def memory_needed(task: Task, contestant: str) -> int:
    """Return the bytes of the two n x m arrays of Nystroem; 0 without Nystroem."""
    nystroem = contestant in (tasks.KMEANS, tasks.MINIBATCH)
    return 2 * task.n * task.m * 4 if nystroem else 0


def fits_in_memory(task: Task, contestant: str) -> bool:
    """Whether `memory_needed` is at most 80 % of the machine's memory."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return memory_needed(task, contestant) <= 0.8 * total
