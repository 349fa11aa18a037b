"""Base class of estimators that run k-means in an embedding of the rows."""

from __future__ import annotations

from typing import Any

from akkm.approx import kmeans_problem, solve
from akkm.core.lloyd import Solution, Step
from akkm.core.threads import Threads
from akkm.estimators._base import CenterClusterer, Run
from akkm.estimators._parameters import IterationParameters, estimator
from akkm.typing import Array, Rows


@estimator
class EmbeddingClusterer(IterationParameters, CenterClusterer):
    """Base class of estimators that embed rows as points and cluster the points."""

    def _embed(self, X: Rows, engine: Threads) -> Array:
        """Map valid rows (n, d) to points of the embedding (n, q)."""
        points: Array = self._embedding(X, engine)
        return points

    def _cluster(self, run: Run, embedding: Any, points: Array, n: int) -> Solution:
        """Run k-means with n clusters on points (n, q) and set the attributes."""
        fitted = {"_embedding": embedding, "kernel_": run.kernel}
        init = self._initialisation(points.shape[0])
        problem = kmeans_problem(points)

        def watch(step: Step) -> bool:
            centers = step.centers
            return run.progress.step(
                step, lambda: {"_model": problem.model(centers), **fitted}
            )

        solution = solve(
            problem,
            run.engine,
            n_clusters=n,
            init=init,
            n_init=self._n_runs(init),
            max_iter=self.max_iter,
            weights=run.weights,
            cache_bytes=0,
            rng=run.rng,
            watch=watch,
        )
        self._embedding, self.kernel_ = embedding, run.kernel
        self._model = problem.model(solution.centers)
        self.labels_ = solution.labels
        self.inertia_ = solution.error(solution.parts.trace())
        self.n_iter_ = solution.n_iter
        self.history_ = solution.history
        self.embedding_ = points
        return solution
