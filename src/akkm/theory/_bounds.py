"""Theorem 1, Corollary 1 and Theorem 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.utils import check_consistent_length

from akkm.core.kernel_matrix import kernel_matrix
from akkm.kernels import Kernel
from akkm.metrics import clustering_error
from akkm.theory._input import landmark_counts, like
from akkm.theory._spectrum import Spectrum
from akkm.validation import prepare

Array = NDArray[Any]
Counts = int | Sequence[int] | Array

# Theorem 1 holds the kernel matrix twice and solves with it.
_MOST_ROWS = 5000


def expected_error_bound(
    X: Any,
    labels: ArrayLike,
    n_landmarks: Counts,
    kernel: Any = "rbf",
    *,
    gamma: float | str | None = "scale",
    degree: float = 3,
    coef0: float = 1.0,
    kernel_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> Any:
    """Theorem 1: what the clustering error of these labels is at most, on average.

    The average is over m uniformly drawn landmarks in whose span the centers have to
    lie. The bound is

        L(U, 1) + tr(Ũ [K⁻¹ + (m/n) D⁻¹]⁻¹ Ũᵀ),    D = diag(K),

    with L(U, 1) the exact clustering error of the labels, and the second term computed
    as c tr(Ũ D (K + c D)⁻¹ K Ũᵀ), c = n/m, which needs no inverse of K or D. It takes
    n² memory and n³ work, so it is for small data: up to 5,000 rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows; the square kernel matrix for `kernel="precomputed"`.
    labels : array of shape (n,)
        Any labels; each distinct value is a cluster.
    n_landmarks : int or sequence of int
        m, from 1 to n.
    kernel, gamma, degree, coef0, kernel_params
        As in `akkm.ApproxKernelKMeans`; the kernel must be positive semi-definite.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    bound : float, or array of shape (s,) for a sequence of s numbers

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.theory import expected_error_bound
    >>> K = np.diag([1.0, 1.0, 4.0])  # [K⁻¹ + D⁻¹]⁻¹ = K / 2
    >>> bound = expected_error_bound(K, [0, 0, 1], 3, "precomputed")
    >>> round(bound, 6)  # 1 + (1 + 4) / 2
    3.5
    """
    X, kernel = prepare(
        X, kernel, gamma=gamma, degree=degree, coef0=coef0, params=kernel_params
    )
    check_consistent_length(X, labels)
    n = X.shape[0]
    if n > _MOST_ROWS:
        raise ValueError(
            f"Theorem 1 needs the whole kernel matrix, and X has {n} rows; expected at "
            f"most {_MOST_ROWS}. Give a sample of the rows and labels, or use "
            "relative_error_bound, which needs the spectrum only."
        )
    counts = landmark_counts(n_landmarks, n)
    K = kernel_matrix(X, kernel, np.arange(n))
    if not kernel.psd:
        _require_semidefinite(K, kernel, X.dtype)
    V = _normalised(labels)
    KV = K @ V
    excess = [_excess(K, V, KV, n / m) for m in counts.ravel()]
    error = clustering_error(X, labels, kernel, n_jobs=n_jobs)
    return like(counts, error + np.reshape(excess, counts.shape))


def _normalised(labels: ArrayLike) -> Array:
    """Ũᵀ (n, C): memberships, each column of length 1."""
    _, numbers, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    V = np.zeros((len(numbers), len(sizes)))
    V[np.arange(len(numbers)), numbers] = 1 / np.sqrt(sizes[numbers])
    return V


def _excess(K: Array, V: Array, KV: Array, c: float) -> float:
    """The second term, c tr(Ũ D (K + c D)⁻¹ K Ũᵀ), with V = Ũᵀ."""
    diag = K.diagonal()
    A = K.copy()
    # A row with k(x, x) = 0 is all zeros: any positive number will do there.
    A[np.diag_indices_from(A)] += c * np.where(diag > 0, diag, 1.0)
    factored = linalg.cho_factor(A, overwrite_a=True, check_finite=False)
    solved = linalg.cho_solve(factored, KV, check_finite=False)
    return float(c * np.einsum("ij,i,ij->", V, diag.clip(0), solved))


def _require_semidefinite(K: Array, kernel: Kernel, dtype: Any) -> None:
    """Raise ValueError if K has negative eigenvalues beyond rounding in that dtype."""
    rounding = len(K) * float(np.finfo(dtype).eps) * np.abs(K).max()
    A = K.copy()
    A[np.diag_indices_from(A)] += max(rounding, np.finfo(np.float64).tiny)
    try:
        linalg.cho_factor(A, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        raise ValueError(
            f"The kernel matrix of {kernel} has negative eigenvalues; Theorem 1 holds "
            "for positive semi-definite kernels. Choose one, or leave the negative "
            "eigenvalues out and pass the matrix as kernel='precomputed'."
        ) from None


@dataclass(frozen=True)
class RelativeBound:
    """Corollary 1: E[L(U, ξ)] / L(U, 1) is at most `sharp`, which is at most `simple`.

    Floats, or arrays (s,) for a sequence of s numbers of landmarks; infinite where C
    clusters could hold all rows without error.
    """

    sharp: Any  # 1 + sum_{i <= C} λ_i / (1 + λ_i m / (n κ)) / tail
    simple: Any  # 1 + κ C n / (m tail), tail = tr(K) - λ_1 - ... - λ_C


def relative_error_bound(
    spectrum: Spectrum, n_clusters: int, n_landmarks: Counts
) -> RelativeBound:
    """Corollary 1: the clustering error with m landmarks, relative to the exact one.

    For any labels into C clusters, on average over uniform landmarks. The paper has
    k(x, x) ≤ 1; here it is at most κ, the largest k(x, x). The kernel is taken to be
    positive semi-definite: eigenvalues that a spectrum left out are not in the bound.

    Parameters
    ----------
    spectrum : Spectrum
    n_clusters : int
        C.
    n_landmarks : int or sequence of int
        m, from 1 to n.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.theory import relative_error_bound, spectrum
    >>> found = spectrum(np.eye(10), "precomputed")
    >>> bound = relative_error_bound(found, n_clusters=2, n_landmarks=[5, 10])
    >>> bound.sharp.round(4).tolist(), bound.simple.round(4).tolist()
    ([1.1667, 1.125], [1.5, 1.25])
    """
    m = landmark_counts(n_landmarks, spectrum.n)
    rate = m / (spectrum.n * largest_diagonal(spectrum))
    excess = relative_excess(spectrum, n_clusters, m)
    simple = _over(n_clusters / rate, spectrum.tail(n_clusters))
    return RelativeBound(like(m, 1 + excess), like(m, 1 + simple))


def relative_excess(spectrum: Spectrum, n_clusters: int, m: Any) -> Any:
    """sum_{i <= C} λ_i / (1 + λ_i m / (n κ)) / tail, for checked m: () or (s,)."""
    rate = np.asarray(m) / (spectrum.n * largest_diagonal(spectrum))
    top = spectrum.leading(n_clusters)
    terms = top / (1 + np.multiply.outer(rate, top))  # (..., C)
    return _over(terms.sum(axis=-1), spectrum.tail(n_clusters))


def _over(excess: Any, tail: float) -> Any:
    return excess / tail if tail > 0 else np.full_like(excess, np.inf)


def largest_diagonal(spectrum: Spectrum) -> float:
    """κ, which must be positive."""
    kappa = spectrum.largest_diagonal
    if not kappa > 0:
        raise ValueError(
            f"The largest k(x, x) is {kappa:g}; the bounds hold for positive "
            "semi-definite kernels, where it is positive. Choose another kernel."
        )
    return kappa


@dataclass(frozen=True)
class SpectralBound:
    """Bounds on |K - K_B K̂⁺ K_Bᵀ|₂ that hold with chance 1 - δ.

    Floats, or arrays (s,) for a sequence of s numbers of landmarks.
    """

    paper: Any  # λ_{C+1} (1 + 8 τ ln(2/δ) sqrt(C n / m)), τ entrywise; as printed
    gittens: Any  # λ_{C+1} (1 + n / (ε m)); infinite where m is below n_landmarks
    n_landmarks: int  # from so many landmarks on Gittens' bound says something


def spectral_error_bound(
    spectrum: Spectrum, n_clusters: int, n_landmarks: Counts, *, delta: float = 0.05
) -> SpectralBound:
    """Theorem 2: how far the kernel matrix is from what the landmarks make of it.

    `paper` is the theorem as printed; its proof asks for enough landmarks without
    saying how many, and gives less than is printed (see docs/theory.md). `gittens` is
    what the theorem that it builds on gives, all constants known [1]: with
    τ = `spectrum.coherence(C)`, for the largest ε that m ≥ 2 τ C ln(C/δ) / (1 - ε)²
    allows.

    Parameters
    ----------
    spectrum : Spectrum
    n_clusters : int
        C.
    n_landmarks : int or sequence of int
        m, from 1 to n.
    delta : float, default=0.05
        The chance that a draw of landmarks does worse.

    References
    ----------
    [1] A. Gittens: The spectral norm error of the naive Nyström extension, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.theory import spectral_error_bound, spectrum
    >>> K = np.full((200, 200), 0.5) + 0.5 * np.eye(200)
    >>> bound = spectral_error_bound(spectrum(K, "precomputed"), 1, 100)
    >>> bound.n_landmarks, round(bound.gittens, 3)
    (6, 1.824)
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} is not a chance; expected 0 < delta < 1.")
    m = landmark_counts(n_landmarks, spectrum.n)
    n, C = spectrum.n, n_clusters
    after = spectrum.eigenvalue(C + 1) if n > C else 0.0  # λ_{C+1}
    tau = spectrum.entry_coherence
    paper = after * (1 + 8 * tau * np.log(2 / delta) * np.sqrt(C * n / m))
    least = spanning(spectrum, C, delta)
    epsilon = np.maximum(1 - np.sqrt(least / m), 0.0)
    with np.errstate(divide="ignore"):
        times = 1 + n / (epsilon * m)
    gittens = np.where(epsilon > 0, after * times if after else 0.0, np.inf)
    return SpectralBound(like(m, paper), like(m, gittens), int(least) + 1)


def spanning(spectrum: Spectrum, dimension: int, delta: float) -> float:
    """More than so many uniform landmarks meet all of the leading eigenvectors."""
    tau = spectrum.coherence(dimension)
    return 2 * tau * dimension * float(np.log(dimension / delta))
