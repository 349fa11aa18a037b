"""How sure assignments are: from distances to centers, or an ensemble's votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.inspect._nearness import Nearness

Array = NDArray[Any]

# Rows below are nearly between two clusters; members of an ensemble that agree.
BORDER = 1 / 3
AGREEMENT = 0.6
_BINS = 20


@dataclass(frozen=True)
class Certainty:
    """A number per row that was looked at, and the rows each of them stands for."""

    values: Array  # (s,) 0: on the border, 1: at the center; or shares of members
    weights: Array  # (s,)
    agreement: bool  # whether they are shares of an ensemble's members

    @property
    def limit(self) -> float:
        """Rows below are in doubt."""
        return AGREEMENT if self.agreement else BORDER

    @property
    def top(self) -> float:
        """Where the histogram ends; rows beyond are in its last bin."""
        return 1.0 if self.agreement else 2.0

    def unsure(self) -> float:
        """Share of the rows that are in doubt."""
        return float(np.average(self.values < self.limit, weights=self.weights))

    def histogram(self) -> tuple[Array, Array]:
        """Rows (b,) between edges (b + 1,); the ends are open.

        Examples
        --------
        >>> import numpy as np
        >>> from akkm.inspect._certainty import Certainty
        >>> votes = Certainty(np.array([0.6, 1.0]), np.ones(2), agreement=True)
        >>> votes.histogram()[0]
        array([0., 0., 0., 0., 0., 0., 1., 0., 0., 1.])
        """
        return np.histogram(
            # Agreement of 0.6 is in the bin that begins there, whatever its last digit.
            np.clip(self.values + 1e-9, 0, self.top),
            bins=_BINS // 2 if self.agreement else _BINS,
            range=(0, self.top),
            weights=self.weights,
        )


def certainty(model: Any, near: Nearness | None) -> Certainty | None:
    """Votes of a model that has some, else from distances; None without either."""
    if hasattr(model, "agreement_"):
        votes = np.asarray(model.agreement_)
        return Certainty(votes, np.ones(len(votes)), agreement=True)
    if near is None:
        return None
    return Certainty(near.certainty, near.sample.weights, agreement=False)
