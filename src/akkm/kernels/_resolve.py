"""Make kernel objects from names and settings (`kernel="rbf", gamma="scale"`)."""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

import numpy as np

from akkm.kernels._additive import AdditiveChi2, Chi2, Intersection, Laplacian
from akkm.kernels._base import Kernel
from akkm.kernels._dot import Cosine, Linear, Polynomial, Sigmoid
from akkm.kernels._given import Function, Precomputed
from akkm.kernels._rbf import RBF
from akkm.kernels._width import gamma_by_rule
from akkm.typing import Array, RowsLike

# For each name: the class of the kernel and the settings that it takes.
_KERNELS: dict[str, tuple[Callable[..., Kernel], tuple[str, ...]]] = {
    "rbf": (RBF, ("gamma",)),
    "poly": (Polynomial, ("gamma", "degree", "coef0")),
    "polynomial": (Polynomial, ("gamma", "degree", "coef0")),
    "sigmoid": (Sigmoid, ("gamma", "coef0")),
    "linear": (Linear, ()),
    "cosine": (Cosine, ()),
    "laplacian": (Laplacian, ("gamma",)),
    "chi2": (Chi2, ("gamma",)),
    "additive_chi2": (AdditiveChi2, ()),
    "intersection": (Intersection, ()),
    "precomputed": (Precomputed, ()),
}
KERNEL_NAMES = tuple(_KERNELS)


class KernelSettings(TypedDict, total=False):
    """Settings of a kernel that is given by its name; see `resolve`."""

    gamma: float | str | None
    degree: float
    coef0: float
    kernel_params: Mapping[str, Any] | None


def resolve(
    kernel: str | Kernel | Callable[..., Any],
    X: RowsLike,
    *,
    gamma: float | str | None = "scale",
    degree: float = 3,
    coef0: float = 1.0,
    kernel_params: Mapping[str, Any] | None = None,
    sample_weight: Array | None = None,
    rng: np.random.Generator | None = None,
) -> Kernel:
    """Make a kernel object from a name or a function, with a width chosen from X.

    Parameters
    ----------
    kernel : str, Kernel or callable
        One of `KERNEL_NAMES`, or a function of two blocks of rows. A `Kernel` is
        returned as it is.
    X : array, CSR matrix or stored rows of shape (n, d)
        The rows from which the rules compute gamma.
    gamma : float, str or None, default="scale"
        A number, or one of these rules:

        * `"scale"`: 1 / (d Var X), as in `sklearn.svm.SVC`. It is 1 / (d Std X) for
          laplacian and Mean X / (d Var X) for chi2, because their distances have other
          units.
        * `None`: 1 / d (chi2: 1), as in `sklearn.metrics.pairwise`.
        * `"median"`: 1 / (2 median |x - y|²) for rbf, 1 / median distance for laplacian
          and chi2, and 1 / median |x|² for polynomial and sigmoid. The medians are over
          1,000 sampled rows, or over the pairs of these rows.
        * `"neighbors"`: like "median", but the median is over the distances of the
          1,000 rows to the 7th nearest of 10,000 sampled rows. This gives a narrow
          kernel, for clusters that are connected rather than compact. The rule is
          available for rbf, laplacian and chi2.
    degree : float, default=3
        The exponent of the polynomial kernel.
    coef0 : float, default=1.0
        The constant of the polynomial and sigmoid kernels.
    kernel_params : dict, optional
        Additional parameters of the kernel (such as sigma of rbf) or of the function.
    sample_weight : array of shape (n,), optional
        The weights of the rows, which the rules for gamma use.
    rng : numpy.random.Generator, optional
        The generator that draws the samples; by default, one with a fixed seed.

    Returns
    -------
    Kernel
        The kernel, with gamma as a number.

    Raises
    ------
    ValueError
        If the name, the rule or a parameter is not known.

    Notes
    -----
    `docs/kernel-width.md` says when each rule fails.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.kernels import resolve
    >>> resolve("rbf", np.array([[0.0], [2.0]]), gamma="scale")
    RBF(gamma=1.0, sigma=None)
    >>> resolve("rbf", np.zeros((1, 1)), kernel_params={"sigma": 0.35})
    RBF(gamma=None, sigma=0.35)
    """
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Function(kernel, dict(kernel_params or {}))
    if kernel not in _KERNELS:
        raise ValueError(
            f"Unknown kernel {kernel!r}; expected one of {', '.join(KERNEL_NAMES)}, "
            "a function of two blocks of rows, or an object from akkm.kernels."
        )
    make, names = _KERNELS[kernel]
    given: dict[str, Any] = {"gamma": gamma, "degree": degree, "coef0": coef0}
    settings = {name: given[name] for name in names} | dict(kernel_params or {})
    if settings.get("sigma") is not None:
        settings.pop("gamma", None)
    rule = settings.get("gamma", 1.0)
    if not isinstance(rule, int | float | np.number):
        rng = rng or np.random.default_rng(0)
        settings["gamma"] = gamma_by_rule(kernel, rule, X, sample_weight, rng)
    try:
        return make(**settings)
    except TypeError as error:
        raise ValueError(
            f"The {kernel} kernel does not take these kernel_params: "
            f"{sorted(kernel_params or {})}."
        ) from error
