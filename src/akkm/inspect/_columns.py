"""Means and spreads of the encoded columns per cluster."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from akkm.inspect._distances import cluster_sizes, membership
from akkm.typing import Array, RowsLike

_BLOCK_ROWS = 8192
# The means of clusters hardly differ if the clusters explain less than this share of
# the variance of every column.
_MIN_EXPLAINED = 0.05


@dataclass(frozen=True)
class ColumnDifferences:
    """The columns that differ between clusters, in descending order of difference.

    Parameters
    ----------
    names : tuple of str
        Names of the f columns. Columns that have the same mean and spread in all
        clusters are left out.
    columns : int array of shape (f,)
        Column numbers.
    explained : float array of shape (f,)
        Share of the column's variance that lies between clusters.
    z : float array of shape (C, f)
        (mean of the cluster - mean of all rows) / standard deviation of all rows.
    spread : float array of shape (C, f)
        Standard deviation of the cluster / standard deviation of all rows. If the means
        hardly differ in any column, columns are ordered by how much their spreads
        differ.
    widest : str
        Name of the column with the largest variance.
    widest_share : float
        Share of the column `widest` in the sum of all columns' variances.

    Examples
    --------
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.inspect import Inspection
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> model = ApproxKernelKMeans(2, kernel="linear", random_state=0).fit(X)
    >>> found = Inspection(model, X, feature_names=["age"]).columns
    >>> found.names, found.explained.round(2)
    (('age',), array([0.99]))
    """

    names: tuple[str, ...]
    columns: Array
    explained: Array
    z: Array
    spread: Array
    widest: str
    widest_share: float

    @property
    def means_differ(self) -> bool:
        """Whether clusters explain at least 5 % of the variance of some column."""
        return bool(self.explained.max(initial=0) >= _MIN_EXPLAINED)


def column_differences(
    X: RowsLike, labels: Array, names: Sequence[str]
) -> ColumnDifferences:
    """Compare the columns of X (n, d) between clusters, in one pass over the rows.

    Outliers, with label -1, are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect._columns import column_differences
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [0.0, 5.0], [2.0, 5.0]])
    >>> found = column_differences(X, np.array([0, 0, 1, 1]), ["noise", "size"])
    >>> found.names, found.explained, found.z.ravel()
    (('size',), array([1.]), array([-1.,  1.]))
    """
    sizes, d = cluster_sizes(labels), X.shape[1]
    n = max(1, int(sizes.sum()))
    sums, squares = np.zeros((2, len(sizes), d))  # per cluster
    # Subtracting the first row avoids rounding errors in columns far from zero.
    origin = None if sparse.issparse(X) else X[:1].astype(np.float64)
    for start in range(0, len(labels), _BLOCK_ROWS):
        block = X[start : start + _BLOCK_ROWS].astype(np.float64)
        members = membership(labels[start : start + _BLOCK_ROWS], len(sizes))
        if origin is None:
            sums += (members @ block).toarray()
            squares += (members @ block.multiply(block)).toarray()
        else:
            block -= origin
            sums += members @ block
            squares += members @ block**2
    mean, variance = _moments(sums.sum(axis=0), squares.sum(axis=0), n)
    means, variances = _moments(sums, squares, np.maximum(sizes, 1)[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.nan_to_num((means - mean) / np.sqrt(variance), posinf=0, neginf=0)
        spread = np.nan_to_num(np.sqrt(variances / variance), posinf=0)
    explained = np.minimum(1.0, (sizes / n) @ z**2)
    varied = np.ptp(spread[sizes > 0], axis=0)
    order = explained
    if explained.max(initial=0) < _MIN_EXPLAINED:
        order = varied.round(2)  # columns with about equal values keep their order
    columns = np.argsort(-order, kind="stable")
    columns = columns[(explained[columns] > 0) | (varied[columns] > 1e-6)]
    widest = int(variance.argmax())
    return ColumnDifferences(
        names=tuple(names[j] for j in columns),
        columns=columns,
        explained=explained[columns],
        z=z[:, columns],
        spread=spread[:, columns],
        widest=names[widest],
        widest_share=float(variance[widest] / (variance.sum() or 1.0)),
    )


def _moments(sums: Array, squares: Array, n: Any) -> tuple[Array, Array]:
    """Mean and variance from the sums and the sums of squares of n values."""
    mean = sums / n
    variance = squares / n - mean**2
    # A variance below this threshold is rounding error: all values are equal.
    variance[variance <= 1e-12 * (squares / n)] = 0
    return mean, variance


def column_names(model: Any, given: Sequence[str] | None, d: int) -> list[str]:
    """Names of the d columns: given names, else names from the fit, else numbers."""
    if given is None:
        given = getattr(model, "feature_names_in_", None)
    if given is None:
        given = [str(j) for j in range(d)]
    if len(given) != d:
        raise ValueError(
            f"feature_names has {len(given)} names, but X has {d} columns; give one "
            "name per column."
        )
    return [readable_name(name) for name in given]


def readable_name(name: Any) -> str:
    """Name of a column, with the prefix "column" if it starts with a column number.

    Examples
    --------
    >>> from akkm.inspect._columns import readable_name
    >>> readable_name("age"), readable_name("28"), readable_name("3=tcp")
    ('age', 'column 28', 'column 3=tcp')
    """
    text = str(name)
    return f"column {text}" if re.match(r"\d+(=|$)", text) else text
