"""Build the estimator that the options describe."""

from dataclasses import replace
from typing import Any

from akkm.cli._options import OWN_KERNEL, Method
from akkm.clustering import (
    ESTIMATORS,
    ColumnDependence,
    default_method,
    has_categories,
    number_from_columns,
)
from akkm.estimators import (
    ClusterLayers,
    ConsensusKernelKMeans,
    EnsembleKernelKMeans,
    KernelClusterer,
)
from akkm.tables import TableEncoder

# Kernels of histograms; they expect values of 0 or more.
_HISTOGRAMS = ("chi2", "additive_chi2", "intersection")


def build(method: Method, scale: str) -> KernelClusterer:
    """Build the estimator; raise ValueError if options contradict each other.

    `scale` says how columns are scaled, as in `TableEncoder`.

    Examples
    --------
    >>> from akkm.cli._method import build
    >>> from akkm.cli._options import Method
    >>> build(
    ...     Method(
    ...         *(3, "approx", "rbf", "scale", None, None, 50, None, None, 0, 2),
    ...         layers=False,
    ...         coverage=1.0,
    ...         tol=0.1,
    ...     ),
    ...     "standard",
    ... )
    ApproxKernelKMeans(n_clusters=3, n_jobs=2, n_landmarks=50, random_state=0,
                       tol=0.1)
    """
    _require_compatible(method, scale)
    common: dict[str, Any] = {"random_state": method.seed, "n_jobs": method.threads}
    params: dict[str, Any] = {
        "n_leaders" if method.method == "leaders" else "n_landmarks": method.landmarks,
        "landmarks": method.sampling,
        "tol": method.tol,
    }
    estimator = ESTIMATORS[method.method]
    own_kernel = method.method in OWN_KERNEL
    if not own_kernel:
        names = ("kernel", "gamma", "degree", "coef0")
        params |= {name: getattr(method, name) for name in names}
    if method.ensemble is not None:
        if own_kernel:  # the members of a consensus have one initialisation each
            params["n_init"] = 1
        else:
            estimator = EnsembleKernelKMeans
            params["n_members"] = method.ensemble
    given = {name: value for name, value in params.items() if value is not None}
    if method.gamma == "none":
        given["gamma"] = None
    if is_layered(method):
        return ClusterLayers(
            method.k, estimator=estimator(**given), coverage=method.coverage, **common
        )
    if method.coverage != 1:
        given["coverage"] = method.coverage
    built: KernelClusterer = estimator(method.k, **common, **given)
    if method.ensemble is None or not own_kernel:
        return built
    return ConsensusKernelKMeans(
        built.n_clusters, estimator=built, n_members=method.ensemble, **common
    )


def require_some_default(method: Method, scale: str) -> None:
    """Raise ValueError if options contradict each other for every default method.

    The default method depends on the columns, which are not known before DATA is read.
    """
    possible = [method]
    if not (method.method_given or isinstance(method.k, int)):
        other = default_method(method.k, categories=True)
        possible.append(replace(method, method=other))
    errors = []
    for each in possible:
        try:
            build(each, scale)
            return
        except ValueError as error:
            errors.append(error)
    raise errors[0]


def method_for_table(method: Method, encoder: TableEncoder) -> Method:
    """Return the method with the default that suits the columns of the table."""
    if method.method_given or not has_categories(encoder):
        return method
    return replace(method, method=default_method(method.k, categories=True))


def with_number(
    method: Method, encoder: TableEncoder, X: Any, n_classes: int = 0
) -> tuple[Method, ColumnDependence | None]:
    """Return the method with a number of clusters, and the evidence from the columns.

    `X` (n, d) contains the encoded rows, or some of them. `n_classes` is the number of
    known classes. If the number is given, or if the estimator estimates it, the method
    is unchanged and the second value is None.
    """
    k, found = number_from_columns(
        method.k,
        method.method,
        encoder,
        X,
        n_classes=n_classes,
        random_state=method.seed,
    )
    return replace(method, k=k), found


def is_layered(method: Method) -> bool:
    """Whether `ClusterLayers` is needed: for --layers, or if -k is a range."""
    return method.layers or isinstance(method.k, tuple)


def require_checkpoint(method: Method, sample: int | None) -> None:
    """Raise ValueError if the options don't allow checkpoints."""
    if method.ensemble is not None or method.layers:
        other = "--layers" if method.layers else "--ensemble"
        raise ValueError(
            f"--checkpoint can't be combined with {other}; leave out one of the two."
        )
    if isinstance(method.k, tuple):
        raise ValueError(
            "--checkpoint can't be combined with a range for -k; leave out "
            "--checkpoint, or give one number of clusters (-k)."
        )
    if method.method != "approx":
        raise ValueError(
            f"Fits of --method {method.method} can't be resumed; leave out "
            "--checkpoint, or give --method approx and a number of clusters (-k)."
        )
    if sample is not None:
        raise ValueError(
            "--checkpoint can't be combined with --sample; a sample is clustered "
            "quickly, so leave out one of the two."
        )


def require_guided(
    method: Method,
    sample: int | None,
    checkpoint: str | None,
    guided: bool,
    strength: float | None,
) -> None:
    """Raise ValueError if the options don't allow --known, --pairs or --strength."""
    if strength is not None and not guided:
        raise ValueError("--strength needs --known or --pairs; leave it out.")
    if not guided:
        return
    other = None
    if method.ensemble is not None:
        other = f"--ensemble {method.ensemble}"
    elif is_layered(method):
        other = "--layers" if method.layers else "a range for -k"
    elif method.method in ("spectral", "leaders"):
        other = f"--method {method.method}"
    elif sample is not None:
        other = f"--sample {sample}"
    elif checkpoint is not None:
        other = "--checkpoint"
    if other is not None:
        raise ValueError(
            f"--known and --pairs can't be combined with {other}; leave out {other}, "
            "or --known and --pairs."
        )


def _require_compatible(method: Method, scale: str) -> None:
    """Raise ValueError for options that contradict each other."""
    kernel, name, m, k = method.kernel, method.method, method.landmarks, method.k
    own = name in OWN_KERNEL
    if method.ensemble is not None and (is_layered(method) or method.coverage != 1):
        given = "a range for -k" if isinstance(k, tuple) else "--layers"
        given = given if is_layered(method) else f"--coverage {method.coverage}"
        raise ValueError(
            f"{given} needs clusters with centers, which an ensemble does not have; "
            f"leave out --ensemble {method.ensemble}."
        )
    if not own and name != "approx" and method.ensemble is not None:
        raise ValueError(
            f"--method {name} can't be combined with --ensemble; leave out one of the "
            "two."
        )
    if name in ("exact", "diffusion") and (m or method.sampling):
        raise ValueError(
            f"--landmarks and --sampling have no effect on --method {name}; leave them "
            "out."
        )
    if name == "leaders" and method.sampling is not None:
        raise ValueError("--sampling has no effect on --method leaders; leave it out.")
    if name == "sparse" and method.sampling not in (None, "k-means", "uniform"):
        raise ValueError(
            f"--method sparse does not have --sampling {method.sampling}; expected "
            "k-means or uniform."
        )
    if own and (kernel, method.gamma) != ("rbf", "scale"):
        raise ValueError(
            f"--method {name} has its own kernel; leave out --kernel and --gamma."
        )
    if kernel != "poly" and method.degree is not None:
        raise ValueError(f"The {kernel} kernel has no degree; leave out --degree.")
    if kernel not in ("poly", "sigmoid") and method.coef0 is not None:
        raise ValueError(f"The {kernel} kernel has no coef0; leave out --coef0.")
    if kernel in _HISTOGRAMS and scale in ("auto", "standard", "robust"):
        raise ValueError(
            f"--scale {scale} makes values negative, but the {kernel} kernel expects "
            "values of 0 or more; add --scale minmax or --scale none."
        )
    if isinstance(m, int) and isinstance(k, int) and m < k:
        raise ValueError(
            f"--landmarks {m} is less than -k {k}; give at least as many landmarks as "
            "clusters."
        )
