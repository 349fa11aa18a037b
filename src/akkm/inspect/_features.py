"""What sets clusters apart: means per cluster, in standard deviations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from akkm.core.strip import Rows
from akkm.inspect._nearness import membership

Array = NDArray[Any]

_ROWS = 8192


@dataclass(frozen=True)
class Features:
    """The columns that differ most between clusters, the most telling first."""

    names: tuple[str, ...]
    columns: Array  # (f,) which columns of X they are
    telling: Array  # (f,) share of the column's variance that lies between clusters
    z: Array  # (C, f) (cluster's mean - mean) / standard deviation
    widest: str  # the column of the largest variance
    widest_share: float  # of the sum of all columns' variances


def features(X: Rows, labels: Array, names: Sequence[str], most: int) -> Features:
    """Telling columns of X (n, d), in one pass over its rows.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect._features import features
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [0.0, 5.0], [2.0, 5.0]])
    >>> found = features(X, np.array([0, 0, 1, 1]), ["noise", "size"], most=1)
    >>> found.names, found.telling, found.z.ravel()
    (('size',), array([1.]), array([-1.,  1.]))
    """
    n, d = X.shape
    sizes = np.bincount(labels)
    sums, squares = np.zeros((len(sizes), d)), np.zeros(d)
    # Measured from the first row, columns far from zero lose no digits.
    origin = None if sparse.issparse(X) else X[0].astype(np.float64)
    for start in range(0, n, _ROWS):
        block = X[start : start + _ROWS].astype(np.float64)
        inside = membership(labels[start : start + _ROWS], len(sizes))
        if origin is None:
            sums += (inside @ block).toarray()
            squares += np.asarray(block.multiply(block).sum(axis=0)).ravel()
        else:
            block -= origin
            sums += inside @ block
            squares += np.einsum("ij,ij->j", block, block)
    mean = sums.sum(axis=0) / n
    variance = squares / n - mean**2
    # Below this a column is constant, but for rounding.
    variance[variance <= 1e-12 * (squares / n)] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (sums / sizes[:, None] - mean) / np.sqrt(variance)
    z[~np.isfinite(z)] = 0
    telling = np.minimum(1.0, (sizes / n) @ z**2)
    columns = np.argsort(-telling, kind="stable")[:most]
    columns = columns[telling[columns] > 0]
    chosen = tuple(str(names[j]) for j in columns)
    widest = int(variance.argmax())
    share = float(variance[widest] / (variance.sum() or 1.0))
    name = str(names[widest])
    return Features(chosen, columns, telling[columns], z[:, columns], name, share)


def names_for(model: Any, feature_names: Sequence[str] | None, d: int) -> list[str]:
    """Names of the d columns: given, or those of the fit, or their numbers."""
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    if feature_names is None:
        return [f"column {j}" for j in range(d)]
    if len(feature_names) != d:
        raise ValueError(
            f"feature_names has {len(feature_names)} names, but X has {d} columns; "
            "give one name per column."
        )
    return [labelled(name) for name in feature_names]


def labelled(name: Any) -> str:
    """A column's name; one that is a number says what it numbers.

    Examples
    --------
    >>> from akkm.inspect._features import labelled
    >>> labelled("age"), labelled("28"), labelled("3=tcp")
    ('age', 'column 28', 'column 3=tcp')
    """
    text = str(name)
    return f"column {text}" if re.match(r"\d+(=|$)", text) else text
