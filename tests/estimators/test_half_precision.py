"""float16 rows give the same results as float32 rows, without a copy of all rows."""

import tracemalloc

import numpy as np
import pytest

from akkm import ApproxKernelKMeans, DiffusionKernelKMeans
from akkm.inspect import Inspection
from akkm.rows import as_rows
from registry import create, every, has_centers


@pytest.fixture(scope="module")
def half(digits):
    return (1000 * digits[0][:400]).astype(np.float16)


@every(lambda Estimator: True)
def test_float16_rows_give_the_labels_of_float32_rows(Estimator, half):
    single = half.astype(np.float32)
    model, expected = (create(Estimator, 4).fit(X) for X in (half, single))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(half), expected.predict(single))
    if has_centers(Estimator):
        distances = model.transform(half[:5])
        assert distances.dtype == np.float32
        np.testing.assert_array_equal(distances, expected.transform(single[:5]))
        assert model.inertia_ == expected.inertia_


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "linear", "landmarks": "diagonal"},
        {"kernel": "poly", "landmarks": "rpcholesky"},
        {"kernel": "cosine", "landmarks": "column-norm"},
        {"kernel": "sigmoid", "gamma": 1e-9, "init": "random"},
        {"gamma": "neighbors", "landmarks": np.arange(40)},
        {"kernel": lambda A, B: (A @ B.T) ** 2},
    ],
    ids=lambda params: str(params["landmarks"])[:8] if "landmarks" in params else "",
)
def test_squares_of_float16_entries_do_not_overflow(params, half):
    """The squared entries of `half` exceed 65,504, the largest float16 number."""
    model = ApproxKernelKMeans(4, n_landmarks=40, random_state=0, **params)
    expected = model.fit(half.astype(np.float32)).labels_
    np.testing.assert_array_equal(model.fit(half).labels_, expected)


def test_float16_rows_are_not_copied_as_a_whole(rng):
    X = rng.normal(size=(100_000, 64)).astype(np.float16)
    model = ApproxKernelKMeans(2, n_landmarks=32, n_jobs=1, cache_size=0)
    model.set_params(init=np.arange(100_000) % 2, tol=0.9)
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes  # a float32 copy has twice as many bytes


def test_partial_fit_and_inspection_accept_float16_rows(half):
    model = ApproxKernelKMeans(4, random_state=0).partial_fit(half)
    expected = ApproxKernelKMeans(4, random_state=0).partial_fit(half.astype("f4"))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert Inspection(model, half).X.dtype == np.float32


def test_a_dense_float16_graph_gives_the_usual_message():
    model = DiffusionKernelKMeans(2, metric="precomputed_similarity")
    with pytest.raises(ValueError, match="expected a sparse matrix"):
        model.fit(np.eye(40, dtype=np.float16))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_float16_rows_must_be_finite(value, half):
    X = half.copy()
    X[300, 7] = value
    with pytest.raises(ValueError, match="Input X contains"):
        ApproxKernelKMeans(4).fit(X)


def test_blocks_of_float16_rows_are_float32(half):
    rows = as_rows(half)
    assert rows.dtype == np.float32
    for block in (rows[3:5], rows.gather(np.array([4, 2])), rows.subset([1, 2])[:]):
        assert block.dtype == np.float32
