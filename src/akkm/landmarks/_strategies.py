"""The strategies that select landmarks, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.landmarks._cholesky import rpcholesky
from akkm.landmarks._pool import Pool
from akkm.landmarks._representatives import k_means
from akkm.landmarks._scores import column_norm, diagonal, leverage, uniform

Array = NDArray[Any]
Strategy = Callable[[Pool, int, np.random.Generator], Array]

STRATEGIES: dict[str, Strategy] = {
    "uniform": uniform,
    "diagonal": diagonal,
    "column-norm": column_norm,
    "k-means": k_means,
    "rpcholesky": rpcholesky,
    "leverage": leverage,
}


def strategy(name: str) -> Strategy:
    """The strategy of that name."""
    if name not in STRATEGIES:
        raise ValueError(
            f"Unknown landmark strategy {name!r}; expected one of "
            f"{', '.join(STRATEGIES)}, an array of row indices, or an array of points."
        )
    return STRATEGIES[name]
