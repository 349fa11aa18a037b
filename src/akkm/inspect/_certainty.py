"""How certain labels are: from distances to centers, or from an ensemble's votes."""

from dataclasses import dataclass

import numpy as np

from akkm.inspect._sample import RowSample
from akkm.typing import Array

_N_BINS = 20


@dataclass(frozen=True)
class Certainty:
    """How certain the labels of sampled rows are, as shown in the report.

    This is not the measure of `akkm.clustering.certainty_of`, which `--write` uses.

    Parameters
    ----------
    sample : RowSample
        The rows that were evaluated.
    values : float array of shape (s,)
        If computed from distances, the value is 0 on the border to the nearest other
        cluster, and 1 if the row and the center of its own cluster are equally far from
        that border. If computed from votes, the value is the share of the ensemble's
        members that agree with the label.
    from_votes : bool
        Whether the values are shares of votes.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect import Certainty, RowSample
    >>> sample = RowSample(rows=np.array([3, 8]), weights=np.ones(2))
    >>> votes = Certainty(sample, np.array([0.5, 1.0]), from_votes=True)
    >>> votes.limit, votes.uncertain_share, votes.of([8])
    (0.6, 0.5, array([1.]))
    """

    sample: RowSample
    values: Array
    from_votes: bool

    @property
    def limit(self) -> float:
        """Value below which a label is uncertain: 0.6 for votes, 1/3 for distances."""
        return 0.6 if self.from_votes else 1 / 3

    @property
    def uncertain_share(self) -> float:
        """Estimated share of rows that have an uncertain label."""
        return float(np.average(self.values < self.limit, weights=self.sample.weights))

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
        return self.values[np.searchsorted(self.sample.rows, rows)]

    def histogram(self) -> tuple[Array, Array]:
        """Count rows by certainty.

        Returns
        -------
        counts : float array of shape (b,)
            Number of rows in each bin. The first bin also counts values below 0, and
            the last bin also counts values above the last edge.
        edges : float array of shape (b + 1,)
            Bin edges, from 0 to 1 for votes and from 0 to 2 for distances.
        """
        top = 1.0 if self.from_votes else 2.0
        return np.histogram(
            # A share of 0.6 belongs to the bin that starts at 0.6, despite rounding.
            np.clip(self.values + 1e-9, 0, top),
            bins=_N_BINS // 2 if self.from_votes else _N_BINS,
            range=(0, top),
            weights=self.sample.weights,
        )
