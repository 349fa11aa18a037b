"""A first look: `python -m akkm.demo` clusters a disc and a ring around it."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from akkm import ApproxKernelKMeans
from akkm.metrics import adjusted_rand_index, nmi

Array = NDArray[Any]

_N, _DRAWN = 200_000, 5_000
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


def main() -> None:
    """Cluster, say what was done, and draw it."""
    parser = argparse.ArgumentParser(prog="python -m akkm.demo", description=__doc__)
    parser.add_argument("--picture", type=Path, default=Path("akkm-demo.png"))
    picture = parser.parse_args().picture
    X, y = disc_in_ring(_N, np.random.default_rng(0))
    print(f"{_N:,} points in the plane: a disc and a ring around it.")
    full = _N**2 * 4 / 1e9
    print(f"Their kernel matrix would take {full:,.0f} GB in float32.\n")

    straight, seconds = _timed(KMeans(2, random_state=0), X)
    _tell("k-means", straight, y, seconds)
    model = ApproxKernelKMeans(2, random_state=0)
    curved, seconds = _timed(model, X)
    _tell("akkm", curved, y, seconds)
    m = len(model.landmarks_)
    print(f"\nakkm compared the points with {m} of them, the landmarks.")
    new = np.array([[0.1, 0.0], [0.0, 1.0]], dtype=np.float32)
    found = model.predict(new).tolist()
    print(f"New points at radius 0.1 and 1 go to clusters {found}.")
    _draw(X, straight, curved, model.landmarks_, picture)
    print(f"Picture: {picture}")


def _timed(model: Any, X: Array) -> tuple[Array, float]:
    start = time.perf_counter()
    labels = model.fit_predict(X)
    return labels, time.perf_counter() - start


def _tell(name: str, labels: Array, y: Array, seconds: float) -> None:
    print(
        f"{name:8} ARI {adjusted_rand_index(y, labels):5.3f}   "
        f"NMI {nmi(y, labels):5.3f}   {seconds:5.2f} s"
    )


def _draw(
    X: Array, straight: Array, curved: Array, landmarks: Array, picture: Path
) -> None:
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError as error:
        raise SystemExit(
            "The picture needs matplotlib: pip install 'akkm[plot]'"
        ) from error
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
    unfinished = picture.with_name(f".{picture.name}")
    figure.savefig(
        unfinished, dpi=130, format=picture.suffix.removeprefix(".") or "png"
    )
    unfinished.replace(picture)


if __name__ == "__main__":
    main()
