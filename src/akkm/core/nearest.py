"""Which center is nearest to a row: used by every sweep and every prediction.

Scores come in the precision of the kernel rows. Where rounding could decide between
two centers, the row is scored again in float64, and where even that can't tell, the
center of the lower number wins. So a label does not depend on the block a row was in,
on the number of threads or on whether its kernel row was kept or computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.core.gram import Gram
from akkm.core.strip import Rows, Strip

Array = NDArray[Any]

# Rows on which rounding is measured, and how much worse other rows are taken to be.
_PROBES = 64
_SAFETY = 4.0
# float64 rounding against float32 rounding.
_FINER = float(np.finfo(np.float64).eps / np.finfo(np.float32).eps)


@dataclass(frozen=True)
class Probes:
    """Kernel rows of a few points in both precisions: how rough is float32?"""

    rounded: Array  # (p, m) float32
    exact: Array  # (p, m) float64
    lengths: Array  # (p,) of the points' images
    blur: float  # relative rounding of squared lengths in the landmarks' span

    @staticmethod
    def of(strip: Strip, rows: Rows, gram: Gram, K: Array) -> Probes:
        """Compare some rows of K (m, m) with what float32 makes of them.

        `rows` (m, d) are the landmarks.
        """
        # From the shortest to the longest.
        by_length = np.argsort(K.diagonal(), kind="stable")
        some = by_length[np.unique(np.linspace(0, strip.m - 1, _PROBES).astype(int))]
        exact = K[some]
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = strip.kernel_rows(rows[some], np.float32)
        if not np.isfinite(rounded).all():  # beyond float32: off in the last digit
            digit = np.resize([1.0, -1.0], exact.shape) * np.finfo(np.float32).eps
            rounded = exact * (1 + digit)
        lengths = np.sqrt(np.abs(gram.squared_norms(exact)))
        lengths = np.maximum(lengths, max(1e-3 * lengths.max(), 1e-30))
        error = np.linalg.norm((rounded - exact) @ gram.whitener, axis=1)
        return Probes(rounded, exact, lengths, 2 * float((error / lengths).max()))

    def slack(self, alpha: Array) -> float:
        """Rounding of float32 scores of centers alpha (C, m), per unit of length."""
        rough = self.rounded @ alpha.T.astype(self.rounded.dtype)
        error = 2 * np.abs(rough - self.exact @ alpha.T)
        return float((error / self.lengths[:, None]).max(initial=0))


@dataclass(frozen=True)
class View:
    """The centers as a sweep or a prediction needs them."""

    columns: Array  # (m, C) float64, the transpose of alpha
    norms: Array  # (C,) float64
    coefficients: Array  # the same in the precision of the kernel rows, padded
    slack: float  # gaps below slack |x| may be rounding
    tie: float  # gaps below tie |x| are rounding even in float64
    blur: float  # relative uncertainty of |x|²

    @staticmethod
    def of(
        alpha: Array, norms: Array, dtype: Any, probes: Probes | None = None
    ) -> View:
        """The view of centers with coefficients alpha (C, m).

        Without probes, the centers are means, whose scores are about as exact as the
        kernel values.
        """
        longest = float(np.sqrt(np.abs(norms).max(initial=0)))
        rough = 2 * float(np.finfo(np.float32).eps) * longest
        if probes is not None:
            rough = max(rough, probes.slack(alpha))
        rough *= _SAFETY
        tie = rough * _FINER
        blur = 0.0 if probes is None else probes.blur
        columns = np.ascontiguousarray(alpha.T)
        coefficients = np.zeros((len(columns), padded(len(norms))), dtype=dtype)
        coefficients[:, : len(norms)] = columns
        return View(
            columns=columns,
            norms=norms,
            coefficients=coefficients,
            slack=rough if dtype == np.float32 else tie,
            tie=tie,
            blur=4e-7 + blur if dtype == np.float32 else 1e-13 + blur * _FINER,
        )

    def noise(self, reach: Array) -> Array:
        """What rounding can make of a squared distance of zero: (b,)."""
        return self.blur * reach**2 + self.slack * reach

    def upper(self, reach: Array, score: Array) -> Array:
        """At least the distance to a center, from rows' lengths and scores: (b,)."""
        squared = reach**2 + score + self.noise(reach)
        return np.sqrt(squared.clip(0))

    def scores(self, phi: Array) -> Array:
        """Squared distances less k(x, x): |c_k|² - 2 φ·α_k, (C, b) float64."""
        precise = phi.dtype != self.coefficients.dtype
        with np.errstate(over="ignore", invalid="ignore"):
            products = phi @ (self.columns if precise else self.coefficients)
        scores = np.empty((len(self.norms), len(phi)))
        np.multiply(products.T[: len(self.norms)], -2.0, out=scores)
        scores += self.norms[:, None]
        require_finite(scores, phi.dtype)
        return scores


def require_finite(values: Array, dtype: Any) -> None:
    """Raise ValueError if a kernel gave NaN or infinity, saying what to do."""
    if np.isfinite(values).all():
        return
    cure = "scale the columns (e.g. StandardScaler), lower gamma or degree"
    if dtype == np.float32:
        cure = f"values beyond 3e38 overflow in float32: {cure}, or pass float64 data"
    raise ValueError(
        f"The kernel returned NaN or infinity for some rows; {cure}, or mend the "
        "kernel function."
    )


@dataclass(frozen=True)
class Found:
    """The nearest center of each row of a block."""

    labels: Array  # (b,) int32
    score: Array  # (b,) its score
    gap: Array  # (b,) the next best score is higher by at least this; < 0: undecided


def nearest(phi: Array, view: View, reach: Array, strip: Strip, rows: Any) -> Found:
    """Nearest centers of the rows `rows` of the strip.

    phi (b, m) are their kernel rows and reach (b,) their lengths.
    """

    def again(close: Array) -> Array:
        return view.scores(strip.precise(strip.take(rows)[close]))

    scores = view.scores(phi)
    precise = phi.dtype == np.float64
    return decide(
        scores, view.slack * reach, view.tie * reach, None if precise else again
    )


def decide(
    scores: Array,
    slack: Array,
    tie: Array,
    again: Callable[[Array], Array] | None = None,
) -> Found:
    """The lowest of each column of scores (C, b), whatever the rounding.

    Where the two lowest are within `slack` (b,), `again` scores these columns in
    float64; where they are within `tie` (b,) even so, the lower number wins.
    """
    labels, best, gap = _best_two(scores)
    close = np.flatnonzero(~(gap > slack))
    if close.size:
        own = scores[:, close] if again is None else again(close)
        limit = own.min(axis=0) + tie[close]
        labels[close] = (own <= limit).argmax(axis=0)
        best[close] = own[labels[close], np.arange(close.size)]
        gap[close] = 0
    return Found(labels, best, gap - slack)


def _best_two(scores: Array) -> tuple[Array, Array, Array]:
    """Number and score of the lowest of each column, and how far the next one is."""
    labels = np.zeros(scores.shape[1], dtype=np.int32)
    best = scores[0].copy()
    second = np.full_like(best, np.inf)
    higher = np.empty_like(best)
    for k, score in enumerate(scores[1:], start=1):
        np.putmask(labels, score < best, k)
        np.maximum(best, score, out=higher)
        np.minimum(second, higher, out=second)
        np.minimum(best, score, out=best)
    return labels, best, second - best


def padded(n_clusters: int) -> int:
    """The next multiple of eight: BLAS is nearly twice as fast on such widths."""
    return -(-n_clusters // 8) * 8
