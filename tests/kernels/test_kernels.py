"""Kernels, compared with their formulas and with scikit-learn."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from akkm import kernels
from akkm.kernels import (
    KERNEL_NAMES,
    RBF,
    Function,
    Linear,
    Polynomial,
    Precomputed,
    resolve,
)
from akkm.kernels._base import product, right_factor
from oracles import naive_kernel

NAMES = [name for name in KERNEL_NAMES if name not in ("precomputed", "polynomial")]
PSD = ["rbf", "poly", "linear", "cosine", "laplacian", "chi2", "intersection"]


def make(name, **params):
    return resolve(name, np.zeros((1, 1)), **{"gamma": 0.7, "coef0": 0.3, **params})


@pytest.fixture
def rows(rng):
    return rng.random((23, 5)), rng.random((11, 5))


@pytest.mark.parametrize("name", NAMES)
def test_values_equal_the_definition(name, rows):
    X, Z = rows
    expected = naive_kernel(name, X, Z, gamma=0.7, coef0=0.3)
    np.testing.assert_allclose(make(name)(X, Z), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "intersection"])
def test_values_equal_those_of_scikit_learn(name, rows):
    X, Z = rows
    params = {"gamma": 0.7, "coef0": 0.3, "degree": 2}
    ours = make(name, degree=2)(X, Z)
    theirs = pairwise_kernels(X, Z, metric=name, filter_params=True, **params)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_diagonals_symmetry_and_sparse_rows_are_consistent(name, rows):
    X, Z = rows
    X = np.where(X < 0.3, 0, X)
    kernel = make(name)
    K = kernel(X)
    np.testing.assert_allclose(kernel.diag(X), K.diagonal(), atol=1e-12)
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    S = sparse.csr_array(X)
    np.testing.assert_allclose(kernel(S, sparse.csr_array(Z)), kernel(X, Z), atol=1e-12)
    np.testing.assert_allclose(kernel.diag(S), kernel.diag(X), atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_float32_rows_give_accurate_float32_values(name, rows):
    X, Z = (a.astype(np.float32) for a in rows)
    K = make(name)(X, Z)
    assert K.dtype == np.float32
    np.testing.assert_allclose(K, make(name)(*map(np.float64, (X, Z))), atol=2e-5)


@pytest.mark.parametrize("name", PSD)
@settings(max_examples=15, deadline=None)
@given(
    X=hnp.arrays(
        float,
        st.tuples(st.integers(2, 12), st.integers(1, 4)),
        elements=st.floats(0, 3, width=32),
    )
)
def test_kernels_marked_psd_are_positive_semi_definite(name, X):
    kernel = make(name)
    assert kernel.psd
    values = np.linalg.eigvalsh(kernel(X))
    assert values[0] >= -1e-9 * max(1, values[-1])


def test_the_diagonal_of_unit_kernels_is_one(rows):
    names = {name for name in kernels.KERNEL_NAMES if name != "precomputed"}
    unit = {name for name in names if make(name).unit}
    assert unit == {"rbf", "laplacian", "chi2"}
    for name in unit:
        np.testing.assert_array_equal(make(name).diag(rows[0]), 1)
    assert not (make("rbf") + 1).unit


def test_the_sigmoid_kernel_is_not_positive_definite():
    X = np.linspace(-1, 1, 20)[:, None]
    kernel = kernels.Sigmoid(gamma=2.0, coef0=0.5)
    assert not kernel.psd
    assert np.linalg.eigvalsh(kernel(X))[0] < -1e-3


def test_kernels_can_be_added_and_multiplied(rows):
    X, Z = rows
    a, b = RBF(gamma=2.0), Polynomial(degree=2)
    np.testing.assert_allclose((a + b)(X, Z), a(X, Z) + b(X, Z))
    np.testing.assert_allclose((a * b)(X, Z), a(X, Z) * b(X, Z))
    np.testing.assert_allclose((0.5 * a + 1)(X, Z), 0.5 * a(X, Z) + 1)
    np.testing.assert_allclose((a * b + a).diag(X), (a * b + a)(X).diagonal())
    assert (a + b).psd
    assert not (a + kernels.Sigmoid()).psd
    assert not (-1 * a).psd


def test_kernels_are_immutable():
    with pytest.raises(AttributeError):
        RBF(gamma=1.0).gamma = 2.0


def test_rbf_takes_sigma_or_gamma():
    assert RBF(sigma=0.35).rate == pytest.approx(1 / (2 * 0.35**2))
    with pytest.raises(ValueError, match="Give gamma or sigma"):
        RBF(gamma=1.0, sigma=1.0)
    with pytest.raises(ValueError, match="expected one positive number"):
        RBF(gamma=-1.0)


def test_rbf_is_accurate_far_from_the_origin(rng):
    X = rng.random((50, 3)).astype(np.float32)
    far = X + np.float32(1000)
    near = far - np.float32(1000)  # has the rounding errors of `far`
    np.testing.assert_allclose(RBF(gamma=1.0)(far), RBF(gamma=1.0)(near), atol=1e-5)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 2.5])
def test_polynomial_accepts_any_degree(degree, rows):
    X, Z = rows
    K = Polynomial(gamma=0.5, degree=degree)(X, Z)
    np.testing.assert_allclose(K, (0.5 * X @ Z.T + 1) ** degree)
    assert Polynomial(degree=degree).psd == (degree != 2.5)


def test_cosine_of_a_zero_row_is_zero():
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_array_equal(kernels.Cosine()(X), [[0, 0], [0, 1]])
    np.testing.assert_array_equal(kernels.Cosine().diag(X), [0, 1])


def test_a_function_can_be_a_kernel(rows):
    X, Z = rows
    kernel = resolve(lambda A, B, p: (A @ B.T) ** p, X, kernel_params={"p": 2})
    np.testing.assert_allclose(kernel(X, Z), (X @ Z.T) ** 2)
    np.testing.assert_allclose(kernel.diag(X), kernel(X).diagonal())
    with pytest.raises(ValueError, match=r"shape \(\) for 23 and 11 rows"):
        Function(lambda A, B: 1.0)(X, Z)


@pytest.mark.parametrize("dense_bytes", [100, 10**6])
def test_wide_sparse_points_are_not_converted_to_dense(dense_bytes, rng):
    S = sparse.random_array((30, 400), density=0.02, format="csr", rng=rng)
    right = right_factor(S, 2.0, dense_bytes=dense_bytes)
    assert sparse.issparse(right) == (dense_bytes == 100)
    out = np.empty((30, 30))
    product(S, right, out)
    np.testing.assert_allclose(out, 2 * (S @ S.T).toarray())


def test_integers_and_lists_are_converted():
    K = Polynomial(gamma=0.5, coef0=0.5, degree=2)(np.array([[1, 2], [3, 4]]))
    np.testing.assert_allclose(K, [[9.0, 36.0], [36.0, 169.0]])
    np.testing.assert_allclose(RBF(gamma=1.0)([[0], [1]])[0, 1], np.exp(-1))


def test_gamma_must_be_positive():
    for kernel in (kernels.Laplacian, kernels.Chi2, RBF):
        with pytest.raises(ValueError, match=r"got gamma=-1\.0.*expected"):
            kernel(gamma=-1.0)
    assert not Linear(gamma=-1.0).psd


def test_unknown_names_and_parameters_are_refused():
    with pytest.raises(ValueError, match="Unknown kernel 'gauss'; expected one of rbf"):
        resolve("gauss", np.zeros((1, 1)))
    with pytest.raises(
        ValueError, match=r"does not take these kernel_params: \['tau'\]"
    ):
        resolve("rbf", np.zeros((1, 1)), kernel_params={"tau": 1})


def test_parameters_and_kernel_objects_are_passed_through():
    assert resolve("rbf", np.zeros((1, 1)), kernel_params={"sigma": 2.0}) == RBF(
        sigma=2.0
    )
    assert resolve(Linear(), np.zeros((1, 1))) == Linear()


def test_precomputed_kernels_cannot_be_combined():
    with pytest.raises(TypeError, match="Add precomputed kernel matrices"):
        Precomputed() + 1
    with pytest.raises(TypeError, match="Multiply precomputed kernel matrices"):
        2 * Precomputed()


def test_a_precomputed_matrix_must_be_square_and_symmetric():
    with pytest.raises(ValueError, match=r"shape \(2, 3\); expected a square matrix"):
        Precomputed().check_matrix(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="differ by up to 1"):
        Precomputed().check_matrix(np.array([[1.0, 1.0], [0.0, 1.0]]))


@pytest.mark.parametrize("name", ["chi2", "additive_chi2", "intersection"])
def test_histogram_kernels_refuse_negative_entries(name):
    with pytest.raises(ValueError, match="Negative values in data: the smallest is -1"):
        make(name).check(np.array([[1.0, -1.0]]))


@pytest.mark.parametrize("name", ["laplacian", "chi2", "intersection"])
def test_without_numba_the_message_names_the_extra(name, rows, monkeypatch):
    make(name)(*rows)  # loads `_compiled`, which is deleted below
    monkeypatch.setitem(sys.modules, "akkm.kernels._compiled", None)
    monkeypatch.delattr(kernels, "_compiled")
    with pytest.raises(ImportError, match=r"pip install '\.\[numba\]'"):
        make(name)(*rows)
