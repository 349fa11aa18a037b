"""Read: rows as chunks, and the kernel rows of a chunk, computed or kept."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.core.threads import Threads
from akkm.kernels import Fill, Kernel
from akkm.rows.contract import Stored

Array = NDArray[Any]
Rows = Any  # dense (n, d) array, CSR matrix or Stored

# Chunks depend on n alone, never on the number of threads: at most so many, of at
# least so many rows.
_MOST_CHUNKS, _CHUNK_ROWS, _PIECE_ROWS = 64, 4096, 2048
# Of rows that are not in memory.
_STORED_ROWS = 4096
# A tile of kernel rows stays near the processor.
_TILE_BYTES = 4 * 2**20
_TILE_ROWS = 1024
# float32 kernel values may differ from float64 ones by this share of squared distances.
_ROUNDED = 1e-4


def chunks(n: int) -> list[slice]:
    """Cut n rows into chunks.

    Examples
    --------
    >>> from akkm.core.strip import chunks
    >>> chunks(10_000)
    [slice(0, 4096, None), slice(4096, 8192, None), slice(8192, 10000, None)]
    """
    return _cut(n, _CHUNK_ROWS)


def pieces(count: int) -> list[slice]:
    """Cut a list of rows that are looked at again: fewer cuts, as there are fewer rows.

    Examples
    --------
    >>> from akkm.core.strip import pieces
    >>> pieces(5_000)
    [slice(0, 2048, None), slice(2048, 4096, None), slice(4096, 5000, None)]
    """
    return _cut(count, _PIECE_ROWS)


def _cut(count: int, least: int) -> list[slice]:
    size = max(least, -(-count // _MOST_CHUNKS))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


class Kept:
    """Some kernel rows, each in a slot of its own.

    Slots are given out before threads fetch, so that what is kept, and with it every
    last digit, does not depend on the threads.
    """

    def __init__(self, n: int, room: int, m: int, dtype: Any) -> None:
        # Of each row, counted from one, and 0 for none: zeros take memory when they
        # are written to.
        self._slots = np.zeros(n, dtype=np.int32)
        self._full = np.zeros(room, dtype=bool)  # the slots that are filled
        self._rows = np.empty((room, m), dtype=dtype)  # takes memory as it is filled
        self._used = 0

    def reserve(self, rows: Array) -> None:
        """Give slots to rows that have none, if there is room for all of them.

        A crowd that does not fit is a passing one; the few that stay in doubt will.
        """
        new = rows[self._slots[rows] == 0]
        if len(new) > len(self._full) - self._used:
            return
        self._slots[new] = np.arange(self._used, self._used + len(new)) + 1
        self._used += len(new)

    def missing(self, rows: Array) -> Array:
        """Those of some rows that are not there."""
        slots = self._slots[rows] - 1
        return rows[(slots < 0) | ~self._full[slots]]

    def fetch(self, rows: Array, compute: Fill, out: Array) -> Array:
        """Kernel rows of some rows: kept ones, and computed ones, which are kept."""
        slots = self._slots[rows] - 1
        there = (slots >= 0) & self._full[slots]
        missing = np.flatnonzero(~there)
        if missing.size < len(rows):
            np.take(self._rows, slots.clip(0), axis=0, out=out, mode="clip")
        if missing.size:
            fresh = out if missing.size == len(rows) else np.empty_like(out[missing])
            compute(rows[missing], fresh)
            out[missing] = fresh
            slots = slots[missing]
            self._rows[slots[slots >= 0]] = fresh[slots >= 0]
            self._full[slots[slots >= 0]] = True
        return out


class Strip:
    """The n x m strip of the kernel matrix: rows X against the points Z.

    It is never all in memory, unless `hold` is called. Kernel rows of rows that are
    looked at again and again can be kept: `keep` says how many, `reserve` which.
    """

    def __init__(self, X: Rows, kernel: Kernel, Z: Rows, dtype: Any) -> None:
        self.X, self.kernel, self.Z = X, kernel, Z
        self.dtype = np.dtype(dtype)
        self.n, self.m = X.shape[0], Z.shape[0]
        self._fills: dict[np.dtype[Any], Fill] = {}
        self._fill_in(self.dtype)
        self._indices: Array | None = None  # which rows of X, if not all
        self._held: Array | None = None
        self._kept: Kept | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Bound points are functions, which can't be sent; they are bound again.
        return {**self.__dict__, "_fills": {}}

    def over(self, X: Rows) -> Strip:
        """The strip of other rows against the same points."""
        other = copy(self)
        other.X, other.n, other._indices = X, X.shape[0], None
        other._held = other._kept = None
        return other

    def subset(self, indices: Array) -> Strip:
        """The strip of some rows, in order, against the same points."""
        if isinstance(self.X, Stored):  # read once
            return self.over(self.X.gather(indices))
        part = self.over(self.X)
        part.n = len(indices)
        part._indices = indices if self._indices is None else self._indices[indices]
        return part

    def chunks(self) -> list[slice]:
        """All rows, in chunks."""
        return self.X.chunks() if isinstance(self.X, Stored) else chunks(self.n)

    def pieces(self, rows: Array) -> list[Array]:
        """Some rows, in order, in pieces."""
        if isinstance(self.X, Stored):  # threads stay close to each other in the file
            starts = range(0, len(rows), _STORED_ROWS)
            return [rows[start : start + _STORED_ROWS] for start in starts]
        return [rows[piece] for piece in pieces(len(rows))]

    def take(self, rows: Any) -> Rows:
        """Some rows of data, by a slice or an index array."""
        return self.X[rows if self._indices is None else self._indices[rows]]

    def hold(self, engine: Threads) -> None:
        """Compute all kernel rows once and keep them: n m numbers."""
        if self._held is not None:
            return
        held = np.empty((self.n, self.m), dtype=self.dtype)

        def compute(chunk: slice) -> None:
            for start in range(chunk.start, chunk.stop, self.tile_rows):
                rows = slice(start, min(start + self.tile_rows, chunk.stop))
                self._compute(rows, held[rows])

        for _ in engine.map(compute, self.chunks()):
            pass
        self._held = held

    @property
    def bytes(self) -> int:
        """What `hold` would take."""
        return self.n * self.m * self.dtype.itemsize

    @property
    def tile_rows(self) -> int:
        """Rows of a tile."""
        fit = _TILE_BYTES // (self.m * self.dtype.itemsize)
        return int(np.clip(fit // 32 * 32, 32, _TILE_ROWS))

    def tiles(self, rows: Any) -> Iterator[tuple[Any, Array]]:
        """Pairs (some of the rows, their kernel rows), a tile at a time.

        `rows` is a slice or an index array. The kernel rows are overwritten by the
        next tile.
        """
        step = self.tile_rows
        if isinstance(rows, slice):
            starts = range(rows.start, rows.stop, step)
            parts: list[Any] = [slice(s, min(s + step, rows.stop)) for s in starts]
            count = rows.stop - rows.start
        else:
            count = len(rows)
            parts = [rows[s : s + step] for s in range(0, count, step)]
        buffer = np.empty((min(step, count), self.m), dtype=self.dtype)
        for part in parts:
            if self._held is not None:
                yield part, self._held[part]
            elif self._kept is not None and not isinstance(part, slice):
                yield part, self._kept.fetch(part, self._compute, buffer[: len(part)])
            else:
                size = part.stop - part.start if isinstance(part, slice) else len(part)
                self._compute(part, buffer[:size])
                yield part, buffer[:size]

    def _compute(self, rows: Any, out: Array) -> None:
        self._fill_in(self.dtype)(cast(self.take(rows), self.dtype), out)

    def keep(self, bytes_: float) -> None:
        """Keep kernel rows that are reserved, within so many bytes."""
        rows = min(self.n, int(bytes_ // (self.m * self.dtype.itemsize)))
        if rows and self._held is None:
            self._kept = Kept(self.n, rows, self.m, self.dtype)

    def expect(self, rows: Array | None) -> None:
        """Rows that will be looked at now, to be kept if there is room; None: all."""
        if self._kept is not None and rows is not None:
            self._kept.reserve(rows)
        if isinstance(self.X, Stored):
            if self._kept is not None and rows is not None:
                rows = self._kept.missing(rows)
            self.X.expect(rows)

    def precise(self, X: Rows) -> Array:
        """Kernel rows of any rows X (b, d), in float64: (b, m)."""
        return self.kernel_rows(X, np.float64)

    def kernel_rows(self, X: Rows, dtype: Any) -> Array:
        """Kernel rows of any rows X (b, d), in any precision: (b, m)."""
        out = np.empty((X.shape[0], self.m), dtype=dtype)
        self._fill_in(np.dtype(dtype))(cast(X, out.dtype), out)
        return out

    def _fill_in(self, dtype: np.dtype[Any]) -> Fill:
        if dtype not in self._fills:
            self._fills[dtype] = self.kernel.bind(cast(self.Z, dtype))
        return self._fills[dtype]


def cast(X: Rows, dtype: np.dtype[Any]) -> Rows:
    """X in that precision."""
    # Indices, which name the columns of a precomputed kernel, stay integers.
    return X if X.dtype.kind in "iu" else X.astype(dtype, copy=False)


def float32_will_do(rounded: Array, exact: Array) -> bool:
    """Whether float32 kernel values (m, m) tell points apart as float64 ones do."""
    spread = 2 * (exact.diagonal().mean() - exact.mean())  # mean squared distance
    return bool(np.abs(rounded - exact).max() <= _ROUNDED * np.abs(spread))
