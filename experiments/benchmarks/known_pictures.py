"""Draw the pictures of docs/semi-supervised.md.

The first picture shows two noisy moons, clustered without and with four known rows. The
second shows the share of digits in the right class, by the number of known rows, which
are chosen at random or by `suggest`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.colors import ListedColormap
from numpy.typing import NDArray
from sklearn.datasets import load_digits, make_moons

from akkm import ApproxKernelKMeans, DiffusionKernelKMeans
from experiments.benchmarks import DOCS
from experiments.benchmarks.known import accuracy

Array = NDArray[Any]

# The same colours as in akkm.plot.
_COLOURS: Any = ListedColormap(["#0072b2", "#e69f00"])
_COUNTS, _SEEDS = (0, 10, 20, 50, 100, 200), 3


def moons() -> None:
    """Draw moons without and with four known rows."""
    X, y = make_moons(1000, noise=0.15, random_state=1)
    rng = np.random.default_rng(1)
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(y == k), 2, replace=False) for k in (0, 1)]
    )
    known = {int(i): int(y[i]) for i in rows}
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for ax, given in zip(axes, ({}, known), strict=True):
        model: Any = DiffusionKernelKMeans(2, random_state=0).fit(X, known=given)
        labels = model.labels_
        if given:
            labels = np.array(model.label_names_)[labels]
        elif (labels == y).mean() < 0.5:
            labels = 1 - labels
        ax.scatter(*X.T, c=labels, cmap=_COLOURS, s=6)
        if given:
            marks = {"s": 160, "edgecolors": "black", "marker": "*", "linewidths": 1}
            ax.scatter(*X[rows].T, c=y[rows], cmap=_COLOURS, **marks)
        right = (labels == y).mean()
        title = "four known rows (stars)" if given else "no known rows"
        ax.set(xticks=[], yticks=[], title=f"{title}: {right:.0%} right")
    figure.savefig(DOCS / "known-moons.png", dpi=90)


def questions() -> None:
    """Draw the accuracy of clusters of digits, by the number of known rows."""
    X, y = load_digits(return_X_y=True)
    found: dict[str, list[float]] = {"random": [], "suggest": []}
    for count in _COUNTS:
        for name, means in found.items():
            values = [_accuracy(X, y, name, count, seed) for seed in range(_SEEDS)]
            means.append(float(np.mean(values)))
    figure, ax = pyplot.subplots(figsize=(6, 3.2), layout="constrained")
    for name, colour in zip(found, _COLOURS.colors, strict=True):
        ax.plot(_COUNTS, found[name], "o-", color=colour, label=name)
    ax.set(xlabel="known rows", ylabel="share in the right class", ylim=(0.6, 1))
    ax.legend(title="rows chosen by", frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / "known-questions.png", dpi=90)


def _accuracy(X: Array, y: Array, chosen: str, count: int, seed: int) -> float:
    """Return the share of the other rows that are in the right class."""
    model: Any = ApproxKernelKMeans(10, random_state=seed)
    rows = np.random.default_rng(seed).permutation(len(X))[:count]
    if chosen == "suggest" and count:
        rows = model.fit(X).suggest(X, count)
    labels = model.fit(X, known={int(i): int(y[i]) for i in rows}).labels_
    others = np.setdiff1d(np.arange(len(X)), rows)
    return accuracy(y[others], labels[others])


def main() -> None:
    """Draw both pictures."""
    moons()
    questions()
