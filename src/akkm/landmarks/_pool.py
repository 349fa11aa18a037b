"""The rows from which landmarks are selected, and the number of landmarks."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.kernels import Kernel
from akkm.rows import as_rows, chunks
from akkm.typing import Array, RowsLike

# n_landmarks="auto" is the square root of n, within these limits.
_FEWEST, _MOST = 256, 2048
# The smallest probability of a row, as a share of the largest probability.
_LEAST_CHANCE = 1e-30


def number_of_landmarks(n_landmarks: int | str, n: int, n_clusters: int) -> int:
    """Return the number of landmarks m for n rows.

    Parameters
    ----------
    n_landmarks : int or "auto"
        The requested number. `"auto"` is the square root of n, at least 256 and at most
        2,048, but never fewer than four per cluster and never more than n.
    n : int
        The number of rows of positive weight.
    n_clusters : int
        The number of clusters; m must be at least this number.

    Returns
    -------
    int
        The number of landmarks m.

    Raises
    ------
    ValueError
        If `n_landmarks` is a number above n or below n_clusters.

    Notes
    -----
    With fewer than 256 landmarks, factoring their m x m kernel matrix takes negligible
    time. With more than 2,048 landmarks, it begins to dominate.

    Examples
    --------
    >>> from akkm.landmarks import number_of_landmarks
    >>> number_of_landmarks("auto", n=1_000_000, n_clusters=8)
    1000
    >>> number_of_landmarks("auto", n=100, n_clusters=8)
    100
    """
    if n_landmarks == "auto":
        return min(n, max(_FEWEST, 4 * n_clusters, min(_MOST, round(n**0.5))))
    m = int(n_landmarks)
    if m > n:
        raise ValueError(
            f"n_landmarks={m} is more than the n_samples={n} rows of positive weight; "
            f"expected at most {n}. Lower n_landmarks or use 'auto'."
        )
    if m < n_clusters:
        raise ValueError(
            f"n_landmarks={m} is less than n_clusters={n_clusters}; expected at least "
            f"one per cluster, as the span of {m} points can't separate {n_clusters} "
            "clusters. Raise n_landmarks."
        )
    return m


@dataclass(frozen=True)
class Pool:
    """Rows to select landmarks from, with their kernel and their weights.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows, or a square precomputed kernel matrix.
    kernel : Kernel
        The kernel.
    weights : array of shape (n,) or None
        The weights of the rows; None if all are 1.
    engine : Threads
        The threads that compute kernel values.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.core.threads import Threads
    >>> from akkm.kernels import Linear
    >>> from akkm.landmarks import STRATEGIES, Pool
    >>> X = np.array([[0.0], [1.0], [9.0]])
    >>> with Threads(1) as engine:
    ...     pool = Pool(X, Linear(), None, engine)
    ...     STRATEGIES["rpcholesky"](pool, 1, np.random.default_rng(0))
    array([2])
    """

    X: RowsLike
    kernel: Kernel
    weights: Array | None
    engine: Threads

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    def weights_of(self, rows: Array) -> Array:
        """Return the weights of the given rows.

        Parameters
        ----------
        rows : int array of shape (b,)
            Row numbers.

        Returns
        -------
        float64 array of shape (b,)
            Their weights.
        """
        return np.ones(len(rows)) if self.weights is None else self.weights[rows]

    def diag(self) -> Array:
        """Compute |k(x, x)| of all rows.

        Returns
        -------
        float64 array of shape (n,)
            The absolute values.
        """
        blocks = as_rows(self.X).map_blocks(self.kernel.diag_of_block)
        return np.abs(np.concatenate(list(blocks)))

    def strip(self, rows: Array, points: Array) -> Strip:
        """Return the float64 strip of the rows `rows` against the rows `points`.

        Parameters
        ----------
        rows, points : int array
            Row numbers.

        Returns
        -------
        Strip
            The kernel values k(X[rows], X[points]), to be computed tile by tile.
        """
        Z = self.kernel.select(self.X, points)
        return Strip(self.X, self.kernel, Z, np.float64).subset(rows)

    def map_kernel_rows(
        self, function: Callable[[Array], Array], rows: Array, points: Array
    ) -> Array:
        """Apply a function to the kernel rows k(X[rows], X[points]), tile by tile.

        Parameters
        ----------
        function : callable
            A function that takes kernel rows (b, m) and returns a new array with b
            entries or rows. It may overwrite the kernel rows.
        rows, points : int array
            Row numbers.

        Returns
        -------
        array
            The results for all rows, in the order of `rows`.
        """
        strip = self.strip(rows, points)

        def compute(chunk: slice) -> Array:
            return np.concatenate([function(phi) for _, phi in strip.tiles(chunk)])

        return np.concatenate(list(self.engine.map(compute, chunks(len(rows)))))

    def sample(self, size: int, rng: np.random.Generator) -> Array:
        """Draw rows of positive weight uniformly, without replacement.

        Parameters
        ----------
        size : int
            The maximal number of rows.
        rng : numpy.random.Generator
            The random number generator.

        Returns
        -------
        int array
            Sorted row numbers. If at most `size` rows have positive weight, all of them
            are returned.
        """
        available = np.flatnonzero(self.weights_of(np.arange(self.n)) > 0)
        if size >= len(available):
            return available
        return np.sort(rng.choice(available, size, replace=False))


def weighted_sample(chances: Array, m: int, rng: np.random.Generator) -> Array:
    """Draw m distinct positions with probabilities proportional to the given values.

    Parameters
    ----------
    chances : array of shape (n,)
        Non-negative values. Positions with a value of 0 are drawn last, at random.
    m : int
        The number of positions to draw.
    rng : numpy.random.Generator
        The random number generator.

    Returns
    -------
    int array of shape (m,)
        Sorted positions.

    Notes
    -----
    The result has the same distribution as m draws without replacement, one at a time.
    Each position gets an exponentially distributed time whose rate is its value, and
    the positions with the m shortest times are returned.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.landmarks import weighted_sample
    >>> weighted_sample(np.array([0.0, 1.0, 2.0]), 2, np.random.default_rng(0))
    array([1, 2])
    """
    most = chances.max()
    rates = np.maximum(chances / most, _LEAST_CHANCE) if most > 0 else 1.0
    times = rng.exponential(size=len(chances)) / rates
    return np.sort(np.argpartition(times, m - 1)[:m])


def fill_up(chosen: Array, rows: Array, m: int, rng: np.random.Generator) -> Array:
    """Return `chosen`, filled up to m with random other `rows`, sorted: (m,)."""
    if len(chosen) < m:
        rest = np.setdiff1d(rows, chosen)
        more = rng.choice(rest, m - len(chosen), replace=False)
        chosen = np.concatenate([chosen, more])
    return np.sort(chosen)
