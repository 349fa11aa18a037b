"""Members vote for meta-clusters; a row gets the meta-cluster that wins."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from akkm.consensus._labelings import check_labelings, recode, smallest_dtype
from akkm.core.threads import Threads
from akkm.rows import chunks
from akkm.typing import Array

# Number of rows whose votes are counted at a time; they fit into the processor's cache.
_ROWS = 16384


class Votes(NamedTuple):
    """The result of a vote.

    Parameters
    ----------
    labels : int32 array of shape (n,)
        The meta-cluster of each row, in 0 .. n_clusters - 1.
    agreement : array of shape (n,)
        The share of members that vote for the row's label, in [0, 1]. Each member votes
        for the meta-cluster of the cluster to which it assigns the row.

    Examples
    --------
    >>> from akkm.consensus import mcla
    >>> votes = mcla([[0, 0, 1], [0, 0, 1], [0, 1, 1]], 2).meta.vote([[0], [0], [1]])
    >>> votes.labels, votes.agreement.round(2)
    (array([0], dtype=int32), array([0.67]))
    """

    labels: Array
    agreement: Array


@dataclass(frozen=True, eq=False)
class MetaClusters:
    """The meta-cluster of each cluster of each member.

    `vote` labels new rows, given the labels that the members give to these rows.

    Parameters
    ----------
    values : tuple of arrays of shape (C_q,)
        The labels of each of the r members, sorted. Member q has C_q labels.
    parts : tuple of arrays of shape (C_q,)
        The meta-cluster of each of these labels, in 0 .. n_clusters - 1.
    sizes : array of shape (n_clusters,)
        The numbers by which votes are divided. For `mcla`, they are the numbers of
        clusters of positive weight in each meta-cluster; for `bipartite_cut`, they
        are 1.
    salt : uint64 array of shape (r + 1, n_clusters)
        Random numbers that decide ties. Row q has one number for each meta-cluster that
        member q may vote for. The last row has one more number for each meta-cluster.

    Examples
    --------
    >>> from akkm.consensus import mcla
    >>> meta = mcla([["a", "a", "b"], [5, 5, 3]], 2).meta
    >>> meta.parts
    (array([0, 1]), array([1, 0]))
    >>> meta.vote([["b", "a"], [3, 5]]).labels
    array([1, 0], dtype=int32)
    """

    values: tuple[Array, ...]
    parts: tuple[Array, ...]
    sizes: Array
    salt: Array

    def vote(self, labelings: Any, *, n_jobs: int | None = None) -> Votes:
        """Label rows by the votes of the members.

        Parameters
        ----------
        labelings : list of r arrays of shape (n,)
            The labels that each member gives to the rows.
        n_jobs : int, optional
            The number of threads; all by default.

        Returns
        -------
        Votes
            The label of each row, and the share of members that agree.
        """
        members = check_labelings(labelings)
        if len(members) != len(self.values):
            raise ValueError(
                f"labelings has {len(members)} members; expected the "
                f"{len(self.values)} from which the meta-clusters were made."
            )
        codes = [
            recode(q, labels, values)
            for q, (labels, values) in enumerate(zip(members, self.values, strict=True))
        ]
        with Threads(n_jobs) as engine:
            return self.vote_codes(codes, engine)

    def vote_shares(self, labelings: list[Array]) -> Array:
        """Compute the share of votes that each meta-cluster gets.

        Parameters
        ----------
        labelings : list of r arrays of shape (n,)
            The labels that each member gives to the rows.

        Returns
        -------
        array of shape (n, C)
            The share of members that vote for each meta-cluster.
        """
        shares = np.zeros((len(labelings[0]), len(self.sizes)))
        rows = np.arange(len(shares))
        for q, (labels, values) in enumerate(zip(labelings, self.values, strict=True)):
            shares[rows, self.parts[q][recode(q, labels, values)]] += 1
        return shares / len(labelings)

    def vote_codes(self, codes: list[Array], engine: Threads) -> Votes:
        """Label rows by codes: positions of labels in `values`.

        Parameters
        ----------
        codes : list of r int arrays of shape (n,)
            The codes that each member gives to the rows.
        engine : akkm.core.threads.Threads
            The threads to use.

        Returns
        -------
        Votes
            The label of each row, and the share of members that agree.
        """
        n, r = len(codes[0]), len(codes)
        parts = [part.astype(smallest_dtype(len(self.sizes))) for part in self.parts]
        ranks = self._ranks
        votes = Votes(np.empty(n, dtype=np.int32), np.empty(n))

        def vote_chunk(chunk: slice) -> None:
            for start in range(chunk.start, chunk.stop, _ROWS):
                rows = slice(start, min(start + _ROWS, chunk.stop))
                ballots = np.array([parts[q].take(codes[q][rows]) for q in range(r)])
                labels = _winners(ballots, ranks, self.salt)
                votes.labels[rows] = labels
                votes.agreement[rows] = _count_equal(ballots, labels) / r

        engine.for_each(vote_chunk, chunks(n))
        return votes

    @cached_property
    def _ranks(self) -> Array:
        """Ranks (r + 1, C): entry (c, k) is the rank of c votes for meta-cluster k.

        Ranks are ordered by c / size_k. Equal quotients have equal ranks: a quotient of
        two integers is rounded once, so equal quotients are equal to the last bit.
        """
        c = np.arange(len(self.parts) + 1)
        means = c[:, None] / np.maximum(self.sizes, 1)
        values, ranks = np.unique(means, return_inverse=True)
        return ranks.reshape(means.shape).astype(smallest_dtype(len(values)))


def _winners(ballots: Array, ranks: Array, salt: Array) -> Array:
    """The meta-cluster (b,) with the highest rank, for ballots (r, b) of b rows.

    Only meta-clusters with votes are compared. Ties are broken at random, but equal
    ballots always get equal labels.
    """
    counts = np.array([_count_equal(ballots, vote) for vote in ballots])
    rank = _pick(ranks, counts, ballots)
    ahead = rank == rank.max(axis=0)
    labels = (ahead * ballots).max(axis=0)
    ties = np.flatnonzero((ahead & (ballots != labels)).any(axis=0))
    if len(ties):
        labels[ties] = _break_ties(ballots[:, ties], ahead[:, ties], salt)
    return labels


def _count_equal(ballots: Array, vote: Array) -> Array:
    """For each of b rows, the number (b,) of ballots (r, b) that equal `vote` (b,)."""
    equal = (ballots == vote).view(np.uint8)  # NumPy adds many bytes at a time
    return np.add.reduce(equal, axis=0, dtype=smallest_dtype(len(ballots)))


def _pick(table: Array, i: Array, j: Array) -> Array:
    """table[i, j], four times as fast as NumPy's indexing."""
    return table.ravel().take(i.astype(np.intp) * table.shape[1] + j)


def _break_ties(ballots: Array, ahead: Array, salt: Array) -> Array:
    """Choose one of the leading meta-clusters (t,) by a hash of the row's ballots."""
    members = np.arange(len(ballots))[:, None]
    row = np.bitwise_xor.reduce(_pick(salt, members, ballots), axis=0)  # (t,)
    # The hash of a meta-cluster does not depend on the member that votes for it.
    lots = ahead * _mix(row ^ salt[-1].take(ballots))
    return ballots[lots.argmax(axis=0), np.arange(len(row))]


def _mix(x: Array) -> Array:
    """Hash x (uint64): the last step of splitmix64 (Steele, Lea and Flood, 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
