"""All estimators of akkm and their capabilities.

Properties shared by several estimators are tested with this list, so a new estimator in
`akkm.__all__` is tested without changes to the tests. The capabilities of an estimator
are read from its class and its tags, never from a list of names.
"""

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

import akkm

ESTIMATORS = [
    value
    for value in (getattr(akkm, name) for name in akkm.__all__)
    if inspect.isclass(value) and issubclass(value, BaseEstimator)
]
# To save time, ensembles have few members, and the estimator inside is the fastest one.
SMALL = {"n_members": 3, "estimator": akkm.ApproxKernelKMeans()}


def has(*names):
    """Return a function that tells whether an estimator has these parameters."""
    return lambda Estimator: set(names) <= set(inspect.signature(Estimator).parameters)


def sets(attribute):
    """Return a function that tells whether an estimator documents this attribute."""
    # Since 3.13, Python removes the indentation of docstrings; getdoc always does.
    return lambda Estimator: f"\n{attribute} : " in inspect.getdoc(Estimator)


def has_centers(Estimator):
    """Whether the estimator has centers, and thus distances, an error and a score."""
    return hasattr(Estimator, "transform")


def takes_sparse(Estimator):
    return get_tags(Estimator()).input_tags.sparse


def takes_weights(Estimator):
    return "sample_weight" in inspect.signature(Estimator.fit).parameters


def takes_precomputed(Estimator):
    return (
        has("kernel")(Estimator)
        and get_tags(Estimator(kernel="precomputed")).input_tags.pairwise
    )


def select(*conditions):
    """Return the estimators that meet all conditions."""
    return [E for E in ESTIMATORS if all(condition(E) for condition in conditions)]


def every(*conditions):
    """Parametrise a test with all estimators that meet the conditions."""
    return pytest.mark.parametrize("Estimator", select(*conditions))


def accepted(Estimator, **params):
    """Return the given parameters without those that the estimator lacks."""
    return {name: value for name, value in params.items() if has(name)(Estimator)}


def create(Estimator, n_clusters, **params):
    """Construct an estimator with a fixed seed and settings that make `fit` fast."""
    small = accepted(Estimator, **SMALL)
    return Estimator(n_clusters, **{"random_state": 0, **small, **params})
