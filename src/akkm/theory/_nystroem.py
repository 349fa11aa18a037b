"""What the landmarks of a fitted model leave of the kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils import check_array

from akkm.core.gram import Gram, factor
from akkm.core.kernel_matrix import kernel_matrix
from akkm.core.nearest import require_finite
from akkm.core.strip import Rows, Strip
from akkm.core.threads import Threads
from akkm.kernels import Precomputed, PrecomputedStrip
from akkm.rows import chunks
from akkm.validation import generator, require_count

Array = NDArray[Any]


@dataclass(frozen=True)
class NystroemError:
    """Size of the residual R = K - K_B K̂⁺ K_Bᵀ of n rows.

    For kernels with negative eigenvalues K̂⁺ is that of positive ones that are larger,
    as in `indefinite="clip"`.
    """

    trace: float  # tr(R), over all rows
    relative_trace: float  # tr(R) / tr(K): share of the rows' squared lengths lost
    spectral_norm: float  # |R|₂, or an estimate of it
    spectral_least: float  # |R|₂ is not smaller than this
    n: int
    n_rows: int  # rows that the spectral norm was computed from; n: exact

    @property
    def estimated(self) -> bool:
        """Whether the spectral norm is an estimate, from some of the rows."""
        return self.n_rows < self.n


def nystroem_error(
    model: Any,
    X: Any,
    *,
    n_rows: int = 2000,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> NystroemError:
    """How much of the kernel matrix of X the landmarks of a fitted model can't see.

    The trace is over all rows, in tiles and in float64: O(n) memory. The spectral norm
    is exact up to `n_rows` rows. Beyond, it is estimated from the residual of so many
    rows drawn uniformly, with entries off the diagonal scaled by n / n_rows: the scaled
    matrix acts on vectors as the whole one does, on average. The norm of the part as it
    is, `spectral_least`, is a true lower bound.

    Parameters
    ----------
    model : fitted `akkm.ApproxKernelKMeans`
        Or anything with its `kernel_`, `landmarks_` and `landmark_indices_`.
    X : array or CSR matrix of shape (n, d)
        Any rows; the square matrix that was fitted, if the kernel was precomputed.
    n_rows : int, default=2000
        Rows for the spectral norm; n_rows² numbers are held.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int, optional
        Threads.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.theory import nystroem_error
    >>> K = np.diag([4.0, 3.0, 2.0, 1.0])
    >>> model = ApproxKernelKMeans(2, kernel="precomputed", landmarks=[0, 2]).fit(K)
    >>> error = nystroem_error(model, K)
    >>> error.trace, error.relative_trace, error.spectral_norm
    (4.0, 0.4, 3.0)
    """
    _require_landmarks(model)
    kernel, Z = model.kernel_, model.landmarks_
    X = _rows_for(model, X)
    n = X.shape[0]
    size = min(n, require_count("n_rows", n_rows, 1, 2**31, ""))
    points = X[Z] if isinstance(kernel, Precomputed) else Z
    strip = Strip(X, kernel, Z, np.float64)
    K = strip.kernel_rows(points)
    require_finite(K, np.float64)
    gram = factor((K + K.T) / 2)
    rows = np.sort(generator(random_state).choice(n, size, replace=False))
    diag = kernel.diag(X)
    with Threads(n_jobs) as engine:
        total = float(diag.sum())
        trace = total - _captured(strip, gram, engine)
    part = _residual(strip, gram, X, rows)
    least = whole = _norm(part)
    if size < n:
        own = part.diagonal().copy()
        part *= n / size
        np.fill_diagonal(part, own)
        whole = max(least, _norm(part))
    share = trace / total if total else 0.0
    return NystroemError(trace, share, whole, least, n, size)


def _require_landmarks(model: Any) -> None:
    if not hasattr(model, "kernel_") or not hasattr(model, "landmarks_"):
        raise ValueError(
            f"{type(model).__name__} has no kernel_ and landmarks_; expected a fitted "
            "ApproxKernelKMeans. Call fit first."
        )


def _rows_for(model: Any, X: Any) -> Rows:
    """Rows that the model's kernel and landmarks can be compared with, checked."""
    kernel, Z = model.kernel_, model.landmarks_
    if isinstance(kernel, PrecomputedStrip):
        raise ValueError(
            "The model was fitted to a precomputed strip (n, m), which does not hold "
            "k(x, x); fit the square kernel matrix, or rows and a kernel."
        )
    given = isinstance(kernel, Precomputed)
    accepted: Any = False if given else "csr"
    X = check_array(X, accept_sparse=accepted, dtype=[np.float64, np.float32])
    kernel.check(X)
    if given:
        kernel.check_matrix(X)
    fits = np.max(Z) < X.shape[0] if given else Z.shape[1] == X.shape[1]
    if not fits:
        raise ValueError(
            f"X has shape {X.shape}, which does not go with the landmarks of the "
            "model; give rows with the columns, or the matrix, that it was fitted to."
        )
    return X


def _captured(strip: Strip, gram: Gram, engine: Threads) -> float:
    """tr(K_B K̂⁺ K_Bᵀ), a tile at a time."""

    def tally(chunk: slice) -> float:
        tiles = strip.tiles(chunk)
        return sum(float(gram.squared_norms(phi).sum()) for _, phi in tiles)

    return sum(engine.map(tally, chunks(strip.n)))


def _residual(strip: Strip, gram: Gram, X: Rows, rows: Array) -> Array:
    """R for some of the rows: (s, s)."""
    coordinates = strip.kernel_rows(X[rows]) @ gram.whitener
    return kernel_matrix(X, strip.kernel, rows) - coordinates @ coordinates.T


def _norm(R: Array) -> float:
    return float(np.abs(linalg.eigvalsh(R, check_finite=False)).max())
