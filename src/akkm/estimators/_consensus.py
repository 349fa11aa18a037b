"""ConsensusKernelKMeans."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from akkm.consensus import Votes, bipartite_cut
from akkm.core.threads import Threads
from akkm.diffusion.landmark_positions import distinct_candidates
from akkm.estimators._base import CenterClusterer, KernelClusterer
from akkm.estimators._progress import Progress
from akkm.estimators._sparse import SparseKernelKMeans
from akkm.validation import require_count

Array = NDArray[Any]

# Members have at least and at most so many clusters for each one that is wanted.
_FEWEST, _MOST = 2, 6
# Rows that are looked at, per cluster, to see whether there are as many distinct ones.
_SEEN = 100


class ConsensusKernelKMeans(KernelClusterer):
    """Many partitions into many clusters, combined into one with few.

    Each member is a run of the same estimator with a seed of its own, so with landmarks
    of its own, and a random number of clusters, two to six times as many as are wanted.
    Small clusters are surer than large ones; which of them belong together is decided
    by all members, by a cut of the graph of rows and clusters
    (`akkm.consensus.bipartite_cut`; after Huang et al. 2020).

    Parameters
    ----------
    n_clusters : int, default=8
    estimator : estimator of akkm, default=None
        What members are: `SparseKernelKMeans(n_init=1)` by default, or a
        `DiffusionKernelKMeans` or any other that has centers. Its `n_clusters`,
        `random_state` and `n_jobs` are set for each member.
    n_members : int, default=20
    random_state : int, RandomState instance or None, default=None
        Same seed, same labels, whatever `n_jobs`.
    n_jobs : int, optional
        Threads. None: as many as BLAS and OpenMP use, -1: one per core.
    verbose : int, default=0
        1 tells of every member.

    Attributes
    ----------
    labels_ : int32 array of shape (n,)
        The consensus.
    agreement_ : float array of shape (n,)
        How sure it is: the share of members whose cluster belongs to it, for each row.
    anmi_ : float
        Mean normalised mutual information of the consensus and each member. Members
        have more clusters, so it is well below one.
    members_ : list of estimators
        The fitted members.
    n_iter_ : int
        The most iterations that a member took.
    kernel_ : akkm.kernels.Kernel
        Of the first member.
    n_features_in_, feature_names_in_
        As in scikit-learn.

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

    kernel = None  # members have one
    n_init = "auto"
    max_iter = 300

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        estimator: Any = None,
        n_members: int = 20,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.estimator = estimator
        self.n_members = n_members
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> ConsensusKernelKMeans:
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
        kind = (
            SparseKernelKMeans(n_init=1) if self.estimator is None else self.estimator
        )
        if not isinstance(kind, CenterClusterer):
            raise ValueError(
                f"estimator is a {type(kind).__name__}; expected an estimator of akkm "
                "that has centers, such as SparseKernelKMeans()."
            )
        X, weights, rng = self._start_rows(X, sample_weight)
        progress = Progress(self, X, y, self.verbose)
        # Members can't have more clusters than there are distinct rows.
        most = _MOST * self.n_clusters
        distinct, _ = distinct_candidates(X, _SEEN * most, weights, rng.spawn(1)[0])
        most = min(most, distinct.shape[0])
        least = min(most, _FEWEST * self.n_clusters)
        counts = rng.integers(least, most + 1, size=self.n_members).tolist()
        seeds = rng.integers(2**31 - 1, size=self.n_members + 1).tolist()
        members: list[Any] = []
        for n_clusters, seed in zip(counts, seeds[:-1], strict=True):
            member = clone(kind).set_params(
                n_clusters=n_clusters, random_state=seed, n_jobs=self.n_jobs
            )
            member._heard = []  # fewer clusters than it was asked for are no matter
            members.append(member.fit(X, sample_weight=weights))
            name = f"member {len(members)} of {self.n_members}"
            if progress.part(name, f"{n_clusters} clusters"):
                break
        labelings = [member.labels_ for member in members]
        there = sum(len(np.unique(labels)) for labels in labelings)
        consensus = bipartite_cut(
            labelings,
            min(self.n_clusters, there),
            sample_weight=weights,
            random_state=seeds[-1],
            n_jobs=self.n_jobs,
        )
        self.kernel_ = members[0].kernel_
        self.members_ = members
        self.labels_ = consensus.labels
        self.agreement_ = consensus.agreement
        self.anmi_ = consensus.anmi
        self.n_iter_ = max(member.n_iter_ for member in members)
        self._meta = consensus.meta
        self._warn(self.labels_, True)
        progress.end()
        return self

    def predict(self, X: Any) -> Array:
        """The cluster that most members vote for, for each row.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)

        Returns
        -------
        labels : int32 array of shape (n,)
        """
        return self._votes(X).labels

    def _votes(self, X: Any) -> Votes:
        """Labels of rows, and the share of members that agree."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._accepted())
        labelings = []
        with Threads(self.n_jobs) as engine:
            for member, clusters in zip(self.members_, self._meta.values, strict=True):
                # A cluster that was empty in the end has no vote.
                model = member._model.only(clusters)
                rows = member._new_rows(X)
                parts = [part.labels for part in model.compare(rows, engine)]
                labelings.append(clusters[np.concatenate(parts)])
        return self._meta.vote(labelings, n_jobs=self.n_jobs)
