"""The digest of rows depends on all values and their order, and on nothing else."""

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

import akkm
from akkm.approx import digest
from akkm.rows import as_rows, rows_of_dask

N, D = 70_000, 3


@pytest.fixture(scope="module", params=[np.float32, np.float64])
def X(request):
    X = np.random.default_rng(0).normal(size=(N, D)).astype(request.param)
    X[X < 0] = 0
    return X


def test_equal_rows_have_equal_digests_wherever_they_are_stored(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    expected = digest(X)
    assert digest(np.asfortranarray(X)) == expected
    assert digest(sparse.csr_matrix(X)) == expected
    assert digest(akkm.open_rows(tmp_path / "x.npy")) == expected
    cut = da.from_array(X, chunks=((30_000, 0, 39_999, 1), -1))
    assert digest(rows_of_dask(cut)) == expected
    in_order = np.arange(N)
    assert digest(as_rows(np.vstack([X, X])).subset(in_order)) == expected


def test_a_changed_value_or_two_swapped_rows_change_the_digest(X):
    rng = np.random.default_rng(1)
    seen = [digest(X)]
    for _ in range(30):
        row, other, column = rng.integers(N), rng.integers(N), rng.integers(D)
        changed = X.copy()
        changed[row, column] = np.nextafter(X[row, column], 9)
        seen.append(digest(changed))
        changed = X.copy()
        changed[[row, other]] = X[[other, row]]
        seen.append(digest(changed))
    assert len(set(seen)) == len(seen)


def test_changed_signs_and_swapped_columns_change_the_digest(X):
    X = X + 1
    signs = [X * np.array(s, dtype=X.dtype) for s in ([1, -1, -1], [-1, -1, -1])]
    others = [*signs, X[:, ::-1], X[:-1], np.vstack([X, X[:1]])]
    assert digest(X) not in {digest(other) for other in others}
