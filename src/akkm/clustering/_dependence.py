"""Estimate the number of clusters from the dependence between a table's columns.

Suppose that a table has C groups of rows, and that columns are independent within each
group. Then columns depend on each other only because the groups have different means.
The means of C groups span at most C - 1 directions. So if columns vary together in q
directions, there are at least q + 1 groups; the estimate is q + 1.

The columns of X that encode a column of the table are first transformed so that their
covariance is the identity. (For categories, this is multiple correspondence analysis.)
Without dependence, the covariance of all transformed columns is the identity, and its
eigenvalues are 1 up to chance. The columns are shuffled independently to see how large
eigenvalues become by chance. The largest eigenvalue is compared with the largest ones
of the shuffled tables, the second with the second ones, and so on (Horn's parallel
analysis).

Neighbour graphs and kernels would not find these groups. Rows with the same categories
are close to each other, so each frequent combination of categories looks like a
cluster, even if columns are independent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh, svd

from akkm.rows import as_rows
from akkm.tables import ColumnFact, TableEncoder
from akkm.typing import Array

# Number of sampled rows. With many more rows, even very weak dependence would be
# significant. Estimates for 1,000 and for 4,000 rows rarely differ.
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
    chance : float array of shape (q,)
        For each position, the largest eigenvalue at this position in tables whose
        columns were shuffled independently.
    """

    strengths: Array
    chance: Array

    @property
    def n_directions(self) -> int:
        """The number of directions before the first one that chance explains."""
        return int(np.append(self.strengths <= self.chance, True).argmax())

    @property
    def n_clusters(self) -> int:
        """The estimated number of clusters, at least 2."""
        return max(2, self.n_directions + 1)

    @property
    def reason(self) -> str:
        """The reason for the estimate, in a few words."""
        if self.n_directions == 0:
            return "no columns depend on each other beyond chance"
        number = self.n_directions
        directions = "one direction" if number == 1 else f"{number} directions"
        return (
            f"columns vary together in {directions}, which takes {number + 1} clusters "
            "or more"
        )

    def warning(self, n_clusters: int) -> str:
        """Return a warning that this number of clusters was estimated."""
        return (
            f"The estimate of {n_clusters} clusters is unsure: {self.reason}. "
            "There may be a few more; compare the reports of "
            f"{n_clusters} to {n_clusters + 2} clusters, or give the number of "
            "clusters."
        )


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


def number_from_columns(
    n_clusters: int | str | tuple[int, int],
    method: str,
    encoder: TableEncoder,
    X: Any,
    *,
    n_classes: int = 0,
    random_state: int = 0,
) -> tuple[int | str | tuple[int, int], ColumnDependence | None]:
    """Estimate the number of clusters if it depends on the columns of the table.

    Parameters
    ----------
    n_clusters : int, "auto" or pair of int
        The number of clusters, "auto", or the smallest and the largest number.
    method : str
        A key of `ESTIMATORS`.
    encoder : TableEncoder
        The fitted encoder.
    X : float32 array or DiskRows of shape (n, d)
        The encoded rows, or some of them.
    n_classes : int, default=0
        Number of known classes. There are at least as many clusters.
    random_state : int, default=0
        The seed.

    Returns
    -------
    n_clusters : int, "auto" or pair of int
        The estimate. It equals the parameter if the number is given, if there are no
        columns of categories, or if the method estimates the number itself.
    dependence : ColumnDependence or None
        The reason for the estimate; None if nothing was estimated.

    Examples
    --------
    >>> import pandas as pd
    >>> from akkm.clustering import number_from_columns
    >>> from akkm.tables import TableEncoder
    >>> frame = pd.DataFrame({"size": [1, 2, 1, 8, 9, 8], "town": ["Ulm", "Bonn"] * 3})
    >>> encoder = TableEncoder().fit(frame)
    >>> X = encoder.transform(frame)
    >>> number_from_columns("auto", "approx", encoder, X, n_classes=3)[0]
    3
    >>> number_from_columns(4, "approx", encoder, X)
    (4, None)
    """
    if method != "approx" or not has_categories(encoder):
        return n_clusters, None
    if isinstance(n_clusters, str) and n_clusters == "auto":
        least, most = 1, X.shape[0]
    elif isinstance(n_clusters, tuple) and 1 < n_clusters[0] <= n_clusters[1]:
        least, most = n_clusters
    else:
        return n_clusters, None
    found = column_dependence(encoder, X, random_state)
    return min(max(found.n_clusters, least, n_classes), most), found


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
    >>> group = np.repeat([0, 1, 2], 700)
    >>> size, speed = rng.normal(5 * group), rng.normal(5 * (group == 1))
    >>> color = np.where(rng.random(2100) < 0.2, "red", np.array(list("abc"))[group])
    >>> frame = pd.DataFrame({"size": size, "speed": speed, "color": color})
    >>> encoder = TableEncoder().fit(frame)
    >>> column_dependence(encoder, encoder.transform(frame)).n_clusters
    3
    """
    rng = np.random.default_rng(random_state)
    n = X.shape[0]
    rows = np.sort(rng.choice(n, min(n, _SAMPLE), replace=False))
    blocks = _whitened(as_rows(X).gather(rows).astype(np.float64), encoder.facts())
    shuffled = [
        _strengths([block[rng.permutation(len(rows))] for block in blocks])
        for _ in range(_SHUFFLED)
    ]
    return ColumnDependence(_strengths(blocks), np.max(shuffled, axis=0))


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
    n, q = Z.shape
    # Z Zᵀ and Zᵀ Z have the same eigenvalues, apart from zeros.
    return np.asarray(eigvalsh((Z @ Z.T if q > n else Z.T @ Z) / n)[::-1])
