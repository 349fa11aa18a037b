"""How many landmarks are enough, by Corollary 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from akkm.landmarks import number_of_landmarks
from akkm.theory._bounds import relative_excess, spanning
from akkm.theory._spectrum import Spectrum, measure
from akkm.validation import generator, prepare, require_count

# Fewest landmarks per cluster, as n_landmarks="auto" has it.
_PER_CLUSTER = 4
# Landmarks that span everything shall do so but for this chance.
_DELTA = 0.05
# Less than this share of the trace explained by C clusters is worth a word.
_LITTLE = 0.1
# A larger negative share of the eigenvalues is worth a word.
_NEGATIVE = 0.01


@dataclass(frozen=True)
class Suggestion:
    """A number of landmarks, and why."""

    n_landmarks: int
    reasons: tuple[str, ...]  # sentences, with the numbers in them
    bound: float  # Corollary 1's relative excess of the error with so many landmarks
    square_root: int  # what n_landmarks="auto" takes
    spectrum: Spectrum


def suggest_n_landmarks(
    X: Any,
    n_clusters: int,
    kernel: Any = "rbf",
    *,
    tolerance: float = 0.05,
    gamma: float | str | None = "scale",
    degree: float = 3,
    coef0: float = 1.0,
    kernel_params: dict[str, Any] | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Suggestion:
    """The fewest landmarks for which theory promises an error near the exact one.

    The smallest m for which Corollary 1 bounds the expected clustering error by
    1 + `tolerance` times the exact one; at least four per cluster, at most all rows. If
    the kernel matrix has a low rank, so many that they span everything with a chance of
    95 % are enough (see `spectral_error_bound`). It is about kernel k-means, not about
    `NystroemSpectralClustering`, which needs landmarks near every row.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows; the square kernel matrix for `kernel="precomputed"`.
    n_clusters : int
        C.
    tolerance : float, default=0.05
        Share by which the error may exceed the exact one, on average.
    kernel, gamma, degree, coef0, kernel_params
        As in `akkm.ApproxKernelKMeans`.
    random_state : int, RandomState instance or None, default=None
        For the rows from which the spectrum is estimated.
    n_jobs : int, optional
        Threads.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from akkm.theory import suggest_n_landmarks
    >>> X = load_digits().data[:500]
    >>> found = suggest_n_landmarks(X, n_clusters=3)
    >>> found.n_landmarks
    111
    >>> for reason in found.reasons:
    ...     print(reason)
    By Corollary 1 111 landmarks add at most 4.99% to the error, on average; 5.00% was
    asked for.
    The eigenvalues are those of all rows.
    n_landmarks="auto" would take 256.
    """
    if not tolerance > 0:
        raise ValueError(
            f"tolerance={tolerance!r} is not valid; expected a positive share, such as "
            "0.05 for an error of at most 1.05 times the exact one."
        )
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
    require_count("n_clusters", n_clusters, 1, X.shape[0], ", the number of rows")
    found = measure(X, kernel, None, rng, n_jobs, n_clusters)
    m, reasons = _choose(found, n_clusters, tolerance)
    auto = number_of_landmarks("auto", found.n, n_clusters)
    reasons += [_about(found), f'n_landmarks="auto" would take {auto:,}.']
    bound = float(relative_excess(found, n_clusters, m))
    return Suggestion(m, tuple(reasons), bound, auto, found)


def _choose(found: Spectrum, C: int, tolerance: float) -> tuple[int, list[str]]:
    """m, and what decided it."""
    n, least = found.n, min(found.n, _PER_CLUSTER * C)
    m = _smallest(found, C, tolerance, least)
    excess = float(relative_excess(found, C, m))
    told = f"{m:,} landmarks add at most {excess:.2%} to the error, on average"
    if excess <= tolerance:
        reasons = [f"By Corollary 1 {told}; {tolerance:.2%} was asked for."]
    elif found.tail(C) > 0:
        reasons = [f"Not even all {n:,} rows bring Corollary 1 below {excess:.2%}."]
    else:
        reasons = [
            f"Beyond its {C} largest eigenvalues{_seemingly(found)} nothing is left of "
            "the kernel matrix: "
            f"{C} clusters may fit without error, and Corollary 1, a ratio to that "
            "error, says nothing."
        ]
    enough = _spans(found)
    if enough is not None and enough < m:
        m = max(enough, least)
        reasons.append(
            f"The kernel matrix has rank {found.rank}, and {enough:,} landmarks span "
            f"all of it with a chance of {1 - _DELTA:.0%}, so that nothing is lost."
        )
    explained = 1 - found.tail(C) / found.trace if found.trace > 0 else 0.0
    if explained < _LITTLE:
        reasons.append(
            f"Even exact kernel k-means could explain only {explained:.0%} of the "
            "trace: the kernel is narrow, and an error near the exact one says little."
        )
    if m == least < n:
        reasons.append(f"It is the least that is taken: {_PER_CLUSTER} per cluster.")
    return m, reasons


def _smallest(found: Spectrum, C: int, tolerance: float, least: int) -> int:
    """The smallest m from `least` to n within the tolerance, by bisection; else n."""
    low, high = least, found.n
    while low < high:
        middle = (low + high) // 2
        if relative_excess(found, C, middle) <= tolerance:
            high = middle
        else:
            low = middle + 1
    return high


def _spans(found: Spectrum) -> int | None:
    """Landmarks that span all of K, but for a small chance; None: rank not known."""
    if found.rank is None:
        return None
    return min(found.n, int(spanning(found, found.rank, _DELTA)) + 1)


def _seemingly(found: Spectrum) -> str:
    return "" if found.exact else " (as estimated)"


def _about(found: Spectrum) -> str:
    """Where the eigenvalues are from."""
    source = (
        "all rows" if found.exact else f"{found.n_landmarks:,} rows drawn uniformly"
    )
    text = f"The eigenvalues are those of {source}."
    if found.negative_mass > _NEGATIVE:
        text += (
            f" {found.negative_mass:.0%} of their absolute sum is negative; theory is "
            "about kernels without negative ones, so take this as a hint."
        )
    return text
