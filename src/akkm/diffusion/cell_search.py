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
from scipy.cluster.hierarchy import leaves_list, linkage
from sklearn.metrics import pairwise_distances
from sklearn.utils.extmath import row_norms

from akkm.core.threads import Threads
from akkm.diffusion.landmark_positions import weighted_means
from akkm.diffusion.landmark_ties import (
    require_finite_distances,
    rounded_mean,
    tie_rows,
)
from akkm.diffusion.neighbour_lists import NeighbourLists
from akkm.diffusion.prepared_rows import (
    EUCLIDEAN,
    PreparedRows,
    coordinates_of,
    find_axes,
    is_product,
    offsets_of,
    prepare_rows,
)
from akkm.typing import Array, RowsLike

# Points per cell: the larger of _CELL_SIZE and the square root of _CELL_GROWTH n / d,
# for n points. With few columns d, distances are cheap; larger cells need fewer rounds.
_CELL_SIZE, _CELL_GROWTH = 256, 25
# Iterations of the k-means that forms the cells.
_ITERATIONS = 5
# Minimum number of sampled points for this k-means, in total and per cell.
_SAMPLE, _SAMPLE_PER_CELL = 8192, 32
# Rounds end when the share _RECALL of the neighbours of _CHECKED_ROWS sampled rows has
# been found, or when each row has been compared with its _CELLS nearest cells.
_RECALL, _CHECKED_ROWS, _CELLS = 0.99, 400, 24
# If less than the share _LEAST_RECALL has been found by then, up to _MOST_CELLS cells
# are compared.
_LEAST_RECALL, _MOST_CELLS = 0.95, 64
# Dense rows with more columns than this are compared in their leading coordinates only.
# In thousands of columns, noise decides which of many rows is the nearest.
_WIDE_COLUMNS = 1024
# A new row is compared with this many cells. A few missed neighbours do little harm,
# because the point of the row is a mean over its neighbours.
_CELLS_OF_NEW_ROW = 4
# Cells are sorted by a hierarchical clustering of at most this many of their centers.
_SORTED_CENTERS = 4096
# Number of points that are found in addition, because they may be as near as the last
# point.
_TIES = 5
# Rows per matrix product, and points per block of an exact search.
_BLOCK, _EXACT_BLOCK = 512, 16384
# Rows per matrix product if all pairs of points are compared.
_EXACT_ROWS = 128


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

    def reach(self, indices: Array) -> Array:
        """The largest distance (n,) of each point to its neighbours (n, k)."""
        C = np.asarray(self.cells.points)
        reach = np.zeros(len(C), dtype=C.dtype)
        for column in indices.T:
            for start in range(0, len(C), _EXACT_BLOCK):
                part = slice(start, start + _EXACT_BLOCK)
                distance = row_norms(C[part] - C[column[part]], squared=True)
                np.maximum(reach[part], distance, out=reach[part])
        return reach

    def coordinates(self, X: RowsLike) -> Array:
        """The coordinates (b, q) of rows X (b, d)."""
        X = prepare_rows(X, self.metric, self.shift)
        return coordinates_of(X, self.metric, self.axes)


@dataclass(frozen=True)
class CellSearch:
    """Search for near points by cells, with distances in all columns or coordinates."""

    rows: "Cells"
    near: Array  # (n, p) the nearest cells of each point, nearest first
    new_rows: PositionSearch
    exact: "ExactLists | None" = None  # if given, all pairs of points are compared

    def neighbours(
        self, k: int, engine: Threads, rng: np.random.Generator, say: Callable[..., Any]
    ) -> tuple[Array, Array]:
        """Indices (n, k) of the nearest other points, and the reach of each point (n,).

        The reach is the distance to the farthest neighbour, as `new_rows` measures it.
        """
        if self.exact is not None:
            indices = self.exact.nearest(k, engine)
        else:
            C = np.asarray(self.new_rows.cells.points)
            indices = self.rows.neighbours(C, self.near, k, engine, rng, say)
        return indices, self.new_rows.reach(indices)

    def nearest_kept(
        self, X: RowsLike, kept: Array, engine: Threads
    ) -> tuple[Array, Array]:
        """Index and distance (b,) of each row's nearest point with kept[point] true."""
        cells = replace(self.rows, offsets=np.where(kept, self.rows.offsets, np.inf))
        C = rows = self.new_rows.coordinates(X)
        if self.rows.points.shape[1] != C.shape[1]:
            rows = prepare_rows(X, self.new_rows.metric, self.new_rows.shift)
        n_cells = _CELLS if self.exact is None else len(cells.centers)
        indices, distances = cells.nearest(rows, C, 1, n_cells, engine)
        return indices[:, 0], distances[:, 0]


class ExactLists:
    """The nearest other points of each point, by comparison of all pairs.

    The first call finds the `most` nearest points. Finding more points hardly takes
    longer, so this saves time if several numbers of neighbours are tried.
    """

    def __init__(self, cells: "Cells", most: int) -> None:
        self._cells, self._most = cells, most
        self._lists: NeighbourLists | None = None

    def nearest(self, k: int, engine: Threads) -> Array:
        """Indices (n, k); of equally near points, those with the smallest index."""
        n = self._cells.points.shape[0]
        wanted = min(k + _TIES, n - 1)
        if self._lists is None or self._lists.indices.shape[1] < wanted:
            width = min(max(k, self._most) + _TIES, n - 1)
            self._lists = self._cells.all_pairs(width, engine)
        return self._lists.nearest(wanted)[:, :k]


@dataclass(frozen=True)
class Cells:
    """Points sorted by cell.

    Distances are squared for Euclidean metrics. For cosine and correlation they are
    squared distances of rows of unit length. For other metrics they are not squared.
    """

    metric: str
    points: "RowsLike | PreparedRows"  # (n, d), see `prepare_rows`
    offsets: Array  # (n,) squared lengths of the points, or zeros; see `offsets_of`
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
        near = tie_rows(C, self.centers, n_cells, engine).indices.ravel()
        # The k nearest points of each pair of a row and one of its cells.
        lists = NeighbourLists.empty(len(near), k, X.dtype)
        order = np.argsort(near, kind="stable")
        edges = np.searchsorted(near[order], np.arange(len(self.starts)))

        def compare(cell: int) -> None:
            points = slice(*self.starts[cell : cell + 2])
            pairs = order[edges[cell] : edges[cell + 1]]
            for start in range(0, len(pairs), _BLOCK):
                part = pairs[start : start + _BLOCK]
                D = self._distances(X[part // n_cells], self.points[points], points)
                lists.update(part, D, points.start)

        filled = np.flatnonzero((np.diff(edges) > 0) & (np.diff(self.starts) > 0))
        engine.for_each(compare, filled.tolist())
        lists = lists.merged(n_cells)
        self._complete(X, lists)
        lists.distances[:] += offsets_of(X, self.metric)[:, None]
        return lists.ascending()

    def neighbours(
        self,
        C: Array,
        near: Array,
        k: int,
        engine: Threads,
        rng: np.random.Generator,
        say: Callable[..., Any],
    ) -> Array:
        """Indices (n, k) of the nearest other points of each point, nearest first.

        C (n, q) are the coordinates of the points, and `near` (n, p) their nearest
        cells.
        """
        X, n = self.points, self.points.shape[0]
        lists = NeighbourLists.empty(n, k, X.dtype)
        sample = np.sort(rng.choice(n, min(n, _CHECKED_ROWS), replace=False))
        limit = self._exact(X[sample], k, sample).distances.max(axis=1)[:, None]
        limit += 1e-5 * np.abs(limit)  # allow for rounding errors
        recall, compared = 0.0, 0
        for wanted, most in ((_RECALL, near.shape[1]), (_LEAST_RECALL, _MOST_CELLS)):
            if recall >= wanted:
                break
            if compared:  # the given cells do not suffice
                near = tie_rows(C, self.centers, most, engine).indices
            for cells in near.T[compared:]:
                self._compare(cells, lists, engine)
                recall = float((lists.distances[sample] <= limit).mean())
                compared += 1
                say(f"neighbours: {compared} cells compared, recall {recall:.3f}")
                if recall >= wanted:
                    break
        self._complete(X, lists, own=True)
        lists.distances[:] += self.offsets[:, None]
        lists.add_reverse()
        return lists.ascending()[0]

    def all_pairs(self, k: int, engine: Threads) -> NeighbourLists:
        """The k nearest other points of each point, by comparison of all pairs."""
        X, n = self.points, self.points.shape[0]
        lists = NeighbourLists.empty(n, k, X.dtype)
        for first in range(0, n, _EXACT_BLOCK):
            points = slice(first, min(first + _EXACT_BLOCK, n))
            Z = X[points]

            def compare(start: int, Z: Any = Z, points: slice = points) -> None:
                rows = np.arange(start, min(start + _EXACT_ROWS, n))
                D = self._distances(X[rows], Z, points)
                _exclude_own(D, rows, points)
                lists.update(rows, D, points.start)

            engine.for_each(compare, list(range(0, n, _EXACT_ROWS)))
        return lists

    def _compare(self, cells: Array, lists: NeighbourLists, engine: Threads) -> None:
        """Compare point i with the other points of the cell cells[i], for each i."""
        order = np.argsort(cells, kind="stable")
        edges = np.searchsorted(cells[order], np.arange(len(self.starts)))
        filled = np.flatnonzero((np.diff(edges) > 0) & (np.diff(self.starts) > 0))

        def compare(cell: int) -> None:
            points = slice(*self.starts[cell : cell + 2])
            Z = self.points[points]
            members = order[edges[cell] : edges[cell + 1]]
            for start in range(0, len(members), _BLOCK):
                rows = members[start : start + _BLOCK]
                D = self._distances(self.points[rows], Z, points)
                _exclude_own(D, rows, points)
                lists.update(rows, D, points.start)

        engine.for_each(compare, filled.tolist())

    def _distances(self, X: RowsLike, Z: RowsLike, points: slice) -> Array:
        """Distances (b, s) of rows x (b, d) to Z (s, d), which are the given points.

        Squared distances lack the term |x|².
        """
        if is_product(self.metric):
            D = X @ Z.T
            D = D.toarray() if sparse.issparse(D) else D
            D *= -2
        else:
            D = np.asarray(pairwise_distances(X, Z, metric=self.metric))
        D += self.offsets[points]
        return D

    def _exact(self, X: RowsLike, k: int, own: Array | None = None) -> NeighbourLists:
        """The k nearest points of rows X (b, d), by comparison with all points.

        If the rows are points, `own` (b,) are their indices, and no point becomes its
        own neighbour.
        """
        lists = NeighbourLists.empty(X.shape[0], k, X.dtype)
        rows = np.arange(X.shape[0])
        for start in range(0, self.points.shape[0], _EXACT_BLOCK):
            stop = min(start + _EXACT_BLOCK, self.points.shape[0])
            points = slice(start, stop)
            D = self._distances(X, self.points[points], points)
            if own is not None:
                _exclude_own(D, own, points)
            lists.update(rows, D, start)
        return lists

    def _complete(self, X: RowsLike, lists: NeighbourLists, own: bool = False) -> None:
        """For rows whose cells have fewer than k points in total, search all points."""
        short = np.flatnonzero(np.isinf(lists.worst))
        for start in range(0, len(short), _BLOCK):
            rows = short[start : start + _BLOCK]
            exact = self._exact(X[rows], lists.indices.shape[1], rows if own else None)
            lists.indices[rows], lists.distances[rows] = exact.indices, exact.distances


def _exclude_own(D: Array, rows: Array, points: slice) -> None:
    """Set the distance of a point to itself to infinity, so that it is no neighbour.

    D (b, s) has the distances of points `rows` (b,) to a slice of the points.
    """
    inside = np.flatnonzero((rows >= points.start) & (rows < points.stop))
    D[inside, rows[inside] - points.start] = np.inf


def build_cells(
    X: RowsLike, metric: str, engine: Threads, rng: np.random.Generator
) -> tuple[CellSearch, Array]:
    """Divide rows X (n, d) into cells; return the search and the order of its points.

    Point i of the search is row order[i] of X.
    """
    n, d = X.shape
    size = max(_CELL_SIZE, int(np.sqrt(_CELL_GROWTH * n / d)))
    m = max(1, n // size)
    sample_size = max(_SAMPLE, _SAMPLE_PER_CELL * m)
    sample = np.sort(rng.choice(n, min(n, sample_size), replace=False))
    dense = metric in EUCLIDEAN and not sparse.issparse(X)
    shift = rounded_mean(X[sample]).astype(X.dtype) if dense else None
    rows = PreparedRows(X, np.arange(n), metric, shift)
    blocks = [slice(a, a + _EXACT_BLOCK) for a in range(0, n, _EXACT_BLOCK)]
    offsets = np.concatenate(
        list(engine.map(lambda block: offsets_of(rows[block], metric), blocks))
    )
    require_finite_distances(offsets)
    axes = find_axes(rows[sample[:: max(1, len(sample) // _SAMPLE)]], metric, rng)
    parts = engine.map(lambda block: coordinates_of(rows[block], metric, axes), blocks)
    coordinates = np.concatenate(list(parts))
    centers = coordinates[rng.choice(sample, m, replace=False)]
    part = coordinates[sample]
    for _ in range(_ITERATIONS):
        cell = tie_rows(part, centers, 1, engine).indices[:, 0]
        centers = weighted_means(part, np.ones(len(part)), cell, len(centers))
    centers = _sorted_centers(centers, engine)
    near = tie_rows(coordinates, centers, _CELLS, engine).indices
    order = np.argsort(near[:, 0], kind="stable")
    near = near[order]
    starts = np.searchsorted(near[:, 0], np.arange(len(centers) + 1))
    offsets, C = offsets[order], coordinates[order]
    if axes is None:
        positions = cells = Cells(metric, C, offsets, centers, starts)
    else:
        own = offsets_of(C, EUCLIDEAN[0])
        positions = cells = Cells(EUCLIDEAN[0], C, own, centers, starts)
        wide = d > _WIDE_COLUMNS and is_product(metric) and not sparse.issparse(X)
        if not wide:
            points = replace(rows, order=order)
            cells = Cells(metric, points, offsets, centers, starts)
    new_rows = PositionSearch(metric, shift, axes, positions)
    return CellSearch(cells, near, new_rows), order


def _sorted_centers(centers: Array, engine: Threads) -> Array:
    """Sort centers (m, q), so that near centers mostly follow each other.

    Linked rows are then mostly near each other in memory, and products with the graph
    are faster.
    """
    pivots = centers[:_SORTED_CENTERS]
    if len(pivots) < 3:
        return centers
    rank = np.argsort(leaves_list(linkage(pivots, "ward")))
    nearest = tie_rows(centers, pivots, 1, engine).indices[:, 0]
    return centers[np.argsort(rank[nearest], kind="stable")]
