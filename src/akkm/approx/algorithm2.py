"""Approximate kernel k-means: the paper's Algorithm 2, from landmarks to labels."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from akkm.approx.checkpoint import Checkpoint, Start
from akkm.approx.factored import Factored
from akkm.approx.seeding import initial_centers
from akkm.core.lloyd import LloydStep, Position, Solution, lloyd
from akkm.core.parts import Part, Parts
from akkm.core.remote_parts import RemoteParts
from akkm.core.threads import Threads
from akkm.rows import mapped
from akkm.typing import Array

# For data with fewer columns than this, recomputing cheap kernel values is faster than
# caching them.
_WIDE = 256
# If the rows are not in memory and there are more rows than this, their labels and
# bounds (over 1 GB) are kept in files.
_MANY = 2**26


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
    watch: Callable[[LloydStep], bool] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Solution:
    """Initialise and iterate: return the best of `n_init` runs.

    If a checkpoint is given, there is only one run. If the folder of the checkpoint has
    the position of an interrupted run, this run is resumed.
    """
    starts = _starts(factored, engine, n_clusters, init, n_init, weights, rng)
    folder = None
    if checkpoint is not None:
        watch, folder = checkpoint.watching(watch), checkpoint.folder
        saved = checkpoint.load(n_clusters, factored.gram)
        if saved is not None:
            starts = iter([saved])
    best: Solution | None = None
    for start in starts:
        if checkpoint is not None and start.position is not None:
            checkpoint.write(start.position)
        solution = lloyd(
            _parts(factored, engine, start.labels, weights, cache_bytes, folder),
            factored.gram,
            factored.probes,
            dtype=factored.strip.dtype,
            n_clusters=n_clusters,
            max_iter=max_iter,
            watch=watch,
            resume=start.position,
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
) -> Iterator[Start]:
    """Yield the starting point of each run."""
    if not isinstance(init, str):
        yield Start(labels=init)
    elif init == "random":  # the paper's initialisation: random labels of all rows
        for _ in range(n_init):
            yield Start(labels=factored.strip.X.random_labels(n_clusters, rng))
    else:
        centers = initial_centers(factored, engine, n_clusters, weights, n_init, rng)
        yield Start(Position.start(centers))


def _parts(
    factored: Factored,
    engine: Threads,
    labels: Any,
    weights: Array | None,
    cache_bytes: float,
    folder: Path | None,
) -> Parts:
    """Prepare the strip's rows for the loop, in this process or on their workers.

    If the rows are not in memory and there are very many of them, their labels and
    bounds are kept in files in `folder`.
    """
    strip, gram, partitions = factored.strip, factored.gram, factored.strip.X.partitions
    if partitions is not None:
        return RemoteParts(partitions, strip, gram, labels=labels, weights=weights)
    narrow = strip.kernel.cheap and strip.X.shape[1] < _WIDE
    if strip.nbytes <= cache_bytes and not narrow:
        strip.compute_all(engine)
    strip.use_cache(cache_bytes)
    in_file = not strip.X.in_memory and strip.n > _MANY
    full = partial(mapped.full, folder=folder) if in_file else np.full
    return Part.of(strip, gram, engine, labels=labels, weights=weights, full=full)
