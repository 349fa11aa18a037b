"""The fitted centers, and the comparison of new rows with them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from akkm.core.gram import Gram
from akkm.core.nearest import Scorer, nearest_by_score, require_finite
from akkm.core.products import KernelProduct
from akkm.core.threads import Threads
from akkm.kernels import Kernel, Precomputed, PrecomputedStrip
from akkm.typing import Array, RowsLike

# Number of rows that are compared at a time.
_BLOCK_ROWS = 8192


@dataclass(frozen=True)
class Comparison:
    """A block of rows compared with the centers."""

    labels: Array  # (b,) int32
    squared: Array  # (b, C) squared distances to the centers
    squared_own: Array  # (b,) to the nearest center; uses k(x, x), as in the paper


@dataclass(frozen=True)
class Model:
    """C centers as combinations of m points."""

    kernel: Kernel
    points: RowsLike  # (m, d), or column numbers of a precomputed kernel
    scorer: Scorer
    dtype: Any
    # gives lengths within the span, needed if k may be indefinite
    gram: Gram | None = None
    # k(x, x) of new rows for a precomputed kernel: the value that training rows share
    constant: float = np.nan

    def only(self, clusters: Array) -> "Model":
        """Return the model of the centers `clusters`, renumbered in this order."""
        scorer = self.scorer
        few = Scorer.of(scorer.columns.T[clusters], scorer.norms[clusters], self.dtype)
        few = replace(few, errors=scorer.errors[clusters], blur=scorer.blur)
        return replace(self, scorer=few)

    def diag(self, X: RowsLike) -> Array:
        """Return k(x, x) (n,) of new rows, or NaN if a precomputed kernel lacks it."""
        if isinstance(self.kernel, Precomputed):
            return np.full(X.shape[0], self.constant)
        return self.kernel.diag(X)

    def compare(
        self, X: RowsLike, engine: Threads, diag: Array | None = None
    ) -> Iterator[Comparison]:
        """Compare blocks of rows X (n, d) with the centers, in order.

        `diag` (n,) is k(x, x). By default, it is computed by `self.diag`.
        """
        S = self.scorer.columns
        if self.gram is not None:
            S = np.hstack([S, self.gram.whitener])
        product = KernelProduct(self.kernel, self.points, S, self.dtype)

        @cache  # created only if a row needs it
        def precise() -> KernelProduct:
            columns = self.scorer.columns
            return KernelProduct(self.kernel, self.points, columns, np.float64)

        def task(block: slice) -> Comparison:
            rows = X[block]
            lengths = self.diag(rows) if diag is None else diag[block]
            return self._compare(rows, lengths, product, precise)

        starts = range(0, X.shape[0], _BLOCK_ROWS)
        return engine.map(task, [slice(s, s + _BLOCK_ROWS) for s in starts])

    def _compare(
        self,
        X: RowsLike,
        diag: Array,
        product: KernelProduct,
        precise: Callable[[], KernelProduct],
    ) -> Comparison:
        scorer = self.scorer
        n_clusters = len(scorer.norms)
        products = product(X)
        scores = np.ascontiguousarray(
            scorer.norms[:, None] - 2 * products[:, :n_clusters].T
        )
        require_finite(scores, self.dtype)
        squared = diag
        if self.gram is not None:
            squared = self.gram.squared_lengths(products[:, n_clusters:])
        length = np.sqrt(np.abs(squared))

        def rescore(rows: Array) -> Array:
            return scorer.norms[:, None] - 2 * precise()(X[rows]).T

        exact = self.dtype == np.float64
        found = nearest_by_score(scores, scorer, length, None if exact else rescore)
        distances = squared[:, None] + scores.T
        # Squared distances that may be rounding errors of zero are zero.
        distances[distances < scorer.noise(length[:, None], slice(None))] = 0
        # A precomputed strip has no k(x, x): use the length within the span instead.
        own = squared if isinstance(self.kernel, PrecomputedStrip) else diag
        return Comparison(found.labels, distances, own + found.score)


def shared_diagonal(kernel: Kernel, X: RowsLike) -> float:
    """Return k(x, x) if it is equal for all rows of a precomputed kernel, else NaN."""
    if not isinstance(kernel, Precomputed):
        return np.nan
    diag = kernel.diag(X[:])
    constant = np.ptp(diag) <= 1e-6 * np.abs(diag).max()
    return float(diag[0]) if constant else np.nan


def means_model(
    kernel: Kernel,
    X: RowsLike,
    points: RowsLike,
    alpha: Array,
    norms: Array,
    dtype: Any,
) -> Model:
    """Return the model of centers that are means of `points`, a subset of X."""
    scorer = Scorer.of(alpha, norms, dtype)
    return Model(kernel, points, scorer, dtype, constant=shared_diagonal(kernel, X))
