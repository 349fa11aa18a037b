"""Rows and models that the tests of inspect and of the report share, as fixtures."""

import pytest
from sklearn.datasets import load_wine, make_blobs

from akkm import ApproxKernelKMeans
from registry import ESTIMATORS


@pytest.fixture(scope="session")
def blobs():
    return make_blobs([500, 300, 40], 4, random_state=3, cluster_std=1.5)


@pytest.fixture(scope="session")
def model(blobs):
    return ApproxKernelKMeans(3, random_state=0).fit(blobs[0])


@pytest.fixture(scope="session")
def wine():
    X = load_wine().data
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.fixture(scope="session", params=ESTIMATORS, ids=lambda kind: kind.__name__)
def fitted(request, blobs):
    """Each estimator in turn, fitted to the blobs."""
    return request.param(3, random_state=0).fit(blobs[0])
