"""Estimate the number of clusters from the dependence between a table's columns.

Suppose that a table has C groups of rows, and that columns are independent within each
group. Then columns depend on each other only because groups differ. The means of C
groups differ in at most C - 1 directions. So if columns vary together in q directions,
there are at least q + 1 groups; the estimate is q + 1.

The columns of X that encode a column of the table are first transformed so that their
covariance is the identity. (For categories, this is multiple correspondence analysis.)
Without dependence, the covariance of all transformed columns is the identity, and its
eigenvalues are 1 up to chance. The columns are shuffled independently to see how large
eigenvalues become by chance.

Rows with the same categories are close to each other. So neighbour graphs and kernels
show frequent combinations of categories as clusters, even if columns are independent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh, svd

from akkm.rows import as_rows
from akkm.tables import ColumnFact, TableEncoder
from akkm.typing import Array

# Rows are sampled. With many more rows, dependence that is too weak to matter would be
# found. Estimates for 1,000 and for 4,000 rows rarely differ.
_SAMPLE = 2000
# Number of shuffled tables.
_SHUFFLED = 49
# Components of a column with less than this share of the variance of its largest
# component are left out: they belong to rare categories.
_RARE = 0.1


@dataclass(frozen=True)
class ColumnDependence:
    """The directions in which columns of a table vary together.

    Parameters
    ----------
    strengths : float array of shape (q,)
        Eigenvalues in descending order; 1 means no dependence.
    chance : float
        The largest eigenvalue for columns that were shuffled independently.
    """

    strengths: Array
    chance: float

    @property
    def n_directions(self) -> int:
        """The number of directions whose strength is beyond chance."""
        return int((self.strengths > self.chance).sum())

    @property
    def n_clusters(self) -> int:
        """The estimated number of clusters, at least 2."""
        return max(2, self.n_directions + 1)

    def __str__(self) -> str:
        found = f"{self.n_clusters} clusters, unsure"
        if self.n_directions == 0:
            return f"{found}: no columns depend on each other beyond chance"
        ways = "one way" if self.n_directions == 1 else f"{self.n_directions} ways"
        return f"{found}: beyond chance, columns vary together in {ways}"


def has_categories(encoder: TableEncoder) -> bool:
    """Return whether some of the encoded columns are categories.

    Examples
    --------
    >>> import pandas as pd
    >>> from akkm.clustering import has_categories
    >>> from akkm.tables import TableEncoder
    >>> frame = pd.DataFrame({"age": [31, 35, 33], "town": ["Ulm", "Ulm", "Bonn"]})
    >>> has_categories(TableEncoder().fit(frame))
    True
    """
    return any(fact.role in ("boolean", "category") for fact in encoder.facts())


def column_dependence(
    encoder: TableEncoder, X: Any, random_state: int = 0
) -> ColumnDependence:
    """Return the directions in which the columns of an encoded table vary together.

    Parameters
    ----------
    encoder : TableEncoder
        The fitted encoder.
    X : float32 array or DiskRows of shape (n, d)
        The encoded rows.
    random_state : int
        The seed of the sample and of shuffling.

    Returns
    -------
    ColumnDependence
        The strength of each direction, and the strength that occurs by chance.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from akkm.clustering import column_dependence
    >>> from akkm.tables import TableEncoder
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat([0, 1, 2], 100)
    >>> size, speed = rng.normal(5 * group), rng.normal(5 * (group == 1))
    >>> color = np.where(rng.random(300) < 0.2, "red", np.array(list("abc"))[group])
    >>> frame = pd.DataFrame({"size": size, "speed": speed, "color": color})
    >>> encoder = TableEncoder().fit(frame)
    >>> column_dependence(encoder, encoder.transform(frame)).n_clusters
    3
    """
    rng = np.random.default_rng(random_state)
    n = X.shape[0]
    rows = np.sort(rng.choice(n, min(n, _SAMPLE), replace=False))
    blocks = _whitened(as_rows(X).gather(rows).astype(np.float64), encoder.facts())
    shuffled = (
        _strengths([block[rng.permutation(len(rows))] for block in blocks])
        for _ in range(_SHUFFLED)
    )
    chance = max(strengths[0] for strengths in shuffled)
    return ColumnDependence(_strengths(blocks), float(chance))


def _whitened(X: Array, facts: Sequence[ColumnFact]) -> list[Array]:
    """Return each column's features, transformed to have the identity as covariance."""
    blocks = []
    for fact in facts:
        block = X[:, fact.first : fact.first + len(fact.features)]
        U, s, _ = svd(block - block.mean(axis=0), full_matrices=False)
        if s[0] > 0:
            blocks.append(np.sqrt(len(X)) * U[:, s**2 > _RARE * s[0] ** 2])
    return blocks or [np.zeros((len(X), 1))]


def _strengths(blocks: Sequence[Array]) -> Array:
    """The eigenvalues (q,) of the covariance matrix, in descending order."""
    Z = np.concatenate(blocks, axis=1)
    return np.asarray(eigvalsh(Z.T @ Z / len(Z))[::-1])
