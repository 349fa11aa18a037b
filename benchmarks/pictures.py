"""The pictures of docs/which-method.md: `python -m benchmarks.pictures`, a minute.

Shapes by methods, each with defaults but the number of clusters.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.colors import ListedColormap
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from akkm import ApproxKernelKMeans, DiffusionKernelKMeans, SparseKernelKMeans
from benchmarks import beyond

Array = NDArray[Any]

_PATH = Path(__file__).parents[1] / "docs" / "which-method.png"
_ROWS = 5_000
# As in akkm.plot.
_COLOURS = ListedColormap(["#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9"])

METHODS = {
    "k-means": lambda C: KMeans(C, n_init=10, random_state=0),
    "aKKm": lambda C: ApproxKernelKMeans(C, random_state=0),
    "sparse": lambda C: SparseKernelKMeans(C, random_state=0),
    "diffusion": lambda C: DiffusionKernelKMeans(C, random_state=0),
}


def shapes() -> dict[str, tuple[Array, Array]]:
    """Rows and what they are of: some of those in `benchmarks.beyond`, and blobs."""
    found = {}
    for name, make in (
        ("rings", beyond.rings),
        ("moons", beyond.moons),
        ("spirals", beyond.spirals),
    ):
        X, y, _ = make()
        some = np.random.default_rng(0).choice(len(X), _ROWS, replace=False)
        found[name] = X[some], y[some]
    centers = np.array([[-8, -8], [4, 6], [-9, 3], [7, -6], [-1, -3]])
    spread = np.array([1.0, 2.5, 0.5, 1.0, 1.5])
    found["blobs"] = make_blobs(
        _ROWS, centers=centers, cluster_std=spread, random_state=0
    )[:2]
    return found


def main() -> None:
    data = shapes()
    figure, axes = pyplot.subplots(
        len(data), len(METHODS), figsize=(10, 10), layout="constrained"
    )
    for line, (name, (X, y)) in zip(axes, data.items(), strict=True):
        for ax, (method, make) in zip(line, METHODS.items(), strict=True):
            labels = make(len(np.unique(y))).fit(X).labels_
            ax.scatter(*X.T, c=labels, s=2, cmap=_COLOURS, vmin=0, vmax=4)
            ax.set(xticks=[], yticks=[], aspect="equal")
            # 0.0 is added so that none is -0.
            ax.set_xlabel(f"ARI {round(adjusted_rand_score(y, labels), 2) + 0.0:.2f}")
            if name == "rings":
                ax.set_title(method)
        line[0].set_ylabel(name)
    figure.savefig(_PATH, dpi=80)


if __name__ == "__main__":
    main()
