"""Progress for people (`verbose`) and for programs (scikit-learn's callbacks)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol


class AnyStep(Protocol):
    """What every solver tells about an iteration."""

    @property
    def iteration(self) -> int:
        """Counted from 1."""

    @property
    def changed(self) -> int:
        """Rows whose label changed."""

    @property
    def evaluated(self) -> int:
        """Kernel rows (or columns) that were needed."""


class Progress:
    """Passes on what happens during one fit."""

    def __init__(self, estimator: Any, X: Any, y: Any, verbose: int) -> None:
        self._estimator, self._X, self._y = estimator, X, y
        self._verbose = verbose
        self._started = time.perf_counter()
        self._n = X.shape[0]
        self._context = estimator._init_callback_context(max_subtasks=None)
        self._context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def say(self, text: str) -> None:
        """A line for people."""
        if self._verbose:
            seconds = time.perf_counter() - self._started
            name = type(self._estimator).__name__
            print(f"[{name}] {seconds:7.2f} s  {text}", flush=True)

    def step(self, step: AnyStep, fitted: Callable[[], dict[str, Any]]) -> bool:
        """An iteration ended; true if a callback wants the fit to stop."""
        share = 100 * step.evaluated / self._n
        self.say(
            f"iteration {step.iteration:3d}: {step.changed:,} labels changed, "
            f"{step.evaluated:,} rows looked at ({share:.3g} %)"
        )
        # More than scikit-learn's interface carries, for callbacks that ask for it.
        for callback in getattr(self._estimator, "_skl_callbacks", []):
            if hasattr(callback, "on_step"):
                callback.on_step(step)
        task = self._context.subcontext(task_name=f"iteration {step.iteration}")
        task.call_on_fit_task_begin(estimator=self._estimator, X=self._X, y=self._y)
        return bool(
            task.call_on_fit_task_end(
                estimator=self._estimator,
                X=self._X,
                y=self._y,
                reconstruction_attributes=fitted,
            )
        )

    def part(self, name: str, text: str) -> bool:
        """A part of the fit is done; true if a callback wants it to stop there."""
        self.say(f"{name}: {text}")
        task = self._context.subcontext(task_name=name)
        about = {"estimator": self._estimator, "X": self._X, "y": self._y}
        task.call_on_fit_task_begin(**about)
        return bool(task.call_on_fit_task_end(**about))

    def end(self) -> None:
        """The fit is done."""
        self._context.call_on_fit_task_end(
            estimator=self._estimator,
            X=self._X,
            y=self._y,
            reconstruction_attributes=dict,
        )
