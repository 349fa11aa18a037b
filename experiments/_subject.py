"""A data set, and what all of its cells share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize, scale

from akkm.core.strip import Strip, chunks
from akkm.core.threads import Threads
from akkm.landmarks import (
    STRATEGIES,
    Pool,
    squared_column_norms,
    weighted_sample,
)
from akkm.methods.leaders import Crowd
from experiments.datasets import Dataset, load
from experiments.datasets._images import image_kernel, whole_matrix

Array = NDArray[Any]

# Rows on which clustering errors are measured, in the exact kernel: all pairs of all
# rows would cost more than the fits. The same rows for every method and seed.
ERROR_ROWS = 10_000
# Leaders: the paper does not say how many there were.
_LEADERS = 1000
# Points of a strip while the whole kernel matrix is passed over.
_POINTS = 1000

_ROWS: dict[str, Callable[[Array], Array]] = {
    "pixels 0 to 255": lambda X: X * 255,
    "unit length": normalize,
    "unit variance": lambda X: scale(X.astype(np.float64)),
}


class Subject:
    """Rows, start labels, landmarks and errors of one data set."""

    def __init__(self, data: Dataset) -> None:
        self.data = data
        self.n = data.X.shape[0]
        self._start_errors: dict[int, float] = {}

    @classmethod
    def named(cls, name: str, variation: Mapping[str, Any]) -> Subject:
        """A data set by name, with other rows or another kernel if that is asked."""
        data = load(name)
        params = dict(variation)
        rows = params.pop("rows", None)
        if rows is not None:
            data = replace(data, X=_ROWS[rows](data.X).astype(np.float32))
        if "gamma" in params:
            params["sigma"] = None
        kernel: Any = data.kernel  # each is a dataclass
        return cls(replace(data, kernel=replace(kernel, **params)))

    def start(self, seed: int) -> Array:
        """Random labels (n,), the same for all methods that start from such."""
        return np.random.default_rng(seed).integers(self.data.n_clusters, size=self.n)

    def landmarks(self, strategy: str, m: int, seed: int) -> tuple[Array, float]:
        """Row numbers (m,), and the seconds that it took to choose them.

        Column norms do not depend on m and seed. They are computed once, and that time
        is counted in full for every choice.
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

    def pass_over(self, points: Array) -> None:
        """Compute the kernel of all rows with some of them, and keep nothing."""
        X, kernel = self.data.X, self.data.kernel
        with Threads() as engine:
            for s in range(0, len(points), _POINTS):
                Z = kernel.select(X, points[s : s + _POINTS])
                strip = Strip(X, kernel, Z, np.float32)

                def compute(chunk: slice, strip: Strip = strip) -> None:
                    for _ in strip.tiles(chunk):
                        pass

                for _ in engine.map(compute, chunks(self.n)):
                    pass

    @cached_property
    def threshold(self) -> float:
        """The distance that gives about `_LEADERS` leaders.

        Their method is given one, so the search for it is not in its time.
        """
        wanted, rng = min(_LEADERS, self.n // 10), np.random.default_rng(0)
        with Threads() as engine:
            crowd = Crowd(self.data.X, self.data.kernel, engine, None)
            found = crowd.lead_about(wanted, self.data.n_clusters, rng)
        return float(found.heads.threshold)

    @cached_property
    def exact_input(self) -> tuple[Any, Any]:
        """Rows and kernel for exact kernel k-means.

        The matrix, where comparing rows is slow and all pairs fit into memory.
        """
        if self.data.name == "imagenet12":
            return image_kernel(), "precomputed"
        return self.data.X, self.data.kernel

    def error(self, labels: Array) -> float:
        """The clustering error of labels (n,), on the rows for that.

        As `akkm.metrics.clustering_error`, from a kernel matrix that is there.
        """
        rows, K = self._error_kernel
        members = labels[rows][:, None] == np.unique(labels[rows])
        members = members.astype(np.float32)
        inside = np.einsum("ik,ik->k", K @ members, members, dtype=np.float64)
        counts = members.sum(axis=0, dtype=np.float64)
        return float(K.diagonal().sum(dtype=np.float64) - (inside / counts).sum())

    def start_error(self, seed: int) -> float:
        """That of the random labels."""
        if seed not in self._start_errors:
            self._start_errors[seed] = self.error(self.start(seed))
        return self._start_errors[seed]

    @cached_property
    def _error_kernel(self) -> tuple[Array, Array]:
        """Some rows (b,), and their kernel matrix (b, b)."""
        rng = np.random.default_rng(0)
        rows = np.sort(rng.choice(self.n, min(self.n, ERROR_ROWS), replace=False))
        if self.exact_input[1] == "precomputed":
            return rows, self.exact_input[0][np.ix_(rows, rows)]
        return rows, whole_matrix(self.data.X[rows], self.data.kernel)
