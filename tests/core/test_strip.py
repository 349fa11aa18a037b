"""Kernel values between rows and landmarks: tiles and cached rows."""

import pickle

import numpy as np

from akkm.core.strip import RowCache, Strip
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


def test_a_copy_of_a_cache_for_another_process_is_empty():
    cache = RowCache(20, 10, 3, np.float32)
    rows = np.arange(5)
    cache.reserve(rows)
    ones = np.ones((5, 3), dtype=np.float32)
    cache.fetch(rows, lambda rows, out: out.fill(1), ones.copy())
    copy = pickle.loads(pickle.dumps(cache))
    assert len(pickle.dumps(copy)) < 500
    copy.reserve(np.arange(10))  # there is room for ten rows again
    out = copy.fetch(rows, lambda rows, out: out.fill(2), ones.copy())
    np.testing.assert_array_equal(out, 2 * ones)
    np.testing.assert_array_equal(cache.fetch(rows, None, ones.copy()), ones)


def test_other_rows_use_the_same_prepared_points(rng, monkeypatch):
    bound, bind = [], RBF.bind
    monkeypatch.setattr(RBF, "bind", lambda *args: bound.append(1) or bind(*args))
    X = rng.random((20, 3))
    strip = Strip(X[:0], RBF(gamma=1.0), X[:7], float)
    for rows in np.split(X, 4):
        (_, phi), *_ = strip.with_rows(rows).tiles(slice(0, 5))
        np.testing.assert_allclose(phi, RBF(gamma=1.0)(rows, X[:7]))
    # `strip` binds its kernel once, and each of the four kernels that compute expected
    # values is bound once.
    assert len(bound) == 1 + 4


def test_memory_is_reused_but_never_by_two_iterators_at_once(rng):
    X = rng.normal(size=(300, 3)).astype(np.float32)
    strip = Strip(X, RBF(gamma=0.5), X[:20], np.float32)
    expected = strip.kernel_rows(X, np.float32)
    strip.max_tile_rows = 100
    whole = slice(0, 300)
    precise = strip.tiles(whole, dtype=np.float64)
    for (rows, phi), (_, wide) in zip(strip.tiles(whole), precise, strict=True):
        assert wide.dtype == np.float64
        np.testing.assert_allclose(phi, expected[rows], rtol=1e-5)
        np.testing.assert_array_equal(wide, phi)
    both = strip.tiles(slice(0, 200)), strip.tiles(slice(100, 300))
    for (rows, phi), (other_rows, other) in zip(*both, strict=True):
        np.testing.assert_allclose(phi, expected[rows], rtol=1e-5)
        np.testing.assert_allclose(other, expected[other_rows], rtol=1e-5)
    first, second = ([phi.ctypes.data for _, phi in strip.tiles(whole)] for _ in "ab")
    assert first == second
    strip.max_tile_rows = 300
    assert len(next(strip.tiles(whole))[1]) == 300
