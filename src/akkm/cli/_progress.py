"""Progress on standard error: rows read, iterations, rows written, time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Phases:
    """Shows one line per phase of the work, if somebody is looking."""

    def __init__(self, shown: bool) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description:<11}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[detail]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            disable=not shown,
        )

    def __enter__(self) -> Phases:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Phase]:
        """A part of the work; `total` rows, if that is known."""
        task = self._progress.add_task(name, total=total, detail="")
        yield Phase(self._progress, task)
        done = self._progress.tasks[task].completed or 1
        self._progress.update(task, total=done, completed=done)


class Phase:
    """One part of the work, and how far it is."""

    def __init__(self, progress: Progress, task: Any) -> None:
        self._progress, self._task = progress, task
        self._started = time.perf_counter()
        self._rows = 0

    def advance(self, rows: int, share: float | None = None) -> None:
        """So many more rows are done; of all of them that `share`, if it is known."""
        self._rows += rows
        rate = self._rows / max(time.perf_counter() - self._started, 1e-9)
        detail = f"{self._rows:,} rows, {rate:,.0f} rows/s"
        self._progress.update(self._task, advance=rows, detail=detail)
        if share:
            self._progress.update(self._task, total=self._rows / share)

    def tell(self, detail: str, *, done: int = 0, total: int | None = None) -> None:
        """What is going on."""
        self._progress.update(self._task, detail=detail, completed=done, total=total)

    def watch(self, table: Any) -> Any:
        """The same table, whose rows advance this as they are read."""
        return _Watched(table, self)


class _Watched:
    """A table that tells how many of its rows were read."""

    def __init__(self, table: Any, phase: Phase) -> None:
        self._table, self._phase = table, phase

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """As the table's own."""
        for batch in self._table.batches(names):
            yield batch
            self._phase.advance(batch.num_rows, self._table.share)


class Iterations:
    """A callback for estimators that tells of their iterations, or their members."""

    def __init__(self, phase: Phase, members: int | None = None) -> None:
        self._phase, self._members, self._done = phase, members, 0
        self._steps: list[tuple[float, int]] = [(time.perf_counter(), 0)]

    def setup(self, estimator: Any, context: Any) -> None:
        """The fit begins."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """A part of it begins."""

    def on_step(self, step: Any) -> None:
        """An iteration is done."""
        self._steps.append((time.perf_counter(), step.changed))
        took = self._steps[-1][0] - self._steps[-2][0]
        text = f"iteration {step.iteration}, {step.changed:,} labels changed, "
        text += f"{step.evaluated:,} rows at {step.evaluated / max(took, 1e-9):,.0f}/s"
        left = iterations_left([changed for _, changed in self._steps[1:]])
        if left is not None:
            text += f", about {max(1, round(left * took))} s left"
        self._phase.tell(text)

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """A part of it is done: an iteration, a member, or all."""
        if self._members and context.parent is not None:
            self._done += 1
            self._phase.tell(context.task_name, done=self._done, total=self._members)
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        """The fit is over."""


def iterations_left(changed: Sequence[int]) -> float | None:
    """How many more there will be, if labels go on to change by the same factor.

    None where that can't be told.
    """
    if len(changed) < 3 or not 0 < changed[-1] < changed[-3]:
        return None
    factor = math.sqrt(changed[-1] / changed[-3])
    return 1 - math.log(changed[-1]) / math.log(factor)
