"""Measure how reproducible each number of clusters is, and choose the layers."""

from dataclasses import dataclass

import numpy as np

from akkm.layers.halves import Agreement, Halves
from akkm.typing import Array

# All numbers of clusters up to _EVERY are measured. After that, each measured number is
# about _FACTOR times the previous one.
_EVERY, _FACTOR = 10, 1.19
# The reference changes slowly with the number of clusters. From this number on, it is
# measured for every second number only.
_DENSE_REFERENCE = 8
# The search ends at the first number of clusters with three properties: it is at least
# _SEARCHED, it is at least _BEYOND times the number with the best score, and its score
# is below _DECLINED times the best score. The search also ends at _SEARCHED if no score
# has reached _FAINT.
_BEYOND, _DECLINED, _SEARCHED = 2, 0.85, 40
# Scores below this occur in data without clusters.
_FAINT = 0.05
# The score of a peak is at least _PEAK times the best score. The valley between two
# peaks is deeper than _PROMINENCE times the best score.
_PEAK, _PROMINENCE = 0.5, 0.2
# Scores around a peak that are lower by at most the share _SAME may differ from it by
# chance only. Consider the numbers of clusters with these scores, and their errors,
# divided by that of the reference. The layer is the largest of these numbers whose
# error is at most the share _SAME_ERROR above the lowest error.
_SAME, _SAME_ERROR = 0.1, 0.01
# The estimate is sure if its score is at least _SURE and it has at least _FEW clusters.
# Fewer clusters prove little: a long manifold without clusters, such as a swiss roll,
# can be cut into a few pieces in a stable way.
_SURE, _FEW = 0.3, 8
# A number of clusters is no layer if one cluster has more than this share of the rows.
_DOMINANT = 0.8
# Around the estimate, at most about this many further numbers are measured.
_REFINED = 8


@dataclass(frozen=True)
class LayerCurve:
    """How reproducible each number of clusters is, compared with a reference.

    Parameters
    ----------
    numbers : int array of shape (q,)
        The numbers of clusters, ascending.
    stability : float array of shape (q,)
        Mean agreement (adjusted mutual information) between the labels of two halves of
        the rows that were clustered independently.
    spread : float array of shape (q,)
        Standard deviation of the agreement over random splits into halves.
    reference : float array of shape (q,)
        The same agreement for reference rows without clusters.
    error : float array of shape (q,)
        Mean squared distance of a row to its center, if all rows are clustered.
    reference_error : float array of shape (q,)
        The same for the reference.
    largest : float array of shape (q,)
        Share of the rows in the largest cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.layers.curve import LayerCurve
    >>> stability, error = np.array([0.5, 0.9, 0.6]), np.array([0.4, 0.1, 0.3])
    >>> no_clusters = np.full(3, 0.3), np.full(3, 0.5)
    >>> curve = LayerCurve(
    ...     numbers=np.array([2, 3, 4]),
    ...     stability=stability,
    ...     spread=np.zeros(3),
    ...     reference=no_clusters[0],
    ...     error=error,
    ...     reference_error=no_clusters[1],
    ...     largest=np.full(3, 0.5),
    ... )
    >>> curve.scores.round(2), curve.layers
    (array([0.04, 0.48, 0.12]), [3])
    """

    numbers: Array
    stability: Array
    spread: Array
    reference: Array
    error: Array
    reference_error: Array
    largest: Array

    @property
    def scores(self) -> Array:
        """Scores (q,), from 0 to 1: excess stability times relative drop of the error.

        A score is (stability - reference) (1 - error / reference_error). Negative
        factors count as 0.
        """
        excess = (self.stability - self.reference).clip(0)
        drop = 1 - self.error / np.maximum(self.reference_error, 1e-300)
        return excess * drop.clip(0)

    @property
    def layers(self) -> list[int]:
        """The numbers of clusters at the peaks of the score, from coarse to fine.

        The list is empty if all scores are as low as in data without clusters.
        """
        scores = np.where(self.largest > _DOMINANT, 0.0, self.scores)
        best = scores.max(initial=0.0)
        if best < _FAINT:
            return []
        return [
            int(self.numbers[self._finest(scores, peak)])
            for peak in _peaks(scores, _PROMINENCE * best)
            if scores[peak] >= _PEAK * best
        ]

    def _finest(self, scores: Array, peak: int) -> int:
        """The position of the layer that belongs to a peak; see `_SAME`."""
        low = np.flatnonzero(scores < (1 - _SAME) * scores[peak])
        first = low[low < peak].max(initial=-1) + 1
        last = low[low > peak].min(initial=len(scores))
        error = (self.error / np.maximum(self.reference_error, 1e-300))[first:last]
        same = error <= (1 + _SAME_ERROR) * error.min()
        return int(first + np.flatnonzero(same)[-1])

    @property
    def n_clusters(self) -> int | None:
        """The number of clusters of the finest layer; None if there is no layer."""
        return self.layers[-1] if self.layers else None

    @property
    def most_stable(self) -> int:
        """The number of clusters whose stability is furthest above the reference.

        The excess is divided by the largest possible excess. A number is left out if
        its error is not below that of the reference, or if one cluster is dominant. If
        no number remains, the result is the smallest number.
        """
        excess = (self.stability - self.reference) / np.maximum(
            1 - self.reference, 1e-12
        )
        counts = (self.error < self.reference_error) & (self.largest <= _DOMINANT)
        return int(self.numbers[np.where(counts, excess, 0.0).argmax()])

    @property
    def sure(self) -> bool:
        """Whether the finest layer has a high score and enough clusters."""
        number = self.n_clusters
        if number is None or number < _FEW:
            return False
        return bool(self.scores[self.numbers == number][0] >= _SURE)

    @property
    def reason(self) -> str:
        """The reason for being sure or unsure of the finest layer, in a few words."""
        if self.n_clusters is None:
            return (
                "no number of clusters is more reproducible than in data without "
                "clusters"
            )
        at = int(np.flatnonzero(self.numbers == self.n_clusters)[0])
        return (
            "independent halves of the rows agree on the clusters with a score of "
            f"{self.stability[at]:.2f}, where 1 is the maximum (in data without "
            f"clusters: {self.reference[at]:.2f})"
        )


def _peaks(scores: Array, prominence: float) -> list[int]:
    """Positions of maxima, with valleys deeper than `prominence` between them."""
    peaks: list[int] = []
    top, valley = 0, 0.0
    rising = True
    for i, score in enumerate(scores):
        if rising:
            if score >= scores[top]:
                top = i
            elif score < scores[top] - prominence:
                peaks.append(top)
                rising, valley = False, score
        elif score > valley + prominence:
            rising, top = True, i
        else:
            valley = min(valley, score)
    return [*peaks, top] if rising and len(scores) else peaks


def measure_layers(
    data: Halves, reference: Halves, least: int = 2, most: int | None = None
) -> LayerCurve:
    """Measure numbers of clusters from `least` until the score has clearly declined.

    Parameters
    ----------
    data, reference : Halves
        Halves of the rows, and of reference rows without clusters.
    least, most : int
        The range of numbers. By default, `most` is as large as the halves allow.

    Returns
    -------
    LayerCurve
        The measurements.
    """
    limit = max(least, min(data.most, reference.most, most or data.most))
    found: dict[int, Agreement] = {}
    expected: dict[int, Agreement] = {}
    best, best_score = least, 0.0
    for i, number in enumerate(candidate_numbers(least, limit)):
        found[number] = data.compare(number)
        if i % 2 == 0 or number < _DENSE_REFERENCE or number == limit:
            expected[number] = reference.compare(number)
        score = float(_curve(found, expected).scores[-1])
        if score >= best_score:
            best, best_score = number, score
        elif number >= max(_SEARCHED, _BEYOND * best) and (
            score < _DECLINED * best_score
        ):
            break
        if number >= _SEARCHED and best_score < _FAINT:
            break
    for number in _numbers_beside(_curve(found, expected)):
        found[number] = data.compare(number)
    return _curve(dict(sorted(found.items())), expected)


def candidate_numbers(least: int, most: int) -> list[int]:
    """All integers from `least` to 10, then steps of about 19 %, up to `most`.

    Examples
    --------
    >>> from akkm.layers.curve import candidate_numbers
    >>> candidate_numbers(2, 30)
    [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 24, 29, 30]
    """
    numbers = [least]
    while numbers[-1] < most:
        last = numbers[-1]
        step = max(last + 1, round(last * _FACTOR)) if last >= _EVERY else last + 1
        numbers.append(min(step, most))
    return numbers


def _numbers_beside(curve: LayerCurve) -> list[int]:
    """Unmeasured numbers between the estimate and the measured numbers next to it."""
    if curve.n_clusters is None:
        return []
    at = int(np.flatnonzero(curve.numbers == curve.n_clusters)[0])
    near = curve.numbers[max(0, at - 1) : at + 2]
    inside = np.setdiff1d(np.arange(near[0], near[-1] + 1), curve.numbers)
    step = -(-len(inside) // _REFINED) if len(inside) else 1
    return [int(number) for number in inside[::step]]


def _curve(found: dict[int, Agreement], expected: dict[int, Agreement]) -> LayerCurve:
    """The curve of the numbers in `found`.

    The reference is interpolated linearly in the logarithm of the number.
    """
    numbers = np.array(list(found))
    known = np.log(list(expected))
    at = np.log(numbers)
    stable = _smooth(np.array([each.values.mean() for each in expected.values()]))
    errors = [each.error for each in expected.values()]
    return LayerCurve(
        numbers,
        np.array([each.values.mean() for each in found.values()]),
        np.array([each.values.std() for each in found.values()]),
        np.interp(at, known, stable),
        np.array([each.error for each in found.values()]),
        np.interp(at, known, errors),
        np.array([each.largest for each in found.values()]),
    )


def _smooth(values: Array) -> Array:
    """Average each value with its neighbours (q,): the reference varies by chance."""
    padded = np.pad(values, 1, mode="edge")
    return (padded[:-2] + padded[1:-1] + padded[2:]) / 3
