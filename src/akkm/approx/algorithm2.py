"""Approximate kernel k-means: the paper's Algorithm 2, from landmarks to labels."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from akkm.approx.checkpoint import Checkpoint
from akkm.approx.seeding import initial_centers
from akkm.core import gradient, gram
from akkm.core.gram import Centers, Gram
from akkm.core.kernel_matrix import symmetric
from akkm.core.lloyd import Solution, Step, lloyd
from akkm.core.model import Model, shared_diagonal
from akkm.core.nearest import Probes, Scorer, require_finite
from akkm.core.parts import Part, Parts
from akkm.core.remote_parts import RemoteParts
from akkm.core.strip import Strip, float32_suffices
from akkm.core.threads import Threads
from akkm.kernels import Kernel, Linear
from akkm.landmarks import Landmarks
from akkm.rows import mapped
from akkm.typing import Array, Rows

# For fewer columns, recomputing kernel values is cheaper than caching them.
_WIDE = 256
# The state of more rows than this (1 GB), if they are not in memory, is kept in a file.
_MANY = 2**26


@dataclass(frozen=True)
class Factored:
    """Factored landmarks, and the strip of kernel rows against them."""

    strip: Strip
    gram: Gram
    probes: Probes

    def model(self, centers: Centers) -> Model:
        """Return the model that compares new rows with the centers."""
        kernel = self.strip.kernel
        return Model(
            kernel,
            self.strip.Z,
            Scorer.of(centers.alpha, centers.norms, self.strip.dtype, self.probes),
            self.strip.dtype,
            None if kernel.psd else self.gram,
            shared_diagonal(kernel, self.strip.X),
        )


def factor(
    X: Rows,
    kernel: Kernel,
    landmarks: Landmarks,
    *,
    dtype: Any,
    indefinite: str = "clip",
    solver: str = "eigh",
) -> Factored:
    """Compute K̂ in float64 and factor it; `solver="gradient"` leaves K̂ as it is.

    Kernel rows are float64 if float32 ones would not separate the landmarks.
    """
    strip = Strip(X, kernel, landmarks.points, dtype)
    K = symmetric(strip.kernel_rows(landmarks.rows))
    if strip.dtype == np.float32:
        rounded = strip.kernel_rows(landmarks.rows, np.float32)
        require_finite(rounded, np.float32)
        if not float32_suffices(rounded, K):
            strip = Strip(X, kernel, landmarks.points, np.float64)
    if solver == "gradient":
        factored: Gram = gradient.unfactored(K, dtype=strip.dtype)
    else:
        factored = gram.factor(K, dtype=strip.dtype, indefinite=indefinite)
    return Factored(strip, factored, Probes.of(strip, landmarks.rows, factored, K))


def kmeans_problem(points: Array) -> Factored:
    """Write k-means of points (n, q) as kernel k-means: the axes are its landmarks."""
    axes = np.eye(points.shape[1], dtype=points.dtype)
    return factor(points, Linear(), Landmarks(axes, axes, None), dtype=points.dtype)


@dataclass(frozen=True)
class _Start:
    """Where a run begins: from centers, or from labels of all rows."""

    centers: Centers | None = None
    labels: Any = None  # (n,), or how workers draw them
    history: Sequence[tuple[int, int]] = ()  # of the run that is resumed


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
    """Initialise and iterate: return the best of `n_init` runs.

    With a checkpoint there is one run, which resumes where it was interrupted.
    """
    if checkpoint is not None:
        watch = checkpoint.watching(watch)
    starts = _starts(
        factored, engine, n_clusters, init, n_init, weights, rng, checkpoint
    )
    best: Solution | None = None
    for start in starts:
        parts = _parts(
            factored,
            engine,
            labels=start.labels,
            weights=weights,
            cache_bytes=cache_bytes,
            folder=None if checkpoint is None else checkpoint.folder,
        )
        solution = lloyd(
            parts,
            factored.gram,
            factored.probes,
            dtype=factored.strip.dtype,
            centers=start.centers,
            n_clusters=n_clusters,
            max_iter=max_iter,
            watch=watch,
            history=start.history,
        )
        if best is None or solution.error(0.0) < best.error(0.0):
            best = solution
        if solution.stopped:
            break
    assert best is not None
    return best


def _starts(
    factored: Factored,
    engine: Threads,
    n_clusters: int,
    init: str | Array,
    n_init: int,
    weights: Array | None,
    rng: np.random.Generator,
    checkpoint: Checkpoint | None,
) -> Iterator[_Start]:
    """Yield the starts of the runs."""
    saved = None if checkpoint is None else checkpoint.load()
    if saved is not None:
        yield _Start(centers=saved.centers, history=saved.history)
    elif not isinstance(init, str):
        yield _Start(labels=init)
    elif init == "random":  # the paper's initialisation: random labels of all rows
        for _ in range(n_init):
            yield _Start(labels=factored.strip.X.random_labels(n_clusters, rng))
    else:
        centers = initial_centers(
            factored.strip,
            factored.gram,
            factored.probes,
            engine,
            n_clusters=n_clusters,
            weights=weights,
            n_init=n_init,
            rng=rng,
        )
        if checkpoint is not None:
            checkpoint.write(centers)
        yield _Start(centers=centers)


def _parts(
    factored: Factored,
    engine: Threads,
    *,
    labels: Any,
    weights: Array | None,
    cache_bytes: float,
    folder: Path | None,
) -> Parts:
    """Prepare the rows of the strip for the loop, where they are stored.

    `folder` takes the state of very many rows that are not in memory.
    """
    strip = factored.strip
    if strip.X.partitions is not None:
        return RemoteParts(
            strip.X.partitions, strip, factored.gram, labels=labels, weights=weights
        )
    narrow = strip.kernel.cheap and strip.X.shape[1] < _WIDE
    if strip.nbytes <= cache_bytes and not narrow:
        strip.compute_all(engine)
    strip.use_cache(cache_bytes)
    in_file = not strip.X.in_memory and strip.n > _MANY
    full = partial(mapped.full, folder=folder) if in_file else np.full
    return Part.of(
        strip, factored.gram, engine, labels=labels, weights=weights, full=full
    )
