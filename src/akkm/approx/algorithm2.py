"""Approximate kernel k-means: the paper's Algorithm 2, from landmarks to labels."""

from collections.abc import Callable, Iterator

import numpy as np

from akkm.approx.checkpoint import Checkpoint, Start
from akkm.approx.factored import Factored
from akkm.approx.guided_runs import solve_guided
from akkm.approx.prepared_parts import prepare_parts
from akkm.approx.seeding import initial_centers
from akkm.core.lloyd import LloydStep, Position, Solution, lloyd
from akkm.core.threads import Threads
from akkm.guided.guide import Guidance
from akkm.typing import Array


def solve(
    factored: Factored,
    engine: Threads,
    *,
    n_clusters: int,
    init: str | Array,
    n_init: int,
    max_iter: int,
    tol: float = 0.0,
    weights: Array | None,
    cache_bytes: float,
    rng: np.random.Generator,
    watch: Callable[[LloydStep], bool] | None = None,
    checkpoint: Checkpoint | None = None,
    guidance: Guidance | None = None,
) -> Solution:
    """Initialise and iterate: return the best of `n_init` runs.

    `guidance` holds constraints on some rows; the `parts` of the result are then
    `GuidedParts`. Constraints and a checkpoint can't be combined.

    With a checkpoint, there is only one run. If the folder has the checkpoint of an
    interrupted run, it resumes that run. A run ends if an iteration decreases the error
    by less than the share `tol`. Without constraints, `tol` also applies to runs on
    samples.
    """
    if guidance is not None:
        assert checkpoint is None
        return solve_guided(
            factored,
            engine,
            guidance,
            n_clusters=n_clusters,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            weights=weights,
            cache_bytes=cache_bytes,
            rng=rng,
            watch=watch,
        )
    starts = _starts(factored, engine, n_clusters, init, n_init, tol, weights, rng)
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
            prepare_parts(factored, engine, start.labels, weights, cache_bytes, folder),
            factored.gram,
            factored.probes,
            dtype=factored.strip.dtype,
            n_clusters=n_clusters,
            max_iter=max_iter,
            tol=tol,
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
    tol: float,
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
        centers = initial_centers(
            factored, engine, n_clusters, weights, n_init, rng, tol
        )
        yield Start(Position.start(centers))
