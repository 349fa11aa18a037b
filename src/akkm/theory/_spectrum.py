"""The eigenvalues of the kernel matrix, exact or from a sample of its rows."""

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from akkm.core.gram import factor
from akkm.core.kernel_matrix import kernel_matrix
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.kernels import KernelSettings
from akkm.landmarks import number_of_landmarks
from akkm.rows import chunks
from akkm.typing import Array
from akkm.validation import generator, require_count, validate_rows

# For at most this many rows the whole kernel matrix is decomposed.
EXACT_ROWS = 3000
# The number of rows to which eigenvectors are extended to find their largest entries.
_EXTENDED_ROWS = 20_000


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of the n x n kernel matrix K, and the coherence of its eigenvectors.

    It is made by `spectrum`. Eigenvalues that are negative or zero up to rounding
    (below 1e-12 of the largest) are left out. Small positive eigenvalues, up to the
    absolute value of the most negative one, are left out too, as when K̂ is factored.

    Parameters
    ----------
    values : array of shape (q,)
        The positive eigenvalues, in descending order.
    trace : float
        The sum of k(x, x) over all rows.
    largest_diagonal : float
        The largest k(x, x) of all rows, called κ.
    n : int
        The number of rows.
    n_landmarks : int
        The number of rows from which the eigenvalues were computed; n if exact.
    negative_mass : float
        The share of the negative eigenvalues in the sum of all absolute eigenvalues.
    row_peaks : array of shape (q,)
        Let Z (n, q) be the matrix of eigenvectors. Entry c, counted from 1, is the
        largest squared length of a row of the first c columns of Z.
    entry_peaks : array of shape (q,)
        The largest Z_ij² of each eigenvector j.
    """

    values: Array
    trace: float
    largest_diagonal: float
    n: int
    n_landmarks: int
    negative_mass: float
    row_peaks: Array
    entry_peaks: Array

    @property
    def exact(self) -> bool:
        """Whether all rows were used."""
        return self.n_landmarks == self.n

    @property
    def rank(self) -> int | None:
        """Numerical rank of K, or None if unknown.

        The rank is unknown if the sample has too few rows, or if eigenvalues are
        negative.
        """
        q = len(self.values)
        known = self.exact or q < self.n_landmarks
        return q if known and not self.negative_mass else None

    def leading(self, n_clusters: int) -> Array:
        """Largest eigenvalues.

        Parameters
        ----------
        n_clusters : int
            The number of eigenvalues C.

        Returns
        -------
        array of shape (C,)
            The eigenvalues, with zeros beyond the rank.
        """
        self._require(n_clusters)
        top = self.values[:n_clusters]
        return np.pad(top, (0, n_clusters - len(top)))

    def tail(self, n_clusters: int) -> float:
        """Smallest possible error of C clusters, tr(K) - λ_1 - ... - λ_C.

        Parameters
        ----------
        n_clusters : int
            The number of clusters C.

        Returns
        -------
        float
            The lower bound on the clustering error.

        Examples
        --------
        >>> import numpy as np
        >>> from akkm.theory import spectrum
        >>> spectrum(np.diag([5.0, 3.0, 2.0]), "precomputed").tail(1)
        5.0
        """
        top = self.leading(n_clusters)
        if self.rank is not None and n_clusters >= self.rank:
            return 0.0
        return max(0.0, self.trace - float(top.sum()))

    def eigenvalue(self, i: int) -> float:
        """Eigenvalue λ_i.

        Parameters
        ----------
        i : int
            The position of the eigenvalue, counted from 1.

        Returns
        -------
        float
            The eigenvalue, or 0 beyond the rank.
        """
        return float(self.leading(i)[-1])

    def coherence(self, n_clusters: int) -> float:
        """Gittens' coherence (n / C) max_i |row i of (z_1 ... z_C)|², from 1 to n / C.

        It is 1 if all rows have the same share in the leading eigenvectors. It is n / C
        if some row has an eigenvector to itself. Uniform landmarks then miss this row,
        unless nearly all rows are landmarks.

        Parameters
        ----------
        n_clusters : int
            The number of eigenvectors C.

        Returns
        -------
        float
            The coherence of the C leading eigenvectors.
        """
        self._require(n_clusters)
        c = min(n_clusters, len(self.values))
        return self.n / c * float(self.row_peaks[c - 1])

    @property
    def entry_coherence(self) -> float:
        """The largest n Z_ij² over all eigenvectors, from 1 to n."""
        return self.n * float(self.entry_peaks.max())

    def _require(self, n_clusters: int) -> None:
        """Raise ValueError if fewer than `n_clusters` eigenvalues are known."""
        known = self.exact or self.rank is not None
        most = self.n if known else self.n_landmarks
        why = "" if self.exact else ", the number of sampled rows"
        require_count("n_clusters", n_clusters, 1, most, why)


def spectrum(
    X: Any,
    kernel: Any = "rbf",
    *,
    n_landmarks: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    **kernel_settings: Unpack[KernelSettings],
) -> Spectrum:
    """Compute the eigenvalues of the kernel matrix of X.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows, or the square kernel matrix for `kernel="precomputed"`.
    kernel : str, Kernel or callable, default="rbf"
        The kernel, as in `akkm.ApproxKernelKMeans`.
    n_landmarks : int, optional
        The number of sampled rows m. By default, all rows if there are at most 3,000;
        otherwise the number that `n_landmarks="auto"` means in the estimators.
    random_state : int, RandomState instance or None, default=None
        The seed of the sample of rows.
    n_jobs : int, optional
        The number of threads; all by default.
    **kernel_settings : KernelSettings
        `gamma`, `degree`, `coef0` and `kernel_params`, as in `akkm.kernels.resolve`.

    Returns
    -------
    Spectrum
        Eigenvalues, trace and coherences.

    Notes
    -----
    With m < n the eigenvalues are those of the kernel matrix of m rows drawn uniformly,
    multiplied by the ratio of the traces (about n / m). The trace and the diagonal are
    always those of all rows. With m < n, the coherences are estimates, which tend to be
    too low. For these estimates, Nyström's formula extends the eigenvectors of the m
    rows to at most 20,000 other rows.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.theory import spectrum
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    >>> eigenvalues = spectrum(X, "linear")
    >>> eigenvalues.values.round(6).tolist(), eigenvalues.trace, eigenvalues.exact
    ([9.0, 5.0], 14.0, True)
    >>> round(eigenvalues.coherence(1), 6)  # the third row has an eigenvector to itself
    3.0
    """
    rng = generator(random_state)
    X, kernel = validate_rows(X, kernel, **kernel_settings, rng=rng.spawn(1)[0])
    n = X.shape[0]
    if n_landmarks is None:
        m = n if n <= EXACT_ROWS else number_of_landmarks("auto", n, 1)
    else:
        m = require_count("n_landmarks", n_landmarks, 1, n, ", the number of rows")
    drawn = np.sort(rng.choice(n, m, replace=False))
    K = kernel_matrix(X, kernel, drawn)
    gram = factor(K)
    if gram.rank == 0:
        raise ValueError(
            f"The kernel matrix of {m} rows has no positive eigenvalue; expected at "
            "least one to cluster by. Choose another kernel or other parameters."
        )
    # Columns of the whitener are eigenvectors divided by the root of the eigenvalue.
    values = 1 / np.einsum("ij,ij->j", gram.whitener, gram.whitener)
    diag = kernel.diag(X)
    trace = float(diag.sum())
    squares = gram.whitener**2 * values  # Z_ij²
    if m < n:
        # If all k(x, x) are equal, the ratio of the traces is n / m. Otherwise it
        # corrects for a sample whose k(x, x) are larger or smaller than average.
        sampled = float(np.trace(K))
        values *= trace / sampled if sampled > 0 else n / m
        # The drawn rows are included, so that no extended eigenvector is zero.
        others = rng.choice(n, min(n, _EXTENDED_ROWS), replace=False)
        strip = Strip(X, kernel, kernel.select(X, drawn), np.float64)
        strip = strip.subset(np.union1d(others, drawn))
        squares = _squared_coordinates(strip, gram.whitener, n_jobs)
        squares *= strip.n / n / squares.sum(axis=0)
    entry_peaks = squares.max(axis=0).clip(max=1.0)
    row_peaks = np.cumsum(squares, axis=1, out=squares).max(axis=0).clip(max=1.0)
    kappa, negative = float(diag.max()), gram.negative_mass
    return Spectrum(values, trace, kappa, n, m, negative, row_peaks, entry_peaks)


def _squared_coordinates(strip: Strip, whitener: Array, n_jobs: int | None) -> Array:
    """Squares of the extended eigenvectors, not yet scaled to unit length: (n, q)."""
    squares = np.empty((strip.n, whitener.shape[1]))

    def fill(chunk: slice) -> None:
        for rows, phi in strip.tiles(chunk):
            squares[rows] = (phi @ whitener) ** 2

    with Threads(n_jobs) as engine:
        engine.for_each(fill, chunks(strip.n))
    return squares
