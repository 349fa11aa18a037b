"""Threads over chunks of rows, with BLAS limited to one thread per call."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, TypeVar

from joblib import cpu_count
from threadpoolctl import OpenBLASController, ThreadpoolController

from akkm.forks import reset_in_children

Item = TypeVar("Item")
Result = TypeVar("Result")


class Threads:
    """Call a function for each item on `n_jobs` threads; return results in order.

    Inside the context, BLAS uses one thread per call, and blocks of rows are processed
    in parallel. So not only the matrix products, but all steps use all cores. Results
    do not depend on the number of threads.

    `n_jobs=None` means as many threads as BLAS and OpenMP would use, within the limits
    set by `OMP_NUM_THREADS` or threadpoolctl. Negative numbers mean the same as in
    joblib: -1 is all cores, -2 is all but one.

    Examples
    --------
    >>> from akkm.core.threads import Threads
    >>> with Threads(2) as engine:
    ...     list(engine.map(lambda x: x * x, [1, 2, 3]))
    [1, 4, 9]
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_threads = _count(n_jobs)

    def __enter__(self) -> "Threads":
        _one_blas_thread.acquire(self)
        self.after_fork()
        reset_in_children(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        _one_blas_thread.release(self)

    def after_fork(self) -> None:
        """Make a new pool: the old pool's threads exist only in the parent process."""
        self._pool = ThreadPoolExecutor(self.n_threads)

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        """Yield function(item) for each item, in the order of the items."""
        if self.n_threads == 1:
            return map(function, items)
        return self._pool.map(function, items)

    def for_each(self, function: Callable[[Item], Any], items: Iterable[Item]) -> None:
        """Call function(item) for each item and discard the results."""
        for _ in self.map(function, items):
            pass


class _OneBlasThread:
    """Limits BLAS to one thread while at least one `Threads` context is open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # The thread in which each open context was entered.
        self._users: dict[Threads, int] = {}
        self._limits: Any = None
        reset_in_children(self)

    def acquire(self, user: Threads) -> None:
        with self._lock:
            if not self._users:
                _take_control()
                self._limits = thread_pools().limit(limits=1, user_api="blas")
            self._users[user] = threading.get_ident()

    def release(self, user: Threads) -> None:
        with self._lock:
            del self._users[user]
            self._restore_if_unused()

    def after_fork(self) -> None:
        """Forget the contexts of threads that exist only in the parent process."""
        self._lock = threading.Lock()
        here = threading.get_ident()
        self._users = {user: at for user, at in self._users.items() if at == here}
        self._restore_if_unused()

    def _restore_if_unused(self) -> None:
        if not self._users and self._limits is not None:
            _take_control()
            self._limits.restore_original_limits()
            self._limits = None


# One object per process, because the limit holds for the whole process.
_one_blas_thread = _OneBlasThread()


def thread_pools() -> ThreadpoolController:
    """Return the controller of the thread pools in this process.

    Searching for libraries takes milliseconds. Processing a small batch of rows takes
    less. So the search is repeated only if modules were imported since the last one.
    """
    return _search(len(sys.modules))


@lru_cache(maxsize=1)
def _search(n_modules: int) -> ThreadpoolController:
    return ThreadpoolController()


def _take_control() -> None:
    """Let this thread set the limit even if another thread set it before.

    threadpoolctl 3.7 and newer accept limits only from the first thread that set one.
    """
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


def _count(n_jobs: int | None) -> int:
    if n_jobs is None:
        pools = thread_pools().info()
        return max([pool["num_threads"] for pool in pools], default=1)
    if n_jobs == 0:
        raise ValueError(
            "n_jobs=0 is not valid; give a number of threads, -1 (all cores) or None."
        )
    if n_jobs < 0:
        return max(1, cpu_count() + 1 + n_jobs)
    return n_jobs
