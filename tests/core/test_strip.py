"""Kernel values between rows and landmarks: tiles and cached rows."""

import numpy as np

from akkm.core.strip import Strip
from akkm.kernels import RBF


def test_tiles_contain_the_kernel_values_of_the_chosen_rows(rng):
    X = rng.random((100, 3))
    strip = Strip(X, RBF(gamma=1.0), X[:7], float)
    strip.max_tile_rows = 32
    K = RBF(gamma=1.0)(X, X[:7])
    chosen = np.r_[3:50, 60, 99]
    odd = np.arange(1, 100, 2)
    for part, expected in ((strip, K), (strip.subset(odd), K[odd])):
        for rows in (slice(5, 49), chosen[chosen < len(expected)]):
            tiles = [(r, phi.copy()) for r, phi in part.tiles(rows)]
            assert len(tiles) == 2
            np.testing.assert_allclose(
                np.concatenate([phi for _, phi in tiles]), expected[rows]
            )
            for r, phi in tiles:
                np.testing.assert_allclose(phi, expected[r])


def test_cached_rows_are_not_recomputed(rng):
    X = rng.random((50, 3))
    K = RBF(gamma=1.0)(X, X[:7])
    strip = Strip(X, RBF(gamma=1.0), X[:7], float)
    strip.use_cache(10 * 7 * 8)  # room for ten rows
    computed = []
    compute = strip._compute
    strip._compute = lambda rows, out: (computed.extend(rows), compute(rows, out))

    def fetch(rows):
        computed.clear()
        strip.reserve(rows)
        for part, phi in strip.tiles(rows):
            np.testing.assert_allclose(phi, K[part])
        return list(computed)

    assert fetch(np.arange(20)) == list(range(20))  # too many rows: none is cached
    assert fetch(np.arange(6)) == list(range(6))
    assert fetch(np.arange(4, 9)) == [6, 7, 8]
    assert fetch(np.array([8, 3, 30])) == [30]
    assert fetch(np.array([30, 31])) == [31]  # the cache is full
    assert fetch(np.array([31, 30])) == [31]
