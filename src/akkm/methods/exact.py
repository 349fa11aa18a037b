"""Exact kernel k-means (the paper's section 2.3) in O(n C) memory.

Lloyd's algorithm does not need the n x n kernel matrix K itself. It needs F = K Uᵀ
(n, C), where entry (k, i) of U is the weight of row i in cluster k, or 0 if the row is
in another cluster. When rows change cluster, their columns of K are computed, added to
one column of F and subtracted from another. After a good initialisation, few rows
change cluster, so that a fit costs little more than one pass over K. Only half of K is
computed, because K is symmetric.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from akkm.core.gram import Centers
from akkm.core.lloyd import SHRUNK, Outcome, Step, changed_little
from akkm.core.nearest import Scorer, nearest_by_score, require_finite
from akkm.core.products import KernelProduct
from akkm.core.strip import Strip, float32_suffices
from akkm.core.threads import Threads
from akkm.guided.guide import Guide
from akkm.guided.parts import weights_of_others
from akkm.kernels import Kernel
from akkm.typing import Array, RowsLike

# Number of rows on which the kernel is examined before the fit.
_PROBES = 256
# Number of columns of K that are computed at a time.
_COLUMNS = 4096


@dataclass(frozen=True)
class ExactStep(Step):
    """One iteration; `evaluated` counts the columns of K computed for it."""

    labels: Array  # (n,) int32, the nearest center of each row


@dataclass(frozen=True)
class ExactSolution(Outcome):
    """The result of a run; `history` counts columns of K instead of rows evaluated."""

    labels: Array  # (n,) int32
    error: float  # sum of squared distances to the centers
    penalty: float  # cost of violated constraints


def kernel_k_means(
    X: RowsLike,
    kernel: Kernel,
    engine: Threads,
    *,
    labels: Array,
    n_clusters: int,
    dtype: Any,
    weights: Array | None = None,
    max_iter: int = 300,
    tol: float = 0.0,
    watch: Callable[[ExactStep], bool] | None = None,
    guide: Guide | None = None,
) -> ExactSolution:
    """Iterate from labels (n,) until no label changes. Assumes validated arrays.

    The run also ends if an iteration decreases the error by less than the share `tol`.
    `guide` assigns constrained rows. The initial labels must satisfy its constraints.
    """
    n = X.shape[0]
    w = np.ones(n) if weights is None else weights
    diag = kernel.diag(X)
    labels = labels.astype(np.int32)
    columns = np.arange(n)
    moved = _members(labels, w, n_clusters)
    F = np.zeros((n, n_clusters))
    largest = np.zeros(n_clusters)
    history: list[tuple[int, int]] = []
    error = np.inf
    for iteration in range(1, max_iter + 1):
        _add_columns(F, X, kernel, engine, columns, moved, dtype)
        counts = np.bincount(labels, weights=w, minlength=n_clusters)
        filled = counts > 0
        largest = np.maximum(largest, counts)
        shrunk = filled & (counts < SHRUNK * largest)
        if shrunk.any():
            # Sum again: rounding errors of earlier, larger sums distort small sums.
            F[:, shrunk], largest[shrunk] = 0, counts[shrunk]
            rows = np.flatnonzero(shrunk[labels])
            members = _members(labels[rows], w[rows], n_clusters)
            _add_columns(F, X, kernel, engine, rows, members, dtype)
        G = F / np.where(filled, counts, 1)
        inside = np.bincount(labels, w * G[np.arange(n), labels], n_clusters)
        norms = inside / np.where(filled, counts, 1)
        U = _members(labels, w, n_clusters) / np.where(filled, counts, 1)
        # Empty clusters have no mean. They get the center of the first nonempty
        # cluster. If two centers are equally near, the lower number wins.
        first = filled.argmax()
        for array in (G, U, norms[None]):
            array[:, ~filled] = array[:, [first]]
        scores = norms[:, None] - 2 * G.T
        require_finite(scores, dtype)
        alpha = np.ascontiguousarray(U.T)  # coefficients of the centers
        centers = Centers(np.empty((n_clusters, 0)), alpha, norms)

        scorer = Scorer.of(alpha, norms, dtype)
        length = np.sqrt(np.abs(diag))
        rescore = partial(_rescore, X, kernel, U, norms)
        exact = dtype == np.float64
        found = nearest_by_score(
            scores,
            scorer,
            length,
            None if exact else rescore,
            partial(_rescore_alone, X, kernel, U, norms),
        )
        new, squared = found.labels, diag + found.score
        if guide is not None:
            rows = guide.constraints.rows
            _assign_constrained(guide, scores, scorer, diag, labels, new, w)
            squared[rows] = diag[rows] + scores[new[rows], rows]
        changed = int((new != labels).sum())
        history.append((changed, len(columns)))
        stop = watch is not None and watch(
            ExactStep(iteration, changed, len(columns), centers, new)
        )
        previous, error = error, float(w @ squared)
        settled = tol > 0 and changed_little(previous, error, tol)
        if stop or iteration == max_iter:
            labels = new
            # If a cluster is empty, the run has not converged: in the next iteration,
            # this cluster would get a row.
            filled = np.bincount(labels, w, n_clusters) > 0
            converged = changed == 0 and bool(filled.all())
            break
        free = w
        if guide is not None:
            free = weights_of_others(n, w, guide.constraints.rows)
        noise = scorer.noise(length, new)
        reseeded = _reseed(new, w, free, squared, n_clusters, noise)
        if (changed == 0 or settled) and not reseeded:
            labels, converged = new, True
            break
        columns = np.flatnonzero(new != labels)
        moved = _members(new[columns], w[columns], n_clusters)
        moved -= _members(labels[columns], w[columns], n_clusters)
        labels = new
    penalty = 0.0
    if guide is not None:
        penalty = guide.total_penalty(
            guide.group_labels(labels[guide.constraints.rows])
        )
    return ExactSolution(
        centers, np.array(history), converged, stop, labels, error, penalty
    )


def _assign_constrained(
    guide: Guide,
    scores: Array,
    scorer: Scorer,
    diag: Array,
    labels: Array,
    new: Array,
    weights: Array,
) -> None:
    """Replace the new labels (n,) of constrained rows by those of the guide."""
    rows = guide.constraints.rows
    ties = scorer.slack(np.sqrt(np.abs(diag[rows])))
    groups = guide.assign(scores[:, rows], ties, guide.group_labels(labels[rows]))
    others = np.delete(np.arange(len(new)), rows)
    free = np.bincount(new[others], weights[others], guide.n_clusters)
    guide.fill_empty(diag[rows] + scores[:, rows], groups, free)
    new[rows] = guide.row_labels(groups)


def _members(labels: Array, weights: Array, n_clusters: int) -> Array:
    """Return Uᵀ (n, C): the weight of each row in the column of its cluster."""
    members = np.zeros((len(labels), n_clusters))
    members[np.arange(len(labels)), labels] = weights
    return members


def _add_columns(
    F: Array,
    X: RowsLike,
    kernel: Kernel,
    engine: Threads,
    columns: Array,
    moved: Array,
    dtype: Any,
) -> None:
    """Add K[:, columns] @ moved to F, computing only half of K[columns, columns]."""
    others = np.delete(np.arange(X.shape[0]), columns)
    products = _products(X, kernel, columns, moved, dtype)
    for start, product in zip(range(0, len(columns), _COLUMNS), products, strict=True):
        stop = start + _COLUMNS
        here, later = columns[start:stop], columns[stop:]
        product.add_to(F, X, np.concatenate([others, here]), engine)
        F[here] += product.add_to(F, X, later, engine, moved[stop:])


def _products(
    X: RowsLike, kernel: Kernel, columns: Array, S: Array, dtype: Any
) -> Iterator[KernelProduct]:
    """Yield K[:, columns] @ S as one product per block of columns, to save memory."""
    for start in range(0, len(columns), _COLUMNS):
        part = slice(start, start + _COLUMNS)
        yield KernelProduct(kernel, kernel.select(X, columns[part]), S[part], dtype)


def _rescore(X: RowsLike, kernel: Kernel, U: Array, norms: Array, rows: Array) -> Array:
    """Return the scores (C, b) of `rows` (b,) in float64.

    U (n, C) has the coefficients of the centers.
    """
    products = _products(X, kernel, np.arange(X.shape[0]), U, np.float64)
    G = sum(product(X[rows]) for product in products)
    return norms[:, None] - 2 * np.transpose(G)


def _rescore_alone(
    X: RowsLike, kernel: Kernel, U: Array, norms: Array, row: Array
) -> Array:
    """Return the scores (C, 1) of one row, computed exactly as in `Model.compare`."""
    product = KernelProduct(kernel, kernel.select(X, np.arange(X.shape[0])), U, float)
    return norms[:, None] - 2 * product(X[row]).T


def _reseed(
    labels: Array,
    weights: Array,
    free: Array,
    squared: Array,
    n_clusters: int,
    noise: Array,
) -> bool:
    """Move the row farthest from its center to an empty cluster, if there is one.

    `free` (n,) are the weights, with zeros for rows that must not be moved. A row at
    its center, with a squared distance of at most `noise` (n,), is not moved, either.
    Returns whether a row was moved.
    """
    counts = np.bincount(labels, weights, n_clusters)
    empty = np.flatnonzero(counts <= 0)
    if not empty.size:
        return False
    alone = counts[labels] - weights <= 0
    squared = np.where(alone | (free <= 0), -np.inf, squared)
    worst = squared.argmax()
    if not squared[worst] > noise[worst]:
        return False
    labels[worst] = empty[0]
    return True


def some_rows(X: RowsLike) -> Array:
    """Return row numbers (p,) of a few rows, spread over all rows."""
    return np.unique(np.linspace(0, X.shape[0] - 1, _PROBES).astype(int))


def working_dtype(X: RowsLike, kernel: Kernel, dtype: Any) -> np.dtype[Any]:
    """Return float64 if float32 kernel values lose too many digits, else `dtype`."""
    if np.dtype(dtype) != np.float32:
        return np.dtype(dtype)
    some = some_rows(X)
    strip = Strip(X[some], kernel, kernel.select(X, some), dtype)
    rounded, exact = strip.kernel_rows(X[some], dtype), strip.kernel_rows(X[some])
    require_finite(exact, np.float64)
    require_finite(rounded, dtype)
    return np.dtype(dtype if float32_suffices(rounded, exact) else np.float64)
