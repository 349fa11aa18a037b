"""What a fit leaves behind: centers, and what it takes to compare rows with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.engines import Threads
from akkm.gram import Gram
from akkm.kernels import Kernel, Precomputed
from akkm.nearest import View, decide, require_finite
from akkm.products import KernelProduct
from akkm.sources import Rows, chunks

Array = NDArray[Any]


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

    def compare(self, X: Rows, engine: Threads) -> Iterator[Compared]:
        """Chunks of rows X against the centers, in order."""
        S = self.view.alpha
        if self.gram is not None:
            S = np.hstack([S, self.gram.whitener])
        product = KernelProduct(self.kernel, self.points, S, self.dtype)

        @cache  # made only if a row needs it
        def precise() -> KernelProduct:
            return KernelProduct(self.kernel, self.points, self.view.alpha, np.float64)

        if isinstance(self.kernel, Precomputed):
            diag = np.full(X.shape[0], self.constant)
        else:
            diag = self.kernel.diag(X).astype(np.float64)

        def task(chunk: slice) -> Compared:
            return self._compare(X[chunk], diag[chunk], product, precise)

        return engine.map(task, chunks(X.shape[0]))

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
        # Where nothing is known of it, a row is taken to be as long as the centers.
        unknown = np.isnan(squared)
        reach = np.sqrt(np.where(unknown, view.norms.max(), np.abs(squared)))

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
        noise = view.blur * squared + view.slack * reach
        distances[distances < noise[:, None]] = 0
        trace = np.where(np.isnan(diag), squared, diag)
        return Compared(found.labels, distances, trace + found.score)


def shared_diagonal(kernel: Kernel, X: Rows) -> float:
    """k(x, x) if all training rows of a precomputed kernel share it, else NaN."""
    if not isinstance(kernel, Precomputed):
        return np.nan
    diag = kernel.diag(X)
    even = np.ptp(diag) <= 1e-6 * np.abs(diag).max()
    return float(diag[0]) if even else np.nan
