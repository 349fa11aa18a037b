"""Parameters that estimators share: name, default and allowed values, declared once.

Estimators are dataclasses. Their fields are their constructor parameters. Invalid
values are reported by scikit-learn's `_validate_params`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, dataclass_transform

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from akkm.kernels import Kernel


class _Count(Interval):
    """Allows integers of at least 1, but not True and False, which are also `int`."""

    def __init__(self) -> None:
        super().__init__(Integral, 1, 2**31 - 1, closed="both")

    def is_satisfied_by(self, val: Any) -> bool:
        """Return whether a value is an allowed count."""
        return not isinstance(val, bool) and bool(super().is_satisfied_by(val))


AUTO = StrOptions({"auto"})
COUNT = _Count()
NOT_NEGATIVE = Interval(Real, 0, np.inf, closed="left")
POSITIVE = Interval(Real, 0, np.inf, closed="neither")


def parameter(*allowed: Any, default: Any, kw_only: bool = True) -> Any:
    """Declare a constructor parameter: its allowed values and its default."""
    metadata = {"allowed": list(allowed)}
    return field(default=default, kw_only=kw_only, metadata=metadata)


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
def estimator(cls: Any) -> Any:
    """Generate the `__init__` of an estimator from its `parameter` fields."""
    return dataclass(eq=False, repr=False, match_args=False)(cls)


@estimator
class CommonParameters:
    """Parameters of every estimator."""

    n_clusters: Any = parameter(COUNT, AUTO, default=8, kw_only=False)
    random_state: Any = parameter("random_state", default=None)
    n_jobs: int | None = parameter(Integral, None, default=None)
    verbose: int = parameter("verbose", default=0)


@estimator
class CoverageParameter:
    """The share of the rows that get a label."""

    coverage: Any = parameter(Interval(Real, 0, 1, closed="right"), AUTO, default=1.0)


@estimator
class KernelParameters:
    """Parameters of the kernel."""

    # Names and widths of kernels are validated in `akkm.kernels`.
    kernel: Any = parameter(str, Kernel, callable, default="rbf")
    gamma: Any = parameter(Real, str, None, default="scale")
    degree: float = parameter(Real, default=3)
    coef0: float = parameter(Real, default=1)
    kernel_params: Mapping[str, Any] | None = parameter(Mapping, None, default=None)


@estimator
class LandmarkParameters:
    """Parameters of the landmarks."""

    n_landmarks: Any = parameter(COUNT, AUTO, default="auto")
    landmarks: Any = parameter(str, "array-like", "sparse matrix", default="uniform")


@estimator
class IterationParameters:
    """Parameters of the initialisation and the iterations."""

    init: Any = parameter(
        StrOptions({"k-means++", "random"}), "array-like", default="k-means++"
    )
    n_init: Any = parameter(COUNT, AUTO, default="auto")
    max_iter: int = parameter(COUNT, default=300)
    tol: float = parameter(NOT_NEGATIVE, default=0.0)


@estimator
class GuidedParameters:
    """Parameters that say how constraints on labels are applied."""

    strength: Any = parameter(StrOptions({"hard"}), NOT_NEGATIVE, default="hard")
    clusters_per_class: Any = parameter(AUTO, COUNT, Mapping, default="auto")
    known_weight: Any = parameter(AUTO, POSITIVE, default="auto")
