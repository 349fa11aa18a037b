"""Suppress library warnings that do not concern the user."""

import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from akkm.forks import reset_in_children

__all__ = ["ignore_warnings"]

_EVERY_MESSAGE = ".*"  # marks the filters of this module


class _Filters:
    """The warning filters, which all threads share.

    A filter for a category is added when the first `with` block that ignores the
    category begins, and removed when the last such block ends.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # For each open block: the ignored category, and the id of the block's thread.
        self._users: list[tuple[type[Warning], int]] = []
        reset_in_children(self)

    def add(self, category: type[Warning]) -> None:
        with self._lock:
            if not self._is_used(category):
                warnings.filterwarnings("ignore", _EVERY_MESSAGE, category)
            self._users.append((category, threading.get_ident()))

    def remove(self, category: type[Warning]) -> None:
        with self._lock:
            self._users.remove((category, threading.get_ident()))
            if not self._is_used(category):
                _remove_filter(category)

    def after_fork(self) -> None:
        """Forget the blocks of threads that exist only in the parent process."""
        self._lock = threading.Lock()
        before, here = self._users, threading.get_ident()
        self._users = [user for user in before if user[1] == here]
        for category in {category for category, _ in before}:
            if not self._is_used(category):
                _remove_filter(category)

    def _is_used(self, category: type[Warning]) -> bool:
        return any(category is other for other, _ in self._users)


_filters = _Filters()


@contextmanager
def ignore_warnings(category: type[Warning]) -> Iterator[None]:
    """Ignore warnings of one category, in all threads, while the `with` block runs.

    Parameters
    ----------
    category : type
        A subclass of `Warning`.

    Yields
    ------
    None
        Several threads may run such `with` blocks at the same time.

    Examples
    --------
    >>> import warnings
    >>> from akkm.silence import ignore_warnings
    >>> with ignore_warnings(UserWarning):
    ...     warnings.warn("ignored", UserWarning)
    """
    _filters.add(category)
    try:
        yield
    finally:
        _filters.remove(category)


def _remove_filter(category: type[Warning]) -> None:
    for i, (action, message, kind, *_) in enumerate(warnings.filters):
        own = isinstance(message, re.Pattern) and message.pattern == _EVERY_MESSAGE
        if own and action == "ignore" and kind is category:
            del warnings.filters[i]  # type: ignore[attr-defined]
            return
