"""Facts about columns of numbers from a sample: sentinels, heavy tails, date parts."""

from dataclasses import dataclass

import numpy as np

from akkm.typing import Array

# A sample has up to _CELLS values, but at least _FEWEST and at most _MOST rows.
_CELLS, _FEWEST, _MOST = 1 << 20, 1_000, 50_000
# A sentinel is a value that stands for "unknown". It occurs at least _REPEATED times in
# the sample. All sentinels of a column together have at most _SHARE of the sample.
_REPEATED, _SHARE = 3, 0.5
# A column with sentinels has at least this many other distinct values.
_DISTINCT = 10
# Maximum number of sentinels at each end of a column.
_SENTINELS = 3
# A column has heavy tails if 1 % of its rows cause at least this share of its variance.
# The share is 9 % for a normal distribution and 22 % for an exponential one.
HEAVY = 0.25
_TAIL = 0.01
# Tails and parts of dates are examined if there are at least this many rows.
_ROWS = 200
# A part of dates, such as the hour, is used if it is distributed unevenly over b bins:
# for n dates and shares p of the bins, the sum of (p - 1/b)² b must exceed this number
# plus 3 b / n.
_UNEVEN = 0.05
# Parts of dates: period in seconds, seconds from 1970 to the start of a period, bins,
# and the number of periods that the dates must span.
PARTS: dict[str, tuple[float, float, int, float]] = {
    "month": (365.2425 * 86_400, 0, 12, 2),
    "weekday": (7 * 86_400, 4 * 86_400, 7, 4),
    "hour": (86_400, 0, 24, 4),
}
_DATES = (
    *("0001-01-01", "1800-01-01", "1899-12-30", "1899-12-31", "1900-01-01"),
    *("1901-01-01", "1970-01-01", "2099-12-31", "2999-12-31", "9999-12-31"),
)
_SENTINEL_DATES = frozenset(
    float(np.datetime64(day, "s").astype(np.int64)) for day in _DATES
)
# Values that mean "no answer" in scales of up to _STEPS whole numbers from 0 to _TOP.
_ANSWERS = frozenset((77.0, 88.0, 97.0, 98.0, 99.0, 999.0, 9999.0, -9.0, -88.0, -99.0))
_STEPS, _TOP = 11, 10
# At most this share of the rows gives no answer.
_NO_ANSWER = 0.2
# Zeros are conspicuous if the other values are positive, and the smallest of them is
# larger than this fraction of the range of these values.
_APART = 0.2
_NEGATIVE_CODES = frozenset((-1.0, -8.0, -9.0, -88.0, -99.0, -999.0, -9999.0))


class UniformSample:
    """A uniform sample of rows; it does not depend on how the rows are cut into blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.tables._distribution import UniformSample
    >>> V = np.arange(6000.0).reshape(2, -1)
    >>> whole, halves = UniformSample(2), UniformSample(2)
    >>> whole.add(V)
    >>> halves.add(V[:, :1000])
    >>> halves.add(V[:, 1000:])
    >>> bool((whole.values() == halves.values()).all())
    True
    """

    def __init__(self, d: int):
        self._size = min(max(_CELLS // max(d, 1), _FEWEST), _MOST)
        self._n = 0
        self._limit = np.uint64(2**64 - 1)
        self._keys: list[Array] = [np.empty(0, dtype=np.uint64)]
        self._parts: list[Array] = [np.empty((d, 0))]

    def add(self, V: Array) -> None:
        """Add r rows, given as columns V (d, r)."""
        keys = _hashed(np.arange(self._n, self._n + V.shape[1], dtype=np.uint64))
        self._n += V.shape[1]
        chosen = np.flatnonzero(keys <= self._limit)
        self._keys.append(keys[chosen])
        self._parts.append(V[:, chosen])
        if sum(map(len, self._keys)) > 2 * self._size:
            self._prune()

    def values(self) -> Array:
        """Return the sampled rows as columns (d, s)."""
        self._prune()
        return self._parts[0]

    def _prune(self) -> None:
        keys, V = np.concatenate(self._keys), np.concatenate(self._parts, axis=1)
        if len(keys) > self._size:
            kept = np.sort(np.argpartition(keys, self._size)[: self._size])
            keys, V = keys[kept], V[:, kept]
            self._limit = keys.max()
        self._keys, self._parts = [keys], [V]


def _hashed(x: Array) -> Array:
    """Return pseudorandom keys of row numbers (r,), computed by splitmix64."""
    with np.errstate(over="ignore"):
        x = (x + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass(frozen=True)
class Sentinels:
    """Values that seem to stand for "unknown", and the range of the other values.

    `frequent` lists values that look like sentinels, but occur in more than half of the
    rows. They may mean "not applicable", which is a fact about most rows.
    """

    values: tuple[float, ...] = ()
    low: float = 0.0
    high: float = 0.0
    frequent: tuple[float, ...] = ()


def find_sentinels(x: Array, *, is_date: bool = False) -> Sentinels:
    """Return extreme values that are repeated exactly and far from all other values.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.tables._distribution import find_sentinels
    >>> find_sentinels(np.append(np.arange(18.0, 90.0), [-1.0] * 5)).values
    (-1.0,)
    >>> find_sentinels(np.arange(18.0, 90.0)).values
    ()
    >>> find_sentinels(np.repeat([1.0, 2.0, 3.0, 4.0, 99.0], 5)).values
    (99.0,)
    """
    x = x[np.isfinite(x)]
    values, counts = np.unique(x, return_counts=True)
    first, last = 0, len(values)
    for _ in range(_SENTINELS):
        if last - first > _DISTINCT and _is_sentinel(
            values[first:last][::-1], counts[first:last][::-1], is_date
        ):
            last -= 1
    for _ in range(_SENTINELS):
        if last - first > _DISTINCT and _is_sentinel(
            values[first:last], counts[first:last], is_date
        ):
            first += 1
    if first == 0 and last == len(values) and not is_date:
        first, last = _answers(values, counts)
    found = (*values[:first].tolist(), *values[last:].tolist())
    if not found or counts[first:last].sum() < (1 - _SHARE) * len(x):
        return Sentinels(frequent=tuple(value for value in found if value))
    return Sentinels(found, float(values[first]), float(values[last - 1]))


def _is_sentinel(values: Array, counts: Array, is_date: bool) -> bool:
    """Return whether values[0], the largest or smallest value, is a sentinel.

    The values (v,) are distinct, and sorted up or down. They occur `counts` times.
    """
    value, count, rest = float(values[0]), int(counts[0]), values[1:]
    if count < _REPEATED:
        return False
    gap, span = abs(float(rest[0]) - value), abs(float(rest[-1] - rest[0]))
    near = counts[1:6].max()  # largest count of the five nearest other values
    if is_date:
        return value in _SENTINEL_DATES and gap > 0.05 * span and count >= 3 * near
    if gap > span:
        return True
    if set(f"{abs(value):g}") == {"9"} and abs(value) > 90:
        return gap > span / 4 and count >= 3 * near
    # Codes such as -1 are sentinels in a column without other negative numbers.
    step = float(np.median(np.abs(np.diff(rest))))
    apart = gap > 2 * step or count >= 3 * near
    return value in _NEGATIVE_CODES and rest.min() >= 0 and gap > 1 and apart


def _answers(values: Array, counts: Array) -> tuple[int, int]:
    """Return the range (start, stop) of the values (v,) that are answers on a scale.

    All other values mean "no answer". If the values don't look like answers on a scale,
    the result is the range of all values. A scale has at least two different values.
    """
    scale = (values >= 0) & (values <= _TOP) & (values == np.floor(values))
    first, last = int(scale.argmax()), len(values) - int(scale[::-1].argmax())
    others = np.flatnonzero(~scale)
    few = counts[others].sum() <= _NO_ANSWER * counts.sum()
    known = few and all(
        value in _ANSWERS and count >= _REPEATED
        for value, count in zip(values[others], counts[others], strict=True)
    )
    if known and 1 < scale.sum() <= _STEPS and last - first == scale.sum():
        return first, last
    return 0, len(values)


def zeros_apart(x: Array) -> bool:
    """Return whether some values are zero, and all others positive and far from zero.

    Such zeros may stand for "unknown": a body mass index of 0, for example.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.tables._distribution import zeros_apart
    >>> bmi = np.linspace(18, 40, 100)
    >>> zeros_apart(np.append(bmi, [0.0] * 5)), zeros_apart(np.arange(100.0))
    (True, False)
    """
    x = x[np.isfinite(x)]
    others = x[x != 0]
    zeros = len(x) - len(others)
    if not _REPEATED <= zeros <= _SHARE * len(x) or others.min() <= 0:
        return False
    many = len(np.unique(others)) > _DISTINCT
    return bool(many and others.min() > _APART * np.ptp(others))


def tail_share(x: Array) -> float:
    """Return the share of the variance that the 1 % most extreme rows cause.

    The result is 0 if there are few rows.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.tables._distribution import tail_share
    >>> rng = np.random.default_rng(0)
    >>> round(tail_share(rng.normal(size=50_000)), 1)
    0.1
    >>> round(tail_share(rng.exponential(size=50_000)), 1)
    0.2
    """
    x = x[np.isfinite(x)]
    if len(x) < _ROWS:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.sort((x - x.mean()) ** 2)
        total = squares.sum()
        tail = squares[-max(1, int(_TAIL * len(x))) :].sum()
    return float(tail / total) if 0 < total < np.inf else 0.0


def center_and_width(x: Array) -> tuple[float, float]:
    """Return the median, and the median distance of values that differ from it.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.tables._distribution import center_and_width
    >>> center_and_width(np.array([0.0, 0.0, 0.0, 5.0, 7.0]))
    (0.0, 6.0)
    """
    x = x[np.isfinite(x)]
    center = float(np.median(x)) if len(x) else 0.0
    distances = np.abs(x - center)
    distances = distances[distances > 0]
    return center, float(np.median(distances)) if len(distances) else 1.0


def relevant_parts(seconds: Array) -> list[str]:
    """Return the parts of dates whose distribution is uneven.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.tables._distribution import relevant_parts
    >>> days = 86_400.0 * np.arange(2_000)
    >>> relevant_parts(days), relevant_parts(days + 3_600 * (9 + np.arange(2_000) % 8))
    ([], ['hour'])
    """
    x = seconds[np.isfinite(seconds)]
    found = []
    for part, (period, offset, bins, cycles) in PARTS.items():
        if len(x) < _ROWS or np.ptp(x) < cycles * period:
            continue
        places = ((x - offset) % period / period * bins).astype(int) % bins
        shares = np.bincount(places, minlength=bins) / len(x)
        uneven = float(((shares - 1 / bins) ** 2).sum() * bins)
        # Dates without times all have the same hour, so the hour is not used.
        if shares.max() < 1 and uneven > _UNEVEN + 3 * bins / len(x):
            found.append(part)
    return found


def part_angles(seconds: Array, part: str) -> tuple[Array, Array]:
    """Return sine and cosine (r,) of each date's position in the period of a part."""
    period, offset, _, _ = PARTS[part]
    angle = 2 * np.pi * ((seconds - offset) % period) / period
    return np.sin(angle), np.cos(angle)
