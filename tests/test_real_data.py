"""Fits of samples of the paper's data sets in AKKM_DATA, compared with oracles."""

import gzip

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from akkm import ApproxKernelKMeans, KernelKMeans
from akkm.kernels import RBF, Polynomial, Sigmoid
from oracles import algorithm2, clipped_inverse, exact_kernel_k_means

pytestmark = pytest.mark.data


def read_mnist(folder):
    raw = gzip.decompress((folder / "mnist" / "t10k-images-idx3-ubyte.gz").read_bytes())
    return np.frombuffer(raw, np.uint8, offset=16).reshape(-1, 784) / 255


def read_covtype(folder):
    path = folder / "covtype" / "covtype.data.gz"
    with gzip.open(path, "rt") as lines:
        X = np.loadtxt(lines, delimiter=",", usecols=range(54), max_rows=10_000)
    return (X - X.min(axis=0)) / np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1)


# If the paper gives kernel parameters, they are used here.
CASES = {
    "MNIST rbf": (read_mnist, RBF(gamma=0.02), 10),
    "MNIST poly": (read_mnist, Polynomial(gamma=0.01), 10),
    "MNIST sigmoid": (read_mnist, Sigmoid(gamma=0.0045, coef0=0.11), 10),
    "Cover Type rbf": (read_covtype, RBF(sigma=0.35), 7),
    "Cover Type poly": (read_covtype, Polynomial(gamma=1.0), 7),
    "Cover Type sigmoid": (read_covtype, Sigmoid(gamma=0.1, coef0=0.1), 7),
}


@pytest.fixture(scope="module", params=CASES)
def case(request, data_folder):
    read, kernel, n_clusters = CASES[request.param]
    X = read(data_folder)
    rng = np.random.default_rng(0)
    X = X[rng.choice(len(X), 1500, replace=False)]
    rows = rng.choice(len(X), 100, replace=False)
    labels = rng.integers(n_clusters, size=len(X))
    return X, kernel, n_clusters, rows, labels


@pytest.fixture(scope="module")
def reference_run(case):
    """Labels, α and number of iterations of the slow Algorithm 2."""
    X, kernel, n_clusters, rows, labels = case
    K_B = kernel(X, X[rows])
    inverse = np.linalg.inv if kernel.psd else clipped_inverse
    return algorithm2(K_B, K_B[rows], labels, n_clusters, inverse=inverse)


def test_float64_labels_equal_those_of_algorithm_2(case, reference_run):
    X, kernel, n_clusters, rows, labels = case
    model = ApproxKernelKMeans(n_clusters, kernel=kernel, landmarks=rows, init=labels)
    model.fit(X)
    np.testing.assert_array_equal(model.labels_, reference_run[0])
    assert model.n_iter_ == reference_run[2]


def test_float32_labels_agree_with_algorithm_2(case, reference_run):
    X, kernel, n_clusters, rows, labels = case
    model = ApproxKernelKMeans(n_clusters, kernel=kernel, landmarks=rows, init=labels)
    model.fit(X.astype(np.float32))
    assert adjusted_rand_score(model.labels_, reference_run[0]) > 0.99


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_labels_equal_those_of_the_full_matrix(case, dtype):
    X, kernel, n_clusters, _, labels = case
    model = KernelKMeans(n_clusters, kernel=kernel, init=labels).fit(X.astype(dtype))
    expected, error = exact_kernel_k_means(kernel(X), labels, n_clusters)
    assert adjusted_rand_score(model.labels_, expected) > 0.99
    if dtype == np.float64:
        np.testing.assert_array_equal(model.labels_, expected)
        assert model.inertia_ == pytest.approx(error)
