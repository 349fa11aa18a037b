"""Everything that the steps of one fit share."""

from dataclasses import dataclass, field

import numpy as np

from akkm.core.threads import Threads
from akkm.estimators._progress import Progress
from akkm.guided.guide import Guidance
from akkm.kernels import Kernel
from akkm.typing import Array, RowsLike


@dataclass(frozen=True)
class Run:
    """Everything that the steps of one fit share."""

    X: RowsLike  # (n, d), validated
    weights: Array | None  # (n,)
    kernel: Kernel
    rng: np.random.Generator
    engine: Threads
    progress: Progress
    guidance: Guidance | None = None  # constraints on labels
    warnings: list[tuple[str, type[Warning]]] = field(default_factory=list)

    def weighted_sum(self, values: Array) -> float:
        """Return the weighted sum of `values` (n,), which has one value per row."""
        return float(values.sum() if self.weights is None else self.weights @ values)

    def warn(self, text: str, category: type[Warning]) -> None:
        """Queue a warning, which is emitted or passed to an ensemble after the fit."""
        self.warnings.append((text, category))
