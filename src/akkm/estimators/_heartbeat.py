"""Lines of progress at least every two seconds, even while nothing new happens."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Seconds without output after which the last line is repeated. This is well below two
# seconds, because some steps hold the interpreter's lock for a second.
_SECONDS = 1.2


class Heartbeat:
    """Writes lines, and repeats the last line if there is no new line for a while."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write, self._lock = write, threading.Lock()
        self._last, self._since, self._written = "", 0.0, 0.0

    def say(self, text: str) -> None:
        """Write a line."""
        with self._lock:
            self._write(text)
            self._last, self._since = text, time.monotonic()
            self._written = self._since

    @contextmanager
    def steady(self, first: str) -> Iterator[None]:
        """Write a line at least every two seconds while the block runs.

        `first` is the first line. Repeated lines say how long ago they first appeared.
        """
        finished = threading.Event()

        def repeat() -> None:
            while not finished.wait(self._written + _SECONDS - time.monotonic()):
                with self._lock:
                    now = time.monotonic()
                    if now >= self._written + _SECONDS and not finished.is_set():
                        seconds = now - self._since
                        self._write(f"{self._last} (running for {seconds:.0f} s)")
                        self._written = now

        thread = threading.Thread(target=repeat, name="akkm-log", daemon=True)
        self.say(first)
        thread.start()
        try:
            yield
        finally:
            finished.set()
            thread.join()
