"""scikit-learn's estimator checks, run for all estimators of akkm."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from registry import ESTIMATORS, SMALL, accepted

# Two members suffice: the checks test the interface, not the quality of the labels.
FEW = {**SMALL, "n_members": 2}
CHECKED = [Estimator(8, **accepted(Estimator, **FEW)) for Estimator in ESTIMATORS]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CHECKED)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_scikit_learn_checks_were_collected(request):
    names = [item.name for item in request.session.items]
    if not any("test_scikit_learn_check[" in name for name in names):
        pytest.skip("scikit-learn's checks were not selected for this run")
    for Estimator in ESTIMATORS:
        own = [n for n in names if f"check[{Estimator.__name__}(" in n]
        assert len(own) >= 50, (Estimator.__name__, len(own))
