"""The n x m strip of the kernel matrix: kernel rows in tiles, recomputed or cached."""

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np

from akkm.core.threads import Threads
from akkm.kernels import Fill, Kernel
from akkm.rows import as_rows
from akkm.typing import Array, Rows

# A tile of kernel rows fits in the processor's cache.
_TILE_BYTES = 4 * 2**20
# float32 kernel values may differ from float64 ones by this share of the mean squared
# distance.
_FLOAT32_ERROR = 1e-4


class RowCache:
    """Kernel rows that are evaluated repeatedly, each in a slot of its own.

    Slots are assigned before threads start, so that the cached rows, and with them
    every last digit, do not depend on the threads.
    """

    def __init__(self, n: int, n_slots: int, m: int, dtype: Any) -> None:
        # Slot of each row plus one; 0 means none. `zeros` and `empty` take memory only
        # where they are written to.
        self._slots = np.zeros(n, dtype=np.int32)
        self._filled = np.zeros(n_slots, dtype=bool)
        self._values = np.empty((n_slots, m), dtype=dtype)
        self._n_used = 0

    def reserve(self, rows: Array) -> None:
        """Assign slots to rows (b,) that have none, if all of them fit.

        If they don't fit, cache none: the set shrinks and will fit later.
        """
        new = rows[self._slots[rows] == 0]
        if len(new) > len(self._filled) - self._n_used:
            return
        self._slots[new] = np.arange(self._n_used, self._n_used + len(new)) + 1
        self._n_used += len(new)

    def fetch(self, rows: Array, compute: Fill, out: Array) -> Array:
        """Write the kernel rows of rows (b,) to `out`; compute and cache new ones."""
        slots = self._slots[rows] - 1
        cached = (slots >= 0) & self._filled[slots]
        missing = np.flatnonzero(~cached)
        if missing.size < len(rows):
            np.take(self._values, slots.clip(0), axis=0, out=out, mode="clip")
        if missing.size:
            fresh = out if missing.size == len(rows) else np.empty_like(out[missing])
            compute(rows[missing], fresh)
            out[missing] = fresh
            slots = slots[missing]
            self._values[slots[slots >= 0]] = fresh[slots >= 0]
            self._filled[slots[slots >= 0]] = True
        return out


class Strip:
    """Kernel rows of the rows X (n, d) against the points Z (m, d).

    The strip is never in memory as a whole unless `compute_all` is called. With
    `use_cache`, rows passed to `reserve` are cached as far as they fit.
    """

    max_tile_rows = 1024

    def __init__(self, X: Rows, kernel: Kernel, Z: Rows, dtype: Any) -> None:
        self.X, self.kernel, self.Z = as_rows(X), kernel, Z
        self.dtype = np.dtype(dtype)
        self.m = Z.shape[0]
        self._fills: dict[np.dtype[Any], Fill] = {}
        self._fill_for(self.dtype)
        self._all: Array | None = None
        self._cache: RowCache | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Bound points are closures, which can't be pickled; they are bound again.
        return {**self.__dict__, "_fills": {}}

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.X.shape[0]

    def with_rows(self, X: Rows) -> "Strip":
        """Return the strip of other rows against the same points."""
        other = copy(self)
        other.X = as_rows(X)
        other._all = other._cache = None
        return other

    def subset(self, rows: Array) -> "Strip":
        """Return the strip of some rows (b,), in order, against the same points."""
        return self.with_rows(self.X.subset(rows))

    def compute_all(self, engine: Threads) -> None:
        """Compute all kernel rows once and keep them: n m numbers."""
        if self._all is not None:
            return
        values = np.empty((self.n, self.m), dtype=self.dtype)

        def compute(chunk: slice) -> None:
            for rows in self._tiles_of(chunk):
                self._compute(rows, values[rows])

        engine.for_each(compute, self.X.chunks())
        self._all = values

    def use_cache(self, n_bytes: float) -> None:
        """Cache kernel rows that are evaluated again, in this many bytes."""
        n_slots = min(self.n, int(n_bytes // (self.m * self.dtype.itemsize)))
        if n_slots and self._all is None:
            self._cache = RowCache(self.n, n_slots, self.m, self.dtype)

    @property
    def nbytes(self) -> int:
        """Memory that `compute_all` takes."""
        return self.n * self.m * self.dtype.itemsize

    @property
    def tile_rows(self) -> int:
        """Rows per tile."""
        fit = _TILE_BYTES // (self.m * self.dtype.itemsize)
        return int(np.clip(fit // 32 * 32, 32, self.max_tile_rows))

    def reserve(self, rows: Array) -> None:
        """Announce the rows (b,) of the next sweep, to be cached if they fit."""
        if self._cache is not None:
            self._cache.reserve(rows)

    def tiles(self, rows: Any) -> Iterator[tuple[Any, Array]]:
        """Yield pairs (some of the rows, their kernel rows), a tile at a time.

        `rows` is a slice or an index array. The next tile overwrites the kernel rows of
        the last one.
        """
        buffer = np.empty((self.tile_rows, self.m), dtype=self.dtype)
        for tile in self._tiles_of(rows):
            size = tile.stop - tile.start if isinstance(tile, slice) else len(tile)
            if self._all is not None:
                yield tile, self._all[tile]
            elif self._cache is not None and not isinstance(tile, slice):
                yield tile, self._cache.fetch(tile, self._compute, buffer[:size])
            else:
                self._compute(tile, buffer[:size])
                yield tile, buffer[:size]

    def _tiles_of(self, rows: Any) -> list[Any]:
        """Cut a slice or an index array into tiles."""
        step = self.tile_rows
        if isinstance(rows, slice):
            starts = range(rows.start, rows.stop, step)
            return [slice(start, min(start + step, rows.stop)) for start in starts]
        return [rows[start : start + step] for start in range(0, len(rows), step)]

    def _compute(self, rows: Any, out: Array) -> None:
        self._fill_for(self.dtype)(cast(self.X[rows], self.dtype), out)

    def kernel_rows(self, X: Rows, dtype: Any = np.float64) -> Array:
        """Compute the kernel rows of any rows X (b, d), in any precision: (b, m)."""
        out = np.empty((X.shape[0], self.m), dtype=dtype)
        self._fill_for(out.dtype)(cast(X, out.dtype), out)
        return out

    def _fill_for(self, dtype: np.dtype[Any]) -> Fill:
        if dtype not in self._fills:
            self._fills[dtype] = self.kernel.bind(cast(self.Z, dtype))
        return self._fills[dtype]


def cast(X: Rows, dtype: np.dtype[Any]) -> Rows:
    """Convert X to a precision; row numbers of a precomputed kernel stay integers."""
    return X if X.dtype.kind in "iu" else X.astype(dtype, copy=False)


def float32_suffices(rounded: Array, exact: Array) -> bool:
    """Tell whether float32 kernel values (m, m) separate points as float64 ones do."""
    mean_squared_distance = 2 * (exact.diagonal().mean() - exact.mean())
    error = np.abs(rounded - exact).max()
    return bool(error <= _FLOAT32_ERROR * np.abs(mean_squared_distance))
