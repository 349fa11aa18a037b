"""Checks of loaded models: every attribute has the type, shape and range that it needs.

A file may be damaged or crafted, and native code relies on valid shapes and indices.
"""

from typing import Any

import numpy as np

from akkm.core.nearest import padded
from akkm.kernels import Kernel, Precomputed
from akkm.model_file._value_checks import (
    Check,
    Sizes,
    axes,
    cell_starts,
    coordinate_per_axis,
    flags,
    float_type,
    instance,
    integers,
    names,
    number,
    numbers,
    optional,
    require,
    rows,
    whole,
)
from akkm.typing import Array


def _part(value: Any, sizes: Sizes) -> None:
    """Check a part of the model: its attributes are valid, and none is missing."""
    checks = _PARTS.get(type(value).__name__)
    require(checks is not None, f"a part of unknown type {type(value).__name__}")
    assert checks is not None
    for name in _DERIVED & vars(value).keys():
        del vars(value)[name]  # computed again when it is needed
    same = vars(value).keys() == checks.keys()
    require(same, f"attributes {list(vars(value))} instead of {list(checks)}")
    for name, check in checks.items():
        check(getattr(value, name), sizes)


def _csr(names: str) -> Check:
    """A check for a CSR matrix of finite numbers."""

    def check(value: Any, sizes: Sizes) -> None:
        what = f"a {type(value).__name__} instead of a CSR matrix"
        require(hasattr(value, "indptr"), what)
        rows(names)(value, sizes)

    return check


def _node(value: Any, sizes: Sizes) -> None:
    """Check the number of a node of a graph."""
    whole()(value, sizes)
    require(value < sizes.known["m"], f"node {value} of {sizes.known['m']} nodes")


def _kernel(value: Any, sizes: Sizes) -> None:
    """Check that a kernel has parameters that its constructor accepts."""
    found = type(value).__name__
    require(isinstance(value, Kernel), f"a {found} instead of a kernel")
    for parameter in vars(value).values():
        if isinstance(parameter, Kernel):
            _kernel(parameter, sizes)
        elif parameter is not None:
            number()(parameter, sizes)
    valid = type(value)(**vars(value)) == value
    require(valid, f"the parameters of a {found} kernel are not valid")


def _labelings(below: str) -> Check:
    """A check for a tuple with one array of integers per member.

    If `below` is given, the integers must be below the size with this name.
    """

    def check(value: Any, sizes: Sizes) -> None:
        found = type(value).__name__
        require(isinstance(value, tuple), f"a {found} instead of a tuple")
        sizes.require("members", (len(value),))
        for q, labels in enumerate(value):
            limit = {below: sizes.known[below]} if below else {}
            own = Sizes({**limit, **_with_suffix(sizes, q)})
            integers("labels", below)(labels, own)
            sizes.known[f"labels of {q}"] = own.known["labels"]

    return check


def _with_suffix(sizes: Sizes, q: int) -> dict[str, int]:
    known = sizes.known.get(f"labels of {q}")
    return {} if known is None else {"labels": known}


# Attributes that are computed from others.
_DERIVED = {"_ranks"}
_POINTS = {"kernel": _kernel, "points": rows("m d")}
# The attributes of each part of a model, with their checks. One-letter sizes are: m
# points with d columns, C clusters, q coordinates of an embedding, r eigenvalues, k
# neighbours.
_PARTS: dict[str, dict[str, Check]] = {
    "Model": {
        **_POINTS,
        "scorer": _part,
        "dtype": float_type,
        "gram": optional(_part),
        "diagonal": optional(numbers("d")),
    },
    "Scorer": {
        "columns": numbers("m C"),
        "norms": numbers("C"),
        "coefficients": numbers("m padded"),
        "errors": numbers("C"),
        "blur": number(0),
    },
    "Gram": {
        "whitener": numbers("m r"),
        "signs": numbers("r"),
        "negative_mass": number(0),
    },
    "SpectralEmbedding": {
        **_POINTS,
        "columns": numbers("m 1+q"),
        "dtype": float_type,
        "least": number(),
        "eigenvalues": numbers("q"),
    },
    "LandmarkEmbedding": {
        "points": rows("m d"),
        "n_neighbors": whole(1, most="m"),
        "width": number(0),
        "vectors": numbers("m q"),
        "kernel": _part,
        "n_components": whole(1),
    },
    "GraphEmbedding": {
        "search": _part,
        "keys": integers("m", kinds="u"),
        "places": integers("m", below="m"),
        "sparse": instance(bool),
        "neighbours": _part,
        "embedding": numbers("m q"),
        "outlying": flags("m"),
        "kernel": _part,
        "n_components": whole(1),
        "by_position": coordinate_per_axis,
    },
    "GivenGraphEmbedding": {
        "nodes": _csr("d m"),
        "keys": integers("keys", kinds="u"),
        "places": integers("keys", below="m"),
        "edges": optional(_csr("m m")),
        "reach": numbers("m"),
        "n_neighbors": whole(),
        "embedding": numbers("m q"),
        "outlying": flags("m"),
        "hub": _node,
        "kernel": _part,
        "n_components": whole(1),
    },
    "ExactSearch": {
        "points": rows("m d"),
        "metric": instance(str),
        "positions": optional(_part),
    },
    "PositionSearch": {
        "metric": instance(str),
        "shift": optional(numbers("d")),
        "axes": axes,
        "cells": _part,
    },
    "Cells": {
        "metric": instance(str),
        "points": numbers("m axes"),
        "offsets": numbers("m"),
        "centers": numbers("cells axes"),
        "starts": cell_starts,
    },
    "Neighbours": {"indices": integers("m k", below="m"), "reach": numbers("m")},
    "DiffusionKernel": {
        "eigenvalues": numbers("r"),
        "t": number(0),
        "n_clusters": whole(1),
        "evidence": _part,
        "lost_weight": number(0),
    },
    "Evidence": {
        "numbers": integers("candidates"),
        "gaps": numbers("candidates"),
        "times": numbers("candidates"),
        "stability": numbers("candidates"),
        "n_clusters": whole(1),
        "sure": instance(bool, np.bool),
        "why": instance(str),
        "conclusive": instance(bool, np.bool),
    },
    "LayerCurve": {
        "numbers": integers("numbers"),
        "stability": numbers("numbers"),
        "spread": numbers("numbers"),
        "reference": numbers("numbers"),
        "error": numbers("numbers"),
        "reference_error": numbers("numbers"),
        "largest": numbers("numbers"),
    },
    "LeaderPoints": {**_POINTS, "diag": numbers("m"), "threshold": number(0)},
    "MetaClusters": {
        "sizes": integers("C"),
        "salt": integers("1+members C", kinds="u"),
        "values": _labelings(""),
        "parts": _labelings("C"),
    },
}

# Fitted attributes of estimators. Their checks use the sizes found in `_model`, if the
# estimator has one.
_FITTED: dict[str, Check] = {
    "n_features_in_": whole(1),
    "n_clusters_": whole(1),
    "n_components_": whole(1),
    "n_neighbors_": whole(),
    "n_iter_": whole(),
    "rank_": whole(),
    "inertia_": number(may_lack=True),
    "negative_mass_": number(0),
    "anmi_": number(may_lack=True),
    "threshold_": number(0),
    "diffusion_": number(0),
    "label_names_": names("C"),
    "history_": integers("iterations 2"),
    "eigenvalues_": numbers("r"),
    "dual_coef_": numbers("C m"),
    "evidence_": _part,
    "certainty_limit_": number(0),
    "layer_numbers_": instance(list),
    "tree_": instance(np.ndarray),
    "stability_": optional(_part),
    "kernel_": _kernel,
    "landmarks_": rows("landmarks d"),
    "landmark_indices_": optional(integers("landmarks")),
    "leaders_": rows("m d"),
    "leader_indices_": integers("m"),
    "leader_weights_": numbers("m"),
    "_counts": numbers("C"),
    "_n_rows_seen": number(0),
    "_leader_points": _part,
    "_leader_labels": integers("m", below="C"),
}
# Attributes that are checked before those in _FITTED.
_FIRST = (
    *("_embedding", "_model", "_meta", "members_", "estimator_"),
    "feature_names_in_",
)


def require_consistent(estimator: Any) -> None:
    """Raise an exception if a loaded estimator can't predict safely.

    Parameters
    ----------
    estimator : KernelClusterer
        A fitted estimator.

    Raises
    ------
    ValueError
        If an attribute is missing or unknown, has another type or shape than `fit`
        gives it, or contradicts other attributes. Exceptions of other types are
        possible if an attribute is not even an object of akkm.

    Examples
    --------
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.model_file._checks import require_consistent
    >>> model = ApproxKernelKMeans(2, random_state=0).fit([[0.0], [1.0], [2.0]])
    >>> del model.labels_
    >>> require_consistent(model)
    >>> model._model.scorer.norms.resize(1, refcheck=False)
    >>> require_consistent(model)
    Traceback (most recent call last):
    ...
    ValueError: Invalid model: C is both 2 and 1.
    """
    estimator._validate_params()
    state: dict[str, Any] = vars(estimator)
    fitted = state.keys() - estimator.get_params(deep=False).keys()
    unknown = fitted - _FITTED.keys() - set(_FIRST)
    require(not unknown, f"unknown attributes {sorted(unknown)}")
    d = state["n_features_in_"]
    whole(1)(d, Sizes())
    names = state.get("feature_names_in_")
    if names is not None:
        of_text = all(isinstance(name, str) for name in names)
        valid = np.shape(names) == (d,) and of_text
        require(valid, f"the column names are not {d} texts")
    if "estimator_" in state:
        sizes = _finest_layer(estimator, d)
    elif "members_" in state:
        sizes = _members(estimator, d)
    else:
        sizes = _centers(estimator, d)
    sizes.known["2"] = 2
    for name in fitted & _FITTED.keys():
        _FITTED[name](state[name], sizes)


def _centers(estimator: Any, d: int) -> Sizes:
    """Check an estimator's centers and embedding; return the sizes found."""
    columns, sizes = d, Sizes({"d": d})
    embedding = vars(estimator).get("_embedding")
    if embedding is not None:
        _part(embedding, sizes)
        columns = sizes.known["q"]
        one_more = sizes.known.get("1+q", columns + 1) == columns + 1
        require(one_more, f"the embedding does not have {columns + 1} vectors")
        k, m = sizes.known.get("k", 0), sizes.known["m"]
        require(k < m, f"{k} neighbours of each of {m} points")
    model = Sizes({"d": columns, "C": estimator._n_clusters})
    _part(estimator._model, model)
    width = padded(model.known["C"])
    require(model.known["padded"] == width, f"not {width} columns of coefficients")
    precomputed = isinstance(estimator.kernel_, Precomputed)
    if embedding is None or hasattr(embedding, "points"):
        points = (embedding or estimator._model).points
        require((points.ndim == 1) == precomputed, "the points don't fit the kernel")
    if embedding is None:
        return model
    del sizes.known["m"]
    return Sizes({**sizes.known, "C": model.known["C"]})


def _members(estimator: Any, d: int) -> Sizes:
    """Check the members of an ensemble and how they vote; return the sizes found."""
    members, meta = estimator.members_, estimator._meta
    require(isinstance(members, list) and members, "an ensemble without members")
    sizes = Sizes({"members": len(members), "1+members": len(members) + 1})
    _part(meta, sizes)
    voted, most = sizes.known["C"], estimator._n_clusters
    require(voted <= most, f"{voted} clusters instead of at most {most}")
    for member, labels in zip(members, meta.values, strict=True):
        require_consistent(member)
        require(member.n_features_in_ == d, f"a member without {d} columns")
        require(hasattr(member, "_model"), "a member without centers")
        _require_sorted(labels, len(member._model.scorer.norms))
    return Sizes({"d": d})


def _finest_layer(estimator: Any, d: int) -> Sizes:
    """Check the fitted estimator inside a `ClusterLayers`; return the sizes found."""
    model = estimator.estimator_
    require_consistent(model)
    require(model.n_features_in_ == d, f"an estimator without {d} columns")
    require(hasattr(model, "_model"), "an estimator without centers")
    C = len(model._model.scorer.norms)
    require(estimator.n_clusters_ == C, f"n_clusters_ differs from {C} centers")
    layers = estimator.layer_numbers_
    require(isinstance(layers, list) and layers, "no layers")
    for size in layers:
        whole(1)(size, Sizes())
    require(max(layers) <= C, f"a layer of {max(layers)} clusters, but {C} centers")
    _require_tree(estimator.tree_, C)
    return Sizes({"d": d})


def _require_tree(tree: Any, C: int) -> None:
    """Raise ValueError unless each merge joins two earlier clusters, each only once."""
    numbers("merges 4")(tree, Sizes({"4": 4, "merges": C - 1}))
    pairs = tree[:, :2]
    earlier = C + np.arange(C - 1)[:, None]
    inside = ((pairs >= 0) & (pairs < earlier) & (pairs == np.floor(pairs))).all()
    once = inside and len(np.unique(pairs)) == pairs.size
    require(once, "a merge in tree_ does not join two earlier clusters")


def _require_sorted(labels: Array, n_clusters: int) -> None:
    """Raise ValueError unless labels are distinct, ascending and below n_clusters."""
    ascending = len(labels) > 0 and (labels[1:] > labels[:-1]).all()
    inside = ascending and labels[0] >= 0 and labels[-1] < n_clusters
    require(inside, f"a member's labels are not ascending and below {n_clusters}")
