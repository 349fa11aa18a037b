"""ConsensusKernelKMeans."""

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import clone

from akkm.consensus import Consensus, Votes, bipartite_cut
from akkm.diffusion.landmark_positions import distinct_candidates
from akkm.estimators._centers import CenterClusterer
from akkm.estimators._guided import GuidedClusterer
from akkm.estimators._parameters import COUNT, estimator, parameter
from akkm.estimators._run import Run
from akkm.estimators._sparse import SparseKernelKMeans
from akkm.estimators._voting import VotingClusterer, mark_by_vote

# Smallest number of clusters of a member, per cluster of the consensus.
_MIN_FACTOR = 2
# Largest number of clusters of a member, per cluster of the consensus.
_MAX_FACTOR = 6
# Distinct rows are counted in a sample with this many rows per cluster of a member.
_CANDIDATES = 100
# Members with more than `n_clusters` clusters have at least this many distinct rows per
# cluster. With fewer rows per cluster, clusters of different members would share too
# few rows to show which clusters belong together.
_ROWS_PER_CLUSTER = 25


@estimator
class ConsensusKernelKMeans(VotingClusterer):
    """Consensus of members that have more clusters than the result.

    All members are fits of the same estimator. Each member has its own seed, hence its
    own landmarks. Its number of clusters is random, from two to six times `n_clusters`.
    Small clusters are more reliable than large clusters. A cut of the graph of rows and
    clusters decides which small clusters belong together
    (`akkm.consensus.bipartite_cut`; after Huang et al. 2020).

    In two cases, members have fewer clusters than twice `n_clusters`, but at least
    `n_clusters`. In the first case, there are few distinct rows. In the second case,
    the graph of rows and clusters has more than `n_clusters` components, and nothing
    shows which components belong together.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters C. "auto" chooses the number that independent halves of the
        rows agree on (see `stability_`), and warns if the choice is unsure.
    estimator : estimator of akkm, default=None
        The estimator of the members, by default `SparseKernelKMeans(n_init=1)`. It may
        be any estimator that has centers, such as `DiffusionKernelKMeans`. Its
        `n_clusters`, `random_state` and `n_jobs` are set for each member. Members get
        the same constraints on labels as the consensus. The parameters `strength`,
        `clusters_per_class` and `known_weight` of this estimator apply.
    n_members : int, default=20
        Number of members.
    random_state : int, RandomState instance or None, default=None
        The same seed gives the same labels, for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads. None: as many as BLAS and OpenMP use; -1: one per core.
    verbose : int, default=0
        1 prints a line per member.

    Attributes
    ----------
    labels_ : int32 array of shape (n,)
        The consensus; -1 for rows that most members mark as outliers.
    n_clusters_ : int
        Number of clusters, given or estimated.
    stability_ : akkm.layers.curve.LayerCurve or None
        How reproducible each number of clusters is; None if this was not measured.
    agreement_ : float array of shape (n,)
        For each row, the share of members whose cluster is part of the row's consensus
        cluster. For an outlier, the share of members that mark it.
    anmi_ : float
        Mean normalised mutual information of the consensus and each member. It is well
        below one, because members have more clusters than the consensus.
    members_ : list of estimators
        The fitted members.
    n_iter_ : int
        Number of iterations of the member that needed most.
    kernel_ : akkm.kernels.Kernel
        The kernel of the first member.
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
    SparseKernelKMeans : The default member.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from akkm import ConsensusKernelKMeans
    >>> X, y = make_moons(1000, noise=0.05, random_state=0)
    >>> model = ConsensusKernelKMeans(2, random_state=0).fit(X)
    >>> bool((model.labels_ == y).mean() in (0.0, 1.0))
    True
    >>> model.predict(X[:3]).tolist() == model.labels_[:3].tolist()
    True
    """

    estimator: Any = parameter(CenterClusterer, None, default=None)
    n_members: int = parameter(COUNT, default=20)

    @property
    def _kernel_text(self) -> str:
        """The kernel of the first member."""
        return str(self.members_[0]._kernel_text)

    def _choose_number(self, run: Run) -> None:
        """Set `n_clusters_`: as given, or as a member estimates it."""
        self.stability_ = None
        if self.n_clusters != "auto":
            self.n_clusters_ = int(self.n_clusters)
            return
        member = clone(self._prototype).set_params(
            n_clusters="auto",
            random_state=int(deepcopy(run.rng).integers(2**31 - 1)),
            n_jobs=self.n_jobs,
        )
        member._warnings = []
        member.fit(run.X, sample_weight=run.weights)
        self.n_clusters_, self.stability_ = member.n_clusters_, member.stability_
        for text, category in member._warnings:
            run.warn(text, category)

    @property
    def _prototype(self) -> Any:
        """An unfitted member."""
        if self.estimator is None:
            return SparseKernelKMeans(n_init=1)
        return self.estimator

    @property
    def _guided(self) -> Any:
        """The member whose parameters say how constraints are applied."""
        if not isinstance(self._prototype, GuidedClusterer):
            raise ValueError(
                f"estimator={self._prototype} does not take known, must_link or "
                "cannot_link; leave them out, or use another estimator, such as "
                "SparseKernelKMeans."
            )
        return self._prototype

    def _fit(self, run: Run) -> None:
        """Fit the members and combine their labels."""
        most = self._most_clusters(run)
        members, consensus = first = self._fit_consensus(run, most)
        # If there are more than C groups without common rows, nothing shows which
        # groups belong together. So new members with fewer clusters are fitted until
        # they form at most C groups. If they never form exactly C groups, the first
        # members are used.
        while consensus.n_groups > self._n_clusters < most:
            if len(members) < self.n_members:  # a callback stopped the fit
                break
            most = max(self._n_clusters, most // 2)
            run.progress.log(
                f"{consensus.n_groups} groups without common rows; again with at most "
                f"{most} clusters per member"
            )
            members, consensus = self._fit_consensus(run, most)
        if consensus.n_groups != self._n_clusters:
            members, consensus = first
        self._set_attributes(members, consensus)
        self.labels_, self.agreement_ = mark_by_vote(
            Votes(consensus.labels, consensus.agreement),
            [member.labels_ < 0 for member in members],
        )
        if run.guidance is not None:
            labelings = [member._labels_before_marking() for member in members]
            self._apply_constraints(run, labelings)
        self._warn_unless_converged(run, consensus.labels, True)

    def _most_clusters(self, run: Run) -> int:
        """Return the largest number of clusters of a member."""
        most = _MAX_FACTOR * self._n_clusters
        distinct, _ = distinct_candidates(
            run.X, _CANDIDATES * most, run.weights, run.rng.spawn(1)[0]
        )
        n = distinct.shape[0]
        return min(most, max(self._n_clusters, n // _ROWS_PER_CLUSTER), n)

    def _fit_consensus(self, run: Run, most: int) -> tuple[list[Any], Consensus]:
        """Fit members with up to `most` clusters, and combine their labels."""
        members = self._fit_members(run, most)
        labelings = [member._labels_before_marking() for member in members]
        n_labels = sum(len(np.unique(labels)) for labels in labelings)
        consensus = bipartite_cut(
            labelings,
            min(self._n_clusters, n_labels),
            sample_weight=run.weights,
            random_state=int(run.rng.integers(2**31 - 1)),
            n_jobs=self.n_jobs,
        )
        return members, consensus

    def _fit_members(self, run: Run, most: int) -> list[Any]:
        """Fit members with up to `most` clusters, unless a callback stops the fit."""
        least = min(most, _MIN_FACTOR * self._n_clusters)
        counts = run.rng.integers(least, most + 1, size=self.n_members).tolist()
        seeds = run.rng.integers(2**31 - 1, size=self.n_members).tolist()
        members: list[Any] = []
        for n_clusters, seed in zip(counts, seeds, strict=True):
            member = clone(self._prototype).set_params(
                n_clusters=n_clusters,
                coverage=1.0,
                random_state=seed,
                n_jobs=self.n_jobs,
            )
            # Queue the member's warnings and never emit them: a member may find fewer
            # clusters than it was asked for.
            member._warnings = []
            member._fit_guided(run.X, None, run.weights, lambda n: run.guidance)
            members.append(member)
            name = f"member {len(members)} of {self.n_members}"
            if run.progress.member(name, f"{n_clusters} clusters"):
                break
        return members
