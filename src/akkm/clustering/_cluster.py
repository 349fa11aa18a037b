"""`cluster`: encode a table and fit an estimator in one call."""

import os
import time
import warnings
from difflib import get_close_matches
from inspect import signature
from typing import Any

from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from akkm.clustering._clustering import Clustering, known_rows
from akkm.clustering._dependence import has_categories, number_from_columns
from akkm.clustering._methods import ESTIMATORS, default_method
from akkm.estimators import ClusterLayers
from akkm.tables import TableEncoder, open_table


def cluster(
    data: Any,
    n_clusters: int | str | tuple[int, int] = "auto",
    *,
    method: str | None = None,
    estimator: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    known: Any = None,
    **encoding: Any,
) -> Clustering:
    """Cluster the rows of a data frame or file, as `akkm cluster` does.

    Parameters
    ----------
    data : data frame, Table or str
        A data frame of pandas, polars or Arrow, a table from `open_table`, or the name
        of a file.
    n_clusters : int, "auto" or pair of int, default="auto"
        The number of clusters; "auto" estimates it. A pair, such as (2, 12), limits the
        estimate to a range.
    method : str, optional
        "approx", "sparse", "diffusion", "exact", "spectral", "two-step" or "leaders".
        Default: "approx" if the number of clusters is given or the table has columns
        of categories, else "sparse".
    estimator : estimator of akkm, optional
        The estimator to use instead of a method. A copy of it is fitted, with its own
        parameters. `n_clusters`, `random_state` and `n_jobs` of this call are not used.
    random_state : int, default=0
        The seed. The same seed gives the same labels as `akkm cluster --seed`.
    n_jobs : int, optional
        The number of threads; all by default.
    known : mapping or array of shape (n,), optional
        Known classes of some rows: a mapping from row numbers to classes, or one class
        per row, with -1, None or NaN for unknown ones. `Clustering.suggest` chooses
        rows whose classes would help most.
    **encoding : parameters of TableEncoder
        How columns are encoded, such as `id`, `label`, `drop`, `scale`, `missing` or
        `weights`.

    Returns
    -------
    Clustering
        The labels and the model, with methods to report, predict and save.

    Raises
    ------
    TableError
        If the table can't be read or encoded.
    ValueError
        If the method is unknown or takes no known classes, or if both a method and an
        estimator are given.

    Examples
    --------
    >>> import akkm
    >>> import pandas as pd
    >>> from sklearn.datasets import load_wine
    >>> wines = load_wine(as_frame=True).data
    >>> found = akkm.cluster(wines, 3)
    >>> found
    <Clustering: 178 rows in 3 clusters; rows per cluster: 58, 50, 70>
    >>> list(found.frame.columns[-3:])
    ['cluster', 'certainty', 'cluster_name']
    >>> found.report().save("wines.html")  # doctest: +SKIP
    """
    if method is not None and estimator is not None:
        raise ValueError("Both method and estimator are given; leave out one.")
    if method is not None and method not in ESTIMATORS:
        raise ValueError(
            f"method is {method!r}; expected one of {', '.join(ESTIMATORS)}."
        )
    if isinstance(data, str | os.PathLike):
        data = open_table(str(data))
    _require_known_names(encoding)
    started = time.perf_counter()
    encoder = TableEncoder(**encoding).fit(data)
    encoded = encoder.encode(data)
    answers = {}
    if known is not None:
        answers["known"] = known_rows(encoded, encoder.n_rows_, known)
    doubts = []
    if estimator is None:
        name = method or default_method(n_clusters, has_categories(encoder))
        n_classes = len(set(answers.get("known", {}).values()))
        k, found = number_from_columns(
            n_clusters,
            name,
            encoder,
            encoded.X,
            n_classes=n_classes,
            random_state=random_state,
        )
        if found is not None and isinstance(k, int):
            doubts.append(found.warning(k))
            warnings.warn(doubts[0], UserWarning, stacklevel=2)
        settings: Any = {"random_state": random_state, "n_jobs": n_jobs}
        if isinstance(k, tuple | list):
            estimator = ClusterLayers(k, estimator=ESTIMATORS[name](), **settings)
        else:
            estimator = ESTIMATORS[name](k, **settings)
    model = clone(estimator)
    if known is not None and not has_fit_parameter(model, "known"):
        raise ValueError(
            f"{type(model).__name__} takes no known classes; leave out known, or "
            "use method='approx', 'sparse', 'diffusion' or 'exact'."
        )
    with warnings.catch_warnings(record=True, action="always") as caught:
        model.fit(encoded.X, **answers)
    for warning in caught:
        warnings.warn(str(warning.message), warning.category, stacklevel=2)
    notes = [*encoder.notes_, *(str(warning.message) for warning in caught)]
    seconds = time.perf_counter() - started
    texts = tuple(notes), tuple(doubts)
    return Clustering(encoder, model, encoded, data, *texts, seconds)


def _require_known_names(encoding: dict[str, Any]) -> None:
    """Raise TypeError for a parameter that neither `cluster` nor `TableEncoder` has."""
    names = {*signature(cluster).parameters, *signature(TableEncoder).parameters}
    for name in encoding.keys() - names:
        near = get_close_matches(name, names, 1)
        hint = f"did you mean {near[0]!r}?" if near else "see help(akkm.cluster)."
        raise TypeError(f"akkm.cluster has no parameter {name!r}; {hint}")
