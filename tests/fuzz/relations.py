"""Laws that relate two fits: seeds, threads, weights, containers and iterations."""

import itertools
import warnings
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from akkm.kernels import Precomputed
from tests.fuzz.data import DENSE, STORED
from tests.fuzz.exact import exact_kernel
from tests.fuzz.laws import chunks_of, fit, is_definite, require, scale_of, tolerance_of
from tests.registry import has, has_centers, sets, takes_precomputed


def check_again(case, model, folder):
    """If the fit is repeated, labels and error are the same."""
    _require_equal(model, fit(case, folder)[0], "again")


def check_threads(case, model, folder):
    """The number of threads changes nothing."""
    n_jobs = 3 if case.params.get("n_jobs") in (None, 1) else 1
    other = fit(case.with_parameters(n_jobs=n_jobs), folder)[0]
    _require_equal(model, other, f"threads: n_jobs={n_jobs}")


def _without_ties(case, model):
    """Whether rounding can't change labels.

    This requires ordinary rows, each of which is similar to some other row.
    """
    kernel = getattr(model, "kernel_", None)  # ClusterLayers has no kernel of its own
    if not case.ordinary or kernel is None or isinstance(kernel, Precomputed):
        return False
    count = getattr(model, "n_clusters_", case.params["n_clusters"])
    if 3 * count > len(case.X):
        return False  # rounding may decide how such small clusters are numbered
    exact = case.X.dtype == np.float64
    if sets("embedding_")(case.Estimator):
        # Eigenvectors of small eigenvalues depend on rounding.
        return exact and model.eigenvalues_[:count].min() > 1e-3
    if case.Estimator.__name__ == "ConsensusKernelKMeans":
        # Rounding can rotate the eigenvectors of equal eigenvalues, and the members run
        # k-means only once.
        values = [getattr(each, "eigenvalues_", [1, 0]) for each in model.members_]
        return exact and all(np.diff(some).max(initial=-1) < -1e-6 for some in values)
    K = exact_kernel(model.kernel_, *[case.X.astype(np.float64)] * 2)
    similar = np.abs(K - np.diag(K.diagonal())).max(axis=1)
    return bool((similar > 0.01 * K.diagonal()).all())


def check_chunks(case, model, folder):
    """Labels depend neither on the chunks of rows nor on the cache."""
    if not _without_ties(case, model):
        return
    with chunks_of(11):
        changes = {"cache_size": 0.0} if has("cache_size")(case.Estimator) else {}
        other = fit(case.with_parameters(**changes), folder)[0]
    _require_equal_labels(model, other, "chunks")


def check_weights(case, model, folder):
    """A row of weight 2 counts like two equal rows."""
    if not _without_ties(case, model) or case.container in STORED:
        return
    Estimator, params = case.Estimator, dict(case.params)
    random_init = isinstance(params.get("init"), str) and params["init"] == "random"
    if has("n_members")(Estimator) or random_init:
        return  # random landmarks and random labels depend on the number of rows
    params.pop("n_landmarks", None)
    n, k = len(case.X), params["n_clusters"]
    if has("landmarks")(Estimator):
        m = n // 2 if k == "auto" else max(n // 2, k)
        params["landmarks"] = case.X[np.random.default_rng(0).permutation(n)[:m]]
        if np.ndim(params.get("init")) and Estimator.__name__.startswith("TwoStep"):
            return
    if has("n_leaders")(Estimator):
        params["threshold"] = 1e-3  # more than the rounding error of a distance
    if "max_rows" in params:
        return  # the random sample depends on the number of rows
    w = np.random.default_rng(1).integers(1, 4, size=n)
    if Estimator.__name__ == "KernelKMeans" and not np.ndim(params.get("init")):
        return  # its initialisation uses landmarks, which depend on the number of rows
    two_steps = Estimator.__name__ == "TwoStepKernelKMeans"
    if n < 20 and has("init")(Estimator) and k != "auto" and not two_steps:
        # With few rows, a random start may end in another local minimum.
        params["init"] = np.random.default_rng(2).integers(k, size=n)
    repeated = dict(params)
    if np.ndim(params.get("init")):
        repeated["init"] = np.repeat(params["init"], w)
    once = fit(replace(case, params=params, weights=w), folder)[0]
    many = fit(
        replace(case, params=repeated, X=np.repeat(case.X, w, axis=0), weights=None),
        folder,
    )[0]
    stopped = getattr(once, "n_iter_", 0) >= params.get("max_iter", 300)
    if stopped and len(np.unique(once.labels_)) < getattr(once, "n_clusters_", k):
        return  # an iteration moves only one of several equal rows to an empty cluster
    require(
        (np.repeat(once.labels_, w) == many.labels_).all(),
        f"weights: {(np.repeat(once.labels_, w) != many.labels_).sum()} labels differ, "
        f"errors {getattr(once, 'inertia_', 0)} and {getattr(many, 'inertia_', 0)}",
    )
    scale = scale_of(case, once) * 3
    require(
        abs(once.inertia_ - many.inertia_) <= tolerance_of(case, once.inertia_, scale),
        f"weights: inertia_ {once.inertia_} and {many.inertia_}",
    )


def check_descent(case, model, folder):
    """The clustering error never rises from one iteration to the next."""
    if not has_centers(case.Estimator) or not has("init")(case.Estimator):
        return
    if "strip" in case.traits or case.Estimator.__name__ in (
        "TwoStepKernelKMeans",
        "LeadersKernelKMeans",
    ):
        return  # these two estimators minimise the error of a sample
    if not is_definite(model) or case.params.get("indefinite") == "pinv":
        return
    labels = np.random.default_rng(2).integers(
        getattr(model, "n_clusters_", case.params["n_clusters"]), size=len(case.X)
    )
    if case.params["n_clusters"] == "auto":
        return
    scale = scale_of(case, model)
    few = [case.with_parameters(init=labels, max_iter=t) for t in (1, 2, 4)]
    fits = [fit(stopped, folder)[0] for stopped in few]
    for earlier, later in itertools.pairwise(fitted.inertia_ for fitted in fits):
        rise = later - earlier
        require(
            rise <= tolerance_of(case, earlier, scale),
            f"descent: the error rises from {earlier} to {later}",
        )


def check_precomputed(case, model, folder):
    """A precomputed kernel matrix gives the same labels as the rows themselves."""
    if not takes_precomputed(case.Estimator) or not _without_ties(case, model):
        return
    if case.X.dtype != np.float64:
        return
    if np.ndim(case.params.get("landmarks")) == 2 or not model.kernel_.psd:
        return
    if case.params.get("solver") == "gradient":
        return  # the gradient solver refuses precomputed kernels
    params, n = dict(case.params), len(case.X)
    if n < 30 and has("init")(case.Estimator) and not np.ndim(params.get("init")):
        # With few rows, a random start may end in another local minimum.
        if case.Estimator.__name__ == "TwoStepKernelKMeans":
            return  # this estimator needs initial labels of the landmarks only
        count = getattr(model, "n_clusters_", params["n_clusters"])
        params["init"] = np.random.default_rng(2).integers(count, size=n)
        params["n_clusters"] = count
        model = fit(replace(case, params=params), folder)[0]
    params["kernel"] = "precomputed"
    K = exact_kernel(model.kernel_, case.X, case.X)
    other = fit(replace(case, params=params, X=(K + K.T) / 2, container="C"), folder)[0]
    _require_equal_labels(model, other, "precomputed")


def check_container(case, model, folder):
    """Equal rows in another container give equal labels."""
    if case.container not in DENSE or not _without_ties(case, model):
        return
    other = DENSE[(DENSE.index(case.container) + 1 + len(case.X)) % len(DENSE)]
    if case.X.dtype not in (np.float64, np.float32):
        return
    if "list" in (case.container, other) and case.X.dtype != np.float64:
        return  # a list becomes float64
    found = fit(replace(case, container=other), folder)[0]
    _require_equal_labels(model, found, f"container: {other}")


def check_partial_fit(case, model, folder):
    """Batches give valid labels and finite centers."""
    if not hasattr(case.Estimator, "partial_fit") or "strip" in case.traits:
        return
    if isinstance(model.kernel_, Precomputed) or case.container not in DENSE:
        return
    params = {k: v for k, v in case.params.items() if k not in ("init", "landmarks")}
    params.pop("n_landmarks", None)
    stream = case.Estimator(**params)
    n, k = len(case.X), case.params["n_clusters"]
    for start in range(0, n, max(k, n // 4)):
        batch = case.X[start : start + max(k, n // 4)]
        with warnings.catch_warnings(record=True, action="always") as caught:
            stream.partial_fit(batch)
        for warning in caught:
            known = warning.category in (ConvergenceWarning, UserWarning)
            require(known, f"partial_fit: {warning.category}: {warning.message}")
        labels = stream.labels_
        require(labels.shape == (len(batch),), "partial_fit: shape of labels_")
        require(labels.min() >= 0 and labels.max() < k, "partial_fit: labels")
        require(np.isfinite(stream.dual_coef_).all(), "partial_fit: dual_coef_")
        require(np.isfinite(stream.transform(batch)).all(), "partial_fit: transform")


RELATIONS = {
    "again": check_again,
    "threads": check_threads,
    "chunks": check_chunks,
    "weights": check_weights,
    "descent": check_descent,
    "precomputed": check_precomputed,
    "container": check_container,
    "partial_fit": check_partial_fit,
}


def _require_equal_labels(model, other, law):
    different = (np.asarray(model.labels_) != np.asarray(other.labels_)).sum()
    require(
        not different,
        f"{law}: {different} of {len(model.labels_)} labels differ, errors "
        f"{getattr(model, 'inertia_', '-')} and {getattr(other, 'inertia_', '-')}",
    )


def _require_equal(model, other, law):
    _require_equal_labels(model, other, law)
    errors = [getattr(each, "inertia_", 0.0) for each in (model, other)]
    equal = errors[0] == errors[1] or np.isnan(errors).all()
    require(equal, f"{law}: inertia_ {errors[0]!r} and {errors[1]!r}")
