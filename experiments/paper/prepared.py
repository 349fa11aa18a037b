"""A data set with everything that its cells share: start labels, landmarks, errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize, scale

from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.landmarks import STRATEGIES, Pool, squared_column_norms, weighted_sample
from akkm.methods.leaders import LeaderSearch
from akkm.rows import chunks
from experiments.datasets import Dataset
from experiments.datasets import load as load_dataset
from experiments.datasets.image_rows import full_kernel_matrix, image_kernel

Array = NDArray[Any]

# Clustering errors are measured with the exact kernel on this many rows. All methods
# and seeds use the same rows. Errors on all rows would take longer than the fits.
ERROR_ROWS = 10_000
# Number of leaders of leaders kernel k-means (lKKm). The paper does not say how many
# leaders it used.
_N_LEADERS = 1000
# Number of columns of the kernel matrix that are computed at a time.
_COLUMNS = 1000

_ROWS: dict[str, Callable[[Array], Array]] = {
    "pixels 0 to 255": lambda X: X * 255,
    "unit length": normalize,
    "unit variance": lambda X: scale(X.astype(np.float64)),
}


class PreparedData:
    """Rows, start labels, landmarks and clustering errors of one data set."""

    def __init__(self, data: Dataset) -> None:
        self.data = data
        self.n = data.X.shape[0]
        self.n_clusters = data.n_clusters
        self._start_errors: dict[int, float] = {}

    @classmethod
    def load(cls, name: str, variation: Mapping[str, Any]) -> PreparedData:
        """Load a data set by name.

        `variation` may scale its rows differently ("rows": a key of `_ROWS`), and
        replace parameters of its kernel (such as "gamma" and "coef0").
        """
        data = load_dataset(name)
        params = dict(variation)
        rows = params.pop("rows", None)
        if rows is not None:
            data = replace(data, X=_ROWS[rows](data.X).astype(np.float32))
        if "gamma" in params:
            params["sigma"] = None
        kernel: Any = data.kernel  # every kernel is a dataclass
        return cls(replace(data, kernel=replace(kernel, **params)))

    def start(self, seed: int) -> Array:
        """Return random start labels (n,), which depend only on the seed."""
        return np.random.default_rng(seed).integers(self.n_clusters, size=self.n)

    def landmarks(self, strategy: str, m: int, seed: int) -> tuple[Array, float]:
        """Return the row numbers (m,) of landmarks, and the seconds to choose them.

        The column norms of the strategy "column-norm" depend on neither m nor seed, so
        they are computed only once. For this strategy, the returned seconds always
        include the whole time of the computation.
        """
        rng = np.random.default_rng((seed, m))
        norms, before = self._column_norms if strategy == "column-norm" else (None, 0.0)
        start = perf_counter()
        if norms is not None:
            rows = weighted_sample(norms, m, rng)
        else:
            with Threads() as engine:
                pool = Pool(self.data.X, self.data.kernel, None, engine)
                rows = STRATEGIES[strategy](pool, m, rng)
        return rows, before + perf_counter() - start

    @cached_property
    def _column_norms(self) -> tuple[Array, float]:
        start = perf_counter()
        with Threads() as engine:
            pool = Pool(self.data.X, self.data.kernel, None, engine)
            norms = squared_column_norms(pool, np.random.default_rng(0))
        return norms, perf_counter() - start

    def kernel_pass(self, points: Array) -> None:
        """Compute and discard kernel values of all rows with some rows.

        `points` are the numbers of these rows.
        """
        X, kernel = self.data.X, self.data.kernel
        with Threads() as engine:
            for s in range(0, len(points), _COLUMNS):
                Z = kernel.select(X, points[s : s + _COLUMNS])
                strip = Strip(X, kernel, Z, np.float32)

                def compute(chunk: slice, strip: Strip = strip) -> None:
                    for _ in strip.tiles(chunk):
                        pass

                for _ in engine.map(compute, chunks(self.n)):
                    pass

    @cached_property
    def threshold(self) -> float:
        """The distance threshold that gives about 1,000 leaders.

        If there are fewer than 10,000 rows, it gives about one leader per ten rows.
        lKKm takes this threshold as a parameter, so the search for it is not timed.
        """
        n_leaders, rng = min(_N_LEADERS, self.n // 10), np.random.default_rng(0)
        with Threads() as engine:
            search = LeaderSearch(self.data.X, self.data.kernel, engine, None)
            leaders = search.find_about(n_leaders, self.n_clusters, rng)
        return float(leaders.points.threshold)

    @cached_property
    def exact_input(self) -> tuple[Any, Any]:
        """Rows and kernel for exact kernel k-means.

        For images, the kernel matrix is precomputed: the kernel is slow, and the matrix
        fits in memory.
        """
        if self.data.name == "imagenet12":
            return image_kernel(), "precomputed"
        return self.data.X, self.data.kernel

    def error(self, labels: Array) -> float:
        """Return the clustering error of labels (n,) on the `ERROR_ROWS` sampled rows.

        `akkm.metrics.clustering_error` would return the same number, but it does not
        cache the kernel matrix.
        """
        rows, K = self._error_kernel
        members = labels[rows][:, None] == np.unique(labels[rows])
        members = members.astype(np.float32)
        inside = np.einsum("ik,ik->k", K @ members, members, dtype=np.float64)
        counts = members.sum(axis=0, dtype=np.float64)
        return float(K.diagonal().sum(dtype=np.float64) - (inside / counts).sum())

    def start_error(self, seed: int) -> float:
        """Return the clustering error of the random start labels."""
        if seed not in self._start_errors:
            self._start_errors[seed] = self.error(self.start(seed))
        return self._start_errors[seed]

    @cached_property
    def _error_kernel(self) -> tuple[Array, Array]:
        """Row numbers (b,) and the kernel matrix (b, b) of these rows."""
        rng = np.random.default_rng(0)
        rows = np.sort(rng.choice(self.n, min(self.n, ERROR_ROWS), replace=False))
        if self.exact_input[1] == "precomputed":
            return rows, self.exact_input[0][np.ix_(rows, rows)]
        return rows, full_kernel_matrix(self.data.X[rows], self.data.kernel)
