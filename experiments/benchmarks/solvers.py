"""Compare conjugate gradients with steepest descent on Cover Type.

AKKM_DATA must be set. The benchmark prints how many steps each algorithm needs until
the residual is small. A step is a product with the landmarks' kernel matrix. The
benchmark also prints the time of a fit with `solver="gradient"` divided by that of a
fit with `solver="eigh"`.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm import ApproxKernelKMeans
from akkm.core.gradient import conjugate_gradients
from experiments.benchmarks.prepared_rows import prepare

Array = NDArray[Any]

# Number of steps after which an algorithm is stopped.
_MAX_STEPS = 20_000


def steepest_descent(K: Array, B: Array, tolerance: float) -> int:
    """Return the number of steepest descent steps until all residuals are small.

    The step length is 1 / λ₁, where λ₁ is the largest eigenvalue of K.
    """
    step = 1 / np.linalg.eigvalsh(K)[-1]
    A = np.zeros_like(B)
    for steps in range(_MAX_STEPS):
        R = B - A @ K
        if (np.linalg.norm(R, axis=1) <= tolerance * np.linalg.norm(B, axis=1)).all():
            return steps
        A += step * R
    return _MAX_STEPS


def conjugate(K: Array, B: Array, tolerance: float) -> int:
    """Return the number of conjugate gradient steps until all residuals are small.

    The number is found by bisection.
    """
    low, high = 0, _MAX_STEPS
    while low < high:
        middle = (low + high) // 2
        zero = np.zeros_like(B)
        if conjugate_gradients(K, B, zero, steps=middle, tolerance=tolerance)[1]:
            high = middle
        else:
            low = middle + 1
    return high


def main() -> None:
    """Measure, and print the steps and times."""
    X = np.load(prepare("covtype", 581_012))
    params: Any = {"gamma": 1 / (2 * 0.35**2), "random_state": 0}
    for m in (500, 1000):
        seconds = {}
        for solver in ("eigh", "gradient"):
            model = ApproxKernelKMeans(7, n_landmarks=m, solver=solver, **params)
            start = perf_counter()
            model.fit(X)
            seconds[solver] = perf_counter() - start
        Z = model.landmarks_.astype(np.float64)
        K = model.kernel_(Z)
        values = np.linalg.eigvalsh(K)
        print(f"m = {m}: condition number {values[-1] / values[0]:.2g}")
        ratio = seconds["gradient"] / seconds["eigh"]
        print(f"  time of a fit, gradient / eigh: {ratio:.1f}")
        samples = [X[model.labels_ == k][:5000].astype(np.float64) for k in range(7)]
        B = np.array([model.kernel_(rows, Z).mean(axis=0) for rows in samples])
        for tolerance in (1e-3, 1e-6):
            steps = conjugate(K, B, tolerance), steepest_descent(K, B, tolerance)
            print(f"  residual {tolerance:g}: conjugate gradients {steps[0]} steps,")
            print(
                f"    steepest descent {steps[1]} (of at most {_MAX_STEPS})", flush=True
            )
