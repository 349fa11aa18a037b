"""Checks of loaded models: every attribute has the type, shape and range that it needs.

A model file may be damaged or crafted. Native code relies on shapes and indices that
agree with each other, so all of them are checked before the model is used.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from akkm.core.nearest import padded
from akkm.kernels import Kernel, Precomputed
from akkm.typing import Array

# Squares and sums of smaller numbers are finite in float64.
_LARGEST = 1e150


@dataclass
class _Sizes:
    """Sizes by name, such as m for the number of landmarks; each has one value."""

    known: dict[str, int] = field(default_factory=dict)

    def require(self, names: str, shape: tuple[int, ...]) -> None:
        """Raise ValueError if a shape contradicts the sizes that are known."""
        found = names.split()
        _require(len(found) == len(shape), f"an array of shape {shape} for {names!r}")
        for name, size in zip(found, shape, strict=True):
            known = self.known.setdefault(name, size)
            _require(known == size, f"{name} is both {known} and {size}")


# A check raises an exception if a value is not valid. It gets the sizes found so far
# and adds those that the value determines.
_Check = Callable[[Any, _Sizes], None]


def _require(condition: Any, text: str) -> None:
    if not condition:
        raise ValueError(f"Invalid model: {text}.")


def _numbers(names: str) -> _Check:
    """Finite floating-point numbers of this shape."""

    def check(value: Any, sizes: _Sizes) -> None:
        _require(type(value) is np.ndarray, "an array is missing")
        _require(value.dtype in (np.float32, np.float64), f"type {value.dtype}")
        sizes.require(names, value.shape)
        largest = float(np.abs(value).max(initial=0))  # NaN if one of them is
        _require(largest < _LARGEST, "numbers that are not finite")

    return check


def _integers(names: str, below: str = "", kinds: Any = "iu") -> _Check:
    """Integers of this shape, from 0 to the size `below` minus 1."""

    def check(value: Any, sizes: _Sizes) -> None:
        _require(type(value) is np.ndarray, "an array is missing")
        _require(value.dtype.kind in kinds, f"type {value.dtype}")
        sizes.require(names, value.shape)
        if below and value.size:
            inside = value.min() >= 0 and value.max() < sizes.known[below]
            _require(inside, f"indices beyond {below}")

    return check


def _flags(names: str) -> _Check:
    def check(value: Any, sizes: _Sizes) -> None:
        _require(type(value) is np.ndarray and value.dtype == bool, "no booleans")
        sizes.require(names, value.shape)

    return check


def _rows(names: str) -> _Check:
    """Rows as an array or CSR matrix; for a precomputed kernel, column numbers."""
    dense, columns = _numbers(names), _integers(names.split()[0], below="d")

    def check(value: Any, sizes: _Sizes) -> None:
        if isinstance(value, np.ndarray):
            (columns if value.ndim == 1 else dense)(value, sizes)
            return
        _require(isinstance(value, sparse.csr_array | sparse.csr_matrix), "no rows")
        # SciPy's loader does not check that indices are in range.
        value.check_format(full_check=True)
        sizes.require(names, value.shape)
        _numbers("entries")(value.data, _Sizes())

    return check


def _number(least: float = -_LARGEST, *, may_lack: bool = False) -> _Check:
    """A real number from `least`, or NaN if it may lack."""

    def check(value: Any, sizes: _Sizes) -> None:
        _require(_is_real(value), f"{value!r:.40} instead of a number")
        missing = may_lack and np.isnan(value)
        _require(missing or least <= value < _LARGEST, f"the number {value}")

    return check


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool)


def _whole(least: int = 0, most: str = "") -> _Check:
    """An integer from `least` to the size `most`."""

    def check(value: Any, sizes: _Sizes) -> None:
        whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool)
        _require(whole and value >= least, f"{value!r:.40} instead of a whole number")
        _require(not most or value <= sizes.known[most], f"{value} exceeds {most}")

    return check


def _instance(*types: type) -> _Check:
    def check(value: Any, sizes: _Sizes) -> None:
        _require(isinstance(value, types), f"a {type(value).__name__}")

    return check


def _float_type(value: Any, sizes: _Sizes) -> None:
    _require(value in (np.dtype(np.float32), np.dtype(np.float64)), "no type of rows")


def _optional(check: _Check) -> _Check:
    def check_unless_none(value: Any, sizes: _Sizes) -> None:
        if value is not None:
            check(value, sizes)

    return check_unless_none


def _part(value: Any, sizes: _Sizes) -> None:
    """A part of the model: all its attributes are valid, and none is missing."""
    checks = _PARTS.get(type(value).__name__)
    _require(checks is not None, f"a part of type {type(value).__name__}")
    assert checks is not None
    for name in _DERIVED & vars(value).keys():
        del vars(value)[name]  # computed again when it is needed
    _require(vars(value).keys() == checks.keys(), f"attributes {list(vars(value))}")
    for name, check in checks.items():
        check(getattr(value, name), sizes)


def _kernel(value: Any, sizes: _Sizes) -> None:
    """A kernel whose parameters its constructor accepts."""
    _require(isinstance(value, Kernel), "a kernel is missing")
    for parameter in vars(value).values():
        if isinstance(parameter, Kernel):
            _kernel(parameter, sizes)
        elif parameter is not None:
            _number()(parameter, sizes)
    _require(type(value)(**vars(value)) == value, "parameters of a kernel")


def _labelings(below: str) -> _Check:
    """One array of integers per member; `below` names the size that limits them."""

    def check(value: Any, sizes: _Sizes) -> None:
        _require(isinstance(value, tuple), "no tuple")
        sizes.require("members", (len(value),))
        for q, labels in enumerate(value):
            limit = {below: sizes.known[below]} if below else {}
            own = _Sizes({**limit, **_with_suffix(sizes, q)})
            _integers("labels", below)(labels, own)
            sizes.known[f"labels of {q}"] = own.known["labels"]

    return check


def _with_suffix(sizes: _Sizes, q: int) -> dict[str, int]:
    known = sizes.known.get(f"labels of {q}")
    return {} if known is None else {"labels": known}


# Attributes that are computed from others.
_DERIVED = {"_ranks"}
_POINTS = {"kernel": _kernel, "points": _rows("m d")}
# The attributes of each part of a model. Sizes have one letter: m points with d
# columns, C clusters, q coordinates of an embedding, r eigenvalues.
_PARTS: dict[str, dict[str, _Check]] = {
    "Model": {
        **_POINTS,
        "scorer": _part,
        "dtype": _float_type,
        "gram": _optional(_part),
        "diagonal": _optional(_numbers("d")),
    },
    "Scorer": {
        "columns": _numbers("m C"),
        "norms": _numbers("C"),
        "coefficients": _numbers("m padded"),
        "errors": _numbers("C"),
        "blur": _number(0),
    },
    "Gram": {
        "whitener": _numbers("m r"),
        "signs": _numbers("r"),
        "negative_mass": _number(0),
    },
    "SpectralEmbedding": {
        **_POINTS,
        "columns": _numbers("m 1+q"),
        "dtype": _float_type,
        "least": _number(),
        "eigenvalues": _numbers("q"),
    },
    "LandmarkEmbedding": {
        "points": _rows("m d"),
        "n_neighbors": _whole(1, most="m"),
        "width": _number(0),
        "vectors": _numbers("m q"),
        "kernel": _part,
        "n_components": _whole(1),
    },
    "GraphEmbedding": {
        "points": _rows("m d"),
        "neighbours": _part,
        "metric": _instance(str),
        "embedding": _numbers("m q"),
        "outlying": _flags("m"),
        "kernel": _part,
        "n_components": _whole(1),
    },
    "Neighbours": {"indices": _integers("m k", below="m"), "reach": _numbers("m")},
    "DiffusionKernel": {
        "eigenvalues": _numbers("r"),
        "t": _number(0),
        "n_clusters": _whole(1),
        "evidence": _part,
        "lost_weight": _number(0),
    },
    "Evidence": {
        "numbers": _integers("candidates"),
        "gaps": _numbers("candidates"),
        "times": _numbers("candidates"),
        "stability": _numbers("candidates"),
        "n_clusters": _whole(1),
        "sure": _instance(bool, np.bool),
        "why": _instance(str),
    },
    "LeaderPoints": {**_POINTS, "diag": _numbers("m"), "threshold": _number(0)},
    "MetaClusters": {
        "sizes": _integers("C"),
        "salt": _integers("1+members C", kinds="u"),
        "values": _labelings(""),
        "parts": _labelings("C"),
    },
}

# Fitted attributes of estimators. They use the sizes of `_model`, if there is one.
_FITTED: dict[str, _Check] = {
    "n_features_in_": _whole(1),
    "n_clusters_": _whole(1),
    "n_components_": _whole(1),
    "n_iter_": _whole(),
    "rank_": _whole(),
    "inertia_": _number(may_lack=True),
    "negative_mass_": _number(0),
    "anmi_": _number(may_lack=True),
    "threshold_": _number(0),
    "diffusion_": _number(0),
    "history_": _integers("iterations 2"),
    "eigenvalues_": _numbers("r"),
    "dual_coef_": _numbers("C m"),
    "evidence_": _part,
    "kernel_": _kernel,
    "landmarks_": _rows("landmarks d"),
    "landmark_indices_": _optional(_integers("landmarks")),
    "leaders_": _rows("m d"),
    "leader_indices_": _integers("m"),
    "leader_weights_": _numbers("m"),
    "_counts": _numbers("C"),
    "_n_rows_seen": _number(0),
    "_leader_points": _part,
    "_leader_labels": _integers("m", below="C"),
}
# Checked before the others, in this order.
_FIRST = ("_embedding", "_model", "_meta", "members_", "feature_names_in_")


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
        gives it, or contradicts other attributes. Attributes that are no objects of
        akkm at all may raise exceptions of other types.

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
    _require(not unknown, f"the attributes {sorted(unknown)}")
    d = state["n_features_in_"]
    _whole(1)(d, _Sizes())
    names = state.get("feature_names_in_")
    if names is not None:
        of_text = all(isinstance(name, str) for name in names)
        _require(np.shape(names) == (d,) and of_text, "the names of the columns")
    if "members_" in state:
        sizes = _members(estimator, d)
    else:
        sizes = _centers(estimator, d)
    sizes.known["2"] = 2
    for name in fitted & _FITTED.keys():
        _FITTED[name](state[name], sizes)


def _centers(estimator: Any, d: int) -> _Sizes:
    """Check the model of an estimator with centers, and its embedding."""
    columns, sizes = d, _Sizes({"d": d})
    embedding = vars(estimator).get("_embedding")
    if embedding is not None:
        _part(embedding, sizes)
        columns = sizes.known["q"]
        _require(sizes.known.get("1+q", columns + 1) == columns + 1, "vectors")
        _require(sizes.known.get("k", 0) < sizes.known["m"], "too many neighbours")
    model = _Sizes({"d": columns, "C": estimator._n_clusters})
    _part(estimator._model, model)
    _require(model.known["padded"] == padded(model.known["C"]), "coefficients")
    precomputed = isinstance(estimator.kernel_, Precomputed)
    points = (embedding or estimator._model).points
    _require((points.ndim == 1) == precomputed, "points of another kernel")
    if embedding is None:
        return model
    del sizes.known["m"]
    return _Sizes({**sizes.known, "C": model.known["C"]})


def _members(estimator: Any, d: int) -> _Sizes:
    """Check the members of an ensemble and how they vote."""
    members, meta = estimator.members_, estimator._meta
    _require(isinstance(members, list) and members, "no members")
    sizes = _Sizes({"members": len(members), "1+members": len(members) + 1})
    _part(meta, sizes)
    _require(sizes.known["C"] <= estimator.n_clusters, "too many clusters")
    for member, labels in zip(members, meta.values, strict=True):
        require_consistent(member)
        _require(member.n_features_in_ == d, "members with other columns")
        _require(hasattr(member, "_model"), "members without centers")
        _require_sorted(labels, len(member._model.scorer.norms))
    return _Sizes({"d": d})


def _require_sorted(labels: Array, n_clusters: int) -> None:
    """Raise ValueError unless labels are distinct, ascending and below n_clusters."""
    ascending = len(labels) > 0 and (labels[1:] > labels[:-1]).all()
    inside = ascending and labels[0] >= 0 and labels[-1] < n_clusters
    _require(inside, "labels of a member")
