"""Suppress warnings of libraries if they do not concern the user."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ignore_warnings"]

# All threads share the warning filters: only one thread at a time may change them.
_filters = threading.Lock()


@contextmanager
def ignore_warnings(category: type[Warning]) -> Iterator[None]:
    """Ignore warnings of one category, safely from any thread.

    Parameters
    ----------
    category : type
        A subclass of `Warning`.

    Yields
    ------
    None
        Other calls wait until the block ends, so the block must be short and must not
        call this function again, directly or in another thread.

    Examples
    --------
    >>> import warnings
    >>> from akkm.silence import ignore_warnings
    >>> with ignore_warnings(UserWarning):
    ...     warnings.warn("ignored", UserWarning)
    """
    with _filters, warnings.catch_warnings():
        warnings.simplefilter("ignore", category)
        yield
