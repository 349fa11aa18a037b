"""Select landmarks: by the name of a strategy, as row indices, or as points."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from akkm.core.threads import Threads
from akkm.kernels import Kernel, KernelSettings
from akkm.landmarks._cholesky import rpcholesky
from akkm.landmarks._pool import Pool, number_of_landmarks
from akkm.landmarks._representatives import k_means
from akkm.landmarks._scores import column_norm, diagonal, leverage, uniform
from akkm.rows import as_rows
from akkm.typing import Array, RowsLike
from akkm.validation import generator, require_count, validate_rows, validated_weights

# Each strategy takes a pool, m and a random generator, and returns m row numbers.
STRATEGIES: dict[str, Callable[[Pool, int, np.random.Generator], Array]] = {
    "uniform": uniform,
    "diagonal": diagonal,
    "column-norm": column_norm,
    "k-means": k_means,
    "rpcholesky": rpcholesky,
    "leverage": leverage,
}
# Number of candidates per landmark if the rows are not in memory.
_CANDIDATES = 50


@dataclass(frozen=True)
class Landmarks:
    """The points whose span contains the centers.

    Parameters
    ----------
    points : array or CSR matrix of shape (m, d), or int array of shape (m,)
        The points with which rows are compared. For a precomputed kernel, the column
        numbers of the landmarks in the kernel matrix.
    rows : array or CSR matrix of shape (m, d)
        The same points. For a precomputed kernel, the rows of the landmarks in the
        kernel matrix.
    indices : int array of shape (m,) or None
        The row numbers of the landmarks in the data; None if they are other points.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.landmarks import Landmarks
    >>> points = np.eye(2)
    >>> Landmarks(points, points, None).attribute.shape
    (2, 2)
    """

    points: RowsLike
    rows: RowsLike
    indices: Array | None

    @property
    def attribute(self) -> RowsLike:
        """The value of `landmarks_`: points, or indices for a precomputed kernel."""
        return self.indices if self.points.ndim == 1 else self.points


def select_landmarks(
    X: RowsLike,
    kernel: Kernel,
    engine: Threads,
    *,
    given: str | RowsLike,
    n_landmarks: int | str,
    n_clusters: int,
    weights: Array | None,
    rng: np.random.Generator,
) -> Landmarks:
    """Select landmarks, or look up the given landmarks. Assumes validated input.

    Parameters
    ----------
    X : array, CSR matrix or stored rows of shape (n, d)
        The rows; a square matrix for a precomputed kernel.
    kernel : Kernel
        The kernel.
    engine : Threads
        The threads that compute kernel values.
    given : str or array
        The name of a strategy, an array of row indices, or an array of points.
    n_landmarks : int or "auto"
        The number of landmarks, if a strategy selects them.
    n_clusters : int
        The number of clusters.
    weights : array of shape (n,) or None
        The weights of the rows.
    rng : numpy.random.Generator
        The random number generator.

    Returns
    -------
    Landmarks
        The landmarks.

    Raises
    ------
    ValueError
        If the strategy is unknown or the number of landmarks is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.core.threads import Threads
    >>> from akkm.kernels import RBF
    >>> from akkm.landmarks import select_landmarks
    >>> X = np.arange(6.0)[:, None]
    >>> with Threads(1) as engine:
    ...     landmarks = select_landmarks(
    ...         X,
    ...         RBF(),
    ...         engine,
    ...         given=np.array([1, 4]),
    ...         n_landmarks="auto",
    ...         n_clusters=2,
    ...         weights=None,
    ...         rng=np.random.default_rng(0),
    ...     )
    >>> landmarks.points.ravel()
    array([1., 4.])
    """
    if isinstance(given, str):
        if given not in STRATEGIES:
            raise ValueError(
                f"Unknown landmark strategy {given!r}; expected one of "
                f"{', '.join(STRATEGIES)}, an array of row indices, or an array of "
                "points."
            )
        select = STRATEGIES[given]
        available = X.shape[0] if weights is None else int((weights > 0).sum())
        m = number_of_landmarks(n_landmarks, available, n_clusters)
        # The strategy has its own generator, so that later steps don't depend on how
        # many random numbers it draws.
        own_rng = rng.spawn(1)[0]
        if not as_rows(X).in_memory and given != "uniform":
            among: Any = X.shape[0] if weights is None else np.flatnonzero(weights > 0)
            size = min(_CANDIDATES * m, available)
            sample = np.sort(own_rng.choice(among, size, replace=False))
            sample_weights = None if weights is None else weights[sample]
            rows = as_rows(X).gather(sample)
            taken = select(Pool(rows, kernel, sample_weights, engine), m, own_rng)
            return Landmarks(rows[taken], rows[taken], sample[taken])
        given = select(Pool(X, kernel, weights, engine), m, own_rng)
    if given.ndim == 1:
        rows = as_rows(X).gather(given)
        points = kernel.select(X, given) if as_rows(X).in_memory else rows
        return Landmarks(points, rows, given)
    return Landmarks(given, given, None)


def choose(
    X: Any,
    n_landmarks: int | str = "auto",
    strategy: str = "uniform",
    kernel: Any = "rbf",
    *,
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    **kernel_settings: Unpack[KernelSettings],
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
        * `"column-norm"`: row i in proportion to the squared norm of column i of the
          kernel matrix. If n > 10,000, norms are estimated from 10,000 rows of the
          matrix.
        * `"k-means"`: k-means puts 10 m candidate rows into m clusters, and the row
          nearest to each center is chosen.
        * `"rpcholesky"`: by randomly pivoted Cholesky. Rows are proposed in proportion
          to their squared distance to the span of the landmarks so far, and the
          proposals that reduce the error most are taken. If there are many rows, only a
          sample of them is considered. This is the best strategy for a given m.
        * `"leverage"`: in proportion to approximate ridge leverage scores.
    kernel : str, Kernel or callable, default="rbf"
        The kernel, as in `akkm.ApproxKernelKMeans`.
    sample_weight : array of shape (n,), optional
        The weights of the rows. Rows of weight 0 are never chosen.
    random_state : int, RandomState instance or None, default=None
        The seed.
    n_jobs : int, optional
        The number of threads; all cores by default.
    **kernel_settings : KernelSettings
        `gamma`, `degree`, `coef0` and `kernel_params`, as in `akkm.kernels.resolve`.

    Returns
    -------
    int array of shape (m,)
        Distinct, sorted row numbers, for the parameter `landmarks` of an estimator.

    Raises
    ------
    ValueError
        If the strategy is unknown or m is out of range.

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
    weights = validated_weights(sample_weight, X)
    rng = generator(random_state)
    X, kernel = validate_rows(
        X, kernel, **kernel_settings, sample_weight=weights, rng=rng.spawn(1)[0]
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
