"""How certain labels are: from distances to centers, or from an ensemble's votes."""

import math
from dataclasses import dataclass

import numpy as np

from akkm.inspect._sample import RowSample
from akkm.typing import Array

# Maximum number of bins of a histogram of certainties.
_N_BINS = 20
# Votes: a label is uncertain if a smaller share of the members agrees with it.
MIN_AGREEMENT = 0.6


@dataclass(frozen=True)
class Certainty:
    """How certain the labels of sampled rows are.

    Parameters
    ----------
    sample : RowSample
        The rows that were evaluated.
    values : float array of shape (s,)
        The certainty: 0 on the border to the nearest other cluster, and 1 at the center
        of the row's cluster (`akkm.core.membership.certainty_of` has the formula). If
        computed from votes, it is the share of the ensemble's members that agree with
        the label.
    uncertain : bool array of shape (s,)
        Whether the label is uncertain: the row is near a border, or fewer than 60 % of
        the members agree.
    from_votes : bool
        Whether the values are shares of votes.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect import Certainty, RowSample
    >>> sample = RowSample(rows=np.array([3, 8]), weights=np.ones(2))
    >>> votes = Certainty.from_agreement(sample, np.array([0.5, 1.0]))
    >>> votes.uncertain_share, votes.of([8])
    (0.5, array([1.]))
    """

    sample: RowSample
    values: Array
    uncertain: Array
    from_votes: bool = False

    @classmethod
    def from_agreement(cls, sample: RowSample, agreement: Array) -> "Certainty":
        """Certainty from the votes of an ensemble.

        Parameters
        ----------
        sample : RowSample
            The rows.
        agreement : float array of shape (s,)
            Share of the members that agree with the label.

        Returns
        -------
        Certainty
            The certainty of the labels.
        """
        return cls(sample, agreement, agreement < MIN_AGREEMENT, from_votes=True)

    @property
    def uncertain_share(self) -> float:
        """Estimated share of rows that have an uncertain label."""
        return float(np.average(self.uncertain, weights=self.sample.weights))

    def of(self, rows: Array) -> Array:
        """Certainty of some of the sampled rows.

        Parameters
        ----------
        rows : int array of shape (b,)
            Row numbers; each must be in the sample.

        Returns
        -------
        float array of shape (b,)
            Certainty of each row.
        """
        return self.values[self.places(rows)]

    def places(self, rows: Array) -> Array:
        """Find some of the sampled rows in the sample.

        Parameters
        ----------
        rows : int array of shape (b,)
            Row numbers; each must be in the sample.

        Returns
        -------
        int array of shape (b,)
            Positions in `values` and `uncertain`.
        """
        return np.searchsorted(self.sample.rows, rows)

    def histogram(self) -> tuple[Array, Array, Array]:
        """Count rows by certainty.

        Returns
        -------
        counts : float array of shape (b,)
            Number of rows in each bin.
        uncertain : float array of shape (b,)
            Number of rows with an uncertain label in each bin.
        edges : float array of shape (b + 1,)
            Bin edges, from 0 to 1 for votes. For distances, the last edge is just above
            the largest value. In many dimensions, all values may be small.
        """
        largest = 1.0 if self.from_votes else float(self.values.max())
        width = 0.1 if self.from_votes else _round_width(largest / _N_BINS)
        edges = width * np.arange(1 + max(1, math.ceil(largest / width - 1e-9)))
        # A share of 0.6 belongs to the bin that starts at 0.6, despite rounding.
        values = np.minimum(self.values + 1e-9, edges[-1])
        weights = self.sample.weights
        counts = np.histogram(values, edges, weights=weights)[0]
        chosen = np.histogram(values, edges, weights=weights * self.uncertain)[0]
        return counts, chosen, edges.round(9)


def _round_width(width: float) -> float:
    """The smallest number >= width that is 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(width, 1e-6)))
    return next(f * power for f in (1, 2, 5, 10) if f * power >= width)
