"""Warnings that a library gives and that are not for the user."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_filters = threading.Lock()


@contextmanager
def quiet(category: type[Warning]) -> Iterator[None]:
    """Without warnings of a kind, in whatever thread.

    Filters belong to the process: one thread at a time changes them.

    Examples
    --------
    >>> import warnings
    >>> from akkm.silence import quiet
    >>> with quiet(UserWarning):
    ...     warnings.warn("not heard", UserWarning)
    """
    with _filters, warnings.catch_warnings():
        warnings.simplefilter("ignore", category)
        yield
