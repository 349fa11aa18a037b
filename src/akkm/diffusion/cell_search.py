"""The k nearest neighbours of many rows, by cells and matrix products.

The points are divided into cells of a few hundred points. A row is compared with the
points of its nearest cell first, then with those of the next cell, and so on. Each of
these rounds takes one matrix product per cell. Only distances below the row's k-th
smallest distance so far are examined. After the first round, few distances are that
small. The rounds end when nearly all neighbours of some sampled rows have been found.
Finally, if i is a neighbour of j, then j is considered as a neighbour of i.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd, row_norms

from akkm.core.threads import Threads
from akkm.diffusion.landmark_positions import weighted_means
from akkm.diffusion.landmark_ties import (
    require_finite_distances,
    rounded_mean,
    tie_rows,
)
from akkm.typing import Array, RowsLike

# Points per cell: the larger of _CELL_SIZE and the square root of _CELL_GROWTH n / d,
# for n points. With few columns d, distances are cheap; larger cells need fewer rounds.
_CELL_SIZE, _CELL_GROWTH = 256, 25
# Cells are formed by k-means, with this many coordinates and this many iterations.
_COORDINATES, _ITERATIONS = 64, 5
# Minimum number of sampled points for this k-means, in total and per cell.
_SAMPLE, _SAMPLE_PER_CELL = 8192, 32
# Rounds end when the share _RECALL of the neighbours of _CHECKED_ROWS sampled rows has
# been found, or when each row has been compared with _MOST_CELLS cells.
_RECALL, _CHECKED_ROWS, _MOST_CELLS = 0.98, 200, 64
# The search begins with this many nearest cells of each row, and seldom needs more.
_ROUNDS = 16
# A new row is compared with this many cells. A few missed neighbours do little harm,
# because the row's place is a mean over its neighbours.
_CELLS_OF_NEW_ROW = 3
# Rows per matrix product, and points per block of an exact search.
_BLOCK, _EXACT_BLOCK = 512, 16384

EUCLIDEAN = ("euclidean", "l2", "sqeuclidean")
ANGULAR = ("cosine", "correlation")


@dataclass(frozen=True)
class PositionSearch:
    """Search for points near new rows, by positions in a few coordinates.

    This costs much less than distances in all columns, and only the positions of the
    points are stored.
    """

    metric: str
    shift: Array | None  # (d,) subtracted from dense rows
    axes: RowsLike | None  # (d, q) projection, or (q, d) pivots; None: no projection
    cells: "Cells"  # positions of the points (n, q)

    def nearest(self, X: RowsLike, k: int, engine: Threads) -> tuple[Array, Array]:
        """Indices and distances (b, k) of points near new rows X (b, d)."""
        C = self.coordinates(X)
        return self.cells.nearest(C, C, k, _CELLS_OF_NEW_ROW, engine)

    def coordinates(self, X: RowsLike) -> Array:
        """The coordinates (b, q) of rows X (b, d)."""
        X = _prepared(X, self.metric, self.shift)
        return _coordinates(X, self.metric, self.axes)


@dataclass(frozen=True)
class CellSearch:
    """Search for near points by cells, with distances in all columns."""

    rows: "Cells"
    new_rows: PositionSearch

    def neighbours(
        self, k: int, engine: Threads, rng: np.random.Generator, say: Callable[..., Any]
    ) -> tuple[Array, Array]:
        """Indices (n, k) of the nearest other points, and the reach of each point (n,).

        The reach is the distance to the farthest neighbour, as `new_rows` measures it.
        """
        C = self.new_rows.cells.points
        indices = self.rows.neighbours(C, k, engine, rng, say)
        reach = np.zeros(len(C), dtype=C.dtype)
        for column in indices.T:
            for start in range(0, len(C), _EXACT_BLOCK):
                part = slice(start, start + _EXACT_BLOCK)
                distance = row_norms(C[part] - C[column[part]], squared=True)
                np.maximum(reach[part], distance, out=reach[part])
        return indices, reach

    def nearest_kept(
        self, X: RowsLike, kept: Array, engine: Threads
    ) -> tuple[Array, Array]:
        """Index and distance (b,) of each row's nearest point with kept[point] true."""
        cells = replace(self.rows, offsets=np.where(kept, self.rows.offsets, np.inf))
        rows = _prepared(X, self.new_rows.metric, self.new_rows.shift)
        C = self.new_rows.coordinates(X)
        indices, distances = cells.nearest(rows, C, 1, _ROUNDS, engine)
        return indices[:, 0], distances[:, 0]


@dataclass(frozen=True)
class Cells:
    """Points sorted by cell.

    Distances are squared for Euclidean metrics. For cosine and correlation they are
    squared distances of rows of unit length. For other metrics they are not squared.
    """

    metric: str
    points: RowsLike  # (n, d) prepared rows, see `_prepared`
    offsets: Array  # (n,) squared lengths of the points, or zeros; see `_offsets`
    centers: Array  # (m, q) centers of the cells
    starts: Array  # (m + 1,) first point of each cell, and n

    def nearest(
        self, X: RowsLike, C: Array, k: int, n_cells: int, engine: Threads
    ) -> tuple[Array, Array]:
        """Indices and distances (b, k) of points near rows X (b, d), ascending.

        C (b, q) are the rows' coordinates. A row is compared with the points of its
        `n_cells` nearest cells.
        """
        n_cells = min(n_cells, len(self.centers))
        near = tie_rows(C, self.centers, n_cells, engine).indices
        lists = _Lists.empty(X.shape[0], k, X.dtype)
        for cells in near.T:
            self._compare(X, cells, lists, engine, own=False)
        self._complete(X, lists)
        lists.distances[:] += _offsets(X, self.metric)[:, None]
        return lists.ascending()

    def neighbours(
        self,
        C: Array,
        k: int,
        engine: Threads,
        rng: np.random.Generator,
        say: Callable[..., Any],
    ) -> Array:
        """Indices (n, k) of the nearest other points of each point, nearest first.

        C (n, q) are the coordinates of the points.
        """
        X, n = self.points, self.points.shape[0]
        lists = _Lists.empty(n, k, X.dtype)
        sample = np.sort(rng.choice(n, min(n, _CHECKED_ROWS), replace=False))
        limit = self._exact(X[sample], k, sample).distances.max(axis=1)[:, None]
        limit += 1e-5 * np.abs(limit)  # allow for rounding errors
        most, rounds = min(_MOST_CELLS, len(self.centers)), 0
        while rounds < most:
            known = most if rounds else min(_ROUNDS, most)
            near = tie_rows(C, self.centers, known, engine).indices
            for cells in near.T[rounds:]:
                self._compare(X, cells, lists, engine, own=True)
                recall = float((lists.distances[sample] <= limit).mean())
                rounds += 1
                say(f"neighbours: {rounds} cells compared, recall {recall:.3f}")
                if recall >= _RECALL:
                    most = rounds
                    break
        self._complete(X, lists, own=True)
        lists.distances[:] += self.offsets[:, None]
        lists.add_reverse()
        return lists.ascending()[0]

    def _compare(
        self, X: RowsLike, cells: Array, lists: "_Lists", engine: Threads, own: bool
    ) -> None:
        """Compare each row of X (b, d) with the points of its cell in `cells` (b,).

        If `own` is true, X are the points themselves. No point is its own neighbour.
        """
        order = np.argsort(cells, kind="stable")
        edges = np.searchsorted(cells[order], np.arange(len(self.starts)))
        filled = np.flatnonzero((np.diff(edges) > 0) & (np.diff(self.starts) > 0))

        def compare(cell: int) -> None:
            points = slice(*self.starts[cell : cell + 2])
            members = order[edges[cell] : edges[cell + 1]]
            for start in range(0, len(members), _BLOCK):
                rows = members[start : start + _BLOCK]
                D = self._distances(X[rows], points)
                if own:
                    inside = np.flatnonzero(
                        (rows >= points.start) & (rows < points.stop)
                    )
                    D[inside, rows[inside] - points.start] = np.inf
                lists.update(rows, D, points.start)

        engine.for_each(compare, filled.tolist())

    def _distances(self, X: RowsLike, points: slice) -> Array:
        """Distances of rows x (b, d) to points; squared ones lack the term |x|²."""
        Z = self.points[points]
        if _is_product(self.metric):
            D = X @ Z.T
            D = D.toarray() if sparse.issparse(D) else D
            D *= -2
        else:
            D = np.asarray(pairwise_distances(X, Z, metric=self.metric))
        D += self.offsets[points]
        return D

    def _exact(self, X: RowsLike, k: int, own: Array | None = None) -> "_Lists":
        """The k nearest points of rows X (b, d), by comparison with all points.

        If the rows are points, `own` (b,) are their indices, and no point is its own
        neighbour.
        """
        lists, rows = _Lists.empty(X.shape[0], k, X.dtype), np.arange(X.shape[0])
        for start in range(0, self.points.shape[0], _EXACT_BLOCK):
            stop = min(start + _EXACT_BLOCK, self.points.shape[0])
            D = self._distances(X, slice(start, stop))
            if own is not None:
                inside = np.flatnonzero((own >= start) & (own < stop))
                D[inside, own[inside] - start] = np.inf
            lists.update(rows, D, start)
        return lists

    def _complete(self, X: RowsLike, lists: "_Lists", own: bool = False) -> None:
        """For rows whose cells have fewer than k points in total, search all points."""
        short = np.flatnonzero(np.isinf(lists.worst))
        for start in range(0, len(short), _BLOCK):
            rows = short[start : start + _BLOCK]
            exact = self._exact(X[rows], lists.indices.shape[1], rows if own else None)
            lists.indices[rows], lists.distances[rows] = exact.indices, exact.distances


@dataclass(frozen=True)
class _Lists:
    """The k nearest points found so far for each row, in any order."""

    indices: Array  # (n, k) int32
    distances: Array  # (n, k)
    worst: Array  # (n,) largest distance of each row

    @staticmethod
    def empty(n: int, k: int, dtype: Any) -> "_Lists":
        """Lists without any point: all distances are infinite."""
        distances = np.full((n, k), np.inf, dtype=dtype)
        return _Lists(np.zeros((n, k), np.int32), distances, distances[:, 0].copy())

    def update(self, rows: Array, D: Array, first: int) -> None:
        """Add s points, from index `first` on, to the lists of `rows`; D is (b, s)."""
        k, size = self.indices.shape[1], D.shape[1]
        bound = self.worst[rows]
        if size > k and np.isinf(bound).all():
            place = np.argpartition(D, k - 1, axis=1)[:, :k]
            self._store(rows, place + first, np.take_along_axis(D, place, axis=1))
            return
        row, column = np.divmod(np.flatnonzero(bound[:, None] > D), size)
        self.merge(rows, row, column + first, D[row, column])

    def merge(self, rows: Array, row: Array, point: Array, distance: Array) -> None:
        """Add point[i] to the list of rows[row[i]], for each i; `row` is ascending."""
        if not len(row):
            return
        k, count = self.indices.shape[1], np.bincount(row, minlength=len(rows))
        place = np.cumsum(count > 0)[row] - 1
        column = k + np.arange(len(row)) - (np.cumsum(count) - count)[row]
        rows = rows[count > 0]
        width = k + int(count.max())
        indices = np.zeros((len(rows), width), dtype=np.int32)
        distances = np.full((len(rows), width), np.inf, dtype=self.distances.dtype)
        indices[:, :k], distances[:, :k] = self.indices[rows], self.distances[rows]
        indices[place, column], distances[place, column] = point, distance
        best = np.argpartition(distances, k - 1, axis=1)[:, :k]
        self._store(
            rows,
            np.take_along_axis(indices, best, axis=1),
            np.take_along_axis(distances, best, axis=1),
        )

    def _store(self, rows: Array, indices: Array, distances: Array) -> None:
        self.indices[rows], self.distances[rows] = indices, distances
        self.worst[rows] = distances.max(axis=1)

    def add_reverse(self) -> None:
        """For each j in the list of i, add i to the list of j if i is near enough."""
        n, k = self.indices.shape
        self.worst[:] = self.distances.max(axis=1)
        edges = np.flatnonzero(self.distances < self.worst[self.indices])
        source, target = edges // k, self.indices.ravel()[edges]
        listed = np.empty(len(edges), dtype=bool)
        for start in range(0, len(edges), _EXACT_BLOCK):
            part = slice(start, start + _EXACT_BLOCK)
            lists = self.indices[target[part]]
            listed[part] = (lists == source[part, None]).any(axis=1)
        new = np.flatnonzero(~listed)
        new = new[np.argsort(target[new], kind="stable")]
        source, target = source[new], target[new]
        distance = self.distances.ravel()[edges[new]]
        for start in range(0, n, _EXACT_BLOCK):
            rows = np.arange(start, min(start + _EXACT_BLOCK, n))
            part = slice(*np.searchsorted(target, [start, rows[-1] + 1]))
            self.merge(rows, target[part] - start, source[part], distance[part])

    def ascending(self) -> tuple[Array, Array]:
        """Indices and distances, sorted by distance; equal distances by index."""
        order = np.lexsort((self.indices, self.distances))
        return (
            np.take_along_axis(self.indices, order, axis=1),
            np.take_along_axis(self.distances, order, axis=1),
        )


def build_cells(
    X: RowsLike, metric: str, engine: Threads, rng: np.random.Generator
) -> tuple[CellSearch, Array]:
    """Divide rows X (n, d) into cells; return the search and the order of its points.

    Point i of the search is row order[i] of X.
    """
    n, d = X.shape
    size = max(_CELL_SIZE, int(np.sqrt(_CELL_GROWTH * n / d)))
    m = max(1, n // size)
    dense = metric in EUCLIDEAN and not sparse.issparse(X)
    shift = rounded_mean(X).astype(X.dtype) if dense else None
    X = _prepared(X, metric, shift)
    sample_size = max(_SAMPLE, _SAMPLE_PER_CELL * m)
    sample = np.sort(rng.choice(n, min(n, sample_size), replace=False))
    axes = _axes(X[sample[:: max(1, len(sample) // _SAMPLE)]], metric, rng)
    coordinates = _coordinates(X, metric, axes)
    centers = coordinates[rng.choice(sample, m, replace=False)]
    part = coordinates[sample]
    for _ in range(_ITERATIONS):
        cell = tie_rows(part, centers, 1, engine).indices[:, 0]
        centers = weighted_means(part, np.ones(len(part)), cell, len(centers))
    cell = tie_rows(coordinates, centers, 1, engine).indices[:, 0]
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], np.arange(len(centers) + 1))
    points = X[order]
    offsets = _offsets(points, metric)
    require_finite_distances(offsets)
    rows = Cells(metric, points, offsets, centers, starts)
    positions = rows
    if axes is not None:
        C = coordinates[order]
        offsets = _offsets(C, EUCLIDEAN[0])
        positions = Cells(EUCLIDEAN[0], C, offsets, centers, starts)
    return CellSearch(rows, PositionSearch(metric, shift, axes, positions)), order


def _prepared(X: RowsLike, metric: str, shift: Array | None) -> RowsLike:
    """Prepare rows, so that Euclidean distances rank neighbours as the metric does.

    Rows are shifted towards the origin for precision, or scaled to unit length. For
    metrics that are neither Euclidean nor angular, rows are returned unchanged.
    """
    if metric == "correlation":
        X = X.toarray() if sparse.issparse(X) else X
        X = X - X.mean(axis=1, keepdims=True)
    if metric in ANGULAR:
        return normalize(X)
    return X if shift is None else X - shift


def _axes(sample: RowsLike, metric: str, rng: np.random.Generator) -> RowsLike | None:
    """Leading singular vectors (d, q) of a sample, or some of its rows as pivots.

    With pivots, the coordinates of a row are its distances to the pivots.
    """
    if not _is_product(metric):
        return sample[rng.choice(sample.shape[0], _COORDINATES, replace=False)]
    if sample.shape[1] <= _COORDINATES and not sparse.issparse(sample):
        return None
    q = min(_COORDINATES, *sample.shape)
    seed = int(rng.integers(2**31))
    _, _, vectors = randomized_svd(sample, q, n_iter=2, random_state=seed)
    return np.ascontiguousarray(vectors.T.astype(sample.dtype))


def _coordinates(X: RowsLike, metric: str, axes: RowsLike | None) -> Array:
    if axes is None:
        return X
    if _is_product(metric):
        return np.asarray(X @ axes)
    return np.asarray(pairwise_distances(X, axes, metric=metric))


def _offsets(X: RowsLike, metric: str) -> Array:
    """Squared lengths of the rows (n,), or zeros if the metric does not need them."""
    if not _is_product(metric):
        return np.zeros(X.shape[0], dtype=X.dtype)
    return row_norms(X, squared=True)


def _is_product(metric: str) -> bool:
    """Whether distances of prepared rows follow from a matrix product."""
    return metric in EUCLIDEAN or metric in ANGULAR
