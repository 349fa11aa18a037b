"""The interface of the loop to the rows, and its implementation in one process.

`Parts` is the interface through which the loop uses the rows. `Part` holds rows,
weights and state in this process; `akkm.core.remote_parts` combines the parts that
workers hold.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from akkm.core.bounds import Moves, State, descending, round_up
from akkm.core.gram import Gram
from akkm.core.nearest import Scorer, nearest
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.rows import chunks, pieces
from akkm.typing import Array

# A cluster with at most this share of the total weight counts as empty, because its
# weight may be a rounding error.
EMPTY_SHARE = 1e-12
# Bounds are examined in chunks of at least this many rows; smaller ones slow threads.
_PROOF_ROWS = 32768


@dataclass
class Stats:
    """Sums of kernel rows and of weights over the rows of each cluster."""

    sums: Array  # (C, m) float64, sums of weighted kernel rows
    counts: Array  # (C,) float64, sums of weights

    @staticmethod
    def zeros(n_clusters: int, m: int) -> "Stats":
        """Return the sums over no rows: zeros."""
        return Stats(np.zeros((n_clusters, m)), np.zeros(n_clusters))

    def __iadd__(self, other: "Stats") -> "Stats":
        self.sums += other.sums
        self.counts += other.counts
        return self

    def add_rows(self, phi: Array, labels: Array, weights: Array | None) -> None:
        """Add kernel rows phi (b, m) to their clusters; weights may be negative."""
        b, n_clusters = len(phi), len(self.counts)
        weight = np.ones(b) if weights is None else weights
        # A product with a sparse matrix adds each kernel row once. A product with a
        # dense matrix of memberships would multiply it by C - 1 zeros, too. In float32,
        # the rounding errors of many equal rows would add up.
        order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels, minlength=n_clusters)
        present = np.flatnonzero(sizes)
        ends = np.append(0, np.cumsum(sizes[present]))
        entries = weight[order].astype(np.float64), order, ends
        member = sparse.csr_array(entries, shape=(len(present), b))
        with np.errstate(over="ignore", invalid="ignore"):
            self.sums[present] += member @ phi
        self.counts += np.bincount(labels, weight, n_clusters)

    def move_rows(
        self, phi: Array, old: Array, new: Array, weights: Array | None
    ) -> None:
        """Move kernel rows phi (b, m) from clusters `old` to `new`."""
        precise = phi.astype(np.float64, copy=False)
        weight = np.ones(len(phi)) if weights is None else weights
        self.add_rows(precise, old, -weight)
        self.add_rows(precise, new, weight)


@dataclass
class Sweep:
    """The result of a sweep over rows."""

    stats: Stats  # changes to the sums
    changed: int  # rows whose label changed
    evaluated: int  # rows whose kernel row was needed

    def __iadd__(self, other: "Sweep") -> "Sweep":
        self.stats += other.stats
        self.changed += other.changed
        self.evaluated += other.evaluated
        return self


@dataclass(frozen=True)
class WorstRow:
    """The row farthest from its own center."""

    squared: float  # its squared distance to that center; -inf if no row is eligible
    limit: float  # the squared distance plus its possible rounding error
    row: int
    label: int
    weight: float
    phi: Array  # (m,) its kernel row
    part: int = 0  # number of the part that holds the row


class Parts(Protocol):
    """Rows with their labels and bounds, in this process or on many workers."""

    def label_stats(self, n_clusters: int) -> Stats:
        """Return the sums over the rows of each cluster, by their present labels."""

    def sweep(self, scorer: Scorer, moves: Moves | None, stamp: int) -> Sweep:
        """Assign the rows whose label is not proved, or all rows if `moves` is None."""

    def cluster_stats(self, cluster: int) -> Stats:
        """Recompute the sums of one cluster, as a `Stats` with a single cluster."""

    def worst_row(self, scorer: Scorer, stale: Moves | None, counts: Array) -> WorstRow:
        """Find the row farthest from its center, ignoring clusters of a single row.

        `stale` holds the movements of the centers if bounds refer to past centers, else
        it is None.
        """

    def reassign(self, row: WorstRow, cluster: int) -> None:
        """Move a row to a cluster; the next sweep will evaluate it."""

    def trace(self) -> float:
        """Return sum_i w_i k(x_i, x_i)."""

    @property
    def labels(self) -> Any:
        """Labels (n,) int32, as an array of the same kind as the rows."""


@dataclass
class Part:
    """Rows of this process, with their weights and state."""

    strip: Strip
    gram: Gram | None  # gives lengths; None if k(x, x) gives them
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
    ) -> "Part":
        """Return the part before its first sweep, with labels (n,) if given.

        `full(n, value, dtype)` allocates the arrays of the state.
        """
        state = State.start(strip.n, labels, unit=strip.kernel.unit, full=full)
        return Part(strip, gram, weights, state, engine)

    @property
    def labels(self) -> Array:
        """Labels (n,) int32."""
        return self.state.labels

    def labels_with(self, rows: Array, labels: Array) -> Array:
        """Return a copy of the labels, with those of some rows (r,) replaced."""
        copy = self.state.labels.copy()
        copy[rows] = labels
        return copy

    def relabel(self, labels: Array, n_clusters: int) -> Sweep:
        """Give all rows new labels (n,), whatever their nearest centers are."""
        old = self.state.labels.copy()
        self.state.labels[:] = labels
        moved = np.flatnonzero(old != self.state.labels)
        if (old < 0).any():  # the first labels
            return Sweep(self.label_stats(n_clusters), moved.size, len(old))
        stats = Stats.zeros(n_clusters, self.strip.m)
        self._move(moved, old[moved], stats)
        return Sweep(stats, moved.size, len(old))

    def label_stats(self, n_clusters: int) -> Stats:
        """Return the sums over the rows of each cluster, by their present labels."""

        def sum_chunk(chunk: slice) -> Stats:
            stats = Stats.zeros(n_clusters, self.strip.m)
            for rows, phi in self.strip.tiles(chunk):
                stats.add_rows(phi, self.state.labels[rows], self._weights_of(rows))
            return stats

        total = Stats.zeros(n_clusters, self.strip.m)
        for stats in self.engine.map(sum_chunk, self.strip.X.chunks()):
            total += stats
        return total

    def sweep(self, scorer: Scorer, moves: Moves | None, stamp: int) -> Sweep:
        """Assign the rows whose label is not proved, or all rows if `moves` is None."""
        X, engine = self.strip.X, self.engine
        total = Sweep(Stats.zeros(len(scorer.norms), self.strip.m), 0, 0)
        if moves is None:
            for part in engine.map(partial(self._assign, scorer, stamp), X.chunks()):
                total += part
            return total
        find = partial(self._unproved, scorer.tie_function(), moves, stamp == 0)
        none = np.empty(0, dtype=np.int64)  # a partition may have no rows
        cuts = chunks(self.strip.n, _PROOF_ROWS)
        rows = np.concatenate([none, *engine.map(find, cuts)])
        self.strip.reserve(rows)
        evaluate = partial(self._evaluate_some, scorer, stamp)
        for span in X.spans():
            some = rows[slice(*np.searchsorted(rows, (span.start, span.stop)))]
            found = [(none, none), *engine.map(evaluate, X.split(some))]
            moved, old = map(np.concatenate, zip(*found, strict=True))
            total.changed += moved.size
            total.evaluated += some.size
            self._move(moved, old, total.stats)
        return total

    def _unproved(
        self, tie: Callable[[Array], Array], moves: Moves, rebase: bool, chunk: slice
    ) -> Array:
        """Return the rows of a chunk whose labels are not proved.

        With `rebase`, also rebase the bounds of all rows of the chunk.
        """
        ties = 1.5 * tie(self.state.length[chunk])
        rows = chunk.start + moves.unproved(self.state, chunk, ties)
        if rebase:
            moves.rebase(self.state, chunk)
        return rows

    def _assign(self, scorer: Scorer, stamp: int, chunk: slice) -> Sweep:
        """Assign a chunk's rows to their nearest centers; sum the changes."""
        stats = Stats.zeros(len(scorer.norms), self.strip.m)
        changed = evaluated = 0
        for rows, phi in self.strip.tiles(chunk):
            old = self._evaluate(scorer, stamp, rows, phi)
            new, weight = self.state.labels[rows], self._weights_of(rows)
            moved = np.flatnonzero(new != old)
            if old[0] < 0:  # the first sweep: no row has a label yet
                stats.add_rows(phi, new, weight)
            elif moved.size:
                weight = None if weight is None else weight[moved]
                stats.move_rows(phi[moved], old[moved], new[moved], weight)
            changed += moved.size
            evaluated += len(phi)
        return Sweep(stats, changed, evaluated)

    def _evaluate_some(
        self, scorer: Scorer, stamp: int, rows: Array
    ) -> tuple[Array, Array]:
        """Assign rows (b,) to their nearest centers.

        Returns the rows whose label changed, and their old labels.
        """
        tiles = self.strip.tiles(rows)
        old = [self._evaluate(scorer, stamp, tile, phi) for tile, phi in tiles]
        before = np.concatenate(old)
        moved = np.flatnonzero(self.state.labels[rows] != before)
        return rows[moved], before[moved]

    def _evaluate(self, scorer: Scorer, stamp: int, rows: Any, phi: Array) -> Array:
        """Assign rows with kernel rows phi (b, m); return their old labels (b,)."""
        state, length = self.state, self.lengths(rows, phi)
        found = nearest(phi, scorer, length, self.strip, rows)
        old = state.labels[rows].copy()
        upper = scorer.upper(length, found.score, found.labels)
        state.record(rows, found.labels, upper, found.gap, stamp)
        return old

    def _move(self, rows: Array, old: Array, total: Stats) -> None:
        """Change the sums `total` for rows (b,) that have left the clusters `old` (b,).

        Kernel rows are computed again, in tiles that contain only rows that moved. So
        the last digits of the sums do not depend on which other rows were evaluated. A
        resumed run has different bounds, but gets the same sums.
        """
        strip, labels = self.strip, self.state.labels

        def move(piece: slice) -> Stats:
            stats = Stats.zeros(len(total.counts), strip.m)
            position = piece.start
            tiles = strip.tiles(rows[piece], cached=False, dtype=np.float64)
            for tile, phi in tiles:
                before = old[position : position + len(tile)]
                stats.move_rows(phi, before, labels[tile], self._weights_of(tile))
                position += len(tile)
            return stats

        for stats in self.engine.map(move, pieces(len(rows))):
            total += stats

    def lengths(self, rows: Any, phi: Array) -> Array:
        """Return the lengths (b,) of the rows' images; computed once, then stored.

        If the kernel may be indefinite, these are lengths within the span of the
        landmarks, computed from the kernel rows `phi` (b, m).
        """
        length = self.state.length[rows]
        if np.isnan(length).any():
            if self.strip.kernel.psd or self.gram is None:
                squared = self.strip.kernel.diag(self.strip.X[rows])
            else:
                squared = self.gram.squared_norms(phi).astype(np.float64)
            length = np.sqrt(np.abs(squared))
            self.state.length[rows] = length
        return length

    def _weights_of(self, rows: Any) -> Array | None:
        return None if self.weights is None else self.weights[rows]

    def cluster_stats(self, cluster: int) -> Stats:
        """Recompute the sums of one cluster, as a `Stats` with a single cluster."""
        stats = Stats.zeros(1, self.strip.m)
        members = np.flatnonzero(self.state.labels == cluster)
        for rows, phi in self.strip.tiles(members, cached=False):
            stats.add_rows(phi, np.zeros(len(phi), np.intp), self._weights_of(rows))
        return stats

    def worst_row(self, scorer: Scorer, stale: Moves | None, counts: Array) -> WorstRow:
        """Find the row farthest from its center, ignoring clusters of a single row."""
        # Evaluate rows in order of decreasing upper bounds, until no remaining bound
        # exceeds the largest exact distance. If several rows are equally far, up to
        # rounding errors, take the first of them: the choice must not depend on the
        # bounds, which differ in a resumed run.
        state, strip = self.state, self.strip
        far, limits, worst_squared = np.empty(0, dtype=np.int64), np.empty(0), 0.0
        upper = np.empty(strip.n, dtype=np.float32)
        for chunk in chunks(strip.n):
            upper[chunk] = self._upper_bounds(scorer, stale, chunk)
        for rows in descending(upper, strip.tile_rows):
            if float(upper[rows[0]]) ** 2 <= worst_squared:
                break
            own, length = state.labels[rows], state.length[rows]
            scores = scorer.scores(strip.kernel_rows(strip.X[rows]))
            squared = length**2 + scores[own, np.arange(len(rows))]
            rest = counts[own] - (1 if self.weights is None else self.weights[rows])
            alone = rest <= EMPTY_SHARE * counts.sum()
            squared[(squared <= scorer.noise(length, own)) | alone] = -np.inf
            worst_squared = max(worst_squared, float(squared.max()))
            far = np.append(far, rows)
            limits = np.append(limits, squared + scorer.tie_limits(length))
            kept = limits >= worst_squared
            far, limits = far[kept], limits[kept]
        if worst_squared == 0:
            return WorstRow(-np.inf, -np.inf, -1, -1, 0.0, np.zeros(strip.m))
        worst = int(far.min())
        phi = strip.kernel_rows(strip.X[np.array([worst])], strip.dtype)[0]
        weight = 1.0 if self.weights is None else float(self.weights[worst])
        label = int(state.labels[worst])
        limit = float(limits.max())
        return WorstRow(worst_squared, limit, worst, label, weight, phi)

    def _upper_bounds(self, scorer: Scorer, stale: Moves | None, chunk: slice) -> Array:
        """Return upper bounds (b,) on distances to own centers; -1 if not eligible.

        A row is eligible to fill an empty cluster if its weight is positive and its
        distance is more than a rounding error.
        """
        state = self.state
        if stale is None:
            upper = state.upper[chunk].astype(np.float64)
        else:
            upper = stale.current_upper(state, chunk)
        noise = scorer.noise(state.length[chunk], state.labels[chunk])
        eligible = upper**2 > 2 * noise
        if self.weights is not None:
            eligible &= self.weights[chunk] > 0
        return np.where(eligible, round_up(upper), np.float32(-1))

    def reassign(self, row: WorstRow, cluster: int) -> None:
        """Move a row to a cluster; the next sweep will evaluate it."""
        self.state.reassign(row.row, cluster)

    def trace(self) -> float:
        """Return sum_i w_i k(x_i, x_i).

        If k(x, x) is unknown, the squared lengths within the span take its place.
        """
        kernel, X, gram = self.strip.kernel, self.strip.X, self.gram

        def total(squared: Array, rows: slice) -> float:
            own = self._weights_of(rows)
            return float(squared.sum() if own is None else own @ squared)

        if kernel.psd or gram is None:
            cuts = chunks(self.strip.n)
            return sum(total(self.state.length[rows] ** 2, rows) for rows in cuts)
        sums = list(
            X.map_blocks(
                lambda block, rows: total(kernel.diag_of_block(block, rows), rows)
            )
        )
        if np.isnan(sums).any():  # a precomputed strip has no k(x, x), only kernel rows
            sums = list(
                self.engine.map(
                    lambda rows: total(gram.squared_norms(X[rows]), rows), X.chunks()
                )
            )
        return sum(sums)
