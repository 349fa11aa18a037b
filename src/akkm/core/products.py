"""Products k(X, Z) @ S with a thin matrix S, without storing k(X, Z)."""

from typing import Any

import numpy as np
from scipy import sparse

from akkm.core.strip import cast
from akkm.core.threads import Threads
from akkm.kernels import Fill, Kernel
from akkm.rows import chunks
from akkm.typing import Array, RowsLike

# Points per block and rows per tile. The kernel values of a tile with a block fit in
# the processor's cache.
_BLOCK, _TILE_ROWS = 1024, 1024


class KernelProduct:
    """The map X -> k(X, Z) @ S for points Z (m, d) and a matrix S (m, c).

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.kernels import Linear
    >>> from akkm.core.products import KernelProduct
    >>> Z = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> KernelProduct(Linear(), Z, np.ones((2, 1)), np.float64)(np.array([[2.0, 3.0]]))
    array([[5.]])
    """

    def __init__(
        self, kernel: Kernel, Z: RowsLike, S: Array, dtype: Any, block: int = _BLOCK
    ) -> None:
        self.dtype = np.dtype(dtype)
        self.width = S.shape[1]
        self._kernel, self._Z = kernel, Z
        self._S = S.astype(self.dtype)
        self._blocks = [slice(s, s + block) for s in range(0, Z.shape[0], block)]
        # `kernel.bind` often makes a dense copy. To save memory, sparse points are
        # bound block by block, whenever they are used.
        self._fills = (
            None if sparse.issparse(Z) else list(map(self._bind, self._blocks))
        )

    def _bind(self, block: slice) -> Fill:
        return self._kernel.bind(cast(self._Z[block], self.dtype))

    def __call__(self, X: RowsLike) -> Array:
        """Return k(X, Z) @ S for rows X (b, d): (b, c) float64."""
        return self._multiply(X, None)[0]

    def _multiply(self, X: RowsLike, T: Array | None) -> tuple[Array, Array]:
        """Return k(X, Z) @ S (b, c) and, with T (b, c), k(Z, X) @ T (m, c)."""
        total = np.zeros((X.shape[0], self.width))
        back = np.zeros((0 if T is None else self._Z.shape[0], self.width))
        for start in range(0, X.shape[0], _TILE_ROWS):
            rows = slice(start, start + _TILE_ROWS)
            tile = cast(X[rows], self.dtype)
            t = None if T is None else T[rows].astype(self.dtype)
            self._add(total[rows], tile, back, t)
        return total, back

    def _add(self, total: Array, X: RowsLike, back: Array, T: Array | None) -> None:
        for i, block in enumerate(self._blocks):
            fill = self._bind(block) if self._fills is None else self._fills[i]
            S = self._S[block]
            phi = np.empty((X.shape[0], len(S)), dtype=self.dtype)
            # Callers check whether the products are finite.
            with np.errstate(over="ignore", invalid="ignore"):
                fill(X, phi)
                total += phi @ S
                if T is not None:
                    back[block] += phi.T @ T

    def add_to(
        self,
        F: Array,
        X: RowsLike,
        rows: Array,
        engine: Threads,
        T: Array | None = None,
    ) -> Array:
        """Add k(X[rows], Z) @ S to F[rows] (r, c), chunk by chunk.

        If T (r, c) is given, return k(Z, X[rows]) @ T (m, c), computed from the same
        kernel values.
        """

        def add(chunk: slice) -> Array:
            some = rows[chunk]
            total, back = self._multiply(X[some], None if T is None else T[chunk])
            F[some] += total
            return back

        # Sums are added in the order of the chunks, whichever thread finishes first.
        return sum(engine.map(add, chunks(len(rows))), np.zeros((1, self.width)))
