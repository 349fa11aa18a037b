"""The eigenvalues of the kernel matrix, exact or from some of its rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.core.gram import Gram, factor
from akkm.core.kernel_matrix import kernel_matrix
from akkm.core.strip import Rows, Strip
from akkm.core.threads import Threads
from akkm.kernels import Kernel
from akkm.landmarks import number_of_landmarks
from akkm.rows import chunks
from akkm.validation import generator, prepare, require_count

Array = NDArray[Any]

# Up to so many rows the whole kernel matrix is factored.
_EXACT_ROWS = 3000
# Rows over which the peaks of extended eigenvectors are sought.
_PEAK_ROWS = 20_000


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of the n x n kernel matrix K, and how spread its eigenvectors are.

    Eigenvalues that are rounding (below 1e-12 of the largest) or negative, and small
    ones of the negative ones' size, are left out, as they are when K̂ is factored. Made
    by `spectrum`.
    """

    values: Array  # (q,) positive eigenvalues, descending
    trace: float  # sum_i k(x_i, x_i), over all rows
    largest_diagonal: float  # κ = max_i k(x_i, x_i), over all rows
    n: int  # rows
    n_landmarks: int  # rows that the eigenvalues were computed from; n: exact
    negative_mass: float  # share of the eigenvalues' absolute sum that is negative
    row_peaks: Array  # (q,) max_i sum_{j <= c} Z_ij² for c = 1 .. q
    entry_peaks: Array  # (q,) max_i Z_ij² for each eigenvector j

    @property
    def exact(self) -> bool:
        """Whether all rows were used."""
        return self.n_landmarks == self.n

    @property
    def rank(self) -> int | None:
        """Numerical rank of K; None where it can't be told.

        That is where the rows looked at were too few, or eigenvalues are negative.
        """
        if self.negative_mass:
            return None
        q = len(self.values)
        return q if self.exact or q < self.n_landmarks else None

    def leading(self, n_clusters: int) -> Array:
        """The C largest eigenvalues, zeros beyond the rank: (C,)."""
        self._require(n_clusters)
        top = np.zeros(n_clusters)
        found = self.values[:n_clusters]
        top[: len(found)] = found
        return top

    def tail(self, n_clusters: int) -> float:
        """tr(K) - λ_1 - ... - λ_C: no clustering into C has a smaller error.

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
        """λ_i, counted from 1; 0 beyond the rank."""
        return float(self.leading(i)[-1])

    def coherence(self, n_clusters: int) -> float:
        """Gittens' coherence (n / C) max_i |row i of (z_1 ... z_C)|², from 1 to n / C.

        1: every row has the same share in the leading eigenvectors; n / C: some row has
        one for itself, and uniform landmarks miss it unless they are nearly all rows.
        """
        self._require(n_clusters)
        c = min(n_clusters, len(self.values))
        return self.n / c * float(self.row_peaks[c - 1])

    @property
    def entry_coherence(self) -> float:
        """The largest n Z_ij² over all eigenvectors of `values`, from 1 to n."""
        return self.n * float(self.entry_peaks.max())

    def _require(self, n_clusters: int) -> None:
        told = self.exact or self.rank is not None
        most = self.n if told else self.n_landmarks
        why = "" if self.exact else ", the rows that the spectrum was estimated from"
        require_count("n_clusters", n_clusters, 1, most, why)


def spectrum(
    X: Any,
    kernel: Any = "rbf",
    *,
    gamma: float | str | None = "scale",
    degree: float = 3,
    coef0: float = 1.0,
    kernel_params: dict[str, Any] | None = None,
    n_landmarks: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Spectrum:
    """Eigenvalues of the kernel matrix of X.

    Of all of it, in float64, for up to 3,000 rows; else, or if `n_landmarks` is given,
    those of the kernel matrix of m rows drawn uniformly, scaled by the ratio of the
    traces (about n / m). Trace and diagonal are always those of all rows. Eigenvectors
    are then extended to (at most 20,000) other rows by Nyström's formula, so that
    coherences are estimates, rather low ones.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows; the square kernel matrix for `kernel="precomputed"`.
    kernel, gamma, degree, coef0, kernel_params
        As in `akkm.ApproxKernelKMeans`.
    n_landmarks : int, optional
        m. By default n up to 3,000 rows, above as many as n_landmarks="auto" takes.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int, optional
        Threads.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.theory import spectrum
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    >>> found = spectrum(X, "linear")
    >>> found.values.round(6).tolist(), found.trace, found.exact
    ([9.0, 5.0], 14.0, True)
    >>> round(found.coherence(1), 6)  # the third row has an eigenvector for itself
    3.0
    """
    rng = generator(random_state)
    X, kernel = prepare(
        X,
        kernel,
        gamma=gamma,
        degree=degree,
        coef0=coef0,
        params=kernel_params,
        rng=rng.spawn(1)[0],
    )
    return measure(X, kernel, n_landmarks, rng, n_jobs)


def measure(
    X: Rows,
    kernel: Kernel,
    n_landmarks: int | None,
    rng: np.random.Generator,
    n_jobs: int | None,
    n_clusters: int = 1,
) -> Spectrum:
    """The spectrum of checked rows under a kernel object."""
    n = X.shape[0]
    if n_landmarks is None:
        m = n if n <= _EXACT_ROWS else number_of_landmarks("auto", n, n_clusters)
    else:
        m = require_count("n_landmarks", n_landmarks, 1, n, ", the number of rows")
    drawn = np.sort(rng.choice(n, m, replace=False))
    K = kernel_matrix(X, kernel, drawn)
    gram = factor(K)
    if gram.rank == 0:
        raise ValueError(
            f"The kernel matrix of {m} rows has no positive eigenvalue, so there is "
            "nothing to cluster by; choose another kernel or other parameters."
        )
    # Columns of the whitener are eigenvectors over the root of their eigenvalue.
    values = 1 / np.einsum("ij,ij->j", gram.whitener, gram.whitener)
    if m == n:
        row_peaks, entry_peaks = _peaks([gram.whitener**2 * values])
    else:
        strip = Strip(X, kernel, kernel.select(X, drawn), np.float64)
        # With the drawn rows among them, no extended eigenvector is zero.
        some = np.union1d(rng.choice(n, min(n, _PEAK_ROWS), replace=False), drawn)
        row_peaks, entry_peaks = _extended_peaks(strip.subset(some), gram, n, n_jobs)
    diag = kernel.diag(X)
    # n / m, or so that long rows among the drawn do not count for too much.
    trace = float(np.trace(K))
    share = float(diag.sum()) / trace if trace > 0 else n / m
    return Spectrum(
        values * (1.0 if m == n else share),
        float(diag.sum()),
        float(diag.max()),
        n,
        m,
        gram.negative_mass,
        row_peaks,
        entry_peaks,
    )


def _peaks(blocks: Iterable[Array]) -> tuple[Array, Array]:
    """Largest running sums and largest entries over blocks (b, q) of Z_ij²."""
    running, single = zip(
        *((S.cumsum(axis=1).max(axis=0), S.max(axis=0)) for S in blocks), strict=True
    )
    return np.max(running, axis=0).clip(max=1.0), np.max(single, axis=0).clip(max=1.0)


def _extended_peaks(
    strip: Strip, gram: Gram, n: int, n_jobs: int | None
) -> tuple[Array, Array]:
    """The same of eigenvectors extended to the strip's rows, each of length 1 over n.

    Two passes over the kernel rows, so that no block is kept: lengths, then peaks.
    """

    def lengths(chunk: slice) -> Array:
        return sum(
            ((phi @ gram.whitener) ** 2).sum(axis=0) for _, phi in strip.tiles(chunk)
        )

    with Threads(n_jobs) as engine:
        total = sum(engine.map(lengths, chunks(strip.n)), np.zeros(gram.rank))
        scale = strip.n / n / total

        def peaks(chunk: slice) -> tuple[Array, Array]:
            tiles = strip.tiles(chunk)
            return _peaks((phi @ gram.whitener) ** 2 * scale for _, phi in tiles)

        parts = list(engine.map(peaks, chunks(strip.n)))
    rows, entries = zip(*parts, strict=True)
    return np.max(rows, axis=0), np.max(entries, axis=0)
