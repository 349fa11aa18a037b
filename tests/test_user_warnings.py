"""Warnings point at the line of the user's code that called akkm."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from akkm import ApproxKernelKMeans, DiffusionKernelKMeans
from akkm.user_warnings import warn_user

# Two distinct rows can't form three clusters, so every fit warns.
X = np.repeat([[0.0, 1.0], [5.0, 2.0]], 50, axis=0)
CALLS = {
    "fit": lambda model: model.fit(X),
    "fit_predict": lambda model: model.fit_predict(X),
    "fit_transform": lambda model: model.fit_transform(X),
    "pipeline": lambda model: make_pipeline(StandardScaler(), model).fit_predict(X),
}


def line_of(function):
    return inspect.getsourcelines(function)[1]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("Estimator", [ApproxKernelKMeans, DiffusionKernelKMeans])
def test_a_fit_warns_at_the_line_that_called_it(Estimator, name):
    with pytest.warns(ConvergenceWarning) as caught:
        CALLS[name](Estimator(3, random_state=0))
    places = {(warning.filename, warning.lineno) for warning in caught}
    assert places == {(__file__, line_of(CALLS[name]))}


def test_partial_fit_warns_at_the_line_that_called_it():
    call = lambda: ApproxKernelKMeans(3, random_state=0).partial_fit(X)  # noqa: E731
    with pytest.warns(ConvergenceWarning) as caught:
        call()
    assert (caught[0].filename, caught[0].lineno) == (__file__, line_of(call))


def test_code_of_akkm_can_warn_outside_a_fit():
    """The name of the calling module begins with akkm."""
    code = compile("warn_user('text', UserWarning)", "<run>", "exec")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(code, {"__name__": "akkm.cli", "warn_user": warn_user})
    assert str(caught[0].message) == "text"
