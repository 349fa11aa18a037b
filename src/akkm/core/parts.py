"""What a step of the loop asks of the rows, and a part of them that answers.

A part is rows, weights and state that one process has. The rows of a fit are one part,
or many on other machines that answer as one: `Parts` is what the loop knows of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from akkm.core.bounds import Moves, State, above
from akkm.core.gram import Gram
from akkm.core.nearest import View, nearest, padded
from akkm.core.strip import Strip, chunks
from akkm.core.threads import Threads
from akkm.rows.contract import over

Array = NDArray[Any]

# A cluster with less than this share of all weight is empty, but for rounding.
NOTHING = 1e-12
# Rows at a time whose k(x, x) is added up.
_ROWS = 65536


@dataclass
class Stats:
    """What the rows of each cluster add up to."""

    sums: Array  # (C, m) float64, of weighted kernel rows
    counts: Array  # (C,) float64, of weights

    @staticmethod
    def zeros(n_clusters: int, m: int) -> Stats:
        """No rows yet."""
        return Stats(np.zeros((n_clusters, m)), np.zeros(n_clusters))

    def copy(self) -> Stats:
        """The same, to be added to."""
        return Stats(self.sums.copy(), self.counts.copy())

    def __iadd__(self, other: Stats) -> Stats:
        self.sums += other.sums
        self.counts += other.counts
        return self

    def put(self, phi: Array, labels: Array, weights: Array | None) -> None:
        """Add rows phi (b, m) to their clusters; `weights` may be negative."""
        b, n_clusters = len(phi), len(self.counts)
        member = np.zeros((padded(n_clusters), b), dtype=phi.dtype)
        member[labels, np.arange(b)] = 1 if weights is None else weights
        with np.errstate(over="ignore", invalid="ignore"):
            self.sums += (member @ phi)[:n_clusters]
        self.counts += member.sum(axis=1, dtype=np.float64)[:n_clusters]

    def move(self, phi: Array, old: Array, new: Array, weights: Array | None) -> None:
        """Take rows phi (b, m) from clusters `old` to clusters `new`, in float64."""
        precise = phi.astype(np.float64)
        weight = np.ones(len(phi)) if weights is None else weights
        self.put(precise, old, -weight)
        self.put(precise, new, weight)


@dataclass
class Swept:
    """What rows report after a sweep."""

    stats: Stats
    changed: int
    evaluated: int

    def copy(self) -> Swept:
        """The same, to be added to."""
        return Swept(self.stats.copy(), self.changed, self.evaluated)

    def __iadd__(self, other: Swept) -> Swept:
        self.stats += other.stats
        self.changed += other.changed
        self.evaluated += other.evaluated
        return self


@dataclass(frozen=True)
class Worst:
    """The row that fits its own center worst."""

    squared: float  # its squared distance to that center; -inf: there is no such row
    row: int
    label: int
    weight: float
    phi: Array  # (m,) its kernel row
    part: int = 0  # which part has it


class Parts(Protocol):
    """Rows, in one place or in many."""

    def tally(self, n_clusters: int) -> Stats:
        """Stats of the labels there are."""

    def sweep(self, view: View, moves: Moves | None, stamp: int) -> Swept:
        """Assign rows that are in doubt, all of them without `moves`."""

    def recount(self, cluster: int) -> Stats:
        """Stats of one cluster, summed anew, as cluster 0 of 1."""

    def worst(self, view: View, stale: Moves | None, counts: Array) -> Worst:
        """The row that fits worst, of those that leave something of their cluster.

        `stale` is given if bounds are about past centers.
        """

    def give(self, row: Worst, cluster: int) -> None:
        """Put a row into a cluster, to be looked at in the next sweep."""

    def trace(self) -> float:
        """sum_i w_i k(x_i, x_i), as far as the landmarks tell."""

    @property
    def labels(self) -> Any:
        """(n,) int32, as an array of whatever kind the rows are."""


@dataclass
class Part:
    """Rows that this process has."""

    strip: Strip
    gram: Gram | None  # None: the kernel is positive definite, and lengths are its own
    weights: Array | None  # (n,)
    state: State
    engine: Threads

    @staticmethod
    def of(
        strip: Strip,
        gram: Gram,
        engine: Threads,
        *,
        labels: Array | None = None,
        weights: Array | None = None,
        full: Callable[[int, float, Any], Array] = np.full,
    ) -> Part:
        """Rows that nothing is known of but labels, if these are given.

        `full(n, value, dtype)` makes the arrays of their state.
        """
        state = State.start(strip.n, labels, unit=strip.kernel.unit, full=full)
        return Part(strip, gram, weights, state, engine)

    @property
    def labels(self) -> Array:
        """(n,) int32"""
        return self.state.labels

    def tally(self, n_clusters: int) -> Stats:
        """Stats of the labels there are."""
        stats = Stats.zeros(n_clusters, self.strip.m)
        self.strip.expect(None)
        task = partial(self._tally, n_clusters)
        for part in self.engine.map(task, self.strip.chunks()):
            stats += part
        return stats

    def _tally(self, n_clusters: int, chunk: slice) -> Stats:
        stats = Stats.zeros(n_clusters, self.strip.m)
        for rows, phi in self.strip.tiles(chunk):
            stats.put(phi, self.state.labels[rows], self._weights_of(rows))
        return stats

    def sweep(self, view: View, moves: Moves | None, stamp: int) -> Swept:
        """Assign rows that are in doubt, all of them without `moves`."""
        work: list[Any] = self.strip.chunks()
        rows = None
        if moves is not None:
            find = partial(self._doubtful, view, moves, stamp == 0)
            none = np.empty(0, dtype=np.int64)  # a partition may have no rows
            rows = np.concatenate([none, *self.engine.map(find, work)])
            work = self.strip.pieces(rows)
        self.strip.expect(rows)
        total = Swept(Stats.zeros(len(view.norms), self.strip.m), 0, 0)
        for part in self.engine.map(partial(self._sweep, view, stamp), work):
            total += part
        return total

    def _doubtful(self, view: View, moves: Moves, rebase: bool, chunk: slice) -> Array:
        """The rows of a chunk whose labels are not proved, as an index array."""
        rows = chunk.start + moves.doubtful(self.state, chunk, view.tie)
        if rebase:
            moves.rebase(self.state, chunk)
        return rows

    def _sweep(self, view: View, stamp: int, work: Any) -> Swept:
        """Assign rows, a slice or some, to their nearest centers and tally changes."""
        strip, state = self.strip, self.state
        stats = Stats.zeros(len(view.norms), strip.m)
        changed = evaluated = 0
        for rows, phi in strip.tiles(work):
            reach = state.reach[rows]
            if np.isnan(reach).any():
                reach = self._lengths(rows, phi)
                state.reach[rows] = reach
            found = nearest(phi, view, reach, strip, rows)
            old = state.labels[rows].copy()
            upper = view.upper(reach, found.score)
            state.look(rows, found.labels, upper, found.gap, stamp)
            weight = self._weights_of(rows)
            moved = np.flatnonzero(found.labels != old)
            if old[0] < 0:  # none has a label yet
                stats.put(phi, found.labels, weight)
            elif moved.size:
                weight = None if weight is None else weight[moved]
                stats.move(phi[moved], old[moved], found.labels[moved], weight)
            changed += moved.size
            evaluated += len(phi)
        return Swept(stats, changed, evaluated)

    def _lengths(self, rows: Any, phi: Array) -> Array:
        """Length of the rows' images: sqrt k(x, x); in the span if k is indefinite."""
        if self.strip.kernel.psd or self.gram is None:
            squared = self.strip.kernel.diag(self.strip.take(rows))
        else:
            squared = self.gram.squared_norms(phi).astype(np.float64)
        return np.sqrt(np.abs(squared))

    def _weights_of(self, rows: Any) -> Array | None:
        return None if self.weights is None else self.weights[rows]

    def recount(self, cluster: int) -> Stats:
        """Stats of one cluster, summed anew, as cluster 0 of 1."""
        stats = Stats.zeros(1, self.strip.m)
        members = np.flatnonzero(self.state.labels == cluster)
        for rows, phi in self.strip.tiles(members):
            first = np.zeros(len(phi), dtype=np.intp)
            stats.put(phi.astype(np.float64), first, self._weights_of(rows))
        return stats

    def worst(self, view: View, stale: Moves | None, counts: Array) -> Worst:
        """The row that fits worst, of those that leave something of their cluster."""
        # Bounds say in which order to look; distances of the rows decide. Once they
        # are above all other bounds there is no need to look further.
        state, strip = self.state, self.strip
        row, worst = -1, 0.0
        upper = np.empty(strip.n, dtype=np.float32)
        for chunk in chunks(strip.n):
            upper[chunk] = self._farthest(view, stale, chunk)
        for rows in _descending(upper, strip.tile_rows):
            if float(upper[rows[0]]) ** 2 <= worst:
                break
            own, reach = state.labels[rows], state.reach[rows]
            scores = view.scores(strip.precise(strip.take(rows)))
            squared = reach**2 + scores[own, np.arange(len(rows))]
            rest = counts[own] - (1 if self.weights is None else self.weights[rows])
            alone = rest <= NOTHING * counts.sum()
            squared[(squared <= view.noise(reach)) | alone] = -np.inf
            best = squared.argmax()
            if squared[best] > worst:
                row, worst = int(rows[best]), float(squared[best])
        if row < 0:
            return Worst(-np.inf, -1, -1, 0.0, np.zeros(strip.m))
        phi = strip.kernel_rows(strip.take(np.array([row])), strip.dtype)[0]
        weight = 1.0 if self.weights is None else float(self.weights[row])
        return Worst(worst, row, int(state.labels[row]), weight, phi)

    def _farthest(self, view: View, stale: Moves | None, chunk: slice) -> Array:
        """At least the distance to the own center (b,); -1: it counts as none."""
        state = self.state
        if stale is None:
            upper = state.upper[chunk].astype(np.float64)
        else:
            upper = stale.present(state, chunk)
        able = upper**2 > 2 * view.noise(state.reach[chunk])
        if self.weights is not None:
            able &= self.weights[chunk] > 0
        return np.where(able, above(upper), np.float32(-1))

    def give(self, row: Worst, cluster: int) -> None:
        """Put a row into a cluster, to be looked at in the next sweep."""
        self.state.give(row.row, cluster)

    def trace(self) -> float:
        """sum_i w_i k(x_i, x_i); within the span where k(x, x) is not known."""
        kernel, X, gram = self.strip.kernel, self.strip.X, self.gram

        def total(squared: Array, rows: slice) -> float:
            own = self._weights_of(rows)
            return float(squared.sum() if own is None else own @ squared)

        if kernel.psd or gram is None:
            cuts = chunks(self.strip.n)
            return sum(total(self.state.reach[rows] ** 2, rows) for rows in cuts)
        sums = list(over(X, lambda some, rows: total(kernel.diag(some), rows), _ROWS))
        if np.isnan(sums).any():  # a precomputed strip: its rows are kernel rows
            norms = self.engine.map(
                lambda rows: total(gram.squared_norms(X[rows]), rows), chunks(len(X))
            )
            sums = list(norms)
        return sum(sums)


def _descending(values: Array, step: int) -> Iterator[Array]:
    """Positions of the values (n,) that are not negative, from the largest down.

    In parts, equal values in their order. More and more are looked for at a time, as
    the first are mostly enough.
    """
    count, last = step, None
    while len(values):
        count = min(count, len(values))
        least = max(np.partition(values, -count)[-count], 0)
        next_ = values >= least
        if last is not None:
            next_ &= values < last
        rows = np.flatnonzero(next_)
        rows = rows[np.argsort(-values[rows], kind="stable")]
        for start in range(0, len(rows), step):
            yield rows[start : start + step]
        if least == 0 or count == len(values):
            return
        count, last = 8 * count, least
