"""Diffusion: eigenvectors weighted by powers of their eigenvalues, as kernel k-means.

S being a symmetric matrix of similarities with eigenvalues up to 1 (one step of a walk
from row to row, degrees divided out), K = S^(2t) compares rows by where walks of t
steps from them end. Its feature map is the rows of V λ^t, with the whole spectrum
at hand and not the top C eigenvectors alone: what separates clusters poorly fades
instead of being cut off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, eigsh

Array = NDArray[Any]

# Eigenvectors with a smaller share of the largest weight do not show.
_FADED = 1e-3
# What is left of the last eigenvector that clusters need, at least.
_ALIVE = 0.1
# Walks of fewer and of more steps than these are not looked for.
_SHORTEST, _LONGEST = 2.0**-6, 2.0**24
_HALVINGS = 60
# Up to so many rows the whole matrix is factored.
_DENSE = 1_000
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Diffusion:
    """How far walks go, and what that leaves of each eigenvector."""

    t: float  # steps
    weights: Array  # (q,) eigenvalue^t of the leading pairs, without those that faded


@dataclass(frozen=True)
class Pairs:
    """Leading eigenvalues and eigenvectors."""

    values: Array  # (q,), falling
    vectors: Array  # (n, q)


def diffuse(eigenvalues: Array, t: float) -> Diffusion:
    """Weights after walks of t steps, of falling eigenvalues (r,).

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.diffusion.spectrum import diffuse
    >>> diffuse(np.array([1.0, 0.5, 0.1]), t=4.0).weights
    array([1.    , 0.0625])
    """
    weights = _shares(eigenvalues) ** t
    return Diffusion(float(t), weights[weights >= _FADED])


def diffusion_time(eigenvalues: Array, n_clusters: int, *, share: float = 0.9) -> float:
    """The t for which the sum of eigenvalue^(2t) is `share` times C.

    That sum is the trace of K, the number of dimensions in which rows differ; C
    clusters far apart have C. Where even very long or short walks don't meet it
    (C eigenvalues of 1; fewer eigenvalues than clusters), t is at its limit.

    Parameters
    ----------
    eigenvalues : array of shape (r,)
        Falling from the largest, which is taken as 1; negative ones count as 0.
    n_clusters : int
    share : float, default=0.9

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.diffusion.spectrum import diffusion_time
    >>> t = diffusion_time(np.array([1.0, 0.9, 0.9, 0.5]), n_clusters=2)
    >>> round(float(1 + 2 * 0.9 ** (2 * t) + 0.5 ** (2 * t)), 6)
    1.8
    """
    values = _shares(eigenvalues)
    low, high = np.log(_SHORTEST), np.log(_LONGEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if (values ** (2 * np.exp(middle))).sum() > share * n_clusters:
            low = middle
        else:
            high = middle
    # Almost as many components as clusters would have walks without end; the last
    # eigenvector that clusters need is not to fade.
    last = values[min(n_clusters, len(values)) - 1]
    most = np.log(_ALIVE) / np.log(last) if 0 < last < 1 else np.inf
    return float(min(np.exp(high), most))


def embed(vectors: Array, eigenvalues: Array, t: float) -> Array:
    """Rows of V λ^t, scaled to length one; rows of zeros stay.

    Parameters
    ----------
    vectors : array of shape (n, r)
        Eigenvectors, or anything that is to be weighted like them.
    eigenvalues : array of shape (r,)
        Falling from the largest.
    t : float

    Returns
    -------
    points : array of shape (n, q)
        In the precision of the vectors; q ≤ r eigenvectors have not faded.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.diffusion.spectrum import embed
    >>> embed(np.array([[0.6, 1.6], [0.0, 0.0]]), np.array([1.0, 0.5]), t=1.0)
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    weights = diffuse(eigenvalues, t).weights.astype(vectors.dtype)
    points = vectors[:, : len(weights)] * weights
    length = np.linalg.norm(points, axis=1, keepdims=True)
    points /= np.where(length > 0, length, 1)
    return points


def _shares(eigenvalues: Array) -> Array:
    """Eigenvalues relative to the largest, in [0, 1] whatever rounding did."""
    values = np.asarray(eigenvalues, dtype=np.float64)
    return (values / max(values[0], np.finfo(np.float64).tiny)).clip(0, 1)


def leading_eigenpairs(W: Any, label: Array, q: int, rng: np.random.Generator) -> Pairs:
    """The q largest eigenvalues and vectors of S = D^(-1/2) W D^(-1/2).

    `label` (n,) is the component of each row. Each has an eigenvalue of 1 whose vector
    is known; Lanczos, which would miss copies of the same eigenvalue, finds the rest.

    Parameters
    ----------
    W : symmetric CSR matrix of shape (n, n)
    label : int array of shape (n,)
    q : int
    rng : numpy.random.Generator
    """
    n = W.shape[0]
    degree = np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
    degree[degree == 0] = 1  # a row by itself
    scale = sparse.diags_array(1 / np.sqrt(degree))
    S = sparse.csr_array(scale @ W.astype(np.float64) @ scale)
    count = int(label.max()) + 1
    total = np.bincount(label, degree)
    known = sparse.csr_array(
        (np.sqrt(degree / total[label]), (np.arange(n), label)), shape=(n, count)
    )
    values, vectors = np.ones(count), known[:, :q].toarray()
    more = min(q, n) - count
    if more > 0:
        rest_values, rest = _largest(S, known, more, rng)
        values = np.concatenate([values, rest_values])
        vectors = np.hstack([vectors, rest])
    return Pairs(values[:q], vectors)


def _largest(
    S: Any, known: Any, count: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """The largest eigenpairs beside the known ones, falling."""
    n = S.shape[0]
    if n <= _DENSE or count >= n // 4:
        # Known vectors are moved to the other end of the spectrum.
        values, vectors = linalg.eigh(
            (S - 2 * known @ known.T).toarray(), subset_by_index=[n - count, n - 1]
        )
    else:
        transposed = known.T.tocsr()
        deflated = LinearOperator(
            S.shape, lambda x: S @ x - known @ (transposed @ x), dtype=np.float64
        )
        start = rng.standard_normal(n)
        values, vectors = eigsh(deflated, count, which="LA", v0=start, tol=_TOLERANCE)
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]
