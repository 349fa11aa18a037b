"""Progress on standard error: rows read, iterations, rows written, time.

On a terminal, there is one bar per phase. Otherwise a line is written every 1.5 s.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from rich import progress
from rich.console import Console

# Seconds between two lines of progress, if standard error is not a terminal. Lines
# should come at least every two seconds. Some steps hold the interpreter's lock and
# delay them, so this number is smaller.
_SECONDS = 1.5


class Phases(progress.Progress):
    """Shows the phases of the work, if `shown`: bars on a terminal, lines elsewhere."""

    def __init__(self, shown: bool) -> None:
        # A copy of standard error: `silenced_libraries` redirects the original.
        self._stderr = _copy_of_stderr() if shown else None
        bars = self._stderr is not None and self._stderr.isatty()
        self._finished = threading.Event()
        self._lines: threading.Thread | None = None
        if self._stderr is not None and not bars:
            self._lines = threading.Thread(
                target=self._write_lines, name="akkm-progress", daemon=True
            )
        super().__init__(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description:<11}"),
            progress.BarColumn(bar_width=24),
            progress.TextColumn("{task.fields[detail]}"),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(compact=True),
            console=Console(file=self._stderr, stderr=True),
            disable=not bars,
        )

    def __enter__(self) -> Phases:
        super().__enter__()
        if self._lines is not None:
            self._lines.start()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._finished.set()
        if self._lines is not None:
            self._lines.join()
        if self._stderr is not None:
            with suppress(OSError):  # the reader has stopped
                self._stderr.close()

    def _write_lines(self) -> None:
        """Write a line about the present phase every 1.5 s."""
        started = time.perf_counter()
        assert self._stderr is not None
        while not self._finished.wait(_SECONDS):
            tasks = self.tasks
            words = [tasks[-1].description, tasks[-1].fields["detail"]] if tasks else []
            text = ", ".join(filter(None, words)) or "starting"
            seconds = time.perf_counter() - started
            try:
                print(f"akkm: {text} ({seconds:.0f} s)", file=self._stderr, flush=True)
            except OSError:  # the reader has stopped
                return

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Phase]:
        """Show the progress of the work in the `with` block.

        `total` is the number of rows to be processed, if known.
        """
        task = self.add_task(name, total=total, detail="")
        yield Phase(self, task)
        done = self.tasks[task].completed or 1
        self.update(task, total=done, completed=done)


def _copy_of_stderr() -> TextIO | None:
    """Return a copy of standard error; None if it is closed."""
    try:
        return os.fdopen(os.dup(2), "w", encoding=sys.stderr.encoding, errors="replace")
    except OSError:
        return None


class Phase:
    """The progress of one part of the work."""

    def __init__(self, phases: Phases, task: Any) -> None:
        self._phases, self._task = phases, task
        self._started = time.perf_counter()
        self._rows = 0

    def advance(self, rows: int, share: float | None = None) -> None:
        """Count more rows; `share` is the share of all rows done so far, if known."""
        self._rows += rows
        rate = self._rows / max(time.perf_counter() - self._started, 1e-9)
        detail = f"{self._rows:,} rows, {rate:,.0f} rows/s"
        total = self._rows / share if share else None  # None: unchanged
        self._phases.update(self._task, advance=rows, detail=detail, total=total)

    def show(self, detail: str, *, done: int = 0, total: int | None = None) -> None:
        """Show a text, and that `done` of `total` steps are done."""
        self._phases.update(self._task, detail=detail, completed=done, total=total)

    def watch(self, table: Any) -> Any:
        """Return a wrapped table; reading rows from it advances this phase."""
        return _WatchedTable(table, self)


class _WatchedTable:
    """A table that reports to a phase how many of its rows were read."""

    def __init__(self, table: Any, phase: Phase) -> None:
        self._table, self._phase = table, phase

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """The batches of the table."""
        for batch in self._table.batches(names):
            yield batch
            self._phase.advance(batch.num_rows, self._table.share)


class Iterations:
    """Observer of a fit: shows its iterations or, for an ensemble, its members.

    `members` is the number of members.
    """

    def __init__(self, phase: Phase, members: int | None = None) -> None:
        self._phase, self._members, self._done = phase, members, 0
        self._changed: list[int] = []
        self._last = time.perf_counter()

    def on_step(self, step: Any) -> None:
        """Show an iteration and the estimated time left."""
        self._changed.append(step.changed)
        took = max(time.perf_counter() - self._last, 1e-9)
        self._last += took
        text = f"iteration {step.iteration}, {step.changed:,} labels changed, "
        text += f"{step.evaluated:,} rows at {step.evaluated / took:,.0f}/s"
        left = iterations_left(self._changed)
        if left is not None:
            text += f", about {max(1, round(left * took))} s left"
        self._phase.show(text)

    def on_member(self, name: str) -> None:
        """Show how many members are done."""
        if self._members:
            self._done += 1
            self._phase.show(name, done=self._done, total=self._members)


def iterations_left(changed: Sequence[int]) -> float | None:
    """Estimate the number of iterations left, from the number of changed labels.

    The number of changed labels is assumed to shrink by a constant factor. Returns None
    if it does not shrink.
    """
    if len(changed) < 3 or not 0 < changed[-1] < changed[-3]:
        return None
    factor = math.sqrt(changed[-1] / changed[-3])
    return 1 - math.log(changed[-1]) / math.log(factor)
