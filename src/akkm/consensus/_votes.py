"""Every member votes for a meta-cluster with its label; the largest share wins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from akkm.consensus._labelings import check_labelings, recode, smallest
from akkm.core.strip import chunks
from akkm.core.threads import Threads

Array = NDArray[Any]

# Rows whose votes are counted at a time: r of these stay near the processor.
_ROWS = 16384


class Votes(NamedTuple):
    """What the members decided.

    Attributes
    ----------
    labels : int32 array of shape (n,)
        The meta-cluster of each row, in 0 .. n_clusters - 1.
    agreement : array of shape (n,)
        The share of members whose cluster is in that meta-cluster, in [0, 1].

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
    """Which clusters of the members belong together: all that new rows need.

    Attributes
    ----------
    values : tuple of arrays of shape (C_q,)
        The labels of each of the r members, sorted.
    parts : tuple of arrays of shape (C_q,)
        The meta-cluster of each of these labels, in 0 .. n_clusters - 1.
    sizes : array of shape (n_clusters,)
        The numbers s_k of clusters (of positive weight) in each meta-cluster.
    salt : uint64 array of shape (r + 1, n_clusters)
        Random numbers that decide ties: one per vote of each member, and one per
        meta-cluster.

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
        """Labels and agreement of rows, out of the members' labels for them.

        Parameters
        ----------
        labelings : list of r arrays of shape (n,)
            The labels that each member gave to the rows.
        n_jobs : int, optional
            Threads; all by default.

        Returns
        -------
        Votes
        """
        members = check_labelings(labelings)
        if len(members) != len(self.values):
            raise ValueError(
                f"labelings has {len(members)} members; expected the "
                f"{len(self.values)} that the meta-clusters were made of."
            )
        codes = [
            recode(q, labels, values)
            for q, (labels, values) in enumerate(zip(members, self.values, strict=True))
        ]
        with Threads(n_jobs) as engine:
            return self.count(codes, engine)

    def count(self, codes: list[Array], engine: Threads) -> Votes:
        """As `vote`, for codes (n,) of each member: places of labels in `values`."""
        n, r = len(codes[0]), len(codes)
        parts = [part.astype(smallest(len(self.sizes))) for part in self.parts]
        ranks, salt = self._ranks, self.salt
        votes = Votes(np.empty(n, dtype=np.int32), np.empty(n))

        def elect_chunk(chunk: slice) -> None:
            for start in range(chunk.start, chunk.stop, _ROWS):
                rows = slice(start, min(start + _ROWS, chunk.stop))
                ballots = np.array([parts[q].take(codes[q][rows]) for q in range(r)])
                labels = elect(ballots, ranks, salt)
                votes.labels[rows] = labels
                votes.agreement[rows] = _count_equal(ballots, labels) / r

        for _ in engine.map(elect_chunk, chunks(n)):
            pass
        return votes

    @cached_property
    def _ranks(self) -> Array:
        """Where c votes for meta-cluster k, μ_k = c / s_k, rank: (r + 1, C).

        Equal means have equal ranks: a quotient of integers is rounded once, so equal
        ones are equal to the last bit.
        """
        c = np.arange(len(self.parts) + 1)
        means = c[:, None] / np.maximum(self.sizes, 1)
        values, ranks = np.unique(means, return_inverse=True)
        return ranks.reshape(means.shape).astype(smallest(len(values)))


def elect(ballots: Array, ranks: Array, salt: Array) -> Array:
    """The meta-cluster (b,) with the largest mean, for ballots (r, b) of b rows.

    Only the meta-clusters that a row has votes for are compared. Ties are broken at
    random, but equal ballots are treated equally, wherever they are.
    """
    counts = np.array([_count_equal(ballots, vote) for vote in ballots])
    rank = _pick(ranks, counts, ballots)
    ahead = rank == rank.max(axis=0)
    labels = (ahead * ballots).max(axis=0)
    ties = np.flatnonzero((ahead & (ballots != labels)).any(axis=0))
    if len(ties):
        labels[ties] = _draw(ballots[:, ties], ahead[:, ties], salt)
    return labels


def _count_equal(ballots: Array, vote: Array) -> Array:
    """How many of ballots (r, b) are for vote (b,): (b,)."""
    equal = (ballots == vote).view(np.uint8)  # bytes are added many at a time
    return np.add.reduce(equal, axis=0, dtype=smallest(len(ballots)))


def _pick(table: Array, i: Array, j: Array) -> Array:
    """table[i, j], which NumPy takes four times as long for."""
    return table.ravel().take(i.astype(np.intp) * table.shape[1] + j)


def _draw(ballots: Array, ahead: Array, salt: Array) -> Array:
    """One of those ahead (t,), by a lot that depends on the row's ballots alone."""
    members = np.arange(len(ballots))[:, None]
    row = np.bitwise_xor.reduce(_pick(salt, members, ballots), axis=0)  # (t,)
    # The same lot for the same meta-cluster, whoever votes for it.
    lots = ahead * _mix(row ^ salt[-1].take(ballots))
    return ballots[lots.argmax(axis=0), np.arange(len(row))]


def _mix(x: Array) -> Array:
    """Bits of x (uint64) stirred, so that neighbours have nothing in common.

    The last step of the generator splitmix64 (Steele, Lea and Flood, 2014).
    """
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
