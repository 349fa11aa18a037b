"""Rows in the form in which the search compares them, and their coordinates."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd, row_norms

from akkm.typing import Array, RowsLike

EUCLIDEAN = ("euclidean", "l2", "sqeuclidean")
ANGULAR = ("cosine", "correlation")
# Number of coordinates in which cells are formed and new rows are compared.
COORDINATES = 64
# With up to this many columns, singular vectors are computed exactly. Approximations
# miss directions in which clusters differ little more than noise does.
_EXACT_COLUMNS = 1024


@dataclass(frozen=True)
class PreparedRows:
    """Rows that are prepared when they are used, so that no copy of them is stored."""

    X: RowsLike  # (n, d)
    order: Array  # (n,) row i is row order[i] of X
    metric: str
    shift: Array | None  # see `prepare_rows`

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.X.shape

    @property
    def dtype(self) -> Any:
        """The type of the entries."""
        return self.X.dtype

    def __getitem__(self, rows: slice | Array) -> RowsLike:
        copied = self.X[self.order[rows]]
        if self.shift is None:
            return prepare_rows(copied, self.metric, None)
        copied -= self.shift
        return copied


def prepare_rows(X: RowsLike, metric: str, shift: Array | None) -> RowsLike:
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


def find_axes(
    sample: RowsLike, metric: str, rng: np.random.Generator
) -> RowsLike | None:
    """Leading singular vectors (d, q) of a sample, or some of its rows as pivots.

    With pivots, the coordinates of a row are its distances to the pivots.
    """
    if not is_product(metric):
        return sample[rng.choice(sample.shape[0], COORDINATES, replace=False)]
    if sample.shape[1] <= COORDINATES and not sparse.issparse(sample):
        return None
    q, d = min(COORDINATES, *sample.shape), sample.shape[1]
    if d <= _EXACT_COLUMNS and not sparse.issparse(sample):
        vectors = linalg.eigh(sample.T @ sample, subset_by_index=[d - q, d - 1])[1]
        return np.ascontiguousarray(vectors[:, ::-1])
    seed = int(rng.integers(2**31))
    _, _, vectors = randomized_svd(sample, q, n_iter=2, random_state=seed)
    return np.ascontiguousarray(vectors.T.astype(sample.dtype))


def coordinates_of(X: RowsLike, metric: str, axes: RowsLike | None) -> Array:
    """The coordinates (n, q) of prepared rows X (n, d)."""
    if axes is None:
        return X
    if is_product(metric):
        return np.asarray(X @ axes)
    return np.asarray(pairwise_distances(X, axes, metric=metric))


def offsets_of(X: RowsLike, metric: str) -> Array:
    """Squared lengths of the rows (n,), or zeros if the metric does not need them."""
    if not is_product(metric):
        return np.zeros(X.shape[0], dtype=X.dtype)
    return row_norms(X, squared=True)


def is_product(metric: str) -> bool:
    """Whether distances of prepared rows follow from a matrix product."""
    return metric in EUCLIDEAN or metric in ANGULAR
