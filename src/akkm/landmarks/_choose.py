"""Landmarks by a strategy's name."""

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
        m, as in `akkm.ApproxKernelKMeans`.
    strategy : str, default="uniform"
        * `"uniform"`: all rows alike, in proportion to their weight;
        * `"diagonal"`: in proportion to k(x, x);
        * `"column-norm"`: to the squared norm of the row's column of the kernel matrix
          (estimated from 10,000 rows of it, if there are more);
        * `"k-means"`: rows nearest to the centers of m clusters of 10 m candidates;
        * `"rpcholesky"`: proposed in proportion to the squared distance to the span of
          those before, as in randomly pivoted Cholesky, and of the proposals those that
          explain most (on a sample, if there are many rows). The best for a given m;
        * `"leverage"`: to approximate ridge leverage scores.
    kernel, gamma, degree, coef0, kernel_params
        As in `akkm.ApproxKernelKMeans`.
    sample_weight : array of shape (n,), optional
        Rows of weight 0 are never chosen.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int, optional
        Threads; all by default.

    Returns
    -------
    indices : int array of shape (m,)
        Distinct row numbers, in order; `landmarks=indices` hands them to an estimator.

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
