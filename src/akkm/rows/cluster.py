"""Tasks on a Dask cluster, and what to say when its workers are gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from akkm.silence import ignore_warnings

# Seconds between looks at the workers, and for how long there may be none of them: a
# nanny starts a new one in a few seconds.
_LOOK, _PATIENCE = 2.0, 30.0
# Results added in one task, in order.
_FAN = 8


class Cluster:
    """A client, as far as it is needed."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def each(self, function: Callable[..., Any], *lists: Sequence[Any]) -> list[Any]:
        """Futures of function(...) of the first, second, ... of each list."""
        futures: list[Any] = self._client.map(function, *lists, pure=False)
        return futures

    def hand_out(self, value: Any) -> Any:
        """A future of a value, which can be had again if it is lost with a worker."""
        return self.send([value])[0]

    def send(self, values: Sequence[Any]) -> list[Any]:
        """Futures of values, which can be had again if they are lost with a worker."""
        with ignore_warnings(UserWarning):  # of their size
            return self.each(_same, values)

    def task(self, function: Callable[..., Any], *values: Any) -> Any:
        """A future of function(...)."""
        return self._client.submit(function, *values, pure=False)

    def add(self, futures: Sequence[Any]) -> Any:
        """The sum of the futures' values, added in their order."""
        futures = list(futures)
        while len(futures) > 1:
            groups = [futures[i : i + _FAN] for i in range(0, len(futures), _FAN)]
            futures = [self.task(_added, *group) for group in groups]
        return self.fetch(futures)[0]

    def fetch(self, futures: Sequence[Any]) -> list[Any]:
        """The futures' values."""
        from distributed import wait

        alone_since: float | None = None
        try:
            while True:
                try:
                    with self._client.as_current():  # whatever this thread's is
                        wait(list(futures), timeout=_LOOK)
                    return list(self._client.gather(list(futures)))
                except TimeoutError:
                    if self._client.scheduler_info(n_workers=-1)["workers"]:
                        alone_since = None
                        continue
                    alone_since = alone_since or time.monotonic()
                    if time.monotonic() - alone_since > _PATIENCE:
                        raise _gone("no worker is left") from None
        except Exception as error:
            if _is_loss(error):
                raise _gone(" ".join(str(error).split())[:200]) from error
            raise


def _same(value: Any) -> Any:
    return value


def _added(first: Any, *others: Any) -> Any:
    # A copy: what a task was given is not its own.
    total = first.copy()
    for other in others:
        total += other
    return total


def _is_loss(error: Exception) -> bool:
    """Whether it tells of workers that are gone rather than of the rows."""
    names = {"CancelledError", "FutureCancelledError", "FuturesCancelledError"}
    names |= {"KilledWorker", "LostWorkerError", "CommClosedError"}
    return bool(names & {kind.__name__ for kind in type(error).__mro__})


def _gone(why: str) -> RuntimeError:
    return RuntimeError(
        f"The Dask workers were lost with what they had of this fit ({why}). Start the "
        "cluster and the fit again; with checkpoint='folder' it goes on where it was."
    )
