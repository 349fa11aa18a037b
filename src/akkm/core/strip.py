"""The n x m strip of the kernel matrix: kernel rows in tiles, recomputed or cached."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np

from akkm.core.threads import Threads
from akkm.kernels import Fill, Kernel
from akkm.rows import as_rows
from akkm.typing import Array, RowsLike

# Size of a tile of kernel rows, chosen so that it fits in the processor's cache.
_TILE_BYTES = 4 * 2**20
# float32 kernel values suffice if they differ from float64 values by at most this share
# of the mean squared distance between points.
_FLOAT32_ERROR = 1e-4


class RowCache:
    """A cache of kernel rows that are evaluated repeatedly: one slot per cached row.

    Slots are assigned before threads start. So the timing of the threads affects
    neither the choice of the cached rows nor any digit of the result.
    """

    def __init__(self, n: int, n_slots: int, m: int, dtype: Any) -> None:
        # For each row, 1 + the number of its slot; 0 means that the row has no slot.
        # Arrays from `zeros` and `empty` take memory only where they are written to.
        self._slots = np.zeros(n, dtype=np.int32)
        self._filled = np.zeros(n_slots, dtype=bool)
        self._values = np.empty((n_slots, m), dtype=dtype)
        self._n_used = 0

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy in another process starts empty: computing is faster than sending.
        values = self._values
        return RowCache, (len(self._slots), *values.shape, values.dtype)

    def reserve(self, rows: Array) -> None:
        """Assign slots to rows (b,) that have none, if all of them fit.

        If they don't all fit, assign no slots. Later sweeps reserve fewer rows, which
        may fit.
        """
        new = rows[self._slots[rows] == 0]
        if len(new) > len(self._filled) - self._n_used:
            return
        self._slots[new] = np.arange(self._n_used, self._n_used + len(new)) + 1
        self._n_used += len(new)

    def fetch(self, rows: Array, compute: Fill, out: Array) -> Array:
        """Return the kernel rows of `rows` (b,), stored in `out` or in the cache.

        Kernel rows that are not cached are computed, and cached if the row has a slot.
        """
        slots = self._slots[rows] - 1
        missing = np.flatnonzero((slots < 0) | ~self._filled[slots])
        if missing.size:
            new = slots[missing]
            # Slots of consecutive new rows are consecutive, so that most kernel rows
            # can be computed in the cache itself.
            in_cache = new[0] >= 0 and bool((np.diff(new) == 1).all())
            if in_cache:
                fresh = self._values[new[0] : new[-1] + 1]
            else:
                fresh = np.empty((len(new), out.shape[1]), dtype=out.dtype)
            compute(rows[missing], fresh)
            if not in_cache:
                self._values[new[new >= 0]] = fresh[new >= 0]
            self._filled[new[new >= 0]] = True
            if missing.size == len(rows):
                return fresh
        np.take(self._values, slots.clip(0), axis=0, out=out, mode="clip")
        if missing.size and not in_cache:
            out[missing] = fresh
        return out


class Strip:
    """Kernel rows of the rows X (n, d) against the points Z (m, d).

    The strip is in memory as a whole only after `compute_all`. After `use_cache`, rows
    passed to `reserve` are cached if they fit.
    """

    max_tile_rows = 1024

    def __init__(self, X: RowsLike, kernel: Kernel, Z: RowsLike, dtype: Any) -> None:
        self.X, self.kernel, self.Z = as_rows(X), kernel, Z
        self.dtype = np.dtype(dtype)
        self.m = Z.shape[0]
        self._fills: dict[np.dtype[Any], Fill] = {}
        self._fill_for(self.dtype)
        # unused memory for tiles, by precision and rows per tile
        self._buffers: dict[tuple[np.dtype[Any], int], list[Array]] = {}
        self._all: Array | None = None
        self.cache: RowCache | None = None  # set by `use_cache`

    def __getstate__(self) -> dict[str, Any]:
        # Fill functions are closures and can't be pickled; they are created again.
        return {**self.__dict__, "_fills": {}, "_buffers": {}}

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.X.shape[0]

    def with_rows(self, X: RowsLike) -> "Strip":
        """Return the strip of other rows against the same points."""
        other = copy(self)
        # copy() leaves these out, like pickle
        other._fills, other._buffers = self._fills, self._buffers
        other.X = as_rows(X)
        other._all = other.cache = None
        return other

    def subset(self, rows: Array) -> "Strip":
        """Return the strip of a subset of the rows (b,) against the same points."""
        return self.with_rows(self.X.subset(rows))

    def compute_all(self, engine: Threads) -> None:
        """Compute all kernel rows and keep them in memory: n m numbers."""
        if self._all is not None:
            return
        values = np.empty((self.n, self.m), dtype=self.dtype)

        def compute(chunk: slice) -> None:
            for rows in self._tiles_of(chunk):
                self._compute(rows, values[rows])

        engine.for_each(compute, self.X.chunks())
        self._all = values

    def use_cache(self, n_bytes: float) -> None:
        """Cache kernel rows that are evaluated repeatedly, in up to `n_bytes`."""
        n_slots = min(self.n, int(n_bytes // (self.m * self.dtype.itemsize)))
        if n_slots and self._all is None:
            self.cache = RowCache(self.n, n_slots, self.m, self.dtype)

    @property
    def nbytes(self) -> int:
        """Memory that `compute_all` takes, in bytes."""
        return self.n * self.m * self.dtype.itemsize

    @property
    def tile_rows(self) -> int:
        """Rows per tile."""
        fit = _TILE_BYTES // (self.m * self.dtype.itemsize)
        return int(np.clip(fit // 32 * 32, 32, self.max_tile_rows))

    def reserve(self, rows: Array) -> None:
        """Announce the rows (b,) of the next sweep; they are cached if they all fit."""
        if self.cache is not None:
            self.cache.reserve(rows)

    def tiles(
        self, rows: Any, *, cached: bool = True, dtype: Any = None
    ) -> Iterator[tuple[Any, Array]]:
        """Yield a pair (part of `rows`, kernel rows of this part) for each tile.

        `rows` is a slice or an index array. Each tile may overwrite the kernel rows of
        the previous one, and later calls may overwrite those of the last tile. The last
        digits of a kernel row depend on the tile in which it was computed. A cached
        kernel row may come from an earlier tile. With `cached=False` it is computed
        again, so that its digits do not depend on earlier calls. The kernel rows are
        converted to `dtype` if it is given.
        """
        with self._buffer(self.dtype) as buffer, self._buffer(dtype) as converted:
            for tile in self._tiles_of(rows):
                size = tile.stop - tile.start if isinstance(tile, slice) else len(tile)
                if self._all is not None and isinstance(tile, slice):
                    phi = self._all[tile]
                elif self._all is not None:
                    phi = buffer[:size]
                    np.take(self._all, tile, axis=0, out=phi, mode="clip")
                elif cached and self.cache is not None and not isinstance(tile, slice):
                    phi = self.cache.fetch(tile, self._compute, buffer[:size])
                else:
                    phi = buffer[:size]
                    self._compute(tile, phi)
                if dtype is not None and phi.dtype != dtype:
                    converted[:size] = phi
                    phi = converted[:size]
                yield tile, phi

    @contextmanager
    def _buffer(self, dtype: Any) -> Iterator[Array]:
        """Lend memory for the kernel rows of a tile: (tile_rows, m).

        The memory is reused, because new memory for each chunk would take time: Dask's
        workers return freed memory to the system at once.
        """
        if dtype is None:
            yield np.empty((0, self.m))
            return
        free = self._buffers.setdefault((np.dtype(dtype), self.tile_rows), [])
        try:
            buffer = free.pop()
        except IndexError:
            buffer = np.empty((self.tile_rows, self.m), dtype=dtype)
        yield buffer
        free.append(buffer)

    def _tiles_of(self, rows: Any) -> list[Any]:
        """Cut a slice or an index array into tiles."""
        step = self.tile_rows
        if isinstance(rows, slice):
            starts = range(rows.start, rows.stop, step)
            return [slice(start, min(start + step, rows.stop)) for start in starts]
        return [rows[start : start + step] for start in range(0, len(rows), step)]

    def _compute(self, rows: Any, out: Array) -> None:
        self._fill(self.X[rows], out)

    def kernel_rows(self, X: RowsLike, dtype: Any = np.float64) -> Array:
        """Compute the kernel rows of any rows X (b, d), in any precision: (b, m)."""
        out = np.empty((X.shape[0], self.m), dtype=dtype)
        self._fill(X, out)
        return out

    def _fill(self, X: RowsLike, out: Array) -> None:
        """Write the kernel rows of X to `out`, in the precision of `out`."""
        # Callers check whether the values are finite.
        with np.errstate(over="ignore", invalid="ignore"):
            self._fill_for(out.dtype)(cast(X, out.dtype), out)

    def _fill_for(self, dtype: np.dtype[Any]) -> Fill:
        if dtype not in self._fills:
            self._fills[dtype] = self.kernel.bind(cast(self.Z, dtype))
        return self._fills[dtype]


def cast(X: RowsLike, dtype: np.dtype[Any]) -> RowsLike:
    """Convert X to `dtype`.

    Integers stay as they are: they are column numbers of a precomputed kernel matrix.
    """
    return X if X.dtype.kind in "iu" else X.astype(dtype, copy=False)


def float32_suffices(rounded: Array, exact: Array) -> bool:
    """Tell whether float32 kernel values (m, m) are exact enough to separate points."""
    mean_squared_distance = 2 * (exact.diagonal().mean() - exact.mean())
    error = np.abs(rounded - exact).max()
    return bool(error <= _FLOAT32_ERROR * np.abs(mean_squared_distance))
