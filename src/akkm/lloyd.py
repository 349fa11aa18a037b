"""Step 3, solve: centers, bounds, the sweep of a chunk, and the one loop.

All of it is Lloyd's algorithm in the space that the landmarks span. A chunk of rows
gives kernel rows φ; these give labels and a `Stats`; Stats add; centers follow from
their sum. Bounds on distances prove most labels without looking at the point again
(docs/design.md derives them).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.bounds import Moves, State, most_past
from akkm.engines import Threads
from akkm.gram import Gram
from akkm.nearest import Probes, View, nearest, padded, require_finite
from akkm.sources import Strip, chunks

Array = NDArray[Any]

# Rows at first considered for an empty cluster.
_WORST_ROWS = 256
# A cluster with less than this share of all weight is empty, but for rounding.
_NOTHING = 1e-12


@dataclass(frozen=True)
class Centers:
    """C cluster centers in the span of the landmarks."""

    beta: Array  # (C, r) whitened coordinates
    alpha: Array  # (C, m) coefficients of the landmarks, the paper's α
    norms: Array  # (C,) squared lengths, α_kᵀ K̂ α_k

    @staticmethod
    def at(beta: Array, gram: Gram) -> Centers:
        """Centers at given coordinates."""
        signed = beta * gram.signs
        return Centers(beta, signed @ gram.whitener.T, (signed * beta).sum(axis=1))


@dataclass
class Stats:
    """What the rows of each cluster add up to."""

    sums: Array  # (C, m) float64, of weighted kernel rows
    counts: Array  # (C,) float64, of weights

    @staticmethod
    def zeros(n_clusters: int, m: int) -> Stats:
        """No rows yet."""
        return Stats(np.zeros((n_clusters, m)), np.zeros(n_clusters))

    def __iadd__(self, other: Stats) -> Stats:
        self.sums += other.sums
        self.counts += other.counts
        return self

    def move(self, phi: Array, old: Array, new: Array, weights: Array | None) -> None:
        """Take rows phi (b, m) from clusters `old` (-1: none) to clusters `new`."""
        b, n_clusters = len(phi), len(self.counts)
        member = np.zeros((padded(n_clusters), b), dtype=phi.dtype)
        columns = np.arange(b)
        weight = np.ones(b, dtype=phi.dtype) if weights is None else weights
        member[new, columns] = weight
        leaving = old >= 0
        member[old[leaving], columns[leaving]] -= weight[leaving]
        with np.errstate(over="ignore", invalid="ignore"):
            self.sums += (member @ phi)[:n_clusters]
        self.counts += member.sum(axis=1, dtype=np.float64)[:n_clusters]


@dataclass(frozen=True)
class Swept:
    """What one chunk reports after a sweep."""

    stats: Stats
    changed: int
    evaluated: int


def sweep(
    strip: Strip,
    gram: Gram,
    weights: Array | None,
    state: State,
    view: View,
    moves: Moves | None,
    stamp: int,
    chunk: slice,
) -> Swept:
    """Assign the rows of a chunk to their nearest centers and tally what changed."""
    doubt = None  # without bounds: every row
    if moves is not None:
        doubt = moves.doubtful(state, chunk, view.slack)
        if stamp == 0:
            moves.rebase(state, chunk)
    stats = Stats.zeros(len(view.norms), strip.m)
    changed = evaluated = 0
    for rows, phi in strip.tiles(chunk, doubt):
        reach = state.reach[rows]
        if np.isnan(reach).any():
            reach = lengths(strip, gram, rows, phi)
            state.reach[rows] = reach
        found = nearest(phi, view, reach, strip, rows)
        state.upper[rows] = view.upper(reach, found.score)
        state.gap[rows] = found.gap
        state.stamp[rows] = stamp
        old = state.labels[rows]
        moved = np.flatnonzero(found.labels != old)
        if moved.size:
            stats.move(
                phi if moved.size == len(phi) else phi[moved],
                old[moved],
                found.labels[moved],
                None if weights is None else weights[rows][moved],
            )
            state.labels[rows] = found.labels
        changed += moved.size
        evaluated += len(phi)
    return Swept(stats, changed, evaluated)


def lengths(strip: Strip, gram: Gram, rows: Any, phi: Array) -> Array:
    """Length of the rows' images: sqrt k(x, x); in the span if k is indefinite."""
    if strip.kernel.psd:
        squared = strip.kernel.diag(strip.X[rows])
    else:
        squared = gram.squared_norms(phi)
    return np.sqrt(squared.clip(0)).astype(np.float32)


@dataclass(frozen=True)
class Step:
    """One iteration, for whoever watches."""

    iteration: int
    changed: int  # rows whose label changed
    evaluated: int  # rows whose kernel row was needed
    centers: Centers


@dataclass(frozen=True)
class Solution:
    """The end of a run."""

    labels: Array  # (n,) int32
    centers: Centers  # the ones the labels are nearest to
    stats: Stats
    n_iter: int
    n_evaluated: int  # kernel rows that were looked at, over all sweeps
    converged: bool

    def error(self, trace: float) -> float:
        """Sum of squared distances to the centers; `trace` is sum_i w_i k(x_i, x_i)."""
        inner = (self.stats.sums * self.centers.alpha).sum()
        return float(trace - 2 * inner + self.stats.counts @ self.centers.norms)


def lloyd(
    strip: Strip,
    gram: Gram,
    probes: Probes,
    engine: Threads,
    *,
    centers: Centers | None = None,
    labels: Array | None = None,
    n_clusters: int,
    weights: Array | None = None,
    max_iter: int = 300,
    watch: Callable[[Step], bool] | None = None,
    prune: bool = True,
) -> Solution:
    """Iterate from centers, or from labels, until no label changes.

    Assumes clean arrays: validation happens at the door. `watch` is told of each
    iteration and stops the run by returning true. Without `prune` every row is looked
    at in every iteration; the labels are the same.
    """
    n = strip.n
    state = State.start(np.full(n, -1) if labels is None else labels)
    stats = Stats.zeros(n_clusters, strip.m)
    if centers is None:
        for tally in engine.map(
            partial(_tally, strip, weights, state, n_clusters), chunks(n)
        ):
            stats += tally
        require_finite(stats.sums, strip.dtype)
        centers = _means(stats, gram, None)

    past: list[Centers] = []
    limit = most_past(n_clusters, gram.rank)
    total = 0
    for iteration in range(1, max_iter + 1):
        view = View.of(centers.alpha, centers.norms, strip.dtype, probes)
        moves = Moves(past, centers) if past and prune and gram.metric else None
        past = [*past, centers] if len(past) < limit else [centers]
        task = partial(sweep, strip, gram, weights, state, view, moves, len(past) - 1)
        changed = evaluated = 0
        for part in engine.map(task, chunks(n)):
            stats += part.stats
            changed += part.changed
            evaluated += part.evaluated
        total += evaluated
        stop = watch is not None and watch(Step(iteration, changed, evaluated, centers))
        if stop or iteration == max_iter:
            break
        reseeded = _reseed(strip, weights, state, stats, view)
        if changed == 0 and not reseeded:
            break
        centers = _means(stats, gram, centers)
    return Solution(state.labels, centers, stats, iteration, total, changed == 0)


def _tally(
    strip: Strip, weights: Array | None, state: State, n_clusters: int, chunk: slice
) -> Stats:
    """The Stats of a chunk under the labels it has."""
    stats = Stats.zeros(n_clusters, strip.m)
    for rows, phi in strip.tiles(chunk):
        none = np.full(len(phi), -1)
        stats.move(
            phi, none, state.labels[rows], None if weights is None else weights[rows]
        )
    return stats


def _means(stats: Stats, gram: Gram, previous: Centers | None) -> Centers:
    """Centers at the clusters' means (α = Û K_B K̂⁻¹).

    An empty one stays where it was, or shares the first mean there is: in a tie the
    lower number wins.
    """
    filled = stats.counts > 0
    counts = np.where(filled, stats.counts, 1)
    beta = (stats.sums / counts[:, None]) @ gram.whitener
    beta[~filled] = (
        beta[filled.argmax()] if previous is None else previous.beta[~filled]
    )
    return Centers.at(beta, gram)


def _reseed(
    strip: Strip,
    weights: Array | None,
    state: State,
    stats: Stats,
    view: View,
) -> bool:
    """Give an empty cluster, if there is one, the row that fits its own center worst.

    One a step: the next one is chosen when the centers know of this one. Returns
    whether a row was moved; none is when every row lies on its center.
    """
    nothing = _NOTHING * stats.counts.sum()
    empty = np.flatnonzero(stats.counts <= nothing)
    if not empty.size:
        return False
    stats.sums[empty] = 0
    stats.counts[empty] = 0
    upper = state.upper if weights is None else np.where(weights > 0, state.upper, -1)
    size = min(_WORST_ROWS, strip.n)
    while True:
        # Bounds say where to look; distances of these rows decide, if all others'
        # bounds are below the largest of them.
        rows = np.argpartition(-upper, size - 1)[:size]
        rows.sort()
        scores = view.scores(strip.precise(strip.X[rows]))
        own = scores[state.labels[rows], np.arange(size)]
        reach = state.reach[rows].astype(np.float64)
        squared = reach**2 + own
        weight = np.ones(size) if weights is None else weights[rows]
        rest_of_cluster = stats.counts[state.labels[rows]] - weight
        squared[(weight <= 0) | (rest_of_cluster <= nothing)] = -np.inf
        worst = squared.argmax()
        rest = np.delete(upper, rows)
        if size == strip.n or squared[worst].clip(0) ** 0.5 >= rest.max():
            break
        size = min(2 * size, strip.n)
    row, doubt = (
        rows[[worst]],
        view.blur * reach[worst] ** 2 + view.slack * reach[worst],
    )
    if not squared[worst] > doubt:
        return False
    stats.move(
        strip.kernel_rows(strip.X[row], strip.dtype),
        state.labels[row],
        empty[:1],
        None if weights is None else weights[row],
    )
    state.labels[row], state.gap[row] = empty[0], -np.inf
    return True
