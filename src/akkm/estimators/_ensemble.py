"""EnsembleKernelKMeans."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions

from akkm.consensus import get_partitioner, mcla
from akkm.consensus.on_workers import distinct_label_rows, vote_on_workers
from akkm.core.gram import INDEFINITE
from akkm.core.threads import Threads
from akkm.estimators._approx import ApproxKernelKMeans
from akkm.estimators._parameters import (
    NOT_NEGATIVE,
    GuidedParameters,
    IterationParameters,
    KernelParameters,
    LandmarkParameters,
    estimator,
    parameter,
)
from akkm.estimators._run import Run
from akkm.estimators._voting import VotingClusterer
from akkm.rows import as_rows

# At most this many members are fitted at the same time, because each needs memory.
_AT_ONCE = 8


@estimator
class EnsembleKernelKMeans(
    KernelParameters,
    LandmarkParameters,
    IterationParameters,
    GuidedParameters,
    VotingClusterer,
):
    """Ensemble of approximate kernel k-means runs, combined by meta-clustering.

    Each member is an `ApproxKernelKMeans` with its own landmarks. The meta-clustering
    algorithm (MCLA) finds out which clusters of different members belong together, and
    labels each row by a vote of the members (the paper's Algorithm 3). With few
    landmarks, an ensemble is more accurate and varies less from seed to seed than a
    single run. An ensemble has no centers, so it has no `transform` or `score`.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters C. "auto" chooses the number that independent halves of the
        rows agree on (see `stability_`), and warns if the choice is unsure.
    n_members : int, default=10
        Number of runs r.
    partitioner : {"matching", "metis"}, default="matching"
        How MCLA cuts its graph of clusters. "matching" matches the members' clusters
        one to one. "metis" uses METIS, as in the paper (needs
        `pip install '.[metis]'`).
    kernel, gamma, degree, coef0, kernel_params : various
        As in `ApproxKernelKMeans`; a precomputed X is the square kernel matrix. All
        members have the same kernel.
    n_landmarks : int or "auto", default="auto"
        Number of landmarks of each member, as in `ApproxKernelKMeans`.
    landmarks : str, default="uniform"
        Name of a strategy: see `akkm.landmarks.choose`.
    init : {"k-means++", "random"} or array of shape (n,), default="k-means++"
        Initialisation of each member.
    n_init, max_iter, tol, indefinite, solver : various
        As in `ApproxKernelKMeans`, for each member.
    cache_size : float, default=1024
        Total size in megabytes of the members' caches for kernel values, as in
        `ApproxKernelKMeans`. Several members are fitted at the same time: one per
        thread, but at most 8. Each of these also needs memory for the state of its
        rows, and at most 256 MB for the kernel values of its initialisation.
    strength, clusters_per_class, known_weight : various
        How constraints on labels are applied, as in `ApproxKernelKMeans`. All members
        get the same constraints. They also apply to the vote: of the clusters that its
        constraints allow, a row gets the one with the most votes.
    random_state : int, RandomState instance or None, default=None
        The same seed gives the same labels, for any `n_jobs`. Members have their own
        seeds.
    n_jobs : int or None, default=None
        Number of threads. None: as many as BLAS and OpenMP use; -1: one per core.
        Several members are fitted at a time.
    verbose : int, default=0
        1 prints a line per member, 2 also a line per iteration of each member.

    Attributes
    ----------
    labels_ : int32 array of shape (n,)
        The consensus.
    n_clusters_ : int
        Number of clusters, given or estimated.
    stability_ : akkm.layers.curve.LayerCurve or None
        How reproducible each number of clusters is; None if this was not measured.
    agreement_ : float array of shape (n,)
        For each row, the share of members that agree with the consensus.
    anmi_ : float
        Mean normalised mutual information of the consensus and each member (the paper's
        eq. 8).
    members_ : list of ApproxKernelKMeans
        The fitted members.
    n_iter_ : int
        Number of iterations of the member that needed most.
    kernel_ : akkm.kernels.Kernel
        The kernel with its width.
    label_names_ : list of length C
        Class of each cluster, None if it has none. It is set only if there are
        constraints.
    violated_ : dict of arrays
        Violated constraints, as in `ApproxKernelKMeans`. It is set only if there are
        constraints.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of shape (n_features_in_,)
        Column names of X, if it is a data frame.

    See Also
    --------
    ApproxKernelKMeans : A single run.
    akkm.consensus.mcla : The combination of any labelings.

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

    landmarks: str = parameter(str, default="uniform")
    partitioner: str = parameter(StrOptions({"matching", "metis"}), default="matching")
    indefinite: str = parameter(StrOptions(set(INDEFINITE)), default="clip")
    solver: str = parameter(StrOptions({"eigh", "gradient"}), default="eigh")
    cache_size: float = parameter(NOT_NEGATIVE, default=1024)

    _takes_stored = True

    def _fit(self, run: Run) -> None:
        """Cluster the rows by the paper's Algorithm 3."""
        get_partitioner(self.partitioner)  # fails early if METIS is not installed
        seeds = run.rng.integers(2**31 - 1, size=self.n_members + 1).tolist()
        # Steps 1 to 4: run the members.
        members = []
        for member in self._fit_members(run, seeds[:-1]):
            members.append(member)
            name = f"member {len(members)} of {self.n_members}"
            text = f"clustering error {member.inertia_:.6g} after {member.n_iter_}"
            if run.progress.member(name, f"{text} iterations"):
                break
        # Steps 5 to 8: combine their labels.
        labelings: Any = [member.labels_ for member in members]
        weights, rows = run.weights, as_rows(run.X)
        if rows.partitions is not None:
            labelings, weights = distinct_label_rows(labelings, weights)
        else:
            labelings = [np.asarray(labels) for labels in labelings]
        n_labels = sum(len(np.unique(labels)) for labels in labelings)
        consensus = mcla(
            labelings,
            min(self._n_clusters, n_labels),
            partitioner=self.partitioner,
            sample_weight=weights,
            random_state=seeds[-1],
            n_jobs=self.n_jobs,
        )
        self._set_attributes(members, consensus)
        if rows.partitions is not None:
            vote = partial(consensus.meta.vote, n_jobs=1)
            all_labels = [member.labels_ for member in members]
            self.labels_, self.agreement_ = vote_on_workers(all_labels, vote)
            self._apply_constraints(run, all_labels)
        else:
            self._apply_constraints(run, labelings)
            self.labels_ = rows.as_labels(self.labels_)
            self.agreement_ = rows.as_labels(self.agreement_)
        agreed = np.average(consensus.agreement, weights=weights)
        run.progress.log(
            f"{agreed:.1%} of the members' votes agree with the consensus; "
            f"mean NMI of members and consensus {consensus.anmi:.3f}"
        )
        self._repeat_warnings(run)
        winners = len(np.unique(consensus.labels))
        if winners < max(map(len, self._meta.values)):
            self._warn_of_lost_clusters(run, winners)
        else:
            self._warn_unless_converged(run, consensus.labels, True)

    def _fit_members(self, run: Run, seeds: list[int]) -> Iterator[ApproxKernelKMeans]:
        """Yield the fitted members.

        Several members are fitted at a time, because a small fit gains little from more
        threads.
        """
        at_most = min(self.n_members, _AT_ONCE)
        n_threads = run.engine.n_threads
        at_once = min(at_most, n_threads)
        parameters = self.get_params(deep=False)
        names = ApproxKernelKMeans().get_params().keys() & parameters.keys()
        shared = {name: parameters[name] for name in names}
        shared |= {
            "n_clusters": self._n_clusters,
            "kernel": run.kernel,
            "n_jobs": max(1, n_threads // at_once),
            "cache_size": self.cache_size / at_most,
            "verbose": max(0, self.verbose - 1),
        }

        def fit(seed: int) -> ApproxKernelKMeans:
            member = ApproxKernelKMeans(**{**shared, "random_state": seed})
            member._warnings = []
            return member._fit_guided(run.X, None, run.weights, lambda n: run.guidance)

        with Threads(at_once) as engine:
            yield from engine.map(fit, seeds)

    def _warn_of_lost_clusters(self, run: Run, winners: int) -> None:
        run.warn(
            f"Members disagree so much that only {winners} of "
            f"{self._n_clusters} clusters won the vote for at least one row (anmi_ is "
            f"{self.anmi_:.2f}). The kernel may be too narrow: lower gamma, or raise "
            "n_landmarks.",
            ConvergenceWarning,
        )

    def _repeat_warnings(self, run: Run) -> None:
        """Emit each distinct warning of members once, with the number of members."""
        queued = Counter(
            (category, text)
            for member in self.members_
            for text, category in member._warnings or ()
            if not text.startswith("Number of distinct clusters")
        )
        for (category, text), count in queued.items():
            run.warn(f"{count} of {len(self.members_)} members: {text}", category)
