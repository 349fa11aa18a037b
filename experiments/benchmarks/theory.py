"""Compare the error bounds of `akkm.theory` with measured errors.

The benchmark draws docs/theory.png and prints the tables of docs/theory.md. It uses
data sets of scikit-learn, and Cover Type and MNIST if AKKM_DATA is set.
"""

from __future__ import annotations

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
from experiments.benchmarks import DOCS
from experiments.benchmarks.prepared_rows import prepare
from experiments.harness.pages import markdown_table

Array = NDArray[Any]

# Numbers of landmarks for small data sets.
_COUNTS = (5, 10, 20, 50, 100, 200, 500, 1000)
# Number of samples of landmarks for each number of landmarks.
_SAMPLES = 20
# Number of rows of a large data set.
_ROWS = 20_000
# Number of landmarks of the fits with which other fits are compared.
_REFERENCE_LANDMARKS = 2_000
# Number of seeds. For the indefinite kernel: number of samples of landmarks.
_SEEDS = 5
# Number of rows for the indefinite kernel.
_INDEFINITE_ROWS = 4_000
# Numbers of landmarks for the indefinite kernel.
_INDEFINITE_COUNTS = (64, 256, 1_000)
_BLUE, _ORANGE, _GREEN = "#0072b2", "#d55e00", "#009e73"


@dataclass(frozen=True)
class KernelData:
    """Rows and the kernel that compares them."""

    name: str
    X: Array  # (n, d)
    n_clusters: int
    kernel: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Curves:
    """Errors and bounds for s numbers of landmarks.

    L(U, ξ) is the clustering error of the labels U if the centers must lie in the span
    of the landmarks ξ. L(U, 1) is the exact error.
    """

    counts: list[int]  # (s,)
    exact: float  # L(U, 1)
    theorem: Array  # (s,) bound on the mean of L(U, ξ)
    corollary: Array  # (s,) relative bound times L(U, 1)
    without: Array  # (s, samples) L(U, ξ), landmarks drawn without replacement
    each: Array  # (s, samples) L(U, ξ), each row is drawn with probability m / n
    inertia: Array  # (s, samples) `inertia_` of aKKm with the landmarks of `without`


def small_sets() -> list[KernelData]:
    """Return three real data sets that come with scikit-learn."""
    standard = StandardScaler()
    cancer = standard.fit_transform(load_breast_cancer().data)
    wine = standard.fit_transform(load_wine().data)
    return [
        KernelData("digits", load_digits().data / 16, 10),
        KernelData("breast cancer", cancer, 2),
        KernelData("wine", wine, 3),
    ]


def large_sets() -> Iterator[KernelData]:
    """Yield a sample of MNIST with two kernels, and a sample of Cover Type with rbf."""
    try:
        mnist = np.load(prepare("mnist", _ROWS))
        covtype = np.load(prepare("covtype", _ROWS))
    except FileNotFoundError as error:
        print(f"MNIST and Cover Type are left out. {error}")
        return
    neural = {"kernel": "sigmoid", "gamma": 0.0045, "coef0": 0.11}
    yield KernelData("MNIST, sigmoid", mnist, 10, neural)
    yield KernelData("MNIST, rbf", mnist, 10)
    yield KernelData("Cover Type, rbf", covtype, 7, {"kernel_params": {"sigma": 0.35}})


def curves(data: KernelData) -> Curves:
    """Compute bounds and errors for the labels of exact kernel k-means."""
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
        # With m = n all samples are the same.
        for j in [slice(None)] if m == n else range(_SAMPLES):
            drawn = np.sort(rng.choice(n, m, replace=False))
            without[i, j] = error_in_span(K, labels, drawn)
            each[i, j] = error_in_span(K, labels, np.flatnonzero(rng.random(n) < m / n))
            inertia[i, j] = final_error(X, C, kernel, drawn, labels)
    theorem = expected_error_bound(X, labels, counts, kernel)
    return Curves(counts, exact, theorem, corollary * exact, without, each, inertia)


def error_in_span(K: Array, labels: Array, drawn: Array) -> float:
    """Return L(U, ξ) = tr(K) - tr(Ũ K_B K̂⁺ K_Bᵀ Ũᵀ) for the landmarks `drawn`.

    docs/theory.md defines the symbols.
    """
    if not drawn.size:
        return float(np.trace(K))
    coordinates = K[:, drawn] @ factor(K[np.ix_(drawn, drawn)]).whitener
    return float(np.trace(K) - _between(coordinates, labels))


def _between(coordinates: Array, labels: Array) -> float:
    """Return sum_k n_k |mean_k|² for clusters k of n_k rows with mean mean_k."""
    means = [coordinates[labels == k].mean(axis=0) for k in np.unique(labels)]
    sizes = np.unique(labels, return_counts=True)[1]
    return float(sizes @ (np.array(means) ** 2).sum(axis=1))


def final_error(X: Array, C: int, kernel: Any, drawn: Array, labels: Array) -> float:
    """Return `inertia_` of aKKm with the landmarks `drawn`, started from `labels`."""
    model = ApproxKernelKMeans(C, kernel=kernel, landmarks=drawn, init=labels)
    return model.fit(X).inertia_


def plot_curves(measured: dict[str, Curves], picture: Path) -> None:
    """Save a picture with one panel per data set."""
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    panels = figure.subplots(1, len(measured))
    for axes, (name, c) in zip(panels, measured.items(), strict=True):
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
        label=f"measured, mean of {_SAMPLES} samples (band: lowest to highest)",
    )
    final = c.inertia.mean(1) / c.exact
    axes.plot(m, final, "x", color="black", label="after aKKm's own iterations, mean")
    axes.axhline(1, color="gray", linewidth=1, linestyle=":", label="exact error")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)


def print_curves(name: str, c: Curves) -> None:
    """Print one row per m; errors are relative to the exact error.

    For the columns "mean" and "largest", m landmarks are drawn without replacement. For
    "mean, p = m/n", each row is a landmark with probability m/n.
    """
    rows = []
    for i, m in enumerate(c.counts):
        cells = [c.corollary[i], c.theorem[i], c.without[i].mean(), c.without[i].max()]
        cells += [c.each[i].mean(), c.inertia[i].mean()]
        rows.append([str(m), *(f"{x / c.exact:.4f}" for x in cells)])
        assert c.without[i].mean() <= c.theorem[i], (name, m)
        assert c.each[i].mean() <= c.theorem[i], (name, m)
    head = ["m", "Corollary 1", "Theorem 1", "mean", "largest", "mean, p = m/n"]
    print(f"\n{name}: exact error {c.exact:.2f}")
    print(markdown_table([*head, "aKKm"], rows))


def compare(data: KernelData) -> list[str]:
    """Return a table row that compares the suggested m with the square root rule's m.

    Errors are means over five seeds, divided by the mean errors at m = 2,000, or at
    m = n if there are fewer than 2,000 rows.
    """
    suggestion = suggest_n_landmarks(
        data.X, data.n_clusters, random_state=0, **data.kernel
    )
    reference = min(_REFERENCE_LANDMARKS, len(data.X))
    errors = {
        m: np.array([_fit_errors(data, m, seed) for seed in range(_SEEDS)])
        for m in {suggestion.square_root, suggestion.n_landmarks, reference}
    }
    cells = [data.name, f"{len(data.X):,}"]
    for m in (suggestion.square_root, suggestion.n_landmarks):
        relative = errors[m] / errors[reference].mean(axis=0)  # (seeds, 2)
        inertia, error = relative.mean(axis=0)
        worst = relative[:, 1].max()
        cells += [f"{m:,}", f"{inertia:.3f}", f"{error:.3f}", f"{worst:.3f}"]
    return [*cells, f"{1 + suggestion.bound:.3f}"]


def print_spans(data: KernelData) -> None:
    """Print what share of an indefinite kernel's trace is in the landmarks' span."""
    X, C = data.X[:_INDEFINITE_ROWS], data.n_clusters
    kernel = resolve(X=X, **data.kernel)
    labels = KernelKMeans(C, kernel=kernel, random_state=0).fit(X).labels_
    K = kernel(X)
    rows = []
    for m in _INDEFINITE_COUNTS:
        rng = np.random.default_rng(m)
        samples = [rng.choice(len(X), m, replace=False) for _ in range(_SEEDS)]
        cells = [f"{m:,}"]
        for whiten in (_all_positive, lambda K: factor(K).whitener):
            parts = [_span_measures(K, labels, sample, whiten) for sample in samples]
            share, longest, error = np.mean(parts, axis=0)
            cells += [f"{share:.1%}", f"{longest:.2f}", f"{error:.0f}"]
        rows.append(cells)
    head = ["m", "all positive: share of tr K", "longest row", "error"]
    print(f"\n{data.name}, {len(X):,} rows, five samples of landmarks:")
    print(markdown_table([*head, "clip: share", "longest row", "error"], rows))


def _all_positive(K: Array) -> Array:
    values, vectors = np.linalg.eigh(K)
    kept = values > len(K) * np.finfo(np.float64).eps * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def _span_measures(
    K: Array, labels: Array, rows: Array, whiten: Callable[[Array], Array]
) -> tuple[float, float, float]:
    """Return the share of tr K in the span, the largest |p|² / k(x, x), and L(U, ξ).

    p is the projection of the image of a row x onto the span of the landmarks.
    """
    coordinates = K[:, rows] @ whiten(K[np.ix_(rows, rows)])
    squared = (coordinates**2).sum(axis=1)
    longest = float((squared / K.diagonal()).max())
    error = np.trace(K) - _between(coordinates, labels)
    return float(squared.sum() / np.trace(K)), longest, float(error)


def _fit_errors(data: KernelData, m: int, seed: int) -> tuple[float, float]:
    """Fit aKKm; return its `inertia_` and the labels' error with the exact kernel."""
    model = ApproxKernelKMeans(
        data.n_clusters, n_landmarks=m, random_state=seed, **data.kernel
    )
    labels = model.fit(data.X).labels_
    return model.inertia_, clustering_error(data.X, labels, **data.kernel)


def main(picture: Path | None = None) -> None:
    """Measure, draw the picture, and print the tables."""
    picture = picture or DOCS / "theory.png"
    measured = {}
    for data in small_sets():
        measured[data.name] = curves(data)
        print_curves(data.name, measured[data.name])
    plot_curves(measured, picture)
    print(f"\nPicture: {picture}\n")
    columns = ["m", "inertia", "error", "worst"]
    names = [f"{rule}: {x}" for rule in ("auto", "suggested") for x in columns]
    large = list(large_sets())
    rows = [compare(data) for data in (*small_sets(), *large)]
    print(markdown_table(["data", "n", *names, "bound"], rows))
    for data in large[:1]:
        print_spans(data)
