"""Rules that choose gamma from the data."""

import numpy as np
import pytest
from scipy import sparse

from akkm.kernels import resolve

X_SMALL = np.array([[0.0, 4.0], [2.0, 2.0]])  # entries have mean 2 and variance 2


def test_scale_is_the_inverse_of_d_times_the_variance():
    assert resolve("rbf", X_SMALL).gamma == pytest.approx(1 / (2 * 2))
    assert resolve("laplacian", X_SMALL).gamma == pytest.approx(1 / (2 * np.sqrt(2)))
    assert resolve("chi2", X_SMALL).gamma == pytest.approx(2 / (2 * 2))
    assert resolve("rbf", sparse.csr_array(X_SMALL)).gamma == pytest.approx(0.25)


def test_scale_gives_gamma_one_for_constant_data():
    assert resolve("rbf", np.ones((3, 2))).gamma == 1.0


def test_scale_with_integer_weights_equals_scale_of_repeated_rows(rng):
    X, w = rng.random((30, 3)), rng.integers(0, 4, 30)
    weighted = resolve("rbf", X, sample_weight=w.astype(float)).gamma
    assert weighted == pytest.approx(resolve("rbf", X.repeat(w, axis=0)).gamma)


def test_gamma_none_is_one_over_d():
    assert resolve("rbf", X_SMALL, gamma=None).gamma == 0.5
    assert resolve("chi2", X_SMALL, gamma=None).gamma == 1.0


@pytest.mark.parametrize("name", ["rbf", "laplacian", "chi2"])
def test_median_makes_the_typical_exponent_a_constant(name, rng):
    X = rng.random((400, 6)) * 7
    K = resolve(name, X, gamma="median")(X)
    typical = -np.log(np.median(K[np.triu_indices(400, 1)]))
    assert typical == pytest.approx(0.5 if name == "rbf" else 1.0, rel=0.1)


def test_median_of_dot_product_kernels_uses_the_squared_norms(rng):
    X = rng.random((400, 6)) * 7
    gamma = resolve("poly", X, gamma="median").gamma
    assert gamma * np.median((X**2).sum(axis=1)) == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "chi2"])
def test_neighbors_uses_the_distance_of_the_seventh_neighbour(name, rng):
    X = rng.random((300, 3))
    gamma = resolve(name, X, gamma="neighbors").gamma
    formulas = {
        "rbf": lambda D: 2 * (D**2).sum(axis=2),
        "laplacian": lambda D: np.abs(D).sum(axis=2),
        "chi2": lambda D: (D**2 / (X[:, None] + X)).sum(axis=2),
    }
    distances = np.sort(formulas[name](X[:, None] - X), axis=1)
    # Column 0 is the distance of each row to itself.
    assert 1 / gamma == pytest.approx(np.median(distances[:, 7]), rel=1e-6)


def test_copies_of_a_row_are_not_its_neighbours(rng):
    X = rng.random((100, 2))
    once = resolve("rbf", X, gamma="neighbors").gamma
    copied = resolve("rbf", np.tile(X, (9, 1)), gamma="neighbors").gamma
    assert np.isfinite(copied)
    # The first nine neighbours of a row are the nine copies of one other row.
    assert copied > once
    assert resolve("rbf", np.ones((50, 2)), gamma="neighbors").gamma == 1.0
    from_sparse = resolve("rbf", sparse.csr_array(X), gamma="neighbors").gamma
    assert from_sparse == pytest.approx(once)


@pytest.mark.parametrize("rule", ["median", "neighbors"])
def test_rules_are_accurate_far_from_the_origin(rule, rng):
    X = np.repeat(rng.normal(size=(300, 2)), 4, axis=0)
    near, far = (resolve("rbf", A, gamma=rule).gamma for A in (X, 1e4 + X))
    assert far == pytest.approx(near, rel=1e-4)


def test_neighbors_is_refused_for_dot_product_kernels():
    with pytest.raises(ValueError, match="gamma='neighbors' measures distances"):
        resolve("poly", X_SMALL, gamma="neighbors")


def test_unknown_rules_are_refused():
    with pytest.raises(ValueError, match="gamma='wide' is not valid"):
        resolve("rbf", X_SMALL, gamma="wide")


def test_median_accepts_two_rows():
    X = np.array([[0.0], [10.0]])
    for seed in range(5):
        rng = np.random.default_rng(seed)
        assert resolve("rbf", X, gamma="median", rng=rng).gamma == 1 / 200


def test_scale_gives_gamma_one_for_equal_values_despite_rounding():
    assert resolve("rbf", np.full((7, 3), 0.1)).gamma == 1.0


@pytest.mark.parametrize("rule", ["median", "neighbors"])
@pytest.mark.parametrize("name", ["rbf", "laplacian", "chi2"])
def test_a_row_of_weight_two_counts_like_two_rows(name, rule, rng):
    X, w = rng.random((40, 3)), rng.integers(0, 6, 40)
    weighted = resolve(name, X, gamma=rule, sample_weight=w.astype(float)).gamma
    repeated = resolve(name, X.repeat(w, axis=0), gamma=rule).gamma
    assert weighted == pytest.approx(repeated, rel=1e-9)
    assert weighted != pytest.approx(resolve(name, X[w > 0], gamma=rule).gamma)


def test_the_median_of_dot_product_kernels_uses_weights(rng):
    X, w = rng.random((40, 3)), rng.integers(0, 6, 40)
    weighted = resolve("poly", X, gamma="median", sample_weight=w.astype(float)).gamma
    repeated = resolve("poly", X.repeat(w, axis=0), gamma="median").gamma
    assert weighted == pytest.approx(repeated)


@pytest.mark.parametrize("rule", ["median", "neighbors"])
def test_weights_of_one_do_not_change_gamma(rule, rng):
    X = rng.random((41, 3))
    weighted = resolve("rbf", X, gamma=rule, sample_weight=np.ones(41)).gamma
    assert weighted == resolve("rbf", X, gamma=rule).gamma


def test_neighbors_is_accurate_in_groups_that_are_far_apart(rng):
    X = rng.normal(size=(40, 2))
    far = np.vstack([X, X + 1e9])
    both = resolve("rbf", far, gamma="neighbors").gamma
    # Adding 1e9 rounds entries of the second group to multiples of about 1e-7.
    assert both == pytest.approx(resolve("rbf", X, gamma="neighbors").gamma, rel=1e-5)


@pytest.mark.parametrize("rule", ["median", "neighbors"])
def test_distances_that_overflow_are_refused(rule, rng):
    X = rng.normal(size=(40, 2)) * 1e200
    with pytest.raises(ValueError, match="overflow; scale the columns"):
        resolve("rbf", X, gamma=rule)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("rule", ["scale", "median", "neighbors"])
def test_64_bit_indices_of_sparse_rows_do_not_matter(kernel, rule, rng):
    X = sparse.csr_array(rng.random((60, 20)) * (rng.random((60, 20)) < 0.3))
    wide = X.copy()
    wide.indices, wide.indptr = (
        wide.indices.astype("int64"),
        wide.indptr.astype("int64"),
    )
    gammas = [
        resolve(kernel, rows, gamma=rule, rng=np.random.default_rng(0)).gamma
        for rows in (X, wide)
    ]
    assert gammas[0] == gammas[1]
    assert wide.indices.dtype == np.int64  # the caller's rows are unchanged


def test_scale_of_sparse_float32_rows_is_summed_in_float64(rng):
    X = (rng.random((400, 3_000)) * 1e3 + 1e4).astype(np.float32)
    dense, csr = (resolve("rbf", rows).gamma for rows in (X, sparse.csr_array(X)))
    assert csr == pytest.approx(dense, rel=1e-9, abs=0)


def test_scale_of_sparse_float32_rows_is_right_if_squares_overflow(rng):
    X = (rng.random((400, 3)) * 1e20).astype(np.float32)
    dense, csr = (resolve("rbf", rows).gamma for rows in (X, sparse.csr_array(X)))
    assert csr == pytest.approx(dense, rel=1e-6, abs=0)
