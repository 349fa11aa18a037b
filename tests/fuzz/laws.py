"""Laws of a single fit: no NaN, labels in range, predict, distances and errors."""

import linecache
import warnings
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning

import akkm
from akkm.kernels import Function, Precomputed, PrecomputedStrip
from tests.fuzz.data import DENSE, SPARSE, STORED, stored_as
from tests.fuzz.exact import error_of_centers, error_of_labels, exact_kernel
from tests.registry import has_centers, sets

_AKKM = str(Path(akkm.__file__).parent)
_VALIDATION = str(Path(sklearn.__file__).parent / "utils")
# Maximum length of a message, in characters.
_MESSAGE = 600


class Broken(Exception):
    """A law does not hold."""


def require(condition, text):
    if not condition:
        raise Broken(text)


@contextmanager
def chunks_of(rows):
    """Let the library compute kernel values for chunks of the given number of rows."""
    with (
        mock.patch("akkm.rows.contract._CHUNK_ROWS", rows),
        mock.patch("akkm.core.model._BLOCK_ROWS", rows),
    ):
        yield


def fit(case, folder):
    """Fit the case; return the model and the rows in their container."""
    rows = case.X
    if case.container in (*DENSE, *SPARSE, *STORED):
        rows = stored_as(case.container, case.X, folder)
    weights = {} if case.weights is None else {"sample_weight": case.weights}
    model = case.Estimator(**case.params)
    fit.count += 1
    with warnings.catch_warnings(record=True, action="always") as caught:
        model.fit(rows, **weights)
    for warning in caught:
        text = f"{warning.category.__name__}: {warning.message}"
        known = warning.category in (ConvergenceWarning, UserWarning)
        require(known, f"warning: {text}")
        require(
            warning.filename == __file__,
            f"stacklevel: {text} points at {warning.filename}:{warning.lineno}",
        )
    return model, rows


fit.count = 0  # number of fits so far


def problem_of(error, case):
    """Return the problem with an exception; None if its type and message are fine."""
    name = type(error).__name__
    text = f"{name}: {error}"
    if not isinstance(error, ValueError | TypeError):
        return f"exception: {text}"
    if name in ("AxisError", "LinAlgError"):
        return f"exception: {text}"
    frame = error.__traceback__
    while frame.tb_next:
        frame = frame.tb_next
    path = frame.tb_frame.f_code.co_filename
    if path.startswith(_VALIDATION):
        return None
    if len(str(error)) > _MESSAGE:
        return f"message of {len(str(error))} characters: {text[:200]}"
    line = linecache.getline(path, frame.tb_lineno).strip()
    own = path.startswith(_AKKM) and line.startswith("raise ")
    foreign = callable(case.params.get("kernel")) and case.fault == "kernel"
    if own or foreign:
        return None
    return f"internal message: {text} (from {path}:{frame.tb_lineno}: {line})"


def check_fit(case, model, rows):
    """Check the laws that every single fit must obey."""
    n = len(case.X)
    labels = np.asarray(model.labels_)
    count = getattr(model, "n_clusters_", case.params["n_clusters"])
    require(labels.shape == (n,), f"labels: shape {labels.shape} of {n} rows")
    require(labels.dtype == np.int32, f"labels: dtype {labels.dtype}")
    least = -1 if case.params.get("outliers") == "mark" else 0
    require(
        labels.min() >= least and labels.max() < count,
        f"labels: from {labels.min()} to {labels.max()} of {count} clusters",
    )
    _check_finite(case, model)
    _check_predict(case, model, rows, labels)
    if has_centers(case.Estimator):
        _check_distances(case, model, rows, labels, count)
        _check_inertia(case, model, labels)


def _check_finite(case, model):
    for name, value in vars(model).items():
        if not name.endswith("_") or name.endswith("__"):
            continue
        if name == "inertia_" and "strip" in case.traits:
            continue
        values = np.asarray(value if isinstance(value, float | np.ndarray) else 0)
        if values.dtype.kind == "f":
            require(np.isfinite(values).all(), f"not finite: {name}")


def _check_predict(case, model, rows, labels):
    leaders = case.Estimator.__name__ == "LeadersKernelKMeans"
    if leaders and _unknown_lengths(case, model):
        return  # every new row then follows the nearest leader, as documented
    with warnings.catch_warnings(action="error"):
        predicted = np.asarray(model.predict(rows))
    require(predicted.dtype == np.int32, f"predict: dtype {predicted.dtype}")
    different = np.flatnonzero(predicted != labels)
    require(
        not len(different),
        f"predict: {len(different)} of {len(labels)} labels differ, rows "
        f"{different[:5].tolist()}: {labels[different[:5]].tolist()} and "
        f"{predicted[different[:5]].tolist()}",
    )
    if isinstance(rows, np.ndarray):
        some = slice(len(labels) // 3, len(labels) // 3 + 3)
        with warnings.catch_warnings(action="error"):
            alone = model.predict(rows[some])
        other = alone != labels[some]
        if sets("embedding_")(case.Estimator):
            # In the embedding, rounding may decide between centers that coincide.
            distances, row = model.transform(rows[some]), np.arange(len(alone))
            gap = np.abs(distances[row, alone] - distances[row, labels[some]])
            other &= gap > 1e-3
        require(not other.any(), "predict: labels differ if few rows are given")


def _unknown_lengths(case, model):
    """Whether the model can't know k(x, x) of new rows."""
    if not isinstance(getattr(model, "kernel_", None), Precomputed):
        return False
    diagonal = case.X.diagonal()
    return "strip" in case.traits or diagonal.min() < diagonal.max()


def _check_distances(case, model, rows, labels, count):
    if "strip" in case.traits or case.container in STORED:
        return
    with warnings.catch_warnings(action="error"):
        distances = np.asarray(model.transform(rows))
    require(distances.shape == (len(labels), count), f"transform: {distances.shape}")
    require(np.isfinite(distances).all(), "transform: not finite")
    require((distances >= 0).all(), "transform: negative")
    score = model.score(rows, sample_weight=case.weights)
    scale = scale_of(case, model)
    require(
        abs(score + model.inertia_) <= tolerance_of(case, model.inertia_, scale),
        f"score: {score} and inertia_ {model.inertia_}",
    )


def _check_inertia(case, model, labels):
    """Compare `inertia_` with the definition of the clustering error, in float64."""
    weights = np.ones(len(labels)) if case.weights is None else case.weights
    weights = np.asarray(weights, dtype=np.float64)
    scale = scale_of(case, model)
    least = -tolerance_of(case, 0.0, scale)
    if "strip" in case.traits:
        return
    if case.params.get("indefinite", "clip") == "clip" and is_definite(model):
        require(model.inertia_ >= least, f"inertia: {model.inertia_} is negative")
    if sets("embedding_")(case.Estimator):
        if case.params.get("outliers") == "mark":
            return
        points = np.asarray(model.embedding_, dtype=np.float64)
        exact = error_of_labels(points @ points.T, labels, weights)
        _require_inertia(case, model, exact, scale)
        return
    if not is_definite(model):
        return
    X = case.X.astype(np.float64)
    K = _matrix(model, X, None)
    points = getattr(model, "landmarks_", getattr(model, "leaders_", None))
    if points is not None:
        K_rows = _matrix(model, X, points)
        if isinstance(model.kernel_, Precomputed):
            K_points = K_rows[points]
        else:
            K_points = _matrix(model, points, points)
    else:
        K_rows = K_points = K
    exact = error_of_centers(
        K_rows, K_points, K.diagonal(), model.dual_coef_, labels, weights
    )
    _require_inertia(case, model, exact, scale, stopped=True)
    if points is None:
        exact = error_of_labels(K, labels, weights)
        _require_inertia(case, model, exact, scale)


def _require_inertia(case, model, exact, scale, stopped=False):
    """Require that `inertia_` equals `exact`, the error from its definition.

    If a fit was stopped at max_iter, its centers are not yet the means, and `inertia_`
    may be higher than the error of the means. If `stopped` is true, `exact` is the
    error of the model's own centers, and `inertia_` must equal `exact` in any case.
    """
    tolerance = tolerance_of(case, exact, scale)
    equal = abs(model.inertia_ - exact) <= tolerance
    if not stopped and model.n_iter_ >= case.params.get("max_iter", 300):
        equal = model.inertia_ >= exact - tolerance
    require(
        equal,
        f"inertia: {model.inertia_!r} instead of {exact!r} (terms sum to {scale:.3g})",
    )


def _matrix(model, X, points):
    """Exact kernel values of X with `points`, or with X itself if `points` is None."""
    dense = [_dense(rows) for rows in (X, X if points is None else points)]
    if isinstance(model.kernel_, Precomputed):
        return dense[0] if points is None else dense[0][:, points]
    with np.errstate(all="ignore"):
        return exact_kernel(model.kernel_, *dense)


def _dense(rows):
    rows = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    return rows.astype(np.float64)


def is_definite(model):
    """Whether the kernel is positive semi-definite.

    This holds for all functions and precomputed matrices in `cases`.
    """
    kernel = model.kernel_
    return kernel.psd or isinstance(kernel, Function | Precomputed)


def scale_of(case, model):
    """Size of the terms that cancel in the clustering error.

    The terms of a row x are k(x, x) and means of k(x, y) over the rows y of a cluster.
    Instead of these means, the mean of |k(x, y)| over all rows y is used.
    """
    if isinstance(model.kernel_, PrecomputedStrip):
        return float(np.abs(case.X).max()) * len(case.X)
    if sets("embedding_")(case.Estimator):
        lengths = np.ones(len(case.X))
    else:
        K = _matrix(model, case.X.astype(np.float64), None)
        lengths = np.maximum(np.abs(K.diagonal()), np.abs(K).mean(axis=1))
    if case.weights is None:
        return float(lengths.sum())
    return float(np.asarray(case.weights, dtype=np.float64) @ lengths)


def tolerance_of(case, error, scale):
    stored_in_float32 = case.container.startswith("open_rows") and case.X.itemsize < 4
    if case.X.dtype in (np.float32, np.float16) or stored_in_float32:
        # In float32, the exponent of a Gaussian kernel may be wrong by 2e-4.
        return 1e-3 * abs(error) + 1e-4 * scale
    # In float64, the exponent of a Gaussian kernel may be wrong by 1e-8.
    return 1e-6 * abs(error) + 3e-8 * scale
