"""Nearest centers of rows, independent of rounding errors.

A row's float32 scores are trusted only if the gap between its two best scores exceeds
the measured rounding error. Other rows are scored again in float64, and remaining ties
go to the center with the lower number. The loop, exact kernel k-means and `predict`
all use `nearest_by_score`, so that a row gets the same label from each of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from akkm.core.gram import Gram
from akkm.core.products import KernelProduct
from akkm.core.strip import Strip
from akkm.typing import Array, RowsLike

# Number of landmarks on which rounding errors are measured.
_N_PROBES = 64
# The rounding error of any row is assumed to be at most the largest measured error
# times this factor.
_SAFETY = 4.0
# Rounding error of float64 relative to that of float32.
_FINER = float(np.finfo(np.float64).eps / np.finfo(np.float32).eps)


@dataclass(frozen=True)
class Probes:
    """Kernel rows of a few landmarks in both precisions, to measure rounding errors."""

    rounded: Array  # (p, m) float32
    exact: Array  # (p, m) float64
    lengths: Array  # (p,) lengths of these landmarks' images
    blur: float  # relative rounding error of squared lengths in the landmarks' span

    @staticmethod
    def of(strip: Strip, rows: RowsLike, gram: Gram, K: Array) -> "Probes":
        """Return probes: a few rows of K (m, m), and the same rows in float32.

        `rows` (m, d) are the landmarks.
        """
        # Probes range from the shortest landmark to the longest.
        by_length = np.argsort(K.diagonal(), kind="stable")
        probes = by_length[
            np.unique(np.linspace(0, strip.m - 1, _N_PROBES).astype(int))
        ]
        exact = K[probes]
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = strip.kernel_rows(rows[probes], np.float32)
        if not np.isfinite(rounded).all():  # overflow: assume errors in the last digit
            digit = np.resize([1.0, -1.0], exact.shape) * np.finfo(np.float32).eps
            rounded = exact * (1 + digit)
        lengths = np.sqrt(np.abs(gram.squared_norms(exact)))
        lengths = np.maximum(lengths, max(1e-3 * lengths.max(), 1e-30))
        error = np.linalg.norm((rounded - exact) @ gram.whitener, axis=1)
        return Probes(rounded, exact, lengths, 2 * float((error / lengths).max()))

    def errors(self, alpha: Array) -> Array:
        """Return the largest float32 error of scores per unit of row length: (C,)."""
        rough = self.rounded @ alpha.T.astype(self.rounded.dtype)
        error = 2 * np.abs(rough - self.exact @ alpha.T)
        return (error / self.lengths[:, None]).max(axis=0, initial=0)


@dataclass(frozen=True)
class Scorer:
    """Scores of rows for each center, with bounds on their rounding errors.

    The score of row i for center k is their squared distance minus k(x_i, x_i). Its
    rounding error is at most errors_k times the length of the row or of the center,
    whichever is longer. Each center has its own bound: otherwise one center far from
    all others would make the scores of all centers look unreliable.
    """

    columns: Array  # (m, C) float64, the transpose of alpha
    norms: Array  # (C,) float64
    # the columns in the precision of the kernel rows, padded with zeros (see `padded`)
    coefficients: Array
    errors: Array  # (C,) rounding errors of scores in that precision
    blur: float  # relative rounding error of |x|²

    @staticmethod
    def of(
        alpha: Array, norms: Array, dtype: Any, probes: Probes | None = None
    ) -> "Scorer":
        """Return the scorer of centers with coefficients alpha (C, m).

        Omit `probes` if the centers are means of rows: their scores are about as exact
        as the kernel values.
        """
        errors = 2 * float(np.finfo(np.float32).eps) * np.sqrt(np.abs(norms))
        if probes is not None:
            errors = np.maximum(errors, probes.errors(alpha))
        blur = 0.0 if probes is None else probes.blur
        columns = np.ascontiguousarray(alpha.T)
        coefficients = np.zeros((len(columns), padded(len(norms))), dtype=dtype)
        coefficients[:, : len(norms)] = columns
        errors = _SAFETY * errors
        if dtype != np.float32:
            errors = np.maximum(_FINER * errors, _summation_errors(columns, norms))
        return Scorer(
            columns=columns,
            norms=norms,
            coefficients=coefficients,
            errors=errors,
            blur=4e-7 + blur if dtype == np.float32 else 1e-13 + blur * _FINER,
        )

    @property
    def lengths(self) -> Array:
        """Lengths of the centers (C,)."""
        return np.sqrt(np.abs(self.norms))

    @property
    def float64_errors(self) -> Array:
        """Rounding errors (C,) of scores computed in float64."""
        if self.coefficients.dtype != np.float32:
            return self.errors
        return np.maximum(
            _FINER * self.errors, _summation_errors(self.columns, self.norms)
        )

    def slack(self, length: Array) -> Array:
        """Return limits (b,) up to which gaps between scores may be rounding errors."""
        return self.errors.max(initial=0) * np.fmax(length, self.lengths.max(initial=0))

    def tie_limits(self, length: Array) -> Array:
        """Return limits (b,) up to which float64 gaps may be rounding errors."""
        return self.tie_function()(length)

    def tie_function(self) -> Callable[[Array], Array]:
        """Return a function like `tie_limits`, which is faster for many blocks."""
        error, longest = self.float64_errors.max(initial=0), self.lengths.max(initial=0)
        return lambda length: error * np.fmax(length, longest)

    def row_errors(self, length: Array) -> Array:
        """Return rounding errors (C, b) of float64 scores, for rows of lengths (b,)."""
        return self.float64_errors[:, None] * np.fmax(length, self.lengths[:, None])

    def noise(self, length: Array, labels: Any) -> Array:
        """Return limits up to which squared distances may be rounding errors.

        The distances are those of rows to the centers `labels`.
        """
        scale = np.fmax(length, self.lengths[labels])
        return (self.blur * scale + self.errors[labels]) * scale

    def upper(self, length: Array, score: Array, labels: Array) -> Array:
        """Return upper bounds (b,) on the distances of rows to the centers `labels`.

        `length` (b,) are the lengths of the rows, and `score` (b,) their scores.
        """
        squared = length**2 + score + self.noise(length, labels)
        return np.sqrt(squared.clip(0))

    def scores(self, phi: Array) -> Array:
        """Return |c_k|² - 2 φ·α_k for kernel rows phi (b, m): (C, b).

        The result has the precision of `phi`. Its columns are contiguous.
        """
        precise = phi.dtype != self.coefficients.dtype
        with np.errstate(over="ignore", invalid="ignore"):
            products = phi @ (self.columns if precise else self.coefficients)
            scores = products[:, : len(self.norms)]
            scores *= -2
            scores += self.norms.astype(phi.dtype)
        require_finite(scores, phi.dtype)
        return scores.T


def _summation_errors(columns: Array, norms: Array) -> Array:
    """Bound the float64 errors of scores per unit of row length: (C,).

    A score is a sum of m products, and the rounding error of such a sum grows like the
    square root of m. The errors measured on a few rows may be smaller by chance.
    """
    eps = float(np.finfo(np.float64).eps)
    return 2 * _SAFETY * eps * np.sqrt(len(columns) * np.abs(norms))


def require_finite(values: Array, dtype: Any) -> None:
    """Raise ValueError if a kernel returned NaN or infinity."""
    if np.isfinite(values).all():
        return
    advice = "scale the columns (e.g. StandardScaler), lower gamma or degree"
    if dtype == np.float32:
        advice = (
            f"values above 3e38 overflow in float32: {advice}, or pass float64 data"
        )
    raise ValueError(
        f"The kernel returned NaN or infinity for some rows; {advice}, or correct the "
        "kernel function."
    )


@dataclass(frozen=True)
class NearestCenters:
    """The nearest center of each row of a block."""

    labels: Array  # (b,) int32
    score: Array  # (b,) score of the nearest center
    # (b,) lower bound on the next best score minus the best score; negative for a tie
    gap: Array


def nearest(
    phi: Array, scorer: Scorer, length: Array, strip: Strip, rows: Any
) -> NearestCenters:
    """Find the nearest center of each of the strip's rows `rows` (slice or indices).

    `phi` (b, m) are their kernel rows, and `length` (b,) the lengths of their images.
    """

    def rescore(close: Array) -> Array:
        return scorer.scores(strip.kernel_rows(strip.X[rows][close]))

    @cache
    def product() -> KernelProduct:
        return KernelProduct(strip.kernel, strip.Z, scorer.columns, np.float64)

    def rescore_alone(row: Array) -> Array:
        return scorer.norms[:, None] - 2 * product()(strip.X[rows][row]).T

    exact = phi.dtype == np.float64
    scores = scorer.scores(phi)
    return nearest_by_score(
        scores, scorer, length, None if exact else rescore, rescore_alone
    )


def nearest_by_score(
    scores: Array,
    scorer: Scorer,
    length: Array,
    rescore: Callable[[Array], Array] | None,
    rescore_alone: Callable[[Array], Array],
) -> NearestCenters:
    """Find the lowest entry of each column of scores (C, b) despite rounding errors.

    `length` (b,) are the lengths of the rows, NaN if unknown. If rounding errors might
    have changed the order of the two lowest scores, `rescore` computes the column again
    in float64. If the order is still uncertain, the center with the lower number wins.

    The last digits of a score depend on the rows that are computed together with it.
    These digits must not decide whether an order counts as uncertain. If they could,
    `rescore_alone` computes the scores of the row again, without other rows.
    """
    labels, best, gap = _two_lowest(scores)
    slack = scorer.slack(length)
    close = np.flatnonzero(~(gap > slack + scorer.tie_limits(length) / 2))
    if close.size:
        own = scores[:, close] if rescore is None else rescore(close)
        errors = scorer.row_errors(length[close])
        excess = _excess(own, errors)
        for column in np.flatnonzero((np.abs(excess) <= errors / 2).any(axis=0)):
            alone = [column]
            own[:, alone] = rescore_alone(close[alone])
            excess[:, alone] = _excess(own[:, alone], errors[:, alone])
        labels[close] = (excess <= 0).argmax(axis=0)
        best[close] = own[labels[close], np.arange(close.size)]
        gap[close] = 0
    return NearestCenters(labels, best, gap - slack)


def _excess(scores: Array, errors: Array) -> Array:
    """Return scores (C, b) minus the limits up to which they tie with the lowest."""
    lowest, columns = scores.argmin(axis=0), np.arange(scores.shape[1])
    tie = np.maximum(errors, errors[lowest, columns])
    return np.asarray(scores - scores[lowest, columns] - tie)


def _two_lowest(scores: Array) -> tuple[Array, Array, Array]:
    """Return the row and value of each column's lowest entry, and the gap to the next.

    The next entry is the second lowest entry of the column.
    """
    columns = np.arange(scores.shape[1])
    labels = scores.argmin(axis=0)
    best = scores[labels, columns]
    scores[labels, columns] = np.inf
    second = scores.min(axis=0)
    scores[labels, columns] = best
    return labels.astype(np.int32), best, second - best


def padded(n_clusters: int) -> int:
    """Round up to a multiple of 8: BLAS is nearly twice as fast for such widths."""
    return -(-n_clusters // 8) * 8
