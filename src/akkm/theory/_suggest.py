"""Suggest a number of landmarks by Corollary 1."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any, Unpack

from sklearn.utils.validation import _num_samples

from akkm.kernels import KernelSettings
from akkm.landmarks import number_of_landmarks
from akkm.theory._bounds import landmarks_to_span, relative_excess
from akkm.theory._spectrum import EXACT_ROWS, Spectrum, spectrum
from akkm.validation import require_count

# Fewest landmarks per cluster, as with n_landmarks="auto".
_PER_CLUSTER = 4
# The accepted probability that landmarks fail to span a kernel matrix of low rank.
_DELTA = 0.05
# Add a note if C clusters explain less than _LITTLE_EXPLAINED of the trace, or if
# `negative_mass` exceeds _NEGATIVE.
_LITTLE_EXPLAINED, _NEGATIVE = 0.1, 0.01


@dataclass(frozen=True)
class Suggestion:
    """A number of landmarks, and the reasons for it.

    Parameters
    ----------
    n_landmarks : int
        The suggested number of landmarks.
    reasons : tuple of str
        Sentences that explain the number.
    bound : float
        Corollary 1's bound on the relative excess of the error with `n_landmarks`.
    square_root : int
        The number that `n_landmarks="auto"` stands for.
    spectrum : Spectrum
        The eigenvalues of the kernel matrix.
    """

    n_landmarks: int
    reasons: tuple[str, ...]
    bound: float
    square_root: int
    spectrum: Spectrum


def suggest_n_landmarks(
    X: Any,
    n_clusters: int,
    kernel: Any = "rbf",
    *,
    tolerance: float = 0.05,
    random_state: Any = None,
    n_jobs: int | None = None,
    **kernel_settings: Unpack[KernelSettings],
) -> Suggestion:
    """Find the fewest landmarks for which the error is provably near the exact one.

    The result is the smallest m for which Corollary 1 bounds the expected clustering
    error by (1 + `tolerance`) times the exact error. It is at least four per cluster
    and at most n. For a kernel matrix of low rank, fewer landmarks are enough if they
    span the matrix with a probability of 95 % (see `spectral_error_bound`).

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows, or the square kernel matrix for `kernel="precomputed"`.
    n_clusters : int
        The number of clusters C.
    kernel : str, Kernel or callable, default="rbf"
        The kernel, as in `akkm.ApproxKernelKMeans`.
    tolerance : float, default=0.05
        The relative excess over the exact error that is acceptable, on average.
    random_state : int, RandomState instance or None, default=None
        The seed of the sample of rows from which the spectrum is estimated.
    n_jobs : int, optional
        The number of threads; all by default.
    **kernel_settings : KernelSettings
        `gamma`, `degree`, `coef0` and `kernel_params`, as in `akkm.kernels.resolve`.

    Returns
    -------
    Suggestion
        The number of landmarks, and the reasons for it.

    Notes
    -----
    The suggestion is for kernel k-means. `NystroemSpectralClustering` needs landmarks
    near every row.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from akkm.theory import suggest_n_landmarks
    >>> X = load_digits().data[:500]
    >>> suggestion = suggest_n_landmarks(X, n_clusters=3)
    >>> suggestion.n_landmarks
    111
    >>> for reason in suggestion.reasons:
    ...     print(reason)
    By Corollary 1, 111 landmarks add at most 4.99% to the error on average; the
    tolerance is 5.00%.
    The eigenvalues are those of all rows.
    n_landmarks="auto" would take 256.
    """
    if not tolerance > 0:
        raise ValueError(
            f"tolerance={tolerance!r} is not valid; expected a positive number, such "
            "as 0.05 for an error of at most 1.05 times the exact one."
        )
    n = _num_samples(X)
    require_count("n_clusters", n_clusters, 1, n, ", the number of rows")
    auto = number_of_landmarks("auto", n, n_clusters)
    eigenvalues = spectrum(
        X,
        kernel,
        **kernel_settings,
        n_landmarks=None if n <= EXACT_ROWS else auto,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    m, reasons = _choose(eigenvalues, n_clusters, tolerance)
    reasons += [_source(eigenvalues), f'n_landmarks="auto" would take {auto:,}.']
    bound = float(relative_excess(eigenvalues, n_clusters, m))
    return Suggestion(m, tuple(reasons), bound, auto, eigenvalues)


def _choose(values: Spectrum, C: int, tolerance: float) -> tuple[int, list[str]]:
    """The number of landmarks m, and the reasons for it."""
    n, least = values.n, min(values.n, _PER_CLUSTER * C)
    # The smallest m within the tolerance, by bisection; n if there is none.
    m = least + bisect_left(
        range(least, n), True, key=lambda m: relative_excess(values, C, m) <= tolerance
    )
    excess = float(relative_excess(values, C, m))
    if excess <= tolerance:
        reason = (
            f"By Corollary 1, {m:,} landmarks add at most {excess:.2%} to the error on "
            f"average; the tolerance is {tolerance:.2%}."
        )
    elif values.tail(C) > 0:
        reason = (
            f"Even if all {n:,} rows are landmarks, the bound of Corollary 1 is "
            f"{excess:.2%}; the tolerance is {tolerance:.2%}."
        )
    else:
        estimated = "" if values.exact else " (as estimated)"
        reason = (
            f"All eigenvalues except the {C} largest are zero{estimated}. So {C} "
            "clusters may fit without error. Corollary 1 divides by the exact error, "
            "so it does not apply."
        )
    reasons = [reason]
    if values.rank is not None:
        enough = min(n, int(landmarks_to_span(values, values.rank, _DELTA)) + 1)
        if enough < m:
            m = max(enough, least)
            reasons.append(
                f"The kernel matrix has rank {values.rank}, and {enough:,} landmarks "
                f"span it with a probability of {1 - _DELTA:.0%}. If they span it, the "
                "approximation is exact."
            )
    explained = 1 - values.tail(C) / values.trace if values.trace > 0 else 0.0
    if explained < _LITTLE_EXPLAINED:
        reasons.append(
            f"Even exact kernel k-means can explain only {explained:.0%} of the trace: "
            "the kernel is narrow, and an error near the exact one means little."
        )
    if m == least < n:
        reasons.append(f"This is the minimum of {_PER_CLUSTER} landmarks per cluster.")
    return m, reasons


def _source(values: Spectrum) -> str:
    """Where the eigenvalues come from, in a sentence or two."""
    sample = f"{values.n_landmarks:,} rows drawn uniformly"
    text = f"The eigenvalues are those of {'all rows' if values.exact else sample}."
    if values.negative_mass > _NEGATIVE:
        text += (
            f" Negative eigenvalues make up {values.negative_mass:.0%} of the sum of "
            "absolute eigenvalues. The theory assumes kernels without negative "
            "eigenvalues, so the suggested number is only a hint."
        )
    return text
