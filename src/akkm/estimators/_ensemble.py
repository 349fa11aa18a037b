"""EnsembleKernelKMeans."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from akkm.consensus import Votes, get_partitioner, mcla
from akkm.consensus.on_workers import distinct_label_rows, vote_on_workers
from akkm.core.threads import Threads
from akkm.estimators import _checks
from akkm.estimators._approx import ApproxKernelKMeans
from akkm.estimators._base import KernelClusterer
from akkm.estimators._progress import Progress
from akkm.rows import apply_lazily, as_rows, is_dask
from akkm.validation import require_count

Array = NDArray[Any]

# Members that are fitted at the same time, each with its own state of the rows.
_AT_ONCE = 8


class EnsembleKernelKMeans(KernelClusterer):
    """Ensemble of approximate kernel k-means runs, combined by meta-clustering.

    Each member is an `ApproxKernelKMeans` with landmarks of its own; MCLA finds which
    clusters of different members belong together and lets them vote (the paper's
    Algorithm 3). With few landmarks an ensemble is more accurate, and varies less from
    seed to seed, than a single run. Without centers it has no `transform` or `score`.

    Parameters
    ----------
    n_clusters : int, default=8
    n_members : int, default=10
        The number of runs r.
    consensus : {"mcla"}, default="mcla"
        How runs are combined; see `akkm.consensus.mcla`.
    partitioner : {"matching", "metis"}, default="matching"
        How MCLA cuts its graph of clusters: by matching the members' clusters one to
        one, or by METIS, as the paper does (needs `pip install 'akkm[metis]'`).
    kernel, gamma, degree, coef0, kernel_params
        As in `ApproxKernelKMeans`; a precomputed X is the square kernel matrix. All
        members have the same kernel.
    n_landmarks : int or "auto", default="auto"
        Landmarks of each member, as in `ApproxKernelKMeans`.
    landmarks : str, default="uniform"
        The name of a strategy: see `akkm.landmarks.choose`.
    init : {"k-means++", "random"} or array of shape (n,), default="k-means++"
    n_init, max_iter, indefinite, solver
        As in `ApproxKernelKMeans`, for each member.
    cache_size : float, default=1024
        Megabytes for kernel values of all members, as in `ApproxKernelKMeans`. Each of
        the members that are fitted at the same time (as many as there are threads, at
        most 8) also has the state of its rows and the kernel values of its start, at
        most 256 MB.
    n_jobs : int, optional
        Threads. None: as many as BLAS and OpenMP use, -1: one per core. Members are
        fitted several at a time.
    verbose : int, default=0
        1 tells of every member, 2 of every iteration of each.
    random_state : int, RandomState instance or None, default=None
        Same seed, same labels, whatever `n_jobs`. Members have seeds of their own.

    Attributes
    ----------
    labels_ : int32 array of shape (n,)
        The consensus.
    agreement_ : float array of shape (n,)
        How sure it is: the share of members that agree with it, for each row.
    anmi_ : float
        Mean normalised mutual information of the consensus and each member (the paper's
        eq. 8).
    members_ : list of ApproxKernelKMeans
        The fitted members.
    n_iter_ : int
        The most iterations that a member took.
    kernel_ : akkm.kernels.Kernel
        The kernel with its width.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from akkm import EnsembleKernelKMeans
    >>> X, y = make_circles(1000, factor=0.3, noise=0.05, random_state=0)
    >>> model = EnsembleKernelKMeans(2, gamma=5.0, n_landmarks=10, random_state=0)
    >>> bool((model.fit(X).labels_ == y).mean() in (0.0, 1.0))
    True
    >>> len(model.members_), bool(model.agreement_.min() > 0.5)
    (10, True)
    """

    _takes_stored = True

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_members: int = 10,
        consensus: str = "mcla",
        partitioner: str = "matching",
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_landmarks: int | str = "auto",
        landmarks: str = "uniform",
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        indefinite: str = "clip",
        solver: str = "eigh",
        cache_size: float = 1024,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_members = n_members
        self.consensus = consensus
        self.partitioner = partitioner
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> EnsembleKernelKMeans:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
        y : ignored
        sample_weight : array of shape (n,), optional
            A row of weight 2 counts like two rows; one of weight 0 only gets a label.

        Returns
        -------
        self
        """
        require_count("n_members", self.n_members)
        _checks.require_one_of("consensus", self.consensus, ("mcla",))
        get_partitioner(self.partitioner)  # before the long part
        if not isinstance(self.landmarks, str):
            raise ValueError(
                f"landmarks is a {type(self.landmarks).__name__}; expected the name of "
                "a strategy, as every member chooses landmarks of its own."
            )
        X, weights, kernel, rng = self._start(X, sample_weight)
        progress = Progress(self, X, y, self.verbose)
        seeds = rng.integers(2**31 - 1, size=self.n_members + 1).tolist()
        members: list[ApproxKernelKMeans] = []
        # Several members at a time: small ones gain little from more threads.
        most = min(self.n_members, _AT_ONCE)
        n_threads = Threads(self.n_jobs).n_threads
        at_once = min(most, n_threads)

        def fit(seed: int) -> ApproxKernelKMeans:
            member = self._member(
                kernel=kernel,
                random_state=seed,
                n_jobs=max(1, n_threads // at_once),
                cache_size=self.cache_size / most,
                verbose=max(0, self.verbose - 1),
            )
            member._heard = []
            return member.fit(X, sample_weight=weights)

        with Threads(at_once) as engine:
            for member in engine.map(fit, seeds[:-1]):
                members.append(member)
                name = f"member {len(members)} of {self.n_members}"
                text = f"clustering error {member.inertia_:.6g}"
                text += f" after {member.n_iter_} iterations"
                if progress.part(name, text):
                    break
        labelings: Any = [member.labels_ for member in members]
        on_workers = as_rows(X).partitions is not None
        if on_workers:
            labelings, weights = distinct_label_rows(labelings, weights)
        else:
            labelings = [np.asarray(labels) for labels in labelings]
        there = sum(len(np.unique(labels)) for labels in labelings)
        consensus = mcla(
            labelings,
            min(self.n_clusters, there),
            partitioner=self.partitioner,
            sample_weight=weights,
            random_state=seeds[-1],
            n_jobs=self.n_jobs,
        )
        agreed = np.average(consensus.agreement, weights=weights)
        progress.say(
            f"{agreed:.1%} of the members' votes agree with the consensus, "
            f"mean NMI with it {consensus.anmi:.3f}"
        )
        self.kernel_ = kernel
        self.members_ = members
        self.labels_, self.agreement_ = consensus.labels, consensus.agreement
        if on_workers:
            vote = partial(consensus.meta.vote, n_jobs=1)
            self.labels_, self.agreement_ = vote_on_workers(
                [m.labels_ for m in members], vote
            )
        else:
            self.labels_ = as_rows(X).as_labels(self.labels_)
        self.anmi_ = consensus.anmi
        self.n_iter_ = max(member.n_iter_ for member in members)
        self._meta = consensus.meta
        self._repeat_warnings()
        if len(np.unique(consensus.labels)) < max(map(len, self._meta.values)):
            self._warn_of_losers(len(np.unique(consensus.labels)))
        else:
            self._warn(consensus.labels, True)
        progress.end()
        return self

    def predict(self, X: Any) -> Array:
        """The meta-cluster that most members vote for, for each row.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            New rows; k(rows, training rows) for a precomputed kernel.

        Returns
        -------
        labels : int32 array of shape (n,)
        """
        if is_dask(X):
            return apply_lazily(self.predict, X, width=None, dtype=np.int32)
        return self._votes(X).labels

    def _votes(self, X: Any) -> Votes:
        """Labels of rows, and the share of members that agree."""
        X = self._new_rows(X)
        labelings = []
        with Threads(self.n_jobs) as engine:
            for member, clusters in zip(self.members_, self._meta.values, strict=True):
                # A cluster that was empty in the end has no vote.
                model = member._model.only(clusters)
                parts = [part.labels for part in model.compare(X, engine)]
                labelings.append(clusters[np.concatenate(parts)])
        return self._meta.vote(labelings, n_jobs=self.n_jobs)

    def _warn_of_losers(self, winners: int) -> None:
        self._tell(
            f"Members disagree so much that only {winners} of "
            f"{self.n_clusters} clusters won the vote of any row (anmi_ is "
            f"{self.anmi_:.2f}). The kernel may be too narrow: lower gamma, or raise "
            "n_landmarks.",
            ConvergenceWarning,
        )

    def _repeat_warnings(self) -> None:
        """What members would have warned of, once each, but for what is seen here."""
        heard = Counter(
            (category, text)
            for member in self.members_
            for text, category in member._heard or ()
            if not text.startswith("Number of distinct clusters")
        )
        for (category, text), count in heard.items():
            self._tell(f"{count} of {len(self.members_)} members: {text}", category)

    def _member(self, **own: Any) -> ApproxKernelKMeans:
        params = self.get_params(deep=False)
        names = ApproxKernelKMeans().get_params().keys() & params.keys()
        shared = {name: params[name] for name in names}
        return ApproxKernelKMeans(**{**shared, **own})
