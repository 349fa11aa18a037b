"""Base class of estimators that combine the votes of several members."""

from typing import Any

import numpy as np

from akkm.consensus import MetaClusters, Votes
from akkm.core.threads import Threads
from akkm.estimators._centers import mark_outliers
from akkm.estimators._guided import GuidedFit
from akkm.estimators._parameters import COUNT, estimator, parameter
from akkm.estimators._run import Run
from akkm.rows import is_dask
from akkm.typing import Array


@estimator
class VotingClusterer(GuidedFit):
    """Base class of ensembles, whose members vote for the label of each row."""

    n_members: int = parameter(COUNT, default=10)

    _preparation = "fitting members"

    def predict(self, X: Any) -> Array:
        """Assign each row to the cluster that wins the vote of the members.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            New rows; k(rows, training rows) for a precomputed kernel.

        Returns
        -------
        int32 array of shape (n,)
            Cluster of each row; -1 for rows that most members mark as outliers. If X is
            a Dask array or data frame, the result is a lazy Dask array.
        """
        if is_dask(X):
            return self._apply_lazily("predict", X, width=None, dtype=np.int32)
        return self._votes(X).labels

    def _votes(self, X: Any) -> Votes:
        """Return labels of rows, and the share of members that agree with them."""
        X = self._new_rows(X)
        with Threads(self.n_jobs) as engine:
            # Members assign rows only to clusters that were not empty after the fit.
            found = [
                member._assign(X, engine, clusters)
                for member, clusters in zip(
                    self.members_, self._meta.values, strict=True
                )
            ]
        votes = self._meta.vote([labels for labels, _ in found], n_jobs=self.n_jobs)
        return mark_by_vote(votes, [outlying for _, outlying in found])

    def _set_attributes(self, members: list[Any], consensus: Any) -> None:
        self.kernel_ = members[0].kernel_
        self.members_ = members
        self.labels_, self.agreement_ = consensus.labels, consensus.agreement
        self.anmi_ = consensus.anmi
        self.n_iter_ = max(member.n_iter_ for member in members)
        self._meta: MetaClusters = consensus.meta

    def _apply_constraints(self, run: Run, labelings: list[Any]) -> None:
        """Change `labels_` and `agreement_` of constrained rows, if there are any.

        A constrained row gets the cluster for which most members vote, as far as the
        constraints allow it. `labelings` has the labels (n,) of each member.
        """
        guidance = run.guidance
        if guidance is None:
            return
        rows = guidance.constraints.rows
        votes = self._meta.vote_shares([np.asarray(each[rows]) for each in labelings])
        shares = np.zeros((len(rows), self._n_clusters))
        shares[:, : votes.shape[1]] = votes
        owner = guidance.owners(self._n_clusters, shares.argmax(axis=1))
        own = guidance.row_weights(self._n_clusters, run.weights)
        # The cost of a cluster is the share of votes for other clusters: at most 1.
        guide = guidance.guide(owner, own, 1.0)
        groups = guide.assign(1 - shares.T, np.zeros(len(rows)), None)
        self._describe_guide(guide, groups)
        labels = guide.row_labels(groups)
        self.labels_ = _replaced(self.labels_, rows, labels)
        agreed = shares[np.arange(len(rows)), labels]
        self.agreement_ = _replaced(self.agreement_, rows, agreed)


def _replaced(values: Any, rows: Array, new: Array) -> Any:
    """Return a copy of values (n,), an array or Dask array, with new values (r,)."""
    values = values.copy()
    values[rows] = new
    return values


def mark_by_vote(votes: Votes, outlying: list[Array | None]) -> Votes:
    """Give rows the label -1 if more than half of the members mark them as outliers.

    `outlying` has one entry per member: a bool array (n,), or None if the member marks
    no outliers. If a row gets the label -1, its agreement is the share of members that
    mark it.
    """
    marks = [marked for marked in outlying if marked is not None]
    if not marks:
        return votes
    share = np.sum(marks, axis=0) / len(outlying)
    marked = share > 1 / 2
    return Votes(
        mark_outliers(votes.labels, marked), np.where(marked, share, votes.agreement)
    )
