"""Suppress warnings of libraries if they do not concern the user."""

import re
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ignore_warnings"]

# All threads share the warning filters. So a filter is added by the first thread that
# ignores a category and removed by the last one.
_lock = threading.Lock()
_users: Counter[type[Warning]] = Counter()
_EVERY_MESSAGE = ".*"  # marks the filters of this module


@contextmanager
def ignore_warnings(category: type[Warning]) -> Iterator[None]:
    """Ignore warnings of one category in all threads, until the last block ends.

    Parameters
    ----------
    category : type
        A subclass of `Warning`.

    Yields
    ------
    None
        Several threads may be in such a block at the same time.

    Examples
    --------
    >>> import warnings
    >>> from akkm.silence import ignore_warnings
    >>> with ignore_warnings(UserWarning):
    ...     warnings.warn("ignored", UserWarning)
    """
    with _lock:
        _users[category] += 1
        if _users[category] == 1:
            warnings.filterwarnings("ignore", _EVERY_MESSAGE, category)
    try:
        yield
    finally:
        with _lock:
            _users[category] -= 1
            if not _users[category]:
                _remove_filter(category)


def _remove_filter(category: type[Warning]) -> None:
    for i, (action, message, kind, *_) in enumerate(warnings.filters):
        own = isinstance(message, re.Pattern) and message.pattern == _EVERY_MESSAGE
        if own and action == "ignore" and kind is category:
            del warnings.filters[i]  # type: ignore[attr-defined]
            return
