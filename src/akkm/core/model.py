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
# If negative eigenvalues make up at most this share of the sum of absolute eigenvalues,
# they may be rounding errors of a positive definite kernel.
_ROUNDING_MASS = 1e-5
# Entries of a precomputed kernel's diagonal count as equal if they differ by at most
# this share of the largest entry.
_SAME = 1e-6


@dataclass(frozen=True)
class Comparison:
    """A block of rows compared with the centers."""

    labels: Array  # (b,) int32
    squared: Array  # (b, C) squared distances to the centers
    # (b,) squared distance to the nearest center, computed from k(x, x) as in the
    # paper. `squared` may be computed from a corrected k(x, x).
    squared_own: Array


@dataclass(frozen=True)
class Model:
    """C centers as combinations of m points."""

    kernel: Kernel
    points: RowsLike  # (m, d), or column numbers of a precomputed kernel
    scorer: Scorer
    dtype: Any
    # The factored kernel matrix of the points. It gives lengths within the span, which
    # are needed if the kernel may be indefinite.
    gram: Gram | None = None
    # (n,) k(x, x) of the training rows, for a square precomputed kernel
    diagonal: Array | None = None

    def only(self, clusters: Array) -> "Model":
        """Return the model with only the centers `clusters`, numbered in this order."""
        scorer = self.scorer
        few = Scorer.of(scorer.columns.T[clusters], scorer.norms[clusters], self.dtype)
        few = replace(few, errors=scorer.errors[clusters], blur=scorer.blur)
        return replace(self, scorer=few)

    def diag(self, X: RowsLike) -> Array:
        """Return k(x, x) (n,) of rows X (n, d), or NaN if it is unknown.

        With a precomputed kernel, k(x, x) is known if X is the matrix that was fitted.
        If all training rows have the same k(x, x), it is known for any X.
        """
        if not isinstance(self.kernel, Precomputed):
            return self.kernel.diag(X)
        known, n = self.diagonal, X.shape[0]
        if known is None:
            return np.full(n, np.nan)
        limit = _SAME * np.abs(known).max()
        if n == len(known) and np.abs(self.kernel.diag(X) - known).max() <= limit:
            return known
        if np.ptp(known) <= limit:
            return np.full(n, known[0])
        return np.full(n, np.nan)

    def compare(
        self, X: RowsLike, engine: Threads, diag: Array | None = None
    ) -> Iterator[Comparison]:
        """Compare blocks of rows X (n, d) with the centers, in order.

        `diag` (n,) is k(x, x). By default, it is computed by `self.diag`.
        """
        if diag is None and isinstance(self.kernel, Precomputed):
            diag = self.diag(X)  # before the rows are divided into blocks
        S = self.scorer.columns
        if self.gram is not None:
            S = np.hstack([S, self.gram.whitener])
        product = KernelProduct(self.kernel, self.points, S, self.dtype)

        @cache  # created only if a row has to be scored again
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
        squared = inside = diag
        if self.gram is not None:
            inside = self.gram.squared_lengths(products[:, n_clusters:])
            # With a positive definite kernel, the image of a row is at least as long as
            # its projection onto the span. A precomputed strip has no k(x, x).
            definite = self.gram.negative_mass <= _ROUNDING_MASS
            strip = isinstance(self.kernel, PrecomputedStrip)
            squared = np.maximum(diag, inside) if definite and not strip else inside
        length = np.sqrt(np.abs(inside))

        def rescore(rows: Array) -> Array:
            return scorer.norms[:, None] - 2 * precise()(X[rows]).T

        exact = self.dtype == np.float64
        found = nearest_by_score(
            scores, scorer, length, None if exact else rescore, rescore
        )
        distances = squared[:, None] + scores.T
        # Set squared distances to zero if they may be rounding errors.
        distances[distances < scorer.noise(length[:, None], slice(None))] = 0
        own = inside if isinstance(self.kernel, PrecomputedStrip) else diag
        return Comparison(found.labels, distances, own + found.score)


def precomputed_diagonal(kernel: Kernel, X: RowsLike) -> Array | None:
    """Return k(x, x) (n,) of the rows of a square precomputed kernel, else None."""
    square = isinstance(kernel, Precomputed) and X.shape[0] == X.shape[1]
    if not square or isinstance(kernel, PrecomputedStrip):
        return None
    return kernel.diag(X[:])


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
    return Model(
        kernel, points, scorer, dtype, diagonal=precomputed_diagonal(kernel, X)
    )
