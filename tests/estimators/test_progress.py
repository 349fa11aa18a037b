"""Progress of a fit: verbose output, progress bars and callbacks."""

from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from akkm import ApproxKernelKMeans
from registry import create, every, has_centers

needs_callbacks = pytest.mark.skipif(
    find_spec("sklearn.callback") is None, reason="scikit-learn 1.9 has callbacks"
)


@every(has_centers)
def test_verbose_reports_every_iteration(Estimator, digits, capsys):
    X = digits[0][:600]
    model = create(Estimator, 5, verbose=1).fit(X)
    out = capsys.readouterr().out
    assert f"[{Estimator.__name__}]" in out
    assert f"iteration {model.n_iter_:3d}: 0 labels changed" in out
    create(Estimator, 5).fit(X)
    assert capsys.readouterr().out == ""


@needs_callbacks
@every()
def test_a_progress_bar_names_the_estimator(Estimator, digits, capsys):
    from sklearn.callback import ProgressBar

    create(Estimator, 5).set_callbacks(ProgressBar()).fit(digits[0][:600])
    assert Estimator.__name__ in capsys.readouterr().out


class StopAtTwo:
    """Callback that scores the model in each iteration and stops after the second."""

    def __init__(self, X):
        self.X, self.scores = X, []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if fitted_estimator is not None and context.parent is not None:
            self.scores.append(fitted_estimator.score(self.X))
        return len(self.scores) == 2

    def teardown(self, estimator, context):
        pass


@needs_callbacks
@every(has_centers)
def test_a_callback_gets_fitted_models_and_can_stop_the_fit(Estimator, digits):
    """A stop by a callback gives no warning and skips the remaining starts."""
    X = digits[0]
    callback = StopAtTwo(X)
    model = create(Estimator, 5, init="random", n_init=4)
    model.set_callbacks(callback).fit(X)
    assert len(callback.scores) == model.n_iter_ == 2
    assert callback.scores[1] > callback.scores[0]
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@needs_callbacks
def test_a_scoring_monitor_records_every_iteration(digits):
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="adjusted_rand_score")
    model = ApproxKernelKMeans(5, init="random", random_state=0)
    model.set_callbacks(monitor).fit(*digits)
    log = monitor.get_logs().data
    steps = [row for row in log if "iteration" in row["task_name"]]
    assert len(steps) == model.n_iter_
    agreement = adjusted_rand_score(digits[1], model.labels_)
    assert steps[-1]["adjusted_rand_score"] == pytest.approx(agreement)
