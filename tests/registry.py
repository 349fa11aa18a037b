"""All estimators of akkm, and what tests may expect of each.

Every test of a law that several estimators follow takes its estimators from here, so
that a new estimator in `akkm.__all__` is tested without any further line. What an
estimator can do is read from its class, never from a list of names.
"""

import inspect

from sklearn.base import BaseEstimator

import akkm


def has_parameter(Estimator, name):
    return name in inspect.signature(Estimator).parameters


def takes_weights(Estimator):
    """Whether `fit` has weights."""
    return "sample_weight" in inspect.signature(Estimator.fit).parameters


ESTIMATORS = [
    value
    for value in (getattr(akkm, name) for name in akkm.__all__)
    if inspect.isclass(value) and issubclass(value, BaseEstimator)
]
assert len(ESTIMATORS) >= 9
