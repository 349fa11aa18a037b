"""Hashes that identify equal rows."""

import numpy as np
import pytest
from scipy import sparse

from akkm.diffusion.row_hashes import row_hashes


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_only_equal_rows_have_equal_hashes(dtype, rng):
    X = rng.integers(0, 4, size=(3000, 6)).astype(dtype)
    _, expected = np.unique(X, axis=0, return_inverse=True)
    _, found = np.unique(row_hashes(X), return_inverse=True)
    pairs = {*zip(expected.ravel().tolist(), found.tolist(), strict=True)}
    assert len(pairs) == expected.max() + 1 == found.max() + 1


def test_hashes_depend_on_the_order_of_columns():
    hashes = row_hashes(np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 2.0]]))
    assert len(np.unique(hashes)) == 3


def test_hashes_do_not_depend_on_storage(rng):
    X = rng.normal(size=(200, 700)).astype(np.float32)
    X[rng.random(X.shape) < 0.9] = 0
    X[7] = 0
    expected = row_hashes(X)
    stored = sparse.csr_array(X)
    stored.data[:5] = 0  # explicit zeros
    X[0, stored.indices[:5]] = -0.0
    assert (row_hashes(stored) == row_hashes(X)).all()
    assert (row_hashes(np.asfortranarray(X))[1:] == expected[1:]).all()
    assert (row_hashes(X[50:60]) == expected[50:60]).all()


def test_an_array_without_rows_has_no_hashes():
    assert len(row_hashes(np.empty((0, 3)))) == 0
