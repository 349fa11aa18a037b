"""ApproxKernelKMeans."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from akkm.approx import algorithm2 as approximate
from akkm.approx.algorithm2 import Factored
from akkm.approx.checkpoint import Checkpoint, fingerprint
from akkm.approx.seeding import prefetch_sample
from akkm.core import gram
from akkm.core.gradient import Unfactored
from akkm.core.lloyd import Step
from akkm.core.threads import Threads
from akkm.estimators import _checks
from akkm.estimators._base import CenterClusterer
from akkm.estimators._progress import Progress
from akkm.estimators._streaming import Streaming
from akkm.kernels import to_dense
from akkm.landmarks import Landmarks
from akkm.rows import as_rows, is_dask
from akkm.rows.mapped import labels_file

Array = NDArray[Any]


class ApproxKernelKMeans(Streaming, CenterClusterer):
    """Approximate kernel k-means (aKKm): kernel k-means for millions of rows.

    Centers are kept in the span of m rows, the landmarks, so that n x m kernel values
    take the place of n x n. They are computed in blocks, mostly once, and not kept.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters C.
    kernel : str, `akkm.kernels.Kernel` or callable, default="rbf"
        "rbf", "poly", "sigmoid", "linear", "cosine", "laplacian", "chi2",
        "additive_chi2", "intersection", "precomputed"; an object from `akkm.kernels`;
        or a function of two blocks of rows, (b, d) and (m, d), that returns (b, m).
        A precomputed X is the square kernel matrix (n, n), or the strip (n, m) with
        `landmarks` naming the rows that its columns stand for.
    gamma : float, "scale", "median", "neighbors" or None, default="scale"
        Width of the kernel: a number; 1 / (d Var X); from the median distance of
        sampled rows; from that to near neighbours; 1 / d. See `akkm.kernels.resolve`.
    degree : float, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        Of the polynomial and sigmoid kernels.
    kernel_params : dict, optional
        Further parameters: `{"sigma": 0.35}` for "rbf", keywords of a function.
    n_landmarks : int or "auto", default="auto"
        m. "auto" is the square root of n, at least 256 and 4 C, at most 2,048 and n.
    landmarks : str or array, default="uniform"
        How to choose them: "uniform", "diagonal", "column-norm", "k-means",
        "rpcholesky" or "leverage" (see `akkm.landmarks.choose`); an integer array of
        row indices (m,), or an array of points (m, d).
    init : {"k-means++", "random"} or array of shape (n,), default="k-means++"
        Start from the best clustering of a sample; from random labels of all rows (the
        paper's way); or from given labels 0 .. C-1.
    n_init : int or "auto", default="auto"
        Number of starts of which the best is kept: "auto" is 4 for "k-means++", where
        they run on the sample and the best is improved by adding and taking away
        centers, and 1 for "random", where they run on all rows.
    max_iter : int, default=300
        Most iterations over all rows.
    indefinite : {"clip", "flip", "pinv"}, default="clip"
        What to do with negative eigenvalues of a kernel that is not positive definite:
        leave them out, and with them small positive ones of the same size; take them
        as positive; or invert them as they are (the paper's formula, with which
        iterations may go round in circles).
    solver : {"eigh", "gradient"}, default="eigh"
        How centers follow from sums of kernel rows: through the eigenvectors of the
        landmarks' kernel matrix; or by conjugate gradients without factoring it (the
        paper's eq. 13), for positive definite kernels. The latter looks at all rows in
        every iteration and is seldom faster; see docs/design.md.
    cache_size : float, default=1024
        Megabytes in which kernel values are kept of the rows that are looked at more
        than once, instead of being computed again.
    checkpoint : str or path, optional
        A folder in which `fit` writes down every few seconds where it is. The same fit
        started again goes on from there; one to other data or with other settings is
        refused. Needs an integer `random_state`.
    labels_file : str or path, optional
        A .npy file that `fit` writes the labels to; `labels_` is then that file,
        memory-mapped. Room on the disk is taken at the start, and the file appears at
        the end, complete.
    random_state : int, RandomState instance or None, default=None
        Same seed, same labels, whatever `n_jobs`.
    n_jobs : int, optional
        Threads. None: as many as BLAS and OpenMP use, -1: one per core.
    verbose : int, default=0
        1 tells of every iteration.

    Attributes
    ----------
    labels_ : int32 array of shape (n,)
    inertia_ : float
        The paper's clustering error: the sum of squared distances to the centers.
    n_iter_ : int
        Iterations over all rows.
    history_ : int array of shape (n_iter_, 2)
        Labels that changed and rows that were looked at, in each of these.
    landmarks_ : array or CSR matrix of shape (m, d)
        The landmarks; their indices, if the kernel was precomputed.
    landmark_indices_ : int array of shape (m,) or None
        The rows that the landmarks are; None if they were given as points.
    dual_coef_ : array of shape (C, m)
        The paper's α: center k is `sum_j dual_coef_[k, j] k(landmark j, .)`.
    kernel_ : akkm.kernels.Kernel
        The kernel with its width.
    rank_ : int
        Dimension of the landmarks' span, up to rounding; m for `solver="gradient"`,
        which does not find out.
    negative_mass_ : float
        Share of the landmarks' eigenvalues that is negative; 0 for a proper kernel.
    n_features_in_, feature_names_in_
        As in scikit-learn.

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

    _takes_stored = True

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_landmarks: int | str = "auto",
        landmarks: Any = "uniform",
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        indefinite: str = "clip",
        solver: str = "eigh",
        cache_size: float = 1024,
        checkpoint: Any = None,
        labels_file: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.indefinite = indefinite
        self.solver = solver
        self.cache_size = cache_size
        self.checkpoint = checkpoint
        self.labels_file = labels_file
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> ApproxKernelKMeans:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
        y : ignored
        sample_weight : array of shape (n,), optional
            A row of weight 2 counts like two rows; one of weight 0 only gets a label.
            May be a Dask array, which is computed here, as rows are drawn by weight.

        Returns
        -------
        self
        """
        self.__dict__.pop("_reservoir", None)  # the end of a stream, if there was one
        _checks.require_one_of("indefinite", self.indefinite, gram.INDEFINITE)
        _checks.require_megabytes(self.cache_size)
        _checks.require_one_of("solver", self.solver, ("eigh", "gradient"))
        X, weights, kernel, rng = self._start(X, sample_weight, self.landmarks)
        if self.solver == "gradient" and not kernel.psd:
            raise ValueError(
                f"solver='gradient' needs a kernel that is known to be positive "
                f"definite, which {kernel} is not; use solver='eigh'."
            )
        init = self._checked_init(X.shape[0])
        progress = Progress(self, X, y, self.verbose)

        with (
            labels_file(self.labels_file, X.shape[0]) as keep,
            Threads(self.n_jobs) as engine,
        ):
            if isinstance(init, str) and init == "k-means++":
                prefetch_sample(X, self.n_clusters, weights, rng)
            chosen = self._landmarks(X, kernel, engine, weights, rng)
            factored = approximate.factor(
                X,
                kernel,
                chosen,
                dtype=X.dtype,
                indefinite=self.indefinite,
                solver=self.solver,
            )
            strip, span = factored.strip, factored.gram
            progress.say(
                f"{X.shape[0]:,} rows, {strip.m:,} landmarks of rank {span.rank:,}, "
                f"{kernel}"
            )

            def watch(step: Step) -> bool:
                at = step.centers
                return progress.step(
                    step, lambda: {"_model": factored.model(at), "kernel_": kernel}
                )

            solution = approximate.solve(
                factored,
                engine,
                n_clusters=self.n_clusters,
                init=init,
                n_init=self._restarts(init),
                max_iter=self.max_iter,
                weights=weights,
                cache_bytes=self.cache_size * 2**20,
                rng=rng,
                watch=watch,
                checkpoint=self._checkpoint(factored, chosen, weights, init),
            )
            trace = solution.parts.trace()
            labels = keep(solution.labels)
        centers = solution.centers
        self._model = factored.model(centers)
        self.kernel_ = kernel
        if self.labels_file is None:
            labels = as_rows(X).as_labels(labels)
        self.labels_ = labels
        self.inertia_ = solution.error(trace)
        self.n_iter_ = solution.n_iter
        self.history_ = solution.history
        self.landmarks_ = chosen.attribute
        self.landmark_indices_ = chosen.indices
        self.dual_coef_ = centers.alpha
        self.rank_ = span.rank
        self.negative_mass_ = span.negative_mass
        progress.say(
            f"clustering error {self.inertia_:.6g} after {self.n_iter_} iterations, "
            f"{solution.history[:, 1].sum() / strip.n:.2f} passes over the rows"
        )
        self._warn_of_negative(span, f"indefinite={self.indefinite!r}")
        if isinstance(span, Unfactored) and (failure := span.failure()):
            self._tell_of_failure(failure)
        if weights is None or is_dask(labels):  # as in labels_, and known already
            labels = np.flatnonzero(solution.stats.counts > 0)
        self._warn(labels, solution.converged or solution.stopped)
        progress.end()
        return self

    def _checkpoint(
        self,
        factored: Factored,
        chosen: Landmarks,
        weights: Array | None,
        init: str | Array,
    ) -> Checkpoint | None:
        """Where the fit is written down, for these rows and settings."""
        if self.checkpoint is None:
            return None
        if not isinstance(self.random_state, Integral):
            raise ValueError(
                "checkpoint= needs an integer random_state: a fit started again must "
                f"choose the same landmarks. Got random_state={self.random_state!r}."
            )
        if isinstance(init, str) and init == "random" and self._restarts(init) > 1:
            raise ValueError(
                "checkpoint= follows one run over all rows: use n_init=1, or "
                "init='k-means++', whose restarts are on a sample. Got "
                f"n_init={self.n_init}."
            )
        settings = {
            name: value
            for name, value in self.get_params().items()
            if name
            not in (
                *("checkpoint", "labels_file", "n_jobs", "verbose"),
                *("cache_size", "landmarks"),
            )
        }
        strip = factored.strip
        mark = fingerprint(
            type(self).__name__,
            settings | {"kernel": str(strip.kernel), "init": str(init)},
            (strip.n, strip.dtype.str),
            to_dense(chosen.rows),
            np.zeros(0) if weights is None else weights,
            np.zeros(0) if isinstance(init, str) else init,
        )
        return Checkpoint(self.checkpoint, mark)

    def _tell_of_failure(self, condition: float) -> None:
        self._tell(
            "solver='gradient' did not converge: the condition number of the "
            f"landmarks' kernel matrix is at least {condition:.1e}. Centers are "
            "approximate; use solver='eigh', fewer landmarks or a narrower kernel.",
            ConvergenceWarning,
        )
