"""The spectrum of a similarity matrix, and the diffusion kernel made of it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from akkm.core.eigenpairs import largest_eigenpairs
from akkm.core.threads import Threads
from akkm.diffusion.chebyshev import leading_eigenpairs_by_filter
from akkm.diffusion.diffusion_time import diffusion_time, diffusion_weights
from akkm.diffusion.estimate_k import (
    OUTLIER_SHARE,
    Evidence,
    cut_along_eigenvectors,
    estimate_n_clusters,
)
from akkm.typing import Array

# Similarity matrices with at most this many rows are decomposed as dense matrices.
_DENSE_ROWS = 1_000
# If t is given, at most this many eigenpairs are computed for matrices with more than
# _DENSE_ROWS rows.
_MOST_PAIRS = 250
# Number of eigenpairs per cluster. With many clusters, _MORE_PAIRS more eigenpairs than
# clusters are enough.
_PAIRS_PER_CLUSTER, _MORE_PAIRS = 3, 60

# A function that chooses the number of clusters from the spectrum's evidence and the
# similarities W.
Decision = Callable[[Evidence, Any], Evidence]


def spectrum_decides(evidence: Evidence, W: Any) -> Evidence:
    """Return the evidence of the spectrum, unchanged."""
    return evidence


def leading_eigenpairs(
    W: Any,
    component: Array,
    n_pairs: int,
    rng: np.random.Generator,
    *,
    dense_rows: int = _DENSE_ROWS,
    say: Callable[[str], Any] = lambda text: None,
    engine: Threads | None = None,
) -> tuple[Array, Array]:
    """The largest eigenvalues and eigenvectors of S = D^(-1/2) W D^(-1/2).

    Each connected component adds an eigenvalue of 1, whose eigenvector is known. Only
    the remaining eigenpairs are computed.

    Parameters
    ----------
    W : symmetric CSR array of shape (n, n)
        Similarities; D is the diagonal matrix of their row sums.
    component : int array of shape (n,)
        The connected component of each row.
    n_pairs : int
        The number of eigenpairs to compute; q is this number, or n if n is smaller.
    rng : numpy.random.Generator
        Draws the first vectors of the iteration.
    dense_rows : int, default=1000
        Use a dense decomposition for matrices of up to this many rows.
    say : callable, optional
        Receives lines of progress.
    engine : Threads, optional
        Computes in parallel. The result does not depend on it.

    Returns
    -------
    values : array of shape (q,)
        Eigenvalues in descending order.
    vectors : array of shape (n, q)
        Their eigenvectors.
    """
    n, n_components = W.shape[0], int(component.max()) + 1
    degree = np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
    degree[degree == 0] = 1  # isolated rows
    scale = sparse.diags_array(1 / np.sqrt(degree))
    S = sparse.csr_array(scale @ W.astype(np.float64) @ scale)
    entries = np.sqrt(degree / np.bincount(component, degree)[component])
    known = sparse.csr_array(
        (entries, (np.arange(n), component)), shape=(n, n_components)
    )
    values, vectors = np.ones(n_components), known[:, :n_pairs].toarray()
    more = min(n_pairs, n) - n_components
    if more > 0:
        if n <= dense_rows or more >= n // 4:
            # Move the eigenvalues of known eigenvectors from 1 to -1, the other end of
            # the spectrum.
            rest = largest_eigenpairs((S - 2 * known @ known.T).toarray(), more)
        else:
            rest = leading_eigenpairs_by_filter(S, known, more, rng, say, engine)
        order = np.argsort(-rest[0], kind="stable")
        values = np.concatenate([values, rest[0][order]])
        vectors = np.hstack([vectors, rest[1][:, order]])
    return values[:n_pairs], vectors


@dataclass(frozen=True)
class DiffusionKernel:
    """The parameters of the kernel S^(2t), without the eigenvectors of S."""

    eigenvalues: Array  # (r,) descending from 1
    t: float
    n_clusters: int  # as given, or estimated
    evidence: Evidence
    lost_weight: float = 0.0  # largest weight of an eigenvector that was not computed


def pairs_for(n_clusters: int) -> int:
    """The number of eigenpairs that this many clusters need.

    Examples
    --------
    >>> from akkm.diffusion.spectrum import pairs_for
    >>> pairs_for(10), pairs_for(150)
    (30, 210)
    """
    return min(_PAIRS_PER_CLUSTER * n_clusters, n_clusters + _MORE_PAIRS)


def fit_diffusion_kernel(
    W: Any,
    component: Array,
    n_pairs: int,
    rng: np.random.Generator,
    n_clusters: int | None,
    t: float | None,
    rows: Array,
    least: float = OUTLIER_SHARE,
    say: Callable[[str], Any] = lambda text: None,
    decide: Decision = spectrum_decides,
    engine: Threads | None = None,
) -> tuple[DiffusionKernel, Array]:
    """The diffusion kernel of a CSR array W (n, n), and the eigenvectors (n, r) of S.

    S, `component` (n,) and `n_pairs` mean the same as in `leading_eigenpairs`. `rows`
    (n,) are the weights of rows, and `least` is the smallest share of the rows that a
    cluster has, as in `estimate_k`. If `n_clusters` is None, `decide` chooses the
    number from the spectrum's evidence, and may replace the evidence. If `t` is given,
    more than `n_pairs` eigenpairs may be computed, because many eigenvectors have large
    weights if t is small.
    """
    n = W.shape[0]
    eigenpairs = partial(leading_eigenpairs, W, component, say=say, engine=engine)
    values, vectors = eigenpairs(n_pairs, rng)
    cut = partial(cut_along_eigenvectors, W, values, vectors, rows)
    evidence = estimate_n_clusters(values, cut, least)
    if n_clusters is None:
        evidence = decide(evidence, W)
        n_clusters = evidence.n_clusters
        more = min(n, pairs_for(n_clusters))
        if more > len(values):
            values, vectors = eigenpairs(more, rng)
    if t is None:
        t = diffusion_time(values, n_clusters)
        return DiffusionKernel(values, t, n_clusters, evidence), vectors
    most = n if n <= _DENSE_ROWS else max(n_pairs, min(_MOST_PAIRS, n))
    if len(values) < most and _last_weight(values, t):
        values, vectors = eigenpairs(most, rng)
    lost = _last_weight(values, t) if len(values) < n else 0.0
    return DiffusionKernel(values, t, n_clusters, evidence, lost), vectors


def _last_weight(values: Array, t: float) -> float:
    """The weight of the last eigenvector after t steps; 0 if negligible."""
    weights = diffusion_weights(values, t)
    return float(weights[-1]) if len(weights) == len(values) else 0.0
