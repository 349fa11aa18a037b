"""Regular progress output during a computation that has no iterations to report."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from akkm.estimators._progress import Progress

# Seconds without output after which the last line is repeated. This is well below two
# seconds, because some steps hold the interpreter's lock for a second.
_SECONDS = 1.2


@contextmanager
def steady_log(progress: Progress, first: str) -> Iterator[Callable[[str], None]]:
    """Print lines with `progress.log` while the block runs, at least every two seconds.

    Yields a function that prints a line. If it has not been called for a while, a
    thread prints the last line again, with the seconds that have passed since it first
    appeared. `first` is the first line. Without `verbose`, nothing is printed.
    """
    if not progress.verbose:
        yield progress.log
        return
    lock, finished = threading.Lock(), threading.Event()
    last, since, printed = first, time.monotonic(), time.monotonic()

    def say(text: str) -> None:
        nonlocal last, since, printed
        with lock:
            progress.log(text)
            last, since = text, time.monotonic()
            printed = since

    def repeat() -> None:
        nonlocal printed
        while not finished.wait(max(0.0, printed + _SECONDS - time.monotonic())):
            with lock:
                now = time.monotonic()
                if now >= printed + _SECONDS and not finished.is_set():
                    progress.log(f"{last} (running for {now - since:.0f} s)")
                    printed = now

    thread = threading.Thread(target=repeat, name="akkm-log", daemon=True)
    say(first)
    thread.start()
    try:
        yield say
    finally:
        finished.set()
        thread.join()
