"""ApproxKernelKMeans."""

from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions

from akkm.approx import (
    Checkpoint,
    Factored,
    digest,
    factor,
    fingerprint,
    prefetch_sample,
    solve,
)
from akkm.core.gradient import Unfactored
from akkm.core.gram import INDEFINITE
from akkm.core.lloyd import Solution, Step
from akkm.diffusion.carried_classes import ClassWalks
from akkm.estimators._parameters import (
    NOT_NEGATIVE,
    IterationParameters,
    KernelParameters,
    LandmarkParameters,
    estimator,
    parameter,
)
from akkm.estimators._run import Run
from akkm.estimators._streaming import Streaming
from akkm.guided.parts import GuidedParts
from akkm.kernels import Kernel, to_dense
from akkm.landmarks import Landmarks
from akkm.rows import as_rows, is_dask
from akkm.rows.mapped import labels_file
from akkm.typing import Array

# Parameters that have no effect on the labels. A checkpoint stays valid if only these
# parameters change.
_NO_EFFECT = {
    *("checkpoint", "labels_file", "n_jobs", "verbose", "cache_size", "coverage")
}


@estimator
class ApproxKernelKMeans(
    Streaming, KernelParameters, LandmarkParameters, IterationParameters
):
    """Approximate kernel k-means (aKKm): kernel k-means for millions of rows.

    Centers are restricted to the span of m rows, the landmarks. A fit then needs n x m
    kernel values instead of n x n. These values are computed in blocks, most of them
    only once. The n x m matrix is not stored unless it fits in `cache_size`.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters C. "auto" chooses the number that independent halves of the
        rows agree on (see `stability_`), and warns if the choice is unsure.
    kernel : str, `akkm.kernels.Kernel` or callable, default="rbf"
        "rbf", "poly", "sigmoid", "linear", "cosine", "laplacian", "chi2",
        "additive_chi2", "intersection", "precomputed"; an object from `akkm.kernels`;
        or a function that takes two blocks of rows, (b, d) and (m, d), and returns
        their kernel values (b, m). With "precomputed", X is the square kernel matrix
        (n, n), or a strip (n, m) of that matrix. For a strip, `landmarks` contains the
        row index of each column.
    gamma : float, "scale", "median", "neighbors", "known" or None, default="scale"
        Inverse width of the kernel: a number, or a rule. "scale" is 1 / (d Var X).
        "median" uses the median distance of sampled rows. "neighbors" uses the distance
        to near neighbours. "known" compares known rows with the mean of each class, and
        chooses the width for which the nearest mean is most often that of the row's own
        class. None is 1 / d. See `akkm.kernels.resolve`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant term of the polynomial and sigmoid kernels.
    kernel_params : dict, optional
        Further kernel parameters, such as `{"sigma": 0.35}` for "rbf", or keyword
        arguments of a function.
    n_landmarks : int or "auto", default="auto"
        Number of landmarks m. "auto" is the square root of n, at least 256 and at most
        2,048, but never fewer than 4 C and never more than n.
    landmarks : str or array, default="uniform"
        How to choose landmarks: "uniform", "diagonal", "column-norm", "k-means",
        "rpcholesky" or "leverage" (see `akkm.landmarks.choose`); an integer array of
        row indices (m,), or an array of points (m, d).
    init : {"k-means++", "random"} or array of shape (n,), default="k-means++"
        Initialisation. "k-means++" starts from the best clustering of a sample.
        "random" starts from random labels of all rows, as in the paper. An array
        contains initial labels from 0 to C - 1.
    n_init : int or "auto", default="auto"
        Number of runs; the best run is kept. "auto" is 4 for "k-means++" and 1 for
        "random". With "k-means++", each run clusters the sample, and the best run is
        improved by adding and removing centers. With many clusters, there are fewer
        runs, to limit their cost. With "random", each run clusters all rows.
    max_iter : int, default=300
        Maximal number of iterations over all rows.
    tol : float, default=0.0
        The fit also ends if an iteration decreases the clustering error by less than
        this share. With 0, it ends when no label changes. With many clusters or
        `init="random"`, 1e-4 saves most iterations. The error is then slightly higher.
    indefinite : {"clip", "flip", "pinv"}, default="clip"
        Treatment of negative eigenvalues of an indefinite kernel. "clip" drops them. It
        also drops small positive eigenvalues that are not larger than the absolute
        value of a negative one. "flip" replaces negative eigenvalues by their absolute
        values. "pinv" inverts negative eigenvalues unchanged, as in the paper;
        iterations may then cycle.
    solver : {"eigh", "gradient"}, default="eigh"
        How centers are computed from sums of kernel rows. "eigh" uses the eigenvectors
        of the landmarks' kernel matrix. "gradient" uses conjugate gradients without
        factoring that matrix (the paper's eq. 13). "gradient" needs a positive definite
        kernel, evaluates all rows in every iteration, and is rarely faster.
    cache_size : float, default=1024
        Size in megabytes of the cache for kernel values of rows that are evaluated more
        than once.
    checkpoint : str or path, optional
        Folder in which `fit` saves its progress every few seconds. If the same fit is
        started again, it resumes from there. A fit with other data or settings raises
        an error. A checkpoint needs an integer `random_state`.
    labels_file : str or path, optional
        A .npy file to which `fit` writes the labels. `labels_` is then a memory-mapped
        array of this file. Disk space is reserved at the start of the fit. The file
        appears when it is complete.
    coverage : float or "auto", default=1.0
        Share of the rows that get a label. The least certain rows (see `certainty`) get
        -1. "auto" leaves out the rows with less than a third of the median certainty.
        `predict` applies the same limit to new rows.
    strength : "hard" or float, default="hard"
        How strictly known classes and `cannot_link` are followed, if `fit` gets them.
        "hard" never violates them, and raises an error if this is impossible. With a
        number, a violation costs this number times the weight of the row times the mean
        squared distance of rows to their mean. Must-links are never violated.
    clusters_per_class : "auto", int or mapping, default="auto"
        Number of clusters of each known class: a number for all classes, or a mapping
        from classes to numbers. Other clusters belong to no class. With "auto", the
        rows are first clustered without constraints, and each class gets at least one
        of these clusters. Every other cluster belongs to the class that has the most
        known rows in it, or to no class if it has no known row.
    known_weight : "auto" or float, default="auto"
        Weight of a row whose class is known, relative to other rows. With "auto", five
        known rows weigh as much as a cluster of mean size, if there are 25 or more
        known rows per class. With fewer known rows per class, the weight of a known row
        is lower, in proportion to the number of known rows per class.
        With "auto", rows near known rows may move centers, too. This requires hard
        constraints, known classes for more than half of the clusters, and at most 75
        known rows per class. Random walks then spread the known classes to a sample of
        the rows. If a class has no known row, walks start at the typical rows of a
        cluster that belongs to no class. Each center
        is the mean of its cluster and of the sampled rows of its class. In total, these
        sampled rows weigh ten times as much as all rows. Known classes are not spread
        if clusters that were found without them predict them at least as well.
    random_state : int, RandomState instance or None, default=None
        The same seed gives the same labels, for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads. None: as many as BLAS and OpenMP use; -1: one per core.
    verbose : int, default=0
        1 prints a line per iteration.

    Attributes
    ----------
    labels_ : int32 array of shape (n,)
        Cluster of each row.
    n_clusters_ : int
        Number of clusters, given or estimated.
    stability_ : akkm.layers.curve.LayerCurve or None
        How reproducible each number of clusters is; None if this was not measured.
    label_names_ : list of length C
        The known class to which each cluster belongs; None for no class. This attribute
        and `violated_` exist only if `fit` got constraints.
    violated_ : dict
        Violated constraints: "known" has the rows (v,) in clusters of another class,
        and "cannot_link" the pairs (w, 2) of rows in the same cluster.
    inertia_ : float
        The paper's clustering error: the sum of squared distances to the centers.
    n_iter_ : int
        Number of iterations over all rows.
    history_ : int array of shape (n_iter_, 2)
        For each iteration, the number of labels that changed and the number of rows
        that were evaluated.
    landmarks_ : array or CSR matrix of shape (m, d)
        The landmarks, or their row indices if the kernel was precomputed.
    landmark_indices_ : int array of shape (m,) or None
        Row indices of the landmarks; None if they were given as points.
    dual_coef_ : array of shape (C, m)
        The paper's α: center k is `sum_j dual_coef_[k, j] k(landmark j, .)`.
    kernel_ : akkm.kernels.Kernel
        The kernel with its width.
    rank_ : int
        Numerical rank of the landmarks' kernel matrix. With `solver="gradient"`, which
        does not compute the rank, it is m.
    negative_mass_ : float
        Share of the negative eigenvalues in the sum of all absolute eigenvalues of the
        landmarks' kernel matrix; 0 for a positive definite kernel.
    certainty_ : float array of shape (n,)
        Certainty of each row. It is set only if `coverage` is not 1.
    certainty_limit_ : float
        Rows with a lower certainty get the label -1. It is set only if `coverage` is
        not 1.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of shape (n_features_in_,)
        Column names of X, if it is a data frame.

    See Also
    --------
    EnsembleKernelKMeans : Several runs combined, for few landmarks.
    KernelKMeans : Exact kernel k-means.

    Notes
    -----
    With constraints, `predict` returns the nearest center. This may differ from
    `labels_` for constrained rows. In `inertia_`, known rows have their larger weight,
    and penalties are not included. If random walks spread known classes to a sample,
    the mean of each class in the sample counts as one row with the weight of that
    class.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from akkm import ApproxKernelKMeans
    >>> X, y = make_circles(1000, factor=0.3, noise=0.05, random_state=0)
    >>> model = ApproxKernelKMeans(2, gamma=5.0, random_state=0).fit(X)
    >>> bool(((model.labels_ == y).mean() in (0.0, 1.0)))
    True
    >>> model.predict([[0.0, 0.3], [0.0, 1.0]]).tolist() in ([0, 1], [1, 0])
    True
    """

    indefinite: str = parameter(StrOptions(set(INDEFINITE)), default="clip")
    solver: str = parameter(StrOptions({"eigh", "gradient"}), default="eigh")
    cache_size: float = parameter(NOT_NEGATIVE, default=1024)
    checkpoint: Any = parameter(str, PathLike, None, default=None)
    labels_file: Any = parameter(str, PathLike, None, default=None)

    _takes_stored = True
    _class_walks = ClassWalks

    def _fit(self, run: Run) -> None:
        """Cluster the rows by the paper's Algorithm 2."""
        self._require_solvable(run.kernel)
        if self.coverage != 1 and self.labels_file is not None:
            raise ValueError(
                f"coverage={self.coverage!r} with labels_file=, which stores all "
                "labels; leave out one of the two."
            )
        init = self._initialisation(run.X.shape[0])
        with labels_file(self.labels_file, run.X.shape[0]) as store_labels:
            # Algorithm 2, step 1: sample the landmarks.
            landmarks = self._sample_landmarks(run, init)
            # Steps 2 and 3: compute the landmarks' kernel matrix K̂ and its inverse.
            factored = self._factor(run, landmarks)
            # Steps 4 to 11: initialise, then update centers and labels in turn.
            solution = self._iterate(run, factored, landmarks, init)
            self._set_attributes(factored, landmarks, solution)
            self._describe_constraints(solution.parts)
            labels = store_labels(solution.labels)
        if self.labels_file is None:
            self.labels_ = as_rows(run.X).as_labels(labels)
        else:
            self.labels_ = labels
        run.progress.log(
            f"clustering error {self.inertia_:.6g} after {self.n_iter_} "
            f"iterations, {solution.history[:, 1].sum() / factored.strip.n:.2f} "
            "passes over the rows"
        )
        self._warn_if_negative(run, factored.gram, f"indefinite={self.indefinite!r}")
        self._warn_unless_resolved(run, factored.resolved, self.inertia_)
        self._warn_if_diverged(run, factored)
        if run.weights is None or is_dask(self.labels_):
            # The warning needs only the distinct labels. Counts give them faster.
            labels = np.flatnonzero(solution.stats.counts > 0)
        self._warn_unless_converged(run, labels, solution.finished)

    def _require_solvable(self, kernel: Kernel) -> None:
        if self.solver == "gradient" and not kernel.psd:
            raise ValueError(
                "solver='gradient' needs a kernel that is known to be positive "
                f"definite, which {kernel} is not; use solver='eigh'."
            )

    def _sample_landmarks(self, run: Run, init: str | Array) -> Landmarks:
        if isinstance(init, str) and init == "k-means++":
            prefetch_sample(run.X, self._n_clusters, run.weights, run.rng)
        return self._select_landmarks(run)

    def _factor(self, run: Run, landmarks: Landmarks) -> Factored:
        factored = factor(
            run.X,
            run.kernel,
            landmarks,
            dtype=run.X.dtype,
            indefinite=self.indefinite,
            solver=self.solver,
        )
        run.progress.log(
            f"{run.X.shape[0]:,} rows, {factored.strip.m:,} landmarks, rank "
            f"{factored.gram.rank:,}, {run.kernel}"
        )
        return factored

    def _iterate(
        self, run: Run, factored: Factored, landmarks: Landmarks, init: str | Array
    ) -> Solution:
        def watch(step: Step) -> bool:
            centers, kernel = step.centers, run.kernel
            return run.progress.step(
                step, lambda: {"_model": factored.model(centers), "kernel_": kernel}
            )

        return solve(
            factored,
            run.engine,
            n_clusters=self._n_clusters,
            init=init,
            n_init=self._n_runs(init),
            max_iter=self.max_iter,
            tol=self.tol,
            weights=run.weights,
            cache_bytes=self.cache_size * 2**20,
            rng=run.rng,
            watch=watch,
            checkpoint=self._open_checkpoint(run, factored, landmarks, init),
            guidance=run.guidance,
        )

    def _set_attributes(
        self, factored: Factored, landmarks: Landmarks, solution: Solution
    ) -> None:
        self._model = factored.model(solution.centers)
        self.kernel_ = factored.strip.kernel
        self.inertia_ = solution.error(solution.parts.trace())
        self.n_iter_ = solution.n_iter
        self.history_ = solution.history
        self.landmarks_ = landmarks.attribute
        self.landmark_indices_ = landmarks.indices
        self.dual_coef_ = solution.centers.alpha
        self.rank_ = factored.gram.rank
        self.negative_mass_ = factored.gram.negative_mass
        parts, counts = solution.parts, solution.stats.counts
        if isinstance(parts, GuidedParts):
            counts = counts - parts.added.counts
        self._start_afresh(counts, factored.strip.n)

    def _open_checkpoint(
        self, run: Run, factored: Factored, landmarks: Landmarks, init: str | Array
    ) -> Checkpoint | None:
        """Open the checkpoint of a fit with these rows and settings."""
        if self.checkpoint is None:
            return None
        if run.guidance is not None:
            raise ValueError(
                f"checkpoint={str(self.checkpoint)!r}; a fit with known, must_link or "
                "cannot_link can't be resumed. Leave out checkpoint."
            )
        if not isinstance(self.random_state, Integral):
            raise ValueError(
                f"random_state={self.random_state!r}; checkpoint= needs an integer, so "
                "that a fit started again chooses the same landmarks."
            )
        if isinstance(init, str) and init == "random" and self._n_runs(init) > 1:
            raise ValueError(
                f"n_init={self.n_init}; checkpoint= needs a single run over all rows: "
                "use n_init=1, or init='k-means++', whose runs are on a sample."
            )
        parameters = self.get_params()
        settings = {
            name: parameters[name]
            for name in parameters
            if name not in _NO_EFFECT | {"landmarks"}
        }
        strip, weights = factored.strip, run.weights
        mark = fingerprint(
            type(self).__name__,
            settings | {"kernel": str(strip.kernel), "init": str(init)},
            (strip.X.shape, strip.X.dtype.str, strip.dtype.str, digest(strip.X)),
            to_dense(landmarks.rows),
            np.zeros(0) if weights is None else weights,
            np.zeros(0) if isinstance(init, str) else init,
        )
        return Checkpoint(self.checkpoint, mark)

    def _warn_if_diverged(self, run: Run, factored: Factored) -> None:
        gram = factored.gram
        if isinstance(gram, Unfactored) and (condition := gram.failure()):
            run.warn(
                "solver='gradient' did not converge: the condition number of the "
                f"landmarks' kernel matrix is at least {condition:.1e}. Centers are "
                "approximate; use solver='eigh', fewer landmarks or a narrower kernel.",
                ConvergenceWarning,
            )
