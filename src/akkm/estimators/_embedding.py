"""Base classes of estimators that run k-means in an embedding of the rows."""

from copy import deepcopy
from typing import Any

import numpy as np

from akkm.approx import kmeans_problem, solve
from akkm.core.lloyd import Solution, Step
from akkm.core.threads import Threads
from akkm.diffusion.estimate_k import Evidence, check_balance
from akkm.diffusion.row_lengths import varying_lengths
from akkm.estimators._centers import CenterClusterer
from akkm.estimators._guided import GuidedClusterer
from akkm.estimators._number import decide_by_layers, measure_by_walks
from akkm.estimators._parameters import (
    AUTO,
    POSITIVE,
    IterationParameters,
    estimator,
    parameter,
)
from akkm.estimators._run import Run
from akkm.layers.curve import LayerCurve
from akkm.rows import as_rows, is_dask
from akkm.typing import Array, RowsLike


@estimator
class EmbeddingClusterer(IterationParameters, CenterClusterer):
    """Base class of estimators that embed rows as points and cluster the points."""

    def _embed(self, X: RowsLike, engine: Threads) -> Array:
        """Map valid rows (n, d) to points of the embedding (n, q)."""
        return self._embedding(X, engine)

    def _cluster(self, run: Run, embedding: Any, points: RowsLike, n: int) -> Solution:
        """Run k-means with `n` clusters on the points and set the attributes."""
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
            tol=self.tol,
            weights=run.weights,
            cache_bytes=0,
            rng=run.rng,
            watch=watch,
            guidance=run.guidance,
        )
        self._embedding, self.kernel_ = embedding, run.kernel
        self._model = problem.model(solution.centers)
        stored = as_rows(run.X)
        self.labels_ = stored.as_labels(solution.labels)
        self.inertia_ = solution.error(solution.parts.trace())
        self.n_iter_ = solution.n_iter
        self.history_ = solution.history
        self.embedding_ = stored.as_labels(as_rows(points).whole())
        return solution


@estimator
class WalkClusterer(GuidedClusterer, EmbeddingClusterer):
    """Base class of estimators whose embedding is made by random walks."""

    diffusion: Any = parameter(POSITIVE, AUTO, default="auto")
    metric: str = parameter(str, default="euclidean")

    @property
    def _kernel_text(self) -> str:
        """The kernel in words."""
        if self.diffusion_ == 0:
            return "linear"
        return f"diffusion, t = {self.diffusion_:.4g}"

    @property
    def _number_text(self) -> str:
        """The estimated number of clusters, and the evidence for it."""
        return str(self.evidence_)

    @property
    def _given_n_clusters(self) -> int | None:
        """The given number of clusters, or None if it is to be estimated."""
        return None if self.n_clusters == "auto" else int(self.n_clusters)

    @property
    def _given_t(self) -> float | None:
        """The given length of the walks, or None if the spectrum determines it."""
        return None if self.diffusion == "auto" else float(self.diffusion)

    def _choose_number(self, run: Run) -> None:
        """Forget the number of an earlier fit; `_cluster_walks` sets the new one."""
        self.stability_ = None
        self.__dict__.pop("n_clusters_", None)

    def _decide(self, run: Run, evidence: Evidence, W: Any = None) -> Evidence:
        """Choose the number of clusters by layers, unless the spectrum is conclusive.

        W (u, u) contains the similarities of the rows in the graph. If it is None, a
        graph is built from a sample of the rows.
        """
        if evidence.conclusive:
            return evidence
        self.stability_ = self._measure_layers(run, W=W)
        return decide_by_layers(evidence, self.stability_)

    def _measure_layers(
        self, run: Run, between: tuple[int, int | None] = (2, None), W: Any = None
    ) -> LayerCurve | None:
        """Measure how reproducible each number of clusters is, by random walks."""
        return measure_by_walks(
            run.X,
            run.weights,
            run.engine,
            deepcopy(run.rng).spawn(1)[0],
            W=W,
            between=between,
            **self._graph_settings,
        )

    @property
    def _graph_settings(self) -> dict[str, Any]:
        """Parameters of the graph in which numbers of clusters are compared."""
        return {}

    def _cluster_walks(self, run: Run, embedding: Any, points: RowsLike) -> Solution:
        """Run k-means on points (n, q), and set the attributes of the fit."""
        if self.metric == "euclidean" and (lengths := varying_lengths(run.X)):
            short, long = lengths
            run.warn(
                f"The lengths of the rows vary strongly: 5 % are below {short:.3g}, "
                f"and 5 % are above {long:.3g}. If the rows are embeddings, only their "
                "directions may matter; then use metric='cosine'.",
                UserWarning,
            )
        kernel = embedding.kernel
        self.n_clusters_ = kernel.n_clusters
        solution = self._cluster(run, embedding, points, kernel.n_clusters)
        self._describe_constraints(solution.parts)
        self.evidence_ = kernel.evidence
        if kernel.n_clusters == kernel.evidence.n_clusters:
            # The check needs only one label per cluster, with the cluster's weight.
            weights, clusters = solution.stats.counts, np.arange(kernel.n_clusters)
            self.evidence_ = check_balance(kernel.evidence, clusters, weights)
        self.eigenvalues_ = kernel.eigenvalues
        self.diffusion_ = kernel.t
        if kernel.lost_weight:
            run.warn(
                f"diffusion={kernel.t:g} needs more than the "
                f"{len(kernel.eigenvalues)} eigenvectors that were computed. Missing "
                f"eigenvectors have up to {kernel.lost_weight:.2g} times the weight of "
                'the first eigenvector. Raise diffusion, or use "auto".',
                UserWarning,
            )
        return solution

    def _warn_of_result(self, run: Run, solution: Solution) -> None:
        labels = solution.labels
        if is_dask(labels):  # the warning needs only the distinct labels
            labels = np.flatnonzero(solution.stats.counts > 0)
        self._warn_unless_converged(run, labels, solution.finished)
        evidence = self.evidence_
        if self.n_clusters == "auto" and not evidence.sure:
            run.warn(
                f"The estimate of {evidence.n_clusters} clusters is unsure: "
                f"{evidence.why}; look at the evidence (`evidence_`, or a report), or "
                "give the number of clusters.",
                UserWarning,
            )
