"""Run tasks on a Dask cluster, even if some of its workers die.

Dask repeats the tasks of a dead worker. If no worker is left and none is replaced, the
fit ends with an error that says what to do.
"""

import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pickle import HIGHEST_PROTOCOL, dumps, loads
from typing import Any
from uuid import uuid4

from akkm.silence import ignore_warnings

# Seconds between two checks that workers exist, while results are awaited.
_CHECK_EVERY = 2.0
# A fit fails after this many seconds without any worker. Dask's nanny process replaces
# a dead worker within a few seconds.
_GIVE_UP_AFTER = 30.0
# Largest number of results that one task adds up.
_ADDED_PER_TASK = 8
# Arguments go to every task if all copies together have at most this many bytes.
# Otherwise, one task holds the arguments, and workers get them from each other.
_COPIED_BYTES = 8 * 2**20
# Names of exceptions that are raised if workers are lost.
_LOSSES = {"CancelledError", "FutureCancelledError", "FuturesCancelledError"}
_LOSSES |= {"KilledWorker", "LostWorkerError", "CommClosedError"}


class Cluster:
    """Wrapper of a `distributed.Client` with the few operations that a fit needs."""

    def __init__(self, client: Any) -> None:
        self._client = client
        # Futures of the last step. They are released when the next step has started:
        # the client waits for 10 ms after a message before it sends another one.
        self._last: list[Any] = []

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

    def step(
        self,
        function: Callable[..., Any],
        arguments: Any,
        *lists: Sequence[Any],
        part: Callable[[Any], Any],
    ) -> tuple[list[Any], list[Any]]:
        """Return futures of function(arguments, a[i], b[i], ...), and their parts.

        The parts are part(result), as values. All tasks are submitted in one message.
        """
        name, count = f"akkm-{uuid4().hex}", len(lists[0])
        packed = _Packed(name, dumps(arguments, HIGHEST_PROTOCOL))
        shared: Any = packed
        graph: dict[str, Any] = {}
        if count * len(packed.values) > _COPIED_BYTES:
            shared = f"{name}-arguments"
            graph[shared] = (_identity, packed)
        results = [f"{name}-{i}" for i in range(count)]
        parts = [f"{result}-part" for result in results]
        for result, values in zip(results, zip(*lists, strict=True), strict=True):
            graph[result] = (_call_packed, function, shared, *values)
        graph |= {key: (part, of) for key, of in zip(parts, results, strict=True)}
        with ignore_warnings(UserWarning):  # Dask warns of large values
            futures = self._client.get(graph, [*results, *parts], sync=False)
        found = self.fetch(futures[count:])
        self._last = futures
        return futures[:count], found

    def groups(self, futures: Sequence[Any]) -> list[list[int]]:
        """Group the positions of futures by worker, one group per thread of a worker.

        Waits until all futures have values.
        """
        self._wait(futures)
        holders = self._client.who_has(list(futures))
        threads = self._client.nthreads()
        at: dict[str, list[int]] = {}
        for i, future in enumerate(futures):
            (holder, *_) = holders.get(future.key) or ("",)
            at.setdefault(holder, []).append(i)
        return [
            positions[thread :: threads.get(holder, 1)]
            for holder, positions in at.items()
            for thread in range(min(threads.get(holder, 1), len(positions)))
        ]

    def fetch(self, futures: Sequence[Any]) -> list[Any]:
        """Return the futures' values; raise RuntimeError if the workers are lost."""
        return self._wait(futures, lambda: list(self._client.gather(list(futures))))

    def _wait(self, futures: Sequence[Any], then: Callable[[], Any] = list) -> Any:
        """Wait for the futures and return then(); see `fetch`."""
        from distributed import wait

        alone_since: float | None = None
        try:
            while True:
                try:
                    with self._client.as_current():  # `wait` uses the current client
                        wait(list(futures), timeout=_CHECK_EVERY)
                    return then()
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


def total_of(values: Sequence[Any]) -> Any:
    """Return the sum of values, added in the same order as by `Cluster.add`."""
    values, step = list(values), _ADDED_PER_TASK
    while len(values) > 1:
        groups = [values[i : i + step] for i in range(0, len(values), step)]
        values = [_sum(*group) for group in groups]
    return values[0]


def _identity(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class _Packed:
    """Pickled values, which Dask identifies by their name: hashing takes longer."""

    name: str
    values: bytes

    def __dask_tokenize__(self) -> str:
        return self.name


def _call_packed(function: Callable[..., Any], packed: _Packed, *others: Any) -> Any:
    return function(loads(packed.values), *others)


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
