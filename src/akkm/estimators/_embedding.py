"""Base class of estimators that run k-means in an embedding of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.approx import kmeans_problem, solve
from akkm.core.lloyd import Solution, Step
from akkm.core.strip import Rows
from akkm.core.threads import Threads
from akkm.estimators._base import CenterClusterer
from akkm.estimators._parameters import IterationParameters, estimator
from akkm.estimators._progress import Progress

Array = NDArray[Any]


@estimator
class EmbeddingClusterer(IterationParameters, CenterClusterer):
    """Base class of estimators that embed rows as points and cluster the points."""

    def _embed(self, X: Rows, engine: Threads) -> Array:
        """Map valid rows (n, d) to points of the embedding (n, q)."""
        points: Array = self._embedding(X, engine)
        return points

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
        """Run k-means on points (n, q) and set the attributes that follow from it.

        `fitted` are extra fitted attributes that callbacks need to predict.
        """
        init = self._initialisation(points.shape[0])
        problem = kmeans_problem(points)

        def watch(step: Step) -> bool:
            centers = step.centers
            return progress.step(
                step, lambda: {"_model": problem.model(centers), **fitted}
            )

        solution = solve(
            problem,
            engine,
            n_clusters=n_clusters,
            init=init,
            n_init=self._n_runs(init),
            max_iter=self.max_iter,
            weights=weights,
            cache_bytes=0,
            rng=rng,
            watch=watch,
        )
        self._model = problem.model(solution.centers)
        self.labels_ = solution.labels
        self.inertia_ = solution.error(solution.parts.trace())
        self.n_iter_ = solution.n_iter
        self.history_ = solution.history
        self.embedding_ = points
        return solution
