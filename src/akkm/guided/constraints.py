"""The record of all constraints on the rows of a fit."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from akkm.guided.contradictions import refuse_joined_classes, refuse_joined_pair
from akkm.guided.reading import read_known, read_pairs
from akkm.typing import Array


@dataclass(frozen=True)
class Constraints:
    """Known classes, must-link groups and cannot-link pairs of n rows.

    Rows joined by must-links form a group; any other constrained row is a group of its
    own. All rows of a group get the same label.
    """

    n: int  # number of rows of the fit
    rows: Array  # (r,) constrained rows, ascending
    group: Array  # (r,) group of each of these rows, from 0 to g - 1
    known: Array  # (r,) class of each of these rows, -1 if not known
    classes: tuple[Hashable, ...]  # names of the classes, in ascending order
    must_link: Array  # (p, 2) row numbers
    cannot_link: Array  # (q, 2) row numbers

    @property
    def n_groups(self) -> int:
        """Number of groups g."""
        return int(self.group.max()) + 1

    @property
    def known_rows(self) -> Array:
        """Rows whose class is known, ascending."""
        return self.rows[self.known >= 0]

    def positions(self, rows: Array) -> Array:
        """Return the positions of constrained rows in `self.rows`."""
        return np.searchsorted(self.rows, rows)

    def group_classes(self) -> Array:
        """Return the class (g,) of each group, -1 if none of its rows is known.

        If rows of a group have different classes, the most frequent class counts.
        """
        if not self.classes:
            return np.full(self.n_groups, -1)
        votes = self.votes(np.ones(len(self.rows)))
        return np.where(votes.any(axis=1), votes.argmax(axis=1), -1)

    def votes(self, weights: Array) -> Array:
        """Return the weight of known rows by group and class: (g, number of classes).

        `weights` (r,) are the weights of the constrained rows.
        """
        votes = np.zeros((self.n_groups, len(self.classes)))
        given = self.known >= 0
        np.add.at(votes, (self.group[given], self.known[given]), weights[given])
        return votes

    def subset(self, positions: Array) -> "Constraints":
        """Return the constraints among some of the constrained rows, renumbered.

        The rows are given by ascending positions (b,) in `self.rows`. In the result,
        row number i is the row at the i-th of these positions.
        """
        place = np.full(len(self.rows), -1)
        place[positions] = np.arange(len(positions))

        def kept(pairs: Array) -> Array:
            moved = place[self.positions(pairs)]
            return moved[(moved >= 0).all(axis=1)]

        group = np.unique(self.group[positions], return_inverse=True)[1]
        return Constraints(
            len(positions),
            np.arange(len(positions)),
            group,
            self.known[positions],
            self.classes,
            kept(self.must_link),
            kept(self.cannot_link),
        )

    def at(self, n: int, rows: Array) -> "Constraints":
        """Return the same constraints for other row numbers (r,), among n rows.

        The i-th constrained row gets the number rows[i]; `rows` must be ascending.
        """
        must, cannot = self.positions(self.must_link), self.positions(self.cannot_link)
        return Constraints(
            n, rows, self.group, self.known, self.classes, rows[must], rows[cannot]
        )


def read_constraints(
    n: int,
    known: Any = None,
    must_link: Any = None,
    cannot_link: Any = None,
    *,
    hard: bool = True,
) -> Constraints | None:
    """Read the constraints on n rows, and refuse contradictions.

    Parameters
    ----------
    n : int
        The number of rows.
    known : mapping or array of shape (n,), optional
        Known classes, as in `read_known`.
    must_link, cannot_link : array of shape (p, 2) or list of groups, optional
        Pairs of rows, as in `read_pairs`.
    hard : bool, default=True
        Whether known classes must be respected. If not, must-links may join rows of
        different classes.

    Returns
    -------
    Constraints or None
        The constraints; None if there are none.

    Examples
    --------
    >>> from akkm.guided.constraints import read_constraints
    >>> read = read_constraints(9, known={2: "cat", 7: "dog"}, must_link=[(2, 5)])
    >>> read.rows.tolist(), read.group.tolist(), read.classes
    ([2, 5, 7], [0, 0, 1], ('cat', 'dog'))
    """
    none = np.empty((0, 2), dtype=np.int64)
    known_rows = np.empty(0, dtype=np.int64)
    labels: list[Hashable] = []
    if known is not None:
        known_rows, labels = read_known(known, n)
    must = none if must_link is None else read_pairs(must_link, n, "must_link")
    cannot = none if cannot_link is None else read_pairs(cannot_link, n, "cannot_link")
    rows = np.unique(np.concatenate([known_rows, must.ravel(), cannot.ravel()]))
    if not rows.size:
        return None
    classes = _sorted_classes(labels)
    number = {name: k for k, name in enumerate(classes)}
    of_row = np.full(len(rows), -1)
    of_row[np.searchsorted(rows, known_rows)] = [number[name] for name in labels]
    group = _groups(len(rows), np.searchsorted(rows, must))
    found = Constraints(n, rows, group, of_row, classes, must, cannot)
    _refuse_contradictions(found, hard)
    return found


def _sorted_classes(labels: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """Return the distinct classes, sorted by value or, if that fails, by their text."""
    distinct: list[Any] = list(dict.fromkeys(labels))
    try:
        return tuple(sorted(distinct))
    except TypeError:
        return tuple(sorted(distinct, key=lambda name: (str(type(name)), str(name))))


def _groups(count: int, pairs: Array) -> Array:
    """Return the connected component (count,) of each row.

    Components are numbered in the order of their first rows.
    """
    links = sparse.coo_array(
        (np.ones(len(pairs), np.int8), (pairs[:, 0], pairs[:, 1])), (count, count)
    )
    label = connected_components(links.tocsr(), directed=False)[1]
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _refuse_contradictions(found: Constraints, hard: bool) -> None:
    """Raise ValueError if must-links contradict cannot-links or known classes."""
    ends = found.group[found.positions(found.cannot_link)]
    joined = np.flatnonzero(ends[:, 0] == ends[:, 1])
    if joined.size:
        a, b = found.cannot_link[joined[0]].tolist()
        refuse_joined_pair(found.must_link, a, b)
    if not hard:
        return
    given = np.flatnonzero(found.known >= 0)
    order = given[np.lexsort((found.known[given], found.group[given]))]
    a, b = order[:-1], order[1:]
    mixed = (found.group[a] == found.group[b]) & (found.known[a] != found.known[b])
    if mixed.any():
        i = int(np.flatnonzero(mixed)[0])
        first, second = int(a[i]), int(b[i])
        refuse_joined_classes(
            found.must_link,
            (int(found.rows[first]), int(found.rows[second])),
            (found.classes[found.known[first]], found.classes[found.known[second]]),
        )
