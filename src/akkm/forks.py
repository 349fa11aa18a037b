"""Reset locks and threads in child processes that are made by `os.fork`.

A fork copies the memory of a process, but only the thread that called fork. In the
child, a lock that another thread held stays locked for ever, and the threads of a pool
do not exist. Objects with locks or threads register here and replace them in the child.
"""

import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["reset_in_children"]


class _Resettable(Protocol):
    def after_fork(self) -> None: ...


_objects: WeakSet[_Resettable] = WeakSet()


def reset_in_children(thing: _Resettable) -> None:
    """Call `thing.after_fork()` in every child process that is forked later.

    Parameters
    ----------
    thing : object
        An object with locks or threads. It is forgotten when nothing else refers to it.

    Examples
    --------
    >>> import threading
    >>> from akkm.forks import reset_in_children
    >>> class Counter:
    ...     def __init__(self):
    ...         self.after_fork()
    ...         reset_in_children(self)
    ...
    ...     def after_fork(self):
    ...         self.lock = threading.Lock()
    >>> counter = Counter()
    """
    _objects.add(thing)


def _reset_all() -> None:
    for thing in list(_objects):
        thing.after_fork()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_reset_all)
