"""Base class of estimators that combine the votes of several members."""

from typing import Any

import numpy as np

from akkm.consensus import MetaClusters, Votes
from akkm.core.threads import Threads
from akkm.estimators._base import KernelClusterer
from akkm.estimators._parameters import COUNT, estimator, parameter
from akkm.rows import apply_lazily, is_dask
from akkm.typing import Array


@estimator
class VotingClusterer(KernelClusterer):
    """Base class of ensembles: each member has a vote, and the majority decides."""

    n_members: int = parameter(COUNT, default=10)

    def predict(self, X: Any) -> Array:
        """Assign each row to the cluster that most members vote for.

        Parameters
        ----------
        X : array, data frame or CSR matrix of shape (n, d)
            New rows; k(rows, training rows) for a precomputed kernel.

        Returns
        -------
        int32 array of shape (n,)
            Cluster of each row. It is a lazy Dask array if X is a Dask array or data
            frame.
        """
        if is_dask(X):
            return apply_lazily(self.predict, X, width=None, dtype=np.int32)
        return self._votes(X).labels

    def _votes(self, X: Any) -> Votes:
        """Return labels of rows, and the share of members that agree with them."""
        X = self._new_rows(X)
        labelings = []
        with Threads(self.n_jobs) as engine:
            for member, clusters in zip(self.members_, self._meta.values, strict=True):
                # A cluster that ended up empty has no vote.
                model = member._model.only(clusters)
                blocks = model.compare(member._embed(X, engine), engine)
                labels = np.concatenate([block.labels for block in blocks])
                labelings.append(clusters[labels])
        return self._meta.vote(labelings, n_jobs=self.n_jobs)

    def _set_attributes(self, members: list[Any], consensus: Any) -> None:
        self.kernel_ = members[0].kernel_
        self.members_ = members
        self.labels_, self.agreement_ = consensus.labels, consensus.agreement
        self.anmi_ = consensus.anmi
        self.n_iter_ = max(member.n_iter_ for member in members)
        self._meta: MetaClusters = consensus.meta
