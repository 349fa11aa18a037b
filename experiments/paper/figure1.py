"""Figure 1: the steps of aKKm and tKKm on points in the plane.

tKKm is two-step kernel k-means. To show a step, a fit is stopped after this step.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from akkm import ApproxKernelKMeans, TwoStepKernelKMeans
from experiments.harness.pages import Picture

Array = NDArray[Any]

# Numbers of points, landmarks and clusters, and the seed.
_N, _M, _C, _SEED = 500, 50, 2, 0
_KERNEL = {"kernel": "rbf", "gamma": 2.0}
_COLOURS = ("#0072b2", "#e69f00")
# The nearest center is determined on a grid with this many points in each direction.
_GRID = 120


def two_arcs(rng: np.random.Generator) -> Array:
    """Return two clusters of points in the plane, (500, 2), that no line separates."""
    half = _N // 2
    angle = rng.uniform(0, np.pi, size=_N)
    points = np.c_[np.cos(angle), np.sin(angle)]
    points[half:] = [0.8, 0.1] - 0.9 * points[half:]
    return points + rng.normal(scale=0.13, size=points.shape)


def figure1() -> Picture:
    """Plot points and landmarks, then the steps of each method with shaded regions."""
    from matplotlib.figure import Figure

    rng = np.random.default_rng(_SEED)
    X = two_arcs(rng)
    landmarks = np.sort(rng.choice(_N, _M, replace=False))
    start = rng.integers(_C, size=_N)
    settings: dict[str, Any] = {"landmarks": landmarks, "init": start, **_KERNEL}
    figure = Figure(figsize=(12, 5), layout="constrained")
    grid = figure.subplots(2, 4)
    none = np.full(_N, -1)
    _scatter(grid[0, 0], X, none, f"{_N} points")
    _scatter(grid[1, 0], X, none, f"{_M} of them: landmarks", landmarks)

    model = ApproxKernelKMeans(_C, **settings)
    last = model.fit(X).n_iter_
    for axes, step in zip(grid[0, 1:], (1, 2, last), strict=True):
        _fit_steps(model, X, step)
        end = ": the end" if step == last else ""
        _regions(axes, model, X)
        title = f"aKKm, iteration {step}{end}"
        _scatter(axes, X, model.labels_, title, landmarks, model)

    model = TwoStepKernelKMeans(_C, **settings)
    last = model.fit(X).n_iter_
    for axes, after in zip(grid[1, 1:], (1, last, None), strict=True):
        _fit_steps(model, X, after or last)
        shown = (
            model.labels_ if after is None else _mask_others(model.labels_, landmarks)
        )
        end = ": the end" if after == last else ""
        name = "all other points" if after is None else f"iteration {after}{end}"
        _regions(axes, model, X)
        _scatter(axes, X, shown, f"tKKm, {name}", landmarks, model)
    file = io.BytesIO()
    figure.savefig(file, dpi=120, format="png")
    caption = (
        f"Figure 1. {_N} points in the plane, of which {_M} are landmarks (circled). "
        "aKKm (top) labels all points in every iteration. tKKm (bottom) labels only "
        "landmarks in its iterations. At the end it labels all other points, which are "
        "gray until then. Shading shows which center is nearest. For each center, a "
        "cross marks the point that is nearest to it in the kernel's space. Both "
        "methods start from the same random labels."
    )
    return Picture("figure1.png", caption, file.getvalue())


def _fit_steps(model: Any, X: Array, step: int) -> None:
    """Fit the model again and stop after `step` iterations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopped on purpose
        model.set_params(max_iter=int(step)).fit(X)


def _mask_others(labels: Array, rows: Array) -> Array:
    """Return labels, with -1 for all rows other than `rows`."""
    masked = np.full(len(labels), -1)
    masked[rows] = labels[rows]
    return masked


def _scatter(
    axes: Any,
    X: Array,
    labels: Array,
    title: str,
    landmarks: Array | None = None,
    model: Any = None,
) -> None:
    colours = np.array(["#9aa3ad", *_COLOURS])[labels + 1]
    axes.scatter(*X.T, s=8, c=colours, linewidths=0)
    if landmarks is not None:
        Z, own = X[landmarks], colours[landmarks]
        axes.scatter(*Z.T, s=22, c=own, linewidths=0.9, edgecolors="black")
    if model is not None:
        nearest = X[model.transform(X).argmin(axis=0)]
        axes.scatter(*nearest.T, s=170, c="white", marker="X", edgecolors="black")
    axes.set_title(title, fontsize=10)
    axes.set(aspect="equal", xticks=[], yticks=[])


def _regions(axes: Any, model: Any, X: Array) -> None:
    low, high = X.min(axis=0) - 0.2, X.max(axis=0) + 0.2
    x, y = (np.linspace(low[i], high[i], _GRID) for i in range(2))
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    nearest = model.predict(grid).reshape(_GRID, _GRID)
    axes.contourf(x, y, nearest, levels=[-0.5, 0.5, 1.5], colors=_COLOURS, alpha=0.18)
