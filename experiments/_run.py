"""Run cells one after the other, and keep what comes out."""

from __future__ import annotations

import datetime
import gc
import hashlib
import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import mean
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm import ApproxKernelKMeans
from akkm.core.threads import Threads
from experiments._costs import processor, versions
from experiments._methods import Outcome, fit
from experiments._plan import Cell, unique
from experiments._store import Record, Store
from experiments._subject import ERROR_ROWS, Subject

Array = NDArray[Any]

# Rows of the fit before the first one that is timed.
_WARM_UP = 200


@dataclass(frozen=True)
class Progress:
    """A cell is done."""

    cell: Cell
    record: Record
    done: int  # cells of this run, this one included
    todo: int
    seconds_left: float | None  # None where like cells have not been run yet


def run(
    cells: Iterable[Cell],
    folder: str | os.PathLike[str],
    tell: Callable[[Progress], None] = lambda progress: None,
) -> int:
    """Run the cells that a folder has no record of.

    Each is kept as soon as it is done: a run that was stopped, in whatever way, goes on
    where it was when it is started again, and loses the cell in progress.

    Parameters
    ----------
    cells : iterable of Cell
    folder : str or path
        Where records are; made if it is not there.
    tell : function of Progress, optional
        Called after each cell.

    Returns
    -------
    count : int
        The number of cells that were run.

    Examples
    --------
    >>> import tempfile
    >>> from experiments import Cell, run
    >>> cells = [Cell("tiny-mnist", "tKKm", 10, seed) for seed in (0, 1)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run(cells, folder), run(cells, folder)
    (2, 0)
    """
    store = Store(folder)
    cells = unique(cells)
    exact = {(cell.data, cell.seed) for cell in cells if cell.method == "KKm"}
    todo = [c for c in cells if not store.has(c, exact=(c.data, c.seed) in exact)]
    subject: Subject | None = None
    shown: tuple[Any, ...] | None = None
    for done, cell in enumerate(todo, start=1):
        if subject is None or shown != (cell.data, cell.variation):
            subject, shown = None, (cell.data, cell.variation)  # one at a time
            gc.collect()
            subject = Subject.named(cell.data, dict(cell.variation))
            _warm_up(subject)
        record = _record(subject, cell, store)
        store.add(cell, record)
        left = seconds_left(store, todo[done:])
        tell(Progress(cell, record, done, len(todo), left))
    return len(todo)


def _warm_up(subject: Subject) -> None:
    """Imports, compilers and thread pools are nobody's fault."""
    X = subject.data.X[: min(subject.n, _WARM_UP)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ApproxKernelKMeans(2, kernel=subject.data.kernel, n_landmarks=20).fit(X)


def _record(subject: Subject, cell: Cell, store: Store) -> Record:
    """All that is kept of a cell; of one that fails, why."""
    record: Record = {
        "cell": {**cell.__dict__, "settings": [list(pair) for pair in cell.settings]},
        "title": subject.data.title,
        "note": subject.data.note,
        "stand_in": subject.data.stand_in,
        "rows": subject.n,
        "columns": subject.data.X.shape[1],
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "processor": processor(),
        "threads": Threads().n_threads,
        "versions": versions(),
    }
    begin = perf_counter()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            outcome = fit(subject, cell)
        except (ValueError, ArithmeticError) as error:
            return record | {"failed": f"{type(error).__name__}: {error}"}
        judged = _judged(subject, cell, store, outcome)
    spent = outcome.costs
    return record | {
        "seconds": {**outcome.seconds, "fit": spent.seconds},
        "cpu_seconds": spent.cpu_seconds,
        "peak_bytes": spent.peak_bytes,
        "above_bytes": spent.above_bytes,
        "memory_by": spent.memory_by,
        "n_iter": outcome.n_iter,
        "inertia": outcome.inertia,
        **judged,
        "warnings": sorted({str(warning.message) for warning in heard}),
        "total_seconds": perf_counter() - begin,
    }


def _judged(subject: Subject, cell: Cell, store: Store, outcome: Outcome) -> Record:
    """What all measures of the labels are computed from."""
    labels = outcome.labels
    if labels is None:
        return {}
    labels = np.asarray(labels)
    if cell.method == "KKm":
        store.keep_labels(cell, labels)
    exact = store.exact_labels(cell)
    return {
        "digest": hashlib.sha256(labels.astype(np.int32).tobytes()).hexdigest()[:16],
        "error": {
            "before": subject.start_error(cell.seed),
            "after": subject.error(labels),
            "rows": min(subject.n, ERROR_ROWS),
        },
        "classes": _table(subject.data.classes, labels),
        "exact": None if exact is None else _table(exact, labels),
    }


def _table(a: Array, b: Array) -> list[list[int]]:
    """How many rows have each pair of labels."""
    width = int(b.max()) + 1
    codes = a.astype(np.int64) * width + b
    counts = np.bincount(codes, minlength=(int(a.max()) + 1) * width)
    return counts.reshape(-1, width).tolist()


def seconds_left(store: Store, todo: Iterable[Cell]) -> float | None:
    """How long the rest will take, from the times of like cells.

    A cell takes as long as those of the same method, data set and size; failing that,
    in proportion to the size. None if there is one of which nothing is known.
    """
    known: dict[tuple[str, str, int | None], list[float]] = {}
    for record in store.records.values():
        cell = Cell.of(record["cell"])
        if "total_seconds" in record:
            alike = known.setdefault((cell.data, cell.method, cell.m), [])
            alike.append(record["total_seconds"])
    total = 0.0
    for cell in todo:
        alike = known.get((cell.data, cell.method, cell.m), [])
        for (data, method, m), seconds in known.items() if not alike else ():
            if (data, method) == (cell.data, cell.method) and m and cell.m:
                alike = [mean(seconds) * cell.m / m]
        if not alike:
            return None
        total += mean(alike)
    return total
