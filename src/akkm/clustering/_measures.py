"""How near each row is to its cluster, and how certain its label is."""

from typing import Any

import numpy as np

from akkm.core.membership import certainty_of, own_and_other
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
        The clusters of the rows; -1 for rows without a cluster. By default, they are
        predicted.

    Returns
    -------
    clusters : int array of shape (b,)
        The clusters.
    measures : dict
        Arrays of shape (b,). "distance" is the distance to the center of the row's
        cluster; without a cluster, it is the distance to the nearest center. "margin"
        is the distance to the nearest other center minus "distance"; it is inf if there
        is only one center.
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
    centers = getattr(estimator, "estimator_", estimator)  # of the finest layer
    if clusters is None and (
        # Leaders predict the leader's cluster, not the nearest center.
        isinstance(centers, LeadersKernelKMeans) or estimator.coverage != 1
    ):
        clusters = estimator.predict(X)
    nearest, distances = centers._nearest(X)
    found: Array = nearest if clusters is None else clusters
    own, other = own_and_other(distances, np.where(found < 0, nearest, found))
    return found, {"distance": own, "margin": other - own}


def certainty_of_rows(estimator: Any, X: Any, measured: dict[str, Array]) -> Array:
    """Return how certain the labels of rows are, as `estimator.certainty(X)` does.

    Parameters
    ----------
    estimator : KernelClusterer
        A fitted estimator.
    X : array or CSR array of shape (b, d)
        The rows.
    measured : dict
        Their measures from `measures`.

    Returns
    -------
    float array of shape (b,)
        `certainty_of_measures(measured)`. For `DiffusionKernelKMeans`, this is
        multiplied by the share of short walks that stay in the row's cluster.

    Examples
    --------
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.clustering import certainty_of_rows, measures
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> model = ApproxKernelKMeans(2, kernel="linear", random_state=0).fit(X)
    >>> _, found = measures(model, X)
    >>> bool((certainty_of_rows(model, X, found) == model.certainty(X)).all())
    True
    """
    certainty = certainty_of_measures(measured)
    centers = getattr(estimator, "estimator_", estimator)  # of the finest layer
    if "agreement" in measured:
        return certainty
    shares: Array | None = centers._staying(centers._new_rows(X))
    return certainty if shares is None else certainty * shares


def certainty_of_measures(measured: dict[str, Array]) -> Array:
    """Return how certain labels are, from 0 to 1.

    Parameters
    ----------
    measured : dict
        Measures from `measures`. A margin of NaN or inf means that there is only one
        center.

    Returns
    -------
    float array of shape (b,)
        For ensembles, the share of members that agree with the label. Otherwise
        (d2 - d1) / (d2 + d1), where d1 is the distance to the center of the row's
        cluster, and d2 is the distance to the nearest other center. This value is 0 on
        the border between two clusters, and 1 at the center of a cluster. If there is
        only one center, the certainty is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.clustering import certainty_of_measures
    >>> measured = {"distance": np.array([1.0, 2.0]), "margin": np.array([2.0, 0.0])}
    >>> certainty_of_measures(measured)
    array([0.5, 0. ])
    """
    if "agreement" in measured:
        return measured["agreement"]
    own, margin = measured["distance"], measured["margin"]
    other = np.where(np.isfinite(margin), own + margin, np.inf)
    return certainty_of(own, other)
