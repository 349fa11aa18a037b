"""Progress output for people (`verbose`) and events for scikit-learn's callbacks."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from akkm.core.lloyd import Step
from akkm.estimators._heartbeat import Heartbeat


class Progress:
    """Reports the events of one fit."""

    def __init__(self, estimator: Any, X: Any, y: Any, verbose: int) -> None:
        self._estimator, self._verbose = estimator, verbose
        self._event = {"estimator": estimator, "X": X, "y": y}
        self._started = time.perf_counter()
        self._heartbeat = Heartbeat(self._write)
        self._n = X.shape[0]
        self._context = estimator._init_callback_context(max_subtasks=None)
        self._context.call_on_fit_task_begin(**self._event)

    def log(self, text: str) -> None:
        """Print a line if `verbose` is set."""
        if self._verbose:
            self._heartbeat.say(text)

    def steady(self, first: str) -> AbstractContextManager[None]:
        """Print a line at least every two seconds in the block, if `verbose` is set."""
        return self._heartbeat.steady(first) if self._verbose else nullcontext()

    def _write(self, text: str) -> None:
        seconds = time.perf_counter() - self._started
        name = type(self._estimator).__name__
        print(f"[{name}] {seconds:7.2f} s  {text}", flush=True)

    def step(self, step: Step, fitted: Callable[[], dict[str, Any]]) -> bool:
        """Report an iteration, and return whether a callback asks the fit to stop.

        `fitted` is a function that returns the fitted attributes that callbacks need
        in order to predict.
        """
        share = 100 * step.evaluated / self._n
        self.log(
            f"iteration {step.iteration:3d}: {step.changed:,} labels changed, "
            f"{step.evaluated:,} rows evaluated ({share:.3g} %)"
        )
        if self._estimator._observer is not None:
            self._estimator._observer.on_step(step)
        return self._task(
            f"iteration {step.iteration}", reconstruction_attributes=fitted
        )

    def member(self, name: str, text: str) -> bool:
        """Report a fitted member; return true if a callback asks the fit to stop."""
        self.log(f"{name}: {text}")
        if self._estimator._observer is not None:
            self._estimator._observer.on_member(name)
        return self._task(name)

    def _task(self, name: str, **extra: Any) -> bool:
        task = self._context.subcontext(task_name=name)
        task.call_on_fit_task_begin(**self._event)
        return bool(task.call_on_fit_task_end(**self._event, **extra))

    def end(self) -> None:
        """Report the end of the fit."""
        self._context.call_on_fit_task_end(
            **self._event, reconstruction_attributes=dict
        )
