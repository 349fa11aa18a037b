"""Run tasks on a Dask cluster, and report clearly when its workers are lost."""

import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from akkm.silence import ignore_warnings

# Seconds between two checks that workers exist, while results are awaited.
_CHECK_EVERY = 2.0
# A fit fails after this many seconds without any worker. Dask's nanny process replaces
# a dead worker within a few seconds.
_GIVE_UP_AFTER = 30.0
# Largest number of results that one task adds up.
_ADDED_PER_TASK = 8
# Names of exceptions that are raised if workers are lost.
_LOSSES = {"CancelledError", "FutureCancelledError", "FuturesCancelledError"}
_LOSSES |= {"KilledWorker", "LostWorkerError", "CommClosedError"}


class Cluster:
    """Wrapper of a `distributed.Client` with the few operations that a fit needs."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def map(self, function: Callable[..., Any], *lists: Sequence[Any]) -> list[Any]:
        """Submit function(a[i], b[i], ...) for lists a, b, ...; return the futures."""
        return self._client.map(function, *lists, pure=False)

    def submit(self, function: Callable[..., Any], *values: Any) -> Any:
        """Submit function(*values) and return its future."""
        return self._client.submit(function, *values, pure=False)

    def send(self, values: Sequence[Any]) -> list[Any]:
        """Send values to workers as results of tasks; Dask recomputes lost results."""
        with ignore_warnings(UserWarning):  # Dask warns of large values
            return self.map(_identity, values)

    def add(self, futures: Sequence[Any]) -> Any:
        """Return the sum of the futures' values, added in the order of the futures."""
        futures, step = list(futures), _ADDED_PER_TASK
        while len(futures) > 1:
            groups = [futures[i : i + step] for i in range(0, len(futures), step)]
            futures = [self.submit(_sum, *group) for group in groups]
        return self.fetch(futures)[0]

    def fetch(self, futures: Sequence[Any]) -> list[Any]:
        """Return the futures' values; raise RuntimeError if the workers are lost."""
        from distributed import wait

        alone_since: float | None = None
        try:
            while True:
                try:
                    with self._client.as_current():  # `wait` uses the current client
                        wait(list(futures), timeout=_CHECK_EVERY)
                    return list(self._client.gather(list(futures)))
                except TimeoutError:
                    if self._client.scheduler_info(n_workers=-1).get("workers"):
                        alone_since = None
                        continue
                    alone_since = alone_since or time.monotonic()
                    if time.monotonic() - alone_since > _GIVE_UP_AFTER:
                        raise _lost("no worker is left") from None
        except Exception as error:
            if _LOSSES & {kind.__name__ for kind in type(error).__mro__}:
                raise _lost(" ".join(str(error).split())[:200]) from error
            raise


def _identity(value: Any) -> Any:
    return value


def _sum(first: Any, *others: Any) -> Any:
    total = deepcopy(first)  # a task must not change its arguments
    for other in others:
        total += other
    return total


def _lost(reason: str) -> RuntimeError:
    return RuntimeError(
        f"The Dask workers were lost during the fit ({reason}). Start the cluster and "
        "the fit again; with checkpoint='folder' the fit resumes where it stopped."
    )
