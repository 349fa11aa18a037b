"""The strategy that selects a representative row of each of m k-means clusters."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from akkm.core import gram
from akkm.core.kernel_matrix import kernel_matrix
from akkm.core.threads import thread_pools
from akkm.landmarks._pool import Pool, fill_up
from akkm.silence import ignore_warnings
from akkm.typing import Array

_PER_LANDMARK = 10  # number of candidates per landmark
_COORDINATES = 256  # number of rows whose span contains the coordinates
_ITERATIONS = 5


def k_means(pool: Pool, m: int, rng: np.random.Generator) -> Array:
    """Divide 10 m candidates into m clusters; select the row nearest to each center.

    k-means runs on coordinates in the span of 256 random rows. It therefore works for
    every kernel and for sparse rows.
    """
    rows = pool.sample(_PER_LANDMARK * m, rng)
    points = _coordinates(pool, rows, rng)
    if not points.shape[1]:  # the image of every row is zero
        return fill_up(rows[:0], rows, m, rng)
    seed = int(rng.integers(2**31))
    fit = KMeans(m, init="random", n_init=1, max_iter=_ITERATIONS, random_state=seed)
    # One thread makes the result reproducible. KMeans warns if fewer than m rows are
    # distinct.
    one_thread = thread_pools().limit(limits=1, user_api="openmp")
    with one_thread, ignore_warnings(ConvergenceWarning):
        fit.fit(points, sample_weight=pool.weights_of(rows))
    squared = np.square(points - fit.cluster_centers_[fit.labels_]).sum(axis=1)
    # In a cluster of two rows, both have the same distance to the center, up to
    # rounding errors. Rounding the distances makes the first row win.
    squared = np.round(squared / max(squared.max(), 1e-300), 9)
    order = np.lexsort([squared, fit.labels_])
    _, first = np.unique(fit.labels_[order], return_index=True)
    return fill_up(rows[order[first]], rows, m, rng)


def _coordinates(pool: Pool, rows: Array, rng: np.random.Generator) -> Array:
    """Return coordinates (b, q) of `rows` (b,) in the span of 256 random rows."""
    basis = pool.sample(_COORDINATES, rng)
    whitener = gram.factor(kernel_matrix(pool.X, pool.kernel, basis)).whitener
    return pool.map_kernel_rows(lambda phi: phi @ whitener, rows, basis)
