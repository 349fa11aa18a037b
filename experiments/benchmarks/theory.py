"""The bounds beside what is measured: `python -m experiments.benchmarks.theory`, from the root.

Draws docs/theory.png and prints the tables of docs/theory.md. Data sets of scikit-learn
always; Cover Type and MNIST if AKKM_DATA names the folder that holds them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from akkm import ApproxKernelKMeans, KernelKMeans
from akkm.core.gram import factor
from akkm.kernels import resolve
from akkm.metrics import clustering_error
from akkm.theory import (
    expected_error_bound,
    relative_error_bound,
    spectrum,
    suggest_n_landmarks,
)
from experiments.benchmarks.data import prepare

Array = NDArray[Any]

_PICTURE = Path(__file__).parent.parent / "docs" / "theory.png"
_COUNTS = (5, 10, 20, 50, 100, 200, 500, 1000)
_SAMPLES = 20
# The large data sets: rows, the m that others are measured by, and seeds.
_ROWS, _MANY, _SEEDS = 20_000, 2_000, 5
# An indefinite kernel: rows, and numbers of landmarks.
_FEW, _SPANS = 4_000, (64, 256, 1_000)
_BLUE, _ORANGE, _GREEN = "#0072b2", "#d55e00", "#009e73"


@dataclass(frozen=True)
class Set:
    """Rows and the kernel that compares them."""

    name: str
    X: Array  # (n, d)
    n_clusters: int
    kernel: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Curves:
    """Errors for s numbers of landmarks."""

    counts: list[int]  # (s,)
    exact: float  # L(U, 1)
    theorem: Array  # (s,)
    corollary: Array  # (s,) times L(U, 1)
    without: Array  # (s, samples) L(U, ξ), landmarks drawn without replacement
    each: Array  # (s, samples) L(U, ξ), every row a landmark with chance m / n
    inertia: Array  # (s, samples) after ApproxKernelKMeans with these landmarks


def small_sets() -> list[Set]:
    """Three real data sets that come with scikit-learn."""
    standard = StandardScaler()
    cancer = standard.fit_transform(load_breast_cancer().data)
    wine = standard.fit_transform(load_wine().data)
    return [
        Set("digits", load_digits().data / 16, 10),
        Set("breast cancer", cancer, 2),
        Set("wine", wine, 3),
    ]


def large_sets(folder: Path | None) -> Iterator[Set]:
    """Samples of MNIST and Cover Type with the paper's kernels, and with rbf."""
    try:
        mnist = np.load(prepare("mnist", _ROWS, folder))
        covtype = np.load(prepare("covtype", _ROWS, folder))
    except FileNotFoundError as error:
        print(f"MNIST and Cover Type left out; {error}")
        return
    neural = {"kernel": "sigmoid", "gamma": 0.0045, "coef0": 0.11}
    yield Set("MNIST, sigmoid", mnist, 10, neural)
    yield Set("MNIST, rbf", mnist, 10)
    yield Set("Cover Type, rbf", covtype, 7, {"kernel_params": {"sigma": 0.35}})


def curves(data: Set) -> Curves:
    """Bounds and measurements for the labels of exact kernel k-means."""
    X, C, n = data.X, data.n_clusters, len(data.X)
    labels = KernelKMeans(C, random_state=0, **data.kernel).fit(X).labels_
    kernel = resolve(data.kernel.get("kernel", "rbf"), X)
    K = kernel(X)
    counts = [m for m in _COUNTS if C <= m < 0.8 * n] + [n]
    exact = clustering_error(X, labels, kernel)
    corollary = relative_error_bound(spectrum(X, kernel), C, counts).sharp
    rng = np.random.default_rng(0)
    without, each, inertia = np.zeros((3, len(counts), _SAMPLES))
    for i, m in enumerate(counts):
        # All rows are all rows, however often they are drawn.
        for j in [slice(None)] if m == n else range(_SAMPLES):
            drawn = np.sort(rng.choice(n, m, replace=False))
            without[i, j] = error_in_span(K, labels, drawn)
            each[i, j] = error_in_span(K, labels, np.flatnonzero(rng.random(n) < m / n))
            inertia[i, j] = final_error(X, C, kernel, drawn, labels)
    theorem = expected_error_bound(X, labels, counts, kernel)
    return Curves(counts, exact, theorem, corollary * exact, without, each, inertia)


def error_in_span(K: Array, labels: Array, drawn: Array) -> float:
    """L(U, ξ) = tr(K) - tr(Ũ K_B K̂⁺ K_Bᵀ Ũᵀ)."""
    if not drawn.size:
        return float(np.trace(K))
    coordinates = K[:, drawn] @ factor(K[np.ix_(drawn, drawn)]).whitener
    return float(np.trace(K) - _between(coordinates, labels))


def _between(coordinates: Array, labels: Array) -> float:
    """Squared lengths of the clusters' means, as many times as they have rows."""
    means = [coordinates[labels == k].mean(axis=0) for k in np.unique(labels)]
    sizes = np.unique(labels, return_counts=True)[1]
    return float(sizes @ (np.array(means) ** 2).sum(axis=1))


def final_error(X: Array, C: int, kernel: Any, drawn: Array, labels: Array) -> float:
    """What aKKm makes of these landmarks, started from the exact labels."""
    model = ApproxKernelKMeans(C, kernel=kernel, landmarks=drawn, init=labels)
    return model.fit(X).inertia_


def draw(found: dict[str, Curves], picture: Path) -> None:
    """One panel for each data set."""
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    panels = figure.subplots(1, len(found))
    for axes, (name, c) in zip(panels, found.items(), strict=True):
        _panel(axes, c)
        axes.set(title=f"{name}, {c.counts[-1]:,} rows", xlabel="landmarks m")
    panels[0].set_ylabel("clustering error / exact error")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(picture, dpi=130)


def _panel(axes: Axes, c: Curves) -> None:
    m, measured = c.counts, c.without / c.exact
    mean, low, high = measured.mean(1), measured.min(1), measured.max(1)
    axes.plot(
        m,
        c.corollary / c.exact,
        "--s",
        color=_GREEN,
        markersize=3.5,
        label="Corollary 1 (bound from eigenvalues)",
    )
    axes.plot(
        m,
        c.theorem / c.exact,
        "-o",
        color=_ORANGE,
        markersize=4,
        label="Theorem 1 (bound on the mean)",
    )
    axes.fill_between(m, low, high, color=_BLUE, alpha=0.2, linewidth=0)
    axes.plot(
        m,
        mean,
        "-o",
        color=_BLUE,
        markersize=4,
        label=f"measured, mean of {_SAMPLES} samples (band: least to most)",
    )
    final = c.inertia.mean(1) / c.exact
    axes.plot(m, final, "x", color="black", label="after aKKm's own iterations, mean")
    axes.axhline(1, color="gray", linewidth=1, linestyle=":", label="exact error")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)


def tell_curves(name: str, c: Curves) -> None:
    """A row per m; errors relative to the exact one."""
    print(f"\n{name}: exact error {c.exact:.2f}")
    print("| m | Corollary 1 | Theorem 1 | mean | most | mean, each row | aKKm |")
    for i, m in enumerate(c.counts):
        row = [c.corollary[i], c.theorem[i], c.without[i].mean(), c.without[i].max()]
        row += [c.each[i].mean(), c.inertia[i].mean()]
        print(f"| {m} |", " | ".join(f"{x / c.exact:.4f}" for x in row), "|")
        assert c.without[i].mean() <= c.theorem[i], (name, m)
        assert c.each[i].mean() <= c.theorem[i], (name, m)


def compare(data: Set) -> None:
    """A table row: the square root rule beside the suggestion."""
    found = suggest_n_landmarks(data.X, data.n_clusters, random_state=0, **data.kernel)
    many = min(_MANY, len(data.X))
    errors = {
        m: np.array([_fitted(data, m, seed) for seed in range(_SEEDS)])
        for m in {found.square_root, found.n_landmarks, many}
    }
    cells = [data.name, f"{len(data.X):,}"]
    for m in (found.square_root, found.n_landmarks):
        shares = errors[m] / errors[many].mean(axis=0)  # (seeds, 2)
        inertia, error = shares.mean(axis=0)
        cells += [
            f"{m:,}",
            f"{inertia:.3f}",
            f"{error:.3f}",
            f"{shares[:, 1].max():.3f}",
        ]
    cells += [f"{1 + found.bound:.3f}"]
    print(f"| {' | '.join(cells)} |", flush=True)


def tell_spans(data: Set) -> None:
    """How much of an indefinite kernel landmarks hold, with which eigenvalues."""
    X, C = data.X[:_FEW], data.n_clusters
    kernel = resolve(X=X, **data.kernel)
    labels = KernelKMeans(C, kernel=kernel, random_state=0).fit(X).labels_
    K = kernel(X)
    print(f"\n{data.name}, {len(X):,} rows, five draws of landmarks:")
    print("| m | all positive: share of tr K | longest row | error | clip: the same |")
    for m in _SPANS:
        rng = np.random.default_rng(m)
        drawn = [rng.choice(len(X), m, replace=False) for _ in range(_SEEDS)]
        cells = [f"{m:,}"]
        for whiten in (_all_positive, lambda K: factor(K).whitener):
            held = [_held(K, labels, rows, whiten) for rows in drawn]
            share, longest, error = np.mean(held, axis=0)
            cells += [f"{share:.1%}", f"{longest:.2f}", f"{error:.0f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def _all_positive(K: Array) -> Array:
    values, vectors = np.linalg.eigh(K)
    kept = values > len(K) * np.finfo(np.float64).eps * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def _held(
    K: Array, labels: Array, rows: Array, whiten: Callable[[Array], Array]
) -> tuple[float, float, float]:
    """Share of tr K in the span, longest image beside k(x, x), and L(U, ξ)."""
    coordinates = K[:, rows] @ whiten(K[np.ix_(rows, rows)])
    squared = (coordinates**2).sum(axis=1)
    longest = float((squared / K.diagonal()).max())
    error = np.trace(K) - _between(coordinates, labels)
    return float(squared.sum() / np.trace(K)), longest, float(error)


def _fitted(data: Set, m: int, seed: int) -> tuple[float, float]:
    """`inertia_`, and the exact error of the labels."""
    model = ApproxKernelKMeans(
        data.n_clusters, n_landmarks=m, random_state=seed, **data.kernel
    )
    labels = model.fit(data.X).labels_
    return model.inertia_, clustering_error(data.X, labels, **data.kernel)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.theory", description=__doc__
    )
    parser.add_argument("--picture", type=Path, default=_PICTURE)
    picture = parser.parse_args().picture
    found = {}
    for data in small_sets():
        found[data.name] = curves(data)
        tell_curves(data.name, found[data.name])
    draw(found, picture)
    print(f"\nPicture: {picture}\n")
    columns = "m | inertia | error | worst"
    print(f"| data | n | auto: {columns} | suggested: {columns} | bound |")
    folder = os.environ.get("AKKM_DATA")
    large = list(large_sets(Path(folder) if folder else None))
    for data in (*small_sets(), *large):
        compare(data)  # relative to m = 2,000; mean of five seeds
    for data in large[:1]:
        tell_spans(data)


if __name__ == "__main__":
    main()
