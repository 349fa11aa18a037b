"""Approximate kernel k-means: the paper's Algorithm 2."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.approx.checkpoint import Checkpoint
from akkm.approx.seeding import warm_start
from akkm.core import gradient, gram
from akkm.core.gram import Centers, Gram
from akkm.core.kernel_matrix import symmetric
from akkm.core.lloyd import Solution, Step, lloyd
from akkm.core.model import Model, shared_diagonal
from akkm.core.nearest import Probes, View, require_finite
from akkm.core.parts import Part, Parts
from akkm.core.strip import Rows, Strip, float32_will_do
from akkm.core.threads import Threads
from akkm.kernels import Kernel, Linear
from akkm.landmarks import Landmarks
from akkm.rows import mapped
from akkm.rows.contract import Stored
from akkm.rows.remote import RemoteRows

Array = NDArray[Any]

# All kernel rows of rows with this many columns are kept, if they fit.
_WIDE = 256
# The state of more stored rows than this, some 1 GB, is in a file.
_MANY = 2**26


@dataclass(frozen=True)
class Factored:
    """Landmarks, factored, and the strip of kernel rows against them."""

    strip: Strip
    gram: Gram
    probes: Probes

    def model(self, centers: Centers) -> Model:
        """Centers in the landmarks' span, ready for new rows."""
        view = View.of(centers.alpha, centers.norms, self.strip.dtype, self.probes)
        kernel = self.strip.kernel
        return Model(
            kernel,
            self.strip.Z,
            view,
            self.strip.dtype,
            None if kernel.psd else self.gram,
            shared_diagonal(kernel, self.strip.X),
        )


def factor(
    X: Rows,
    kernel: Kernel,
    chosen: Landmarks,
    *,
    dtype: Any,
    indefinite: str = "clip",
    solver: str = "eigh",
) -> Factored:
    """K̂ in float64 and its eigenvectors; float64 kernel rows if float32 won't do.

    With `solver="gradient"` K̂ is left as it is.
    """
    strip = Strip(X, kernel, chosen.points, dtype)
    K = symmetric(strip.precise(chosen.rows))
    if strip.dtype == np.float32:
        rounded = strip.kernel_rows(chosen.rows, np.float32)
        require_finite(rounded, np.float32)
        if not float32_will_do(rounded, K):
            strip = Strip(X, kernel, chosen.points, np.float64)
    if solver == "gradient":
        factored: Gram = gradient.unfactored(K, dtype=strip.dtype)
    else:
        factored = gram.factor(K, dtype=strip.dtype, indefinite=indefinite)
    return Factored(strip, factored, Probes.of(strip, chosen.rows, factored, K))


def parts_of(
    strip: Strip,
    gram: Gram,
    engine: Threads,
    *,
    labels: Any,
    weights: Array | None,
    cache_bytes: float,
    folder: Path | None = None,
) -> Parts:
    """The rows of a strip, where they are; kernel rows are kept only here.

    The state of very many stored rows is in a file of the folder, or a temporary one.
    """
    if isinstance(strip.X, RemoteRows):
        return strip.X.parts(strip, gram, labels=labels, weights=weights)
    # Narrow rows are compared faster than memory for the result is had.
    narrow = strip.kernel.cheap and strip.X.shape[1] < _WIDE
    if strip.bytes <= cache_bytes and not narrow:
        strip.hold(engine)
    strip.keep(cache_bytes)
    many = isinstance(strip.X, Stored) and strip.n > _MANY
    full = partial(mapped.full, folder=folder) if many else np.full
    return Part.of(strip, gram, engine, labels=labels, weights=weights, full=full)


def straight(points: Array) -> Factored:
    """k-means of points (n, q), as kernel k-means: the axes are its landmarks."""
    axes = np.eye(points.shape[1], dtype=points.dtype)
    return factor(points, Linear(), Landmarks(axes, axes, None), dtype=points.dtype)


def _random_labels(X: Rows, n_clusters: int, rng: np.random.Generator) -> Any:
    """Memberships (n,) at random; on workers, how to draw the same."""
    if isinstance(X, RemoteRows):
        return X.draw(n_clusters, rng)
    return rng.integers(n_clusters, size=X.shape[0])


def solve(
    factored: Factored,
    engine: Threads,
    *,
    n_clusters: int,
    init: str | Array,
    n_init: int,
    max_iter: int,
    weights: Array | None,
    cache_bytes: float,
    rng: np.random.Generator,
    watch: Callable[[Step], bool] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Solution:
    """From a start to centers and labels: the best of `n_init` runs.

    With a checkpoint, of which there is one run only, from where it was.
    """
    strip, gram_, probes = factored.strip, factored.gram, factored.probes
    starts: Iterable[dict[str, Any]]
    saved = None if checkpoint is None else checkpoint.load()
    if saved is not None:
        starts = [{"centers": saved[0], "before": saved[1]}]
    elif isinstance(init, str) and init == "k-means++":
        centers = warm_start(
            strip,
            gram_,
            probes,
            engine,
            n_clusters=n_clusters,
            weights=weights,
            n_init=n_init,
            rng=rng,
        )
        starts = [{"centers": centers}]
        if checkpoint is not None:
            checkpoint.write(centers)
    elif isinstance(init, str):
        # The paper's start: memberships of all rows at random.
        draws = (_random_labels(strip.X, n_clusters, rng) for _ in range(n_init))
        starts = ({"labels": labels} for labels in draws)
    else:
        starts = [{"labels": init}]

    def noted(step: Step) -> bool:
        assert checkpoint is not None
        checkpoint.step(step.centers, step.changed, step.evaluated)
        return watch is not None and watch(step)

    best: Solution | None = None
    for start in starts:
        parts = parts_of(
            strip,
            gram_,
            engine,
            labels=start.pop("labels", None),
            weights=weights,
            cache_bytes=cache_bytes,
            folder=None if checkpoint is None else checkpoint.folder,
        )
        solution = lloyd(
            parts,
            gram_,
            probes,
            dtype=strip.dtype,
            n_clusters=n_clusters,
            max_iter=max_iter,
            watch=noted if checkpoint is not None else watch,
            **start,
        )
        if best is None or solution.error(0.0) < best.error(0.0):
            best = solution
        if solution.stopped:
            break
    assert best is not None
    return best
