"""From options to an estimator."""

from __future__ import annotations

from typing import Any

from akkm.cli._options import Method
from akkm.estimators import (
    ApproxKernelKMeans,
    ConsensusKernelKMeans,
    DiffusionKernelKMeans,
    EnsembleKernelKMeans,
    KernelClusterer,
    KernelKMeans,
    LeadersKernelKMeans,
    NystroemSpectralClustering,
    SparseKernelKMeans,
    TwoStepKernelKMeans,
)

# Kernels of histograms: entries are 0 or more.
_HISTOGRAMS = ("chi2", "additive_chi2", "intersection")


# Methods that have a kernel of their own, and can count clusters.
_OWN = ("sparse", "diffusion")


def build(method: Method, scale: str) -> KernelClusterer:
    """The estimator that was asked for; ValueError if options do not go together.

    `scale` is how columns are scaled: "standard", "minmax" or "none".

    Examples
    --------
    >>> from akkm.cli._method import build
    >>> from akkm.cli._options import Method
    >>> build(
    ...     Method(3, "approx", "rbf", "scale", None, None, 50, None, None, 0, None),
    ...     "standard",
    ... )
    ApproxKernelKMeans(n_clusters=3, n_landmarks=50, random_state=0)
    """
    _require_sense(method, scale)
    if method.method in _OWN:
        return _of_any_shape(method)
    own: dict[str, Any] = {
        "degree": method.degree,
        "coef0": method.coef0,
        "n_jobs": method.threads,
    }
    if method.method == "leaders":
        own["n_leaders"] = method.landmarks
    elif method.method != "exact":
        own.update(n_landmarks=method.landmarks, landmarks=method.sampling)
    if method.ensemble is not None:
        own["n_members"] = method.ensemble
    kind = {
        "approx": ApproxKernelKMeans,
        "exact": KernelKMeans,
        "two-step": TwoStepKernelKMeans,
        "spectral": NystroemSpectralClustering,
        "leaders": LeadersKernelKMeans,
    }[method.method]
    if method.ensemble is not None:
        kind = EnsembleKernelKMeans
    k: Any = method.k  # no word: these can't count
    return kind(
        k,
        kernel=method.kernel,
        gamma=None if method.gamma == "none" else method.gamma,
        random_state=method.seed,
        **{name: value for name, value in own.items() if value is not None},
    )


def _of_any_shape(method: Method) -> KernelClusterer:
    """A method that has a kernel of its own, or an ensemble of it."""
    common: dict[str, Any] = {"random_state": method.seed, "n_jobs": method.threads}
    own = common | {"n_init": "auto" if method.ensemble is None else 1}
    kind: KernelClusterer = DiffusionKernelKMeans(method.k, **own)
    if method.method == "sparse":
        m = "auto" if method.landmarks is None else method.landmarks
        how = method.sampling or "k-means"
        kind = SparseKernelKMeans(method.k, n_landmarks=m, landmarks=how, **own)
    if method.ensemble is None:
        return kind
    k: Any = method.k  # no word: an ensemble can't count
    return ConsensusKernelKMeans(k, estimator=kind, n_members=method.ensemble, **common)


def _require_sense(method: Method, scale: str) -> None:
    """Raise ValueError for options that have no meaning together."""
    kernel, name = method.kernel, method.method
    own = name in _OWN
    if method.k == "auto":
        _require_counting(method)
    if not own and name != "approx" and method.ensemble is not None:
        raise ValueError(
            "--ensemble combines runs of --method approx, sparse or diffusion, not of "
            f"{name}; leave out one of the two."
        )
    if name == "sparse" and method.sampling not in (None, "k-means", "uniform"):
        raise ValueError(
            f"--sampling {method.sampling} needs a kernel, and --method sparse has one "
            "of its own; choose k-means or uniform."
        )
    if name == "exact" and method.landmarks is not None:
        raise ValueError("--method exact has no landmarks; leave out --landmarks.")
    if name == "diffusion" and (method.landmarks or method.sampling):
        raise ValueError(
            "--method diffusion has no landmarks; leave out --landmarks and --sampling."
        )
    if own and (kernel, method.gamma) != ("rbf", "scale"):
        raise ValueError(
            f"--method {name} has a kernel of its own; leave out --kernel and --gamma."
        )
    if name in ("exact", "leaders") and method.sampling is not None:
        raise ValueError(f"--method {name} chooses no landmarks; leave out --sampling.")
    if kernel != "poly" and method.degree is not None:
        raise ValueError(f"The {kernel} kernel has no degree; leave out --degree.")
    if kernel not in ("poly", "sigmoid") and method.coef0 is not None:
        raise ValueError(f"The {kernel} kernel has no coef0; leave out --coef0.")
    if kernel in _HISTOGRAMS and scale == "standard":
        raise ValueError(
            f"The {kernel} kernel needs values of 0 or more, and --scale standard "
            "makes negative ones; add --scale minmax or --scale none."
        )
    m, k = method.landmarks, method.k
    if isinstance(m, int) and isinstance(k, int) and m < k and name != "exact":
        raise ValueError(
            f"--landmarks {m} is less than -k {k}; give at least "
            "as many landmarks as clusters."
        )


def _require_counting(method: Method) -> None:
    """Raise ValueError if clusters can't be counted with these options."""
    if method.method not in _OWN:
        raise ValueError(
            f"--method {method.method} can't count clusters, as -k auto asks; give -k "
            "a number, or add --method sparse (many rows) or --method diffusion."
        )
    if method.ensemble is not None:
        raise ValueError(
            "--ensemble can't count clusters, as -k auto asks; leave it out to have "
            "them counted, then give -k that number."
        )
