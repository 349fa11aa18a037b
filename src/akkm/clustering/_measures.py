"""How near each row is to its cluster, and how certain its label is."""

from typing import Any

import numpy as np

from akkm.core.membership import relative_gap
from akkm.estimators import LeadersKernelKMeans
from akkm.typing import Array


def measures(
    estimator: Any, X: Any, clusters: Array | None = None
) -> tuple[Array, dict[str, Array]]:
    """Return the clusters of rows, and measures of how well the rows fit in them.

    Parameters
    ----------
    estimator : KernelClusterer
        A fitted estimator.
    X : array or CSR array of shape (b, d)
        The rows.
    clusters : int array of shape (b,), optional
        The clusters of the rows. By default they are predicted.

    Returns
    -------
    clusters : int array of shape (b,)
        The clusters.
    measures : dict
        Arrays of shape (b,). "distance" is the distance to the center of the row's
        cluster. "margin" is the distance to the nearest other center minus "distance".
        For ensembles, the dict has only "agreement", the share of members that agree
        with the label.

    Examples
    --------
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.clustering import measures
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> model = ApproxKernelKMeans(2, kernel="linear", random_state=0).fit(X)
    >>> clusters, found = measures(model, X)
    >>> found["distance"].round(2), found["margin"].round(2)
    (array([0.5, 0.5, 0.5, 0.5]), array([10.,  9.,  9., 10.]))
    """
    if hasattr(estimator, "members_"):
        votes = estimator._votes(X)
        labels = votes.labels if clusters is None else clusters
        return labels, {"agreement": votes.agreement}
    if clusters is None and isinstance(estimator, LeadersKernelKMeans):
        clusters = estimator.predict(X)  # the leader's cluster, not the nearest center
    nearest, distances = estimator._nearest(X)
    found: Array = nearest if clusters is None else clusters
    rows = np.arange(len(found))
    own = distances[rows, found].copy()
    distances[rows, found] = np.inf
    return found, {"distance": own, "margin": distances.min(axis=1) - own}


def certainty_of(measured: dict[str, Array]) -> Array:
    """Return how certain labels are, from 0 to 1.

    Parameters
    ----------
    measured : dict
        Measures from `measures`.

    Returns
    -------
    float array of shape (b,)
        For ensembles, the share of members that agree with the label. Otherwise
        (d2 - d1) / (d2 + d1), where d1 is the distance to the center of the row's
        cluster, and d2 is the distance to the nearest other center. This value is 0 on
        the border between two clusters, and 1 at the center of a cluster. Negative
        values become 0. If there is only one center, the certainty is 1.
        `akkm.inspect.Certainty` is another measure.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.clustering import certainty_of
    >>> certainty_of({"distance": np.array([1.0, 2.0]), "margin": np.array([2.0, 0.0])})
    array([0.5, 0. ])
    """
    if "agreement" in measured:
        return measured["agreement"]
    own, margin = measured["distance"], measured["margin"]
    alone = ~np.isfinite(margin)  # there is only one center
    share = relative_gap(own, own + np.where(alone, 0.0, margin))
    return np.where(alone, 1.0, np.clip(share, 0.0, 1.0))
