"""Estimators that run k-means in a space of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.approx import algorithm2 as approximate
from akkm.core.lloyd import Solution, Step
from akkm.core.threads import Threads
from akkm.estimators._base import CenterClusterer
from akkm.estimators._progress import Progress

Array = NDArray[Any]


class EmbeddingClusterer(CenterClusterer):
    """Rows become points, and points are clustered."""

    def _cluster(
        self,
        points: Array,
        n_clusters: int,
        weights: Array | None,
        engine: Threads,
        rng: np.random.Generator,
        progress: Progress,
        fitted: dict[str, Any],
    ) -> Solution:
        """k-means of points (n, q), and the attributes that follow from it.

        `fitted` is what besides the centers makes the estimator predict, for whoever
        watches.
        """
        init = self._checked_init(points.shape[0])
        flat = approximate.kmeans_problem(points)

        def watch(step: Step) -> bool:
            at = step.centers
            return progress.step(step, lambda: {"_model": flat.model(at), **fitted})

        solution = approximate.solve(
            flat,
            engine,
            n_clusters=n_clusters,
            init=init,
            n_init=self._restarts(init),
            max_iter=self.max_iter,
            weights=weights,
            cache_bytes=0,
            rng=rng,
            watch=watch,
        )
        self._model = flat.model(solution.centers)
        self.labels_ = solution.labels
        self.inertia_ = solution.error(solution.parts.trace())
        self.n_iter_ = solution.n_iter
        self.history_ = solution.history
        self.embedding_ = points
        return solution
