"""The error of the kernel approximation by the landmarks of a fitted model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from akkm.core.gram import factor
from akkm.core.kernel_matrix import kernel_matrix, symmetric
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.kernels import Precomputed, PrecomputedStrip
from akkm.rows import chunks
from akkm.typing import Array, RowsLike
from akkm.validation import generator, require_count, validate_rows


@dataclass(frozen=True)
class NystroemError:
    """The size of the residual R = K - K_B K̂⁺ K_Bᵀ of n rows.

    If K̂ has negative eigenvalues, K̂⁺ leaves them out, as with `indefinite="clip"`. It
    also leaves out small positive eigenvalues, up to the absolute value of the most
    negative one.

    Parameters
    ----------
    trace : float
        The trace tr(R), over all rows.
    relative_trace : float
        The quotient tr(R) / tr(K): the share of the rows' squared lengths that is lost.
    spectral_norm : float
        The spectral norm |R|₂, or an estimate of it.
    spectral_least : float
        A lower bound on |R|₂.
    n : int
        The number of rows.
    n_rows : int
        The number of rows from which the spectral norm was computed.
    """

    trace: float
    relative_trace: float
    spectral_norm: float
    spectral_least: float
    n: int
    n_rows: int

    @property
    def estimated(self) -> bool:
        """Whether the spectral norm is an estimate from a sample of the rows."""
        return self.n_rows < self.n


def nystroem_error(
    model: Any,
    X: Any,
    *,
    n_rows: int = 2000,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> NystroemError:
    """Measure the part of the kernel matrix of X that a model's landmarks miss.

    Parameters
    ----------
    model : fitted akkm.ApproxKernelKMeans
        The model, or any object with its `kernel_` and `landmarks_`.
    X : array or CSR matrix of shape (n, d)
        Any rows; for a precomputed kernel, the square matrix that was fitted.
    n_rows : int, default=2000
        The number of rows for the spectral norm; n_rows² numbers are kept in memory.
    random_state : int, RandomState instance or None, default=None
        The seed of the sample of rows.
    n_jobs : int, optional
        The number of threads; all by default.

    Returns
    -------
    NystroemError
        The trace and the spectral norm of the residual.

    Notes
    -----
    The trace is computed over all rows, in float64 and O(n) memory. The spectral norm
    is exact for at most `n_rows` rows. For more rows it is estimated from the residual
    of a uniform sample: the off-diagonal entries of this residual are multiplied by
    n / n_rows. Then the mean of their row sums is about the same as for all rows.
    The norm without this factor is a lower bound.

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
    X = _validate(model, X)
    kernel, Z = model.kernel_, model.landmarks_
    n = X.shape[0]
    size = min(n, require_count("n_rows", n_rows, 1, 2**31, ""))
    points = X[Z] if isinstance(kernel, Precomputed) else Z
    strip = Strip(X, kernel, Z, np.float64)
    gram = factor(symmetric(strip.kernel_rows(points)))
    rows = np.sort(generator(random_state).choice(n, size, replace=False))

    def captured(chunk: slice) -> float:
        """The contribution of a chunk of rows to tr(K_B K̂⁺ K_Bᵀ)."""
        tiles = strip.tiles(chunk)
        return sum(float(gram.squared_norms(phi).sum()) for _, phi in tiles)

    total = float(kernel.diag(X).sum())
    with Threads(n_jobs) as engine:
        trace = total - sum(engine.map(captured, chunks(n)))
    coordinates = strip.kernel_rows(X[rows]) @ gram.whitener
    R = kernel_matrix(X, kernel, rows) - coordinates @ coordinates.T
    least = norm = _spectral_norm(R)
    if size < n:
        diagonal = R.diagonal().copy()
        R *= n / size
        np.fill_diagonal(R, diagonal)
        norm = max(least, _spectral_norm(R))
    return NystroemError(trace, trace / total if total else 0.0, norm, least, n, size)


def _validate(model: Any, X: Any) -> RowsLike:
    """The rows X, after checking that they match the model's kernel and landmarks."""
    if not hasattr(model, "kernel_") or not hasattr(model, "landmarks_"):
        raise ValueError(
            f"{type(model).__name__} has no kernel_ and landmarks_; expected a fitted "
            "ApproxKernelKMeans. Call fit first."
        )
    kernel, Z = model.kernel_, model.landmarks_
    if isinstance(kernel, PrecomputedStrip):
        raise ValueError(
            "The model was fitted to a precomputed strip (n, m), which does not hold "
            "k(x, x). Fit the square kernel matrix, or rows and a kernel."
        )
    X, _ = validate_rows(X, kernel)
    precomputed = isinstance(kernel, Precomputed)
    if np.max(Z) >= X.shape[0] if precomputed else Z.shape[1] != X.shape[1]:
        raise ValueError(
            f"X has shape {X.shape}, which does not match the model's landmarks. Give "
            "rows with the columns of the training rows, or the fitted kernel matrix."
        )
    return X


def _spectral_norm(R: Array) -> float:
    """The largest absolute eigenvalue of a symmetric matrix."""
    return float(np.abs(linalg.eigvalsh(R, check_finite=False)).max())
