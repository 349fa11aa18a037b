"""Choose rows of raw data as landmarks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight

from akkm.core.threads import Threads
from akkm.landmarks._select import select_landmarks
from akkm.validation import generator, prepare, require_count

Array = NDArray[Any]


def choose(
    X: Any,
    n_landmarks: int | str = "auto",
    strategy: str = "uniform",
    kernel: Any = "rbf",
    *,
    gamma: float | str | None = "scale",
    degree: float = 3,
    coef0: float = 1.0,
    kernel_params: dict[str, Any] | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Array:
    """Choose rows of X as landmarks.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows; the square kernel matrix for `kernel="precomputed"`.
    n_landmarks : int or "auto", default="auto"
        The number m of landmarks, as in `akkm.ApproxKernelKMeans`.
    strategy : str, default="uniform"
        How rows are chosen:

        * `"uniform"`: with equal chances, or in proportion to their weights.
        * `"diagonal"`: in proportion to k(x, x).
        * `"column-norm"`: in proportion to the squared norm of the row's column of the
          kernel matrix, estimated from 10,000 of its rows if there are more.
        * `"k-means"`: the rows nearest to the centers of m clusters of 10 m candidates.
        * `"rpcholesky"`: proposed in proportion to the squared distance to the span of
          those before, as in randomly pivoted Cholesky. Of the proposals, those that
          explain most are taken. Candidates are a sample if there are many rows. This
          is the best strategy for a given m.
        * `"leverage"`: in proportion to approximate ridge leverage scores.
    kernel : str, Kernel or callable, default="rbf"
        The kernel, as in `akkm.ApproxKernelKMeans`.
    gamma : float, str or None, default="scale"
        A number, or a rule of `akkm.kernels.resolve`.
    degree : float, default=3
        The exponent of the polynomial kernel.
    coef0 : float, default=1.0
        The constant of the polynomial and sigmoid kernels.
    kernel_params : dict, optional
        Further parameters of the kernel.
    sample_weight : array of shape (n,), optional
        The weights of the rows. Rows of weight 0 are never chosen.
    random_state : int, RandomState instance or None, default=None
        The seed.
    n_jobs : int, optional
        The number of threads; all cores by default.

    Returns
    -------
    int array of shape (m,)
        Distinct row numbers, in order, for the parameter `landmarks` of an estimator.

    Raises
    ------
    ValueError
        If the strategy is unknown or m is not possible.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.landmarks import choose
    >>> X = np.r_[np.zeros((998, 2)), [[3.0, 0.0]], [[0.0, 3.0]]]
    >>> choose(X, 3, "rpcholesky", gamma=1.0, random_state=0)[-2:]
    array([998, 999])
    """
    if n_landmarks != "auto":
        require_count("n_landmarks", n_landmarks)
    weights = None
    if sample_weight is not None:
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
    rng = generator(random_state)
    X, kernel = prepare(
        X,
        kernel,
        gamma=gamma,
        degree=degree,
        coef0=coef0,
        params=kernel_params,
        sample_weight=weights,
        rng=rng.spawn(1)[0],
    )
    with Threads(n_jobs) as engine:
        landmarks = select_landmarks(
            X,
            kernel,
            engine,
            given=strategy,
            n_landmarks=n_landmarks,
            n_clusters=1,
            weights=weights,
            rng=rng,
        )
    assert landmarks.indices is not None  # strategies select rows of X
    return landmarks.indices
