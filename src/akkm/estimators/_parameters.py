"""Parameters that estimators share: name, default and allowed values, declared once.

Estimators are dataclasses: the fields are their constructor parameters, as scikit-learn
expects them. Invalid values are reported by scikit-learn's `_validate_params`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, dataclass_transform

from sklearn.utils._param_validation import Interval, StrOptions

from akkm.kernels import KERNEL_NAMES, Kernel
from akkm.landmarks import STRATEGIES

AUTO = StrOptions({"auto"})
COUNT = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")


def parameter(default: Any, *allowed: Any, positional: bool = False) -> Any:
    """Declare a constructor parameter with its default and its allowed values."""
    metadata = {"allowed": list(allowed)}
    return field(default=default, kw_only=not positional, metadata=metadata)


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
def estimator(cls: Any) -> Any:
    """Make a class with `parameter` fields an estimator: generate its `__init__`."""
    return dataclass(eq=False, repr=False, match_args=False)(cls)


@estimator
class CommonParameters:
    """Parameters of every estimator."""

    n_clusters: Any = parameter(8, COUNT, positional=True)
    random_state: Any = parameter(None, "random_state")
    n_jobs: int | None = parameter(None, Integral, None)
    verbose: int = parameter(0, "verbose")


@estimator
class KernelParameters:
    """The kernel."""

    kernel: Any = parameter("rbf", StrOptions(set(KERNEL_NAMES)), Kernel, callable)
    gamma: Any = parameter(
        "scale", POSITIVE, StrOptions({"scale", "median", "neighbors"}), None
    )
    degree: float = parameter(3, Real)
    coef0: float = parameter(1, Real)
    kernel_params: Mapping[str, Any] | None = parameter(None, Mapping, None)


@estimator
class LandmarkParameters:
    """The landmarks."""

    n_landmarks: Any = parameter("auto", COUNT, AUTO)
    landmarks: Any = parameter(
        "uniform", StrOptions(set(STRATEGIES)), "array-like", "sparse matrix"
    )


@estimator
class IterationParameters:
    """Initialisation and iterations."""

    init: Any = parameter(
        "k-means++", StrOptions({"k-means++", "random"}), "array-like"
    )
    n_init: Any = parameter("auto", COUNT, AUTO)
    max_iter: int = parameter(300, COUNT)
