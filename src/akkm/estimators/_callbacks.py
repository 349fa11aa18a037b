"""scikit-learn's callbacks, which exist from version 1.9 on.

With older versions, estimators have no method `set_callbacks`, and the events of a fit
are ignored. `verbose` works with all versions.
"""

from importlib.util import find_spec
from typing import Any

__all__ = ["CallbackSupportMixin", "with_callbacks"]


class _IgnoredEvents:
    """Context of a fit without callbacks."""

    def subcontext(self, task_name: str) -> "_IgnoredEvents":
        return self

    def call_on_fit_task_begin(self, **event: Any) -> None:
        pass

    def call_on_fit_task_end(self, **event: Any) -> bool:
        return False


class _WithoutCallbacks:
    def _init_callback_context(self, max_subtasks: int | None = 0) -> _IgnoredEvents:
        return _IgnoredEvents()


def _unchanged(method: Any) -> Any:
    return method


CallbackSupportMixin: Any = _WithoutCallbacks
with_callbacks: Any = _unchanged
if find_spec("sklearn.callback"):
    from sklearn import callback

    CallbackSupportMixin = callback.CallbackSupportMixin
    with_callbacks = callback.with_callbacks
