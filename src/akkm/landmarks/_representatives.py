"""The strategy that selects a representative row of each of m k-means clusters."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from akkm.core import gram
from akkm.core.kernel_matrix import kernel_matrix
from akkm.landmarks._pool import Pool, fill_up
from akkm.silence import ignore_warnings
from akkm.typing import Array

_PER_LANDMARK = 10  # candidates
_COORDINATES = 256
_ITERATIONS = 5


def k_means(pool: Pool, m: int, rng: np.random.Generator) -> Array:
    """Select the rows nearest to the centers of m clusters of 10 m candidates.

    The clusters are found in the leading coordinates of the kernel's space, so this
    works for every kernel and for sparse rows.
    """
    rows = pool.sample(_PER_LANDMARK * m, rng)
    points = _coordinates(pool, rows, rng)
    if not points.shape[1]:  # every row has the zero image
        return fill_up(rows[:0], rows, m, rng)
    seed = int(rng.integers(2**31))
    fit = KMeans(m, init="random", n_init=1, max_iter=_ITERATIONS, random_state=seed)
    # On one thread, to be reproducible. KMeans warns if there are fewer distinct rows.
    with threadpool_limits(1, "openmp"), ignore_warnings(ConvergenceWarning):
        fit.fit(points, sample_weight=pool.weights_of(rows))
    squared = np.square(points - fit.cluster_centers_[fit.labels_]).sum(axis=1)
    # The two rows of a pair are equally near to their mean, up to rounding: rounding
    # the distances makes the first one win.
    squared = np.round(squared / max(squared.max(), 1e-300), 9)
    order = np.lexsort([squared, fit.labels_])
    _, first = np.unique(fit.labels_[order], return_index=True)
    return fill_up(rows[order[first]], rows, m, rng)


def _coordinates(pool: Pool, rows: Array, rng: np.random.Generator) -> Array:
    """Leading coordinates of the images of some rows: (b, q)."""
    basis = pool.sample(_COORDINATES, rng)
    whitener = gram.factor(kernel_matrix(pool.X, pool.kernel, basis)).whitener
    return pool.map_kernel_rows(lambda phi: phi @ whitener, rows, basis)
