"""Draw the pictures of docs/which-method.md.

The first picture shows rings, moons, spirals and blobs, clustered by several methods
with default parameters and the true number of clusters. The second shows rings, moons
and spirals of a million points each. The third shows clusters of digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.colors import ListedColormap
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from akkm import ApproxKernelKMeans, DiffusionKernelKMeans, SparseKernelKMeans
from experiments.benchmarks import DOCS, beyond

Array = NDArray[Any]

# Number of points of each shape in the first picture.
_ROWS = 5_000
# The same colours as in akkm.plot.
_COLOURS: Any = ListedColormap(["#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9"])
_SHAPES = {"rings": beyond.rings, "moons": beyond.moons, "spirals": beyond.spirals}
# Number of pixels in each direction of a shape with a million points.
_PIXELS = 500
# Number of digits that are shown per cluster.
_SHOWN = 24

METHODS: dict[str, Callable[[int], Any]] = {
    "k-means": lambda C: KMeans(C, n_init=10, random_state=0),
    "aKKm": lambda C: ApproxKernelKMeans(C, random_state=0),
    "sparse": lambda C: SparseKernelKMeans(C, random_state=0),
    "diffusion": lambda C: DiffusionKernelKMeans(C, random_state=0),
}


def shapes() -> dict[str, tuple[Array, Array]]:
    """Return rows and classes of blobs, and of samples of the shapes in `beyond`."""
    data = {}
    for name, make in _SHAPES.items():
        X, y, _ = make()
        sample = np.random.default_rng(0).choice(len(X), _ROWS, replace=False)
        data[name] = X[sample], y[sample]
    centers = np.array([[-8, -8], [4, 6], [-9, 3], [7, -6], [-1, -3]])
    spread = np.array([1.0, 2.5, 0.5, 1.0, 1.5])
    data["blobs"] = make_blobs(
        _ROWS, centers=centers, cluster_std=spread, random_state=0
    )[:2]
    return data


def by_method() -> None:
    """Draw the clusters of each method on each shape."""
    data = shapes()
    figure, axes = pyplot.subplots(
        len(data), len(METHODS), figsize=(10, 10), layout="constrained"
    )
    for line, (name, (X, y)) in zip(axes, data.items(), strict=True):
        for ax, (method, make) in zip(line, METHODS.items(), strict=True):
            labels = make(len(np.unique(y))).fit(X).labels_
            ax.scatter(*X.T, c=labels, s=2, cmap=_COLOURS, vmin=0, vmax=4)
            ax.set(xticks=[], yticks=[], aspect="equal")
            # Adding 0.0 turns -0.0 into 0.0.
            ax.set_xlabel(f"ARI {round(adjusted_rand_score(y, labels), 2) + 0.0:.2f}")
            if name == "rings":
                ax.set_title(method)
        line[0].set_ylabel(name)
    figure.savefig(DOCS / "which-method.png", dpi=80)


def million() -> None:
    """Draw the clusters of SparseKernelKMeans on shapes with a million points each."""
    figure, axes = pyplot.subplots(1, 3, figsize=(10, 4), layout="constrained")
    for ax, (name, make) in zip(axes, _SHAPES.items(), strict=True):
        X, y, n_clusters = make()
        labels = SparseKernelKMeans(n_clusters, random_state=0).fit(X).labels_
        ends: Any = np.stack([X.min(axis=0), X.max(axis=0)], axis=1)
        counts = np.stack(
            [
                np.histogram2d(X[own, 0], X[own, 1], bins=_PIXELS, range=ends)[0].T
                for own in (labels == k for k in range(n_clusters))
            ]
        )
        colours = np.array([_COLOURS(k)[:3] for k in range(n_clusters)])
        total = counts.sum(axis=0)
        mixed = (
            np.einsum("kij,kc->ijc", counts, colours) / np.maximum(total, 1)[..., None]
        )
        # Dense places are darker, but single points remain visible.
        alpha = np.where(total > 0, 0.35 + 0.65 * (total / total.max()) ** 0.3, 0)
        ax.imshow(
            np.dstack([mixed, alpha]),
            origin="lower",
            extent=ends.ravel(),
            aspect="equal",
        )
        score = normalized_mutual_info_score(y, labels)
        ax.set(xticks=[], yticks=[], title=name, xlabel=f"NMI {score:.3f}")
    figure.savefig(DOCS / "million.png", dpi=100)


def digits() -> None:
    """Draw clusters of digits; digits outside the cluster's main class are orange."""
    X, y = load_digits(return_X_y=True)
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 2.6), layout="constrained")
    for ax, method in zip(axes, ("k-means", "diffusion"), strict=True):
        labels = METHODS[method](10).fit(X).labels_
        score = normalized_mutual_info_score(y, labels)
        most = [int(np.bincount(y[labels == k]).argmax()) for k in range(10)]
        rows = [
            _strip(X, y, np.flatnonzero(labels == k), most[k]) for k in np.argsort(most)
        ]
        ax.imshow(np.vstack(rows))
        ax.set(
            xticks=[],
            yticks=np.arange(10) * 9 + 4,
            yticklabels=np.sort(most),
            ylabel="most are",
            title=f"{method}: NMI {score:.2f}",
        )
    figure.savefig(DOCS / "digits.png", dpi=90)


def _strip(X: Array, y: Array, members: Array, most: int) -> Array:
    """Return the pixels (9, 9 x shown, 3) of a cluster's digits, drawn side by side."""
    rng = np.random.default_rng(0)
    sample = rng.choice(members, min(_SHOWN, len(members)), replace=False)
    strip = np.ones((9, 9 * _SHOWN, 3))
    for place, i in enumerate(sample):
        ink = X[i].reshape(8, 8, 1) / 16
        colour = np.zeros(3) if y[i] == most else np.array(_COLOURS(1)[:3])
        strip[:8, 9 * place : 9 * place + 8] = 1 - ink * (1 - colour)
    return strip


def main() -> None:
    """Draw all pictures."""
    by_method()
    digits()
    million()
