"""What a fit leaves behind: centers, and what it takes to compare rows with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.core.gram import Gram
from akkm.core.nearest import View, decide, require_finite
from akkm.core.products import KernelProduct
from akkm.core.strip import Rows
from akkm.core.threads import Threads
from akkm.kernels import Kernel, Precomputed, PrecomputedStrip

Array = NDArray[Any]

# Rows that are compared at a time.
_ROWS = 8192


@dataclass(frozen=True)
class Compared:
    """A chunk of rows and how they compare with the centers."""

    labels: Array  # (b,) int32
    squared: Array  # (b, C) squared distances to the centers
    squared_own: Array  # (b,) to the nearest, with the paper's k(x, x)


@dataclass(frozen=True)
class Model:
    """C centers as combinations of m points."""

    kernel: Kernel
    points: Rows  # (m, d), or column numbers of a precomputed kernel
    view: View
    dtype: Any
    # where k is not known to be positive definite: for lengths within the span
    gram: Gram | None = None
    # k(x, x), where a precomputed kernel does not give it but all rows share it
    constant: float = np.nan

    def only(self, clusters: Array) -> Model:
        """The same with some of the centers, numbered by their place in `clusters`."""
        view = self.view
        few = View.of(view.columns.T[clusters], view.norms[clusters], self.dtype)
        few = replace(few, slack=view.slack, tie=view.tie, blur=view.blur)
        return replace(self, view=few)

    def diag(self, X: Rows) -> Array:
        """k(x, x) of new rows (n,); NaN where a precomputed kernel does not tell."""
        if isinstance(self.kernel, Precomputed):
            return np.full(X.shape[0], self.constant)
        return self.kernel.diag(X)

    def compare(
        self, X: Rows, engine: Threads, diag: Array | None = None
    ) -> Iterator[Compared]:
        """Chunks of rows X against the centers, in order.

        `diag` (n,) is k(x, x), if it is known better than for new rows.
        """
        S = self.view.columns
        if self.gram is not None:
            S = np.hstack([S, self.gram.whitener])
        product = KernelProduct(self.kernel, self.points, S, self.dtype)

        @cache  # made only if a row needs it
        def precise() -> KernelProduct:
            return KernelProduct(
                self.kernel, self.points, self.view.columns, np.float64
            )

        def task(chunk: slice) -> Compared:
            rows = X[chunk]
            lengths = self.diag(rows) if diag is None else diag[chunk]
            return self._compare(rows, lengths, product, precise)

        starts = range(0, X.shape[0], _ROWS)
        return engine.map(task, [slice(s, s + _ROWS) for s in starts])

    def _compare(
        self,
        X: Rows,
        diag: Array,
        product: KernelProduct,
        precise: Callable[[], KernelProduct],
    ) -> Compared:
        view = self.view
        n_clusters = len(view.norms)
        products = product(X)
        scores = np.ascontiguousarray(
            view.norms[:, None] - 2 * products[:, :n_clusters].T
        )
        require_finite(scores, self.dtype)
        squared = diag
        if self.gram is not None:
            squared = self.gram.squared_lengths(products[:, n_clusters:])
        # For the purpose of rounding a row is at least as long as the centers.
        reach = np.sqrt(np.fmax(np.abs(squared), np.abs(view.norms).max()))

        def again(rows: Array) -> Array:
            return view.norms[:, None] - 2 * precise()(X[rows]).T

        found = decide(
            scores,
            view.slack * reach,
            view.tie * reach,
            None if self.dtype == np.float64 else again,
        )
        distances = squared[:, None] + scores.T
        # What rounding leaves of zero is zero.
        distances[distances < view.noise(reach)[:, None]] = 0
        # A strip has no k(x, x): its error is that within the span.
        own = squared if isinstance(self.kernel, PrecomputedStrip) else diag
        return Compared(found.labels, distances, own + found.score)


def shared_diagonal(kernel: Kernel, X: Rows) -> float:
    """k(x, x) if all training rows of a precomputed kernel share it, else NaN."""
    if not isinstance(kernel, Precomputed):
        return np.nan
    diag = kernel.diag(X)
    even = np.ptp(diag) <= 1e-6 * np.abs(diag).max()
    return float(diag[0]) if even else np.nan


def means_model(
    kernel: Kernel, X: Rows, points: Rows, alpha: Array, norms: Array, dtype: Any
) -> Model:
    """Centers that are means of the points, which are (some of) the rows X."""
    view = View.of(alpha, norms, dtype)
    return Model(kernel, points, view, dtype, constant=shared_diagonal(kernel, X))
