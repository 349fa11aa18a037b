"""The paper's Theorem 1, Corollary 1 and Theorem 2."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.utils import check_consistent_length

from akkm.core.kernel_matrix import kernel_matrix
from akkm.kernels import Kernel, KernelSettings
from akkm.metrics import clustering_error
from akkm.theory._spectrum import Spectrum
from akkm.typing import Array
from akkm.validation import validate_rows

Counts = int | Sequence[int] | Array

# Largest n for the bound of Theorem 1: its computation factors the kernel matrix and
# stores it twice.
_MOST_ROWS = 5000


def expected_error_bound(
    X: Any,
    labels: ArrayLike,
    n_landmarks: Counts,
    kernel: Any = "rbf",
    *,
    n_jobs: int | None = None,
    **kernel_settings: Unpack[KernelSettings],
) -> Any:
    """Theorem 1: bound the expected clustering error of given labels.

    The expectation is over m uniformly drawn landmarks whose span contains the centers.
    The bound needs O(n²) memory and O(n³) time, so X may have at most 5,000 rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows, or the square kernel matrix for `kernel="precomputed"`.
    labels : array of shape (n,)
        Labels of any type; each distinct value is a cluster.
    n_landmarks : int or sequence of int
        The number of landmarks m, from 1 to n.
    kernel : str, Kernel or callable, default="rbf"
        A positive semi-definite kernel, as in `akkm.ApproxKernelKMeans`.
    n_jobs : int, optional
        The number of threads; all by default.
    **kernel_settings : KernelSettings
        `gamma`, `degree`, `coef0` and `kernel_params`, as in `akkm.kernels.resolve`.

    Returns
    -------
    float or array of shape (s,)
        The bound; an array for a sequence of s numbers of landmarks.

    Notes
    -----
    Let D = diag(K), let L(U, 1) be the exact clustering error of the labels, and let
    the rows of Ũ be the indicator vectors of the clusters, scaled to unit length. The
    bound is

        L(U, 1) + tr(Ũ [K⁻¹ + (m/n) D⁻¹]⁻¹ Ũᵀ).

    The second term is computed as c tr(Ũ D (K + c D)⁻¹ K Ũᵀ) with c = n/m, which needs
    no inverse of K or D.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.theory import expected_error_bound
    >>> K = np.diag([1.0, 1.0, 4.0])  # [K⁻¹ + D⁻¹]⁻¹ = K / 2
    >>> bound = expected_error_bound(K, [0, 0, 1], 3, "precomputed")
    >>> round(bound, 6)  # 1 + (1 + 4) / 2
    3.5
    """
    X, kernel = validate_rows(X, kernel, **kernel_settings)
    check_consistent_length(X, labels)
    n = X.shape[0]
    if n > _MOST_ROWS:
        raise ValueError(
            f"Theorem 1 needs the whole kernel matrix, and X has {n} rows; expected at "
            f"most {_MOST_ROWS}. Give a sample of the rows and labels, or use "
            "relative_error_bound, which only needs the spectrum."
        )
    m = _landmark_counts(n_landmarks, n)
    K = kernel_matrix(X, kernel, np.arange(n))
    if not kernel.psd:
        _require_semidefinite(K, kernel, X.dtype)
    _, numbers, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    V = (numbers[:, None] == np.arange(len(sizes))) / np.sqrt(sizes)  # Ũᵀ (n, C)
    KV = K @ V
    excess = [_excess(K, V, KV, n / count) for count in m.ravel()]
    error = clustering_error(X, labels, kernel, n_jobs=n_jobs)
    return _like(m, error + np.reshape(excess, m.shape))


def _excess(K: Array, V: Array, KV: Array, c: float) -> float:
    """The second term of the bound, c tr(Ũ D (K + c D)⁻¹ K Ũᵀ), with V = Ũᵀ."""
    diag = K.diagonal()
    A = K.copy()
    # If k(x, x) = 0, the row of x in K is zero. Then any positive number can replace
    # this entry of D.
    A[np.diag_indices_from(A)] += c * np.where(diag > 0, diag, 1.0)
    factored = linalg.cho_factor(A, overwrite_a=True, check_finite=False)
    solved = linalg.cho_solve(factored, KV, check_finite=False)
    return float(c * np.einsum("ij,i,ij->", V, diag.clip(0), solved))


def _require_semidefinite(K: Array, kernel: Kernel, dtype: Any) -> None:
    """Raise ValueError if K has negative eigenvalues beyond rounding in `dtype`."""
    rounding = len(K) * float(np.finfo(dtype).eps) * np.abs(K).max()
    A = K.copy()
    A[np.diag_indices_from(A)] += max(rounding, np.finfo(np.float64).tiny)
    try:
        linalg.cho_factor(A, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        raise ValueError(
            f"The kernel matrix of {kernel} has negative eigenvalues; Theorem 1 holds "
            "for positive semi-definite kernels. Choose such a kernel, or remove the "
            "negative eigenvalues and pass the matrix as kernel='precomputed'."
        ) from None


@dataclass(frozen=True)
class RelativeBound:
    """Corollary 1: bounds on the expected clustering error divided by the exact error.

    In the paper's symbols, this quotient is E[L(U, ξ)] / L(U, 1). Both bounds are
    infinite if C clusters may have an error of zero.

    Parameters
    ----------
    sharp : float or array of shape (s,)
        The sharper bound, 1 + Σ_{i ≤ C} λ_i / (1 + λ_i m / (n κ)) / tail, where
        tail = tr(K) - λ_1 - ... - λ_C.
    simple : float or array of shape (s,)
        The simpler and larger bound, 1 + κ C n / (m tail).
    """

    sharp: Any
    simple: Any


def relative_error_bound(
    spectrum: Spectrum, n_clusters: int, n_landmarks: Counts
) -> RelativeBound:
    """Corollary 1: bound the clustering error relative to the exact error.

    The bound holds for any labels of C clusters, in expectation over uniform landmarks.
    The kernel is assumed to be positive semi-definite: negative eigenvalues, which the
    spectrum leaves out, are not part of the bound.

    Parameters
    ----------
    spectrum : Spectrum
        The eigenvalues of the kernel matrix.
    n_clusters : int
        The number of clusters C.
    n_landmarks : int or sequence of int
        The number of landmarks m, from 1 to n.

    Returns
    -------
    RelativeBound
        Floats, or arrays of shape (s,) for a sequence of s numbers of landmarks.

    Notes
    -----
    The paper assumes k(x, x) ≤ 1. Here κ, the largest k(x, x), takes the place of 1.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.theory import relative_error_bound, spectrum
    >>> eigenvalues = spectrum(np.eye(10), "precomputed")
    >>> bound = relative_error_bound(eigenvalues, n_clusters=2, n_landmarks=[5, 10])
    >>> bound.sharp.round(4).tolist(), bound.simple.round(4).tolist()
    ([1.1667, 1.125], [1.5, 1.25])
    """
    m = _landmark_counts(n_landmarks, spectrum.n)
    excess = relative_excess(spectrum, n_clusters, m)
    simple = _over_tail(n_clusters / _rate(spectrum, m), spectrum, n_clusters)
    return RelativeBound(_like(m, 1 + excess), _like(m, 1 + simple))


def relative_excess(spectrum: Spectrum, n_clusters: int, m: Any) -> Any:
    """Excess Σ_{i ≤ C} λ_i / (1 + λ_i m / (n κ)) / tail, for valid m: () or (s,)."""
    top = spectrum.leading(n_clusters)
    terms = top / (1 + np.multiply.outer(_rate(spectrum, m), top))  # (..., C)
    return _over_tail(terms.sum(axis=-1), spectrum, n_clusters)


def _rate(spectrum: Spectrum, m: Any) -> Any:
    """The quotient m / (n κ); κ must be positive."""
    kappa = spectrum.largest_diagonal
    if not kappa > 0:
        raise ValueError(
            f"The largest k(x, x) is {kappa:g}; the bounds hold for positive "
            "semi-definite kernels with a positive k(x, x). Choose another kernel."
        )
    return np.asarray(m) / (spectrum.n * kappa)


def _over_tail(excess: Any, spectrum: Spectrum, n_clusters: int) -> Any:
    """The excess divided by the least possible error; infinite if this error is 0."""
    tail = spectrum.tail(n_clusters)
    return excess / tail if tail > 0 else np.full_like(excess, np.inf)


@dataclass(frozen=True)
class SpectralBound:
    """Theorem 2: bounds on |K - K_B K̂⁺ K_Bᵀ|₂ that hold with probability 1 - δ.

    Parameters
    ----------
    paper : float or array of shape (s,)
        The bound as printed, λ_{C+1} (1 + 8 τ ln(2/δ) sqrt(C n / m)), where τ is
        `Spectrum.entry_coherence`.
    gittens : float or array of shape (s,)
        Gittens' bound, λ_{C+1} (1 + n / (ε m)), with the ε of `spectral_error_bound`.
        It is infinite for fewer landmarks than `n_landmarks`.
    n_landmarks : int
        The smallest number of landmarks for which Gittens' bound is finite.
    """

    paper: Any
    gittens: Any
    n_landmarks: int


def spectral_error_bound(
    spectrum: Spectrum, n_clusters: int, n_landmarks: Counts, *, delta: float = 0.05
) -> SpectralBound:
    """Theorem 2: bound the spectral norm of the kernel approximation's error.

    The printed proof requires enough landmarks without saying how many, and proves less
    than the printed theorem states (see docs/theory.md). The proof is based on Gittens'
    theorem [1]_, whose constants are known. The bound of that theorem is returned too.

    Parameters
    ----------
    spectrum : Spectrum
        The eigenvalues of the kernel matrix.
    n_clusters : int
        The number of clusters C.
    n_landmarks : int or sequence of int
        The number of landmarks m, from 1 to n.
    delta : float, default=0.05
        The probability δ that the error of a draw of landmarks exceeds the bound.

    Returns
    -------
    SpectralBound
        Floats, or arrays of shape (s,) for a sequence of s numbers of landmarks.

    Notes
    -----
    In Gittens' bound, ε is the largest number for which
    m ≥ 2 τ C ln(C/δ) / (1 - ε)², where τ = `spectrum.coherence(C)`.

    References
    ----------
    .. [1] A. Gittens: The spectral norm error of the naive Nyström extension, 2011.

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
        raise ValueError(f"delta={delta!r} is not valid; expected 0 < delta < 1.")
    m = _landmark_counts(n_landmarks, spectrum.n)
    n, C = spectrum.n, n_clusters
    after = spectrum.eigenvalue(C + 1) if n > C else 0.0  # λ_{C+1}
    tau = spectrum.entry_coherence
    paper = after * (1 + 8 * tau * np.log(2 / delta) * np.sqrt(C * n / m))
    least = landmarks_to_span(spectrum, C, delta)
    epsilon = np.maximum(1 - np.sqrt(least / m), 0.0)
    with np.errstate(divide="ignore"):
        factor = 1 + n / (epsilon * m)
    gittens = np.where(epsilon > 0, after * factor if after else 0.0, np.inf)
    return SpectralBound(_like(m, paper), _like(m, gittens), int(least) + 1)


def landmarks_to_span(spectrum: Spectrum, dimension: int, delta: float) -> float:
    """Return m such that more than m landmarks span the leading eigenvectors.

    This holds with probability 1 - δ. `dimension` is the number of eigenvectors.
    """
    tau = spectrum.coherence(dimension)
    return 2 * tau * dimension * float(np.log(dimension / delta))


def _landmark_counts(n_landmarks: Any, n: int) -> Array:
    """Validate one or several numbers of landmarks; return floats: () or (s,)."""
    counts = np.asarray(n_landmarks)
    whole = counts.dtype.kind in "iu" and counts.ndim <= 1 and counts.size
    if not whole or counts.min() < 1 or counts.max() > n:
        raise ValueError(
            f"n_landmarks={n_landmarks!r} is not valid; expected an integer from 1 to "
            f"n_samples={n}, the number of rows, or several such integers."
        )
    return counts.astype(np.float64)


def _like(counts: Array, values: Array) -> Any:
    """A float for one number of landmarks, an array for several."""
    return values if counts.ndim else float(values)
