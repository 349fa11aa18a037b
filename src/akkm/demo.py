"""A disc and a ring around it: what `akkm demo` clusters, and its picture."""

from __future__ import annotations

import time
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Points that are drawn.
_DRAWN = 5_000
_COLOURS = ("#0072b2", "#e69f00")


def disc_in_ring(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Points in the plane, a disc and a ring around it: X (n, 2) and y (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.demo import disc_in_ring
    >>> X, y = disc_in_ring(1000, np.random.default_rng(0))
    >>> X.shape, X.dtype.name, y.max()
    ((1000, 2), 'float32', np.int64(1))
    """
    y = rng.integers(2, size=n)
    radius = y + rng.normal(scale=0.12, size=n)
    angle = rng.uniform(0, 2 * np.pi, size=n)
    X = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
    return X.astype(np.float32), y


def timed(model: Any, X: Array) -> tuple[Array, float]:
    """Labels (n,), and the seconds that it took to find them."""
    start = time.perf_counter()
    labels = model.fit_predict(X)
    return labels, time.perf_counter() - start


def draw(
    X: Array, straight: Array, curved: Array, landmarks: Array, picture: BinaryIO
) -> None:
    """Two sets of labels beside one another, the landmarks on the second, as PNG."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.08)
    figure = Figure(figsize=(9, 4.8), layout=layout)
    shown = slice(0, _DRAWN)
    titles = ("k-means", f"akkm, {len(landmarks)} landmarks of {len(X):,} points")
    for axes, labels, title in zip(
        figure.subplots(1, 2), (straight, curved), titles, strict=True
    ):
        colours = np.array(_COLOURS)[labels[shown]]
        axes.scatter(*X[shown].T, s=3, c=colours, linewidths=0)
        axes.set(title=title, aspect="equal", xticks=[], yticks=[])
    axes.scatter(*landmarks.T, s=5, c="black", linewidths=0, label="landmarks")
    axes.legend(loc="upper right", markerscale=3, framealpha=0.9)
    figure.savefig(picture, dpi=130, format="png")
