"""Statistics of columns from one pass: moments of numbers, and counts of texts."""

from collections import Counter
from itertools import islice

import numpy as np
import pyarrow as pa

from akkm.typing import Array

# Number of cells that are summed at a time.
_CELLS = 1 << 19
# A text column with more distinct values than this is never categorical.
_MOST = 1_000_000
# The values of an identifier are no longer counted once it has more distinct values
# than this.
EARLY = 200_000
# A column with more than _ROWS values is an identifier if the number of distinct values
# is more than this share of the number of values.
_DISTINCT = 0.9
# A column with fewer values than this contains neither identifiers nor row numbers.
_ROWS = 20
# A text column whose values occur less often than this, on average, is left out.
_OCCURRENCES = 2
# A column contains prose if its values have at least _PROSE words on average. It must
# also have more than _VALUES distinct values, or rare values (see _OCCURRENCES).
_PROSE, _VALUES = 4, 100
# Number of distinct values whose words are counted.
_EXAMINED = 1_000


class Moments:
    """Count, mean, variance, minimum and maximum of d columns; NaN is ignored.

    Rows are summed in pieces whose size depends on d alone. So the results, including
    rounding errors, don't depend on how a file is cut into batches.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.tables._summary import Moments
    >>> moments = Moments(1)
    >>> moments.add(np.array([[1.0, 2.0]]))
    >>> moments.add(np.array([[6.0, np.nan]]))
    >>> moments.finish()
    >>> moments.mean, moments.count, moments.high
    (array([3.]), array([3]), array([6.]))
    """

    def __init__(self, d: int):
        self._piece = np.empty((d, min(max(_CELLS // max(d, 1), 64), 1 << 14)))
        self._filled = 0
        self.count = np.zeros(d, dtype=np.int64)
        self.mean = np.zeros(d)
        self._squares = np.zeros(d)  # sums of squared distances to the mean
        self.low = np.full(d, np.inf)
        self.high = np.full(d, -np.inf)

    def add(self, V: Array) -> None:
        """Add r rows, given as columns V (d, r)."""
        start, size = 0, self._piece.shape[1]
        while start < V.shape[1]:
            taken = min(size - self._filled, V.shape[1] - start)
            stop = self._filled + taken
            self._piece[:, self._filled : stop] = V[:, start : start + taken]
            self._filled, start = stop, start + taken
            if stop == size:
                self.finish()

    def finish(self) -> None:
        """Add the rows of the incomplete piece; call this after the last `add`."""
        B, self._filled = self._piece[:, : self._filled], 0
        if not B.size:
            return
        missing = np.isnan(B)
        with np.errstate(over="ignore", invalid="ignore"):  # `Blocks` reports infinity
            count = B.shape[1] - missing.sum(axis=1)
            mean = B.sum(axis=1, where=~missing) / np.maximum(count, 1)
            D = np.where(missing, 0, B - mean[:, None])
            squares = np.einsum("ij,ij->i", D, D)
            # Chan, Golub, LeVeque: the moments of a union of two sets of rows.
            total = np.maximum(self.count + count, 1)
            step = mean - self.mean
            self._squares += squares + step**2 * (self.count * count / total)
            self.mean += step * (count / total)
        self.count += count
        self.low = np.fmin(self.low, np.fmin.reduce(B, axis=1))
        self.high = np.fmax(self.high, np.fmax.reduce(B, axis=1))

    def std(self, i: int) -> float:
        """Return the standard deviation of column i; the divisor is n, not n - 1."""
        return float(np.sqrt(self._squares[i] / max(self.count[i], 1)))

    def has_row_numbers(self, i: int) -> bool:
        """Return whether column i seems to contain row numbers, in any order."""
        n, low, high = int(self.count[i]), self.low[i], self.high[i]
        if n < _ROWS or high - low != n - 1 or low != np.floor(low):
            return False
        even = np.isclose(self.mean[i], (low + high) / 2, rtol=1e-9)
        return bool(even and np.isclose(self.std(i) ** 2, (n**2 - 1) / 12, rtol=1e-9))


class Counts:
    """How often each value of a text column occurs.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from akkm.tables._summary import Counts
    >>> counts = Counts()
    >>> counts.add(pa.array(["a", "b", "a", None]).dictionary_encode())
    >>> counts.values["a"], counts.n, counts.missing, counts.is_identifier
    (2, 3, 1, False)
    """

    def __init__(self, early: int = EARLY) -> None:
        self.values: Counter[str] = Counter()
        self.n = 0
        self.missing = 0
        self._early = early

    def add(self, array: pa.DictionaryArray) -> None:
        """Count the values (r,) of some rows."""
        if self.stops_early:
            return
        self.missing += array.null_count
        self.n += len(array) - array.null_count
        values, counts = array.drop_null().value_counts().flatten()
        for value, count in zip(values.to_pylist(), counts.to_pylist(), strict=True):
            self.values[value] += count

    @property
    def stops_early(self) -> bool:
        """Whether counting stops early, because the column is not categorical."""
        distinct = len(self.values)
        return distinct > _MOST or (distinct > self._early and self.is_identifier)

    @property
    def words_per_value(self) -> float:
        """Mean number of words of the first 1,000 distinct values."""
        words = [len(value.split()) for value in islice(self.values, _EXAMINED)]
        return sum(words) / max(len(words), 1)

    @property
    def is_identifier(self) -> bool:
        """Whether nearly every row has a different value."""
        return self.n > _ROWS and len(self.values) > _DISTINCT * self.n

    @property
    def reason_to_leave_out(self) -> str:
        """Why the column is left out: "prose", "id" or "rare"; "" if it is used."""
        rare = self.n > _ROWS and _OCCURRENCES * len(self.values) > self.n
        many = rare or len(self.values) > _VALUES
        if many and self.words_per_value >= _PROSE:
            return "prose"
        if self.is_identifier or len(self.values) > _MOST:
            return "id"
        return "rare" if rare else ""
