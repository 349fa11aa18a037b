"""Nearest neighbours of rows: exact for few rows or columns, else by cells."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.neighbors import VALID_METRICS_SPARSE, NearestNeighbors

from akkm.core.threads import Threads
from akkm.diffusion.cell_search import ExactLists, PositionSearch, build_cells
from akkm.diffusion.landmark_ties import require_finite_distances
from akkm.diffusion.prepared_rows import is_product
from akkm.typing import Array, RowsLike

# With at most EXACT_ROWS rows or at most EXACT_COLUMNS columns, the search is exact.
EXACT_ROWS, EXACT_COLUMNS = 20_000, 15
# With more rows than this, new rows are compared with the points of near cells only,
# even if the neighbours of the points themselves are searched exactly.
_FEW_ROWS = 1000
# Number of points that are compared in addition to the k nearest points. They may be as
# near as the k-th point.
_TIES = 5
# Unless there are few columns, a search needs this many bytes per row: for two copies
# of the coordinates, the nearest cells, and the lists of neighbours.
_SEARCH_BYTES = 2200
# If entries have a larger absolute value than this, sums of their squares may overflow.
_LARGEST = 1e150


class NewRowSearch(Protocol):
    """Finds points near new rows."""

    def nearest(self, X: RowsLike, k: int, engine: Threads) -> tuple[Array, Array]:
        """Indices and distances (b, k) of points near new rows X (b, d)."""


class PointSearch(Protocol):
    """Finds near points in a fixed set of n points."""

    @property
    def new_rows(self) -> NewRowSearch:
        """The search for points near new rows."""

    def neighbours(
        self, k: int, engine: Threads, rng: np.random.Generator, say: Callable[..., Any]
    ) -> tuple[Array, Array]:
        """Indices (n, k) of the nearest other points, and the reach of each point (n,).

        The reach is the distance to the farthest neighbour, as `new_rows` measures it.
        """

    def nearest_kept(
        self, X: RowsLike, kept: Array, engine: Threads
    ) -> tuple[Array, Array]:
        """Index and distance (b,) of each row's nearest point with kept[point] true."""


def search_for(
    X: RowsLike,
    metric: str,
    engine: Threads,
    rng: np.random.Generator,
    exact_rows: int = EXACT_ROWS,
    most: int = 0,
) -> tuple[PointSearch, Array]:
    """Prepare a search among points X (n, d); return it and the order of its points.

    The points must be distinct. Point i of the search is row order[i] of X. If several
    numbers of neighbours will be asked for, `most` is the largest of them.
    """
    if sparse.issparse(X) and metric not in VALID_METRICS_SPARSE["brute"]:
        raise ValueError(
            f"metric={metric!r} is not available for sparse rows; pass dense rows "
            "(X.toarray()), or use 'euclidean', 'manhattan' or 'cosine'."
        )
    n, d = X.shape
    if n <= _FEW_ROWS:
        return ExactSearch(X.copy(), metric), np.arange(n)
    cells, order = build_cells(X, metric, engine, rng)
    if n > exact_rows and d > EXACT_COLUMNS:
        return cells, order
    if is_product(metric) and d > EXACT_COLUMNS and not sparse.issparse(X):
        return replace(cells, exact=ExactLists(cells.rows, most)), order
    return ExactSearch(X[order], metric, cells.new_rows), order


def search_bytes(n: int, d: int) -> float:
    """Return the bytes that a search of n rows (n, d) needs in addition to a tree.

    Examples
    --------
    >>> from akkm.diffusion.neighbour_search import search_bytes
    >>> search_bytes(50_000, 10), search_bytes(50_000, 50)
    (0.0, 110000000.0)
    """
    return 0.0 if d <= EXACT_COLUMNS else float(_SEARCH_BYTES * n)


@dataclass(frozen=True)
class ExactSearch:
    """Exact search by scikit-learn: by a tree if there are few columns."""

    points: RowsLike  # (n, d)
    metric: str
    positions: PositionSearch | None = None  # None: new rows are searched exactly, too

    @property
    def new_rows(self) -> NewRowSearch:
        """The search for points near new rows."""
        return self if self.positions is None else self.positions

    def neighbours(
        self, k: int, engine: Threads, rng: np.random.Generator, say: Callable[..., Any]
    ) -> tuple[Array, Array]:
        """Indices (n, k) of the nearest other points, and reach of the points (n,)."""
        indices, distances = self.nearest(self.points, k + 1, engine)
        # Because of rounding, a point may be missing from its own list.
        own = indices == np.arange(len(indices))[:, None]
        own[~own.any(axis=1), -1] = True
        indices = indices[~own].reshape(len(own), k)
        if self.positions is not None:
            return indices, self.positions.reach(indices)
        distances = distances[~own].reshape(len(own), k)
        return indices, distances.max(axis=1, initial=0.0)

    def nearest(self, X: RowsLike, k: int, engine: Threads) -> tuple[Array, Array]:
        """Indices and distances (b, k) of the points nearest to rows X (b, d)."""
        narrow = self.points.shape[1] <= EXACT_COLUMNS
        tree = narrow and not sparse.issparse(self.points)
        search = NearestNeighbors(
            algorithm="auto" if tree else "brute",
            metric=self.metric,
            n_jobs=engine.n_threads,
        )
        # Sort equally distant points by index, so that threads do not affect the
        # result.
        more = min(k + _TIES, self.points.shape[0])
        _require_squares(X)
        distances, indices = search.fit(self.points).kneighbors(X, more)
        require_finite_distances(distances)
        unit = distances.max(axis=1, keepdims=True, initial=0.0)
        unit[unit == 0] = 1
        order = np.lexsort((indices, np.round(distances / unit, 9)))[:, :k]
        rows = np.arange(len(order))[:, None]
        return indices[rows, order].astype(np.int32), distances[rows, order]

    def nearest_kept(
        self, X: RowsLike, kept: Array, engine: Threads
    ) -> tuple[Array, Array]:
        """Index and distance (b,) of each row's nearest point with kept[point] true."""
        rows = np.flatnonzero(kept)
        search = ExactSearch(self.points[rows], self.metric)
        indices, distances = search.nearest(X, 1, engine)
        return rows[indices[:, 0]], distances[:, 0]


def _require_squares(X: RowsLike) -> None:
    """Raise ValueError if squares of entries overflow, or if all squares vanish.

    In both cases, scikit-learn's distances would be wrong without a warning.
    """
    largest = max(float(X.max()), -float(X.min()))
    if largest > _LARGEST:
        require_finite_distances(np.array(np.inf))
    if 0 < largest < 1 / _LARGEST:
        raise ValueError(
            f"All entries of X are below {1 / _LARGEST:g}, so that distances vanish; "
            "scale the columns (e.g. StandardScaler)."
        )
