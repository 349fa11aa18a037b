"""Run cells one after the other, and store a record of each."""

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
from experiments.harness.costs import processor, versions
from experiments.harness.store import Record
from experiments.paper.methods import Outcome, fit
from experiments.paper.plan import Cell, unique
from experiments.paper.prepared import ERROR_ROWS, PreparedData
from experiments.paper.store import Store

Array = NDArray[Any]

_PACKAGES = ("akkm", "numpy", "scipy", "scikit-learn", "numba")
# Number of rows of the warm-up fit, which runs before the first measurement.
_WARM_UP = 200


@dataclass(frozen=True)
class Progress:
    """The state of a run after a cell is done."""

    cell: Cell
    record: Record
    n_done: int  # number of cells of this run that are done, including `cell`
    n_cells: int
    seconds_left: float | None  # None if no similar cell has been run yet


def run(
    cells: Iterable[Cell],
    folder: str | os.PathLike[str],
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> int:
    """Run the cells that have no record in a folder.

    Each record is stored as soon as its cell is done. If a run is stopped for any
    reason, the next run continues with the first missing cell. Only the cell in
    progress is lost.

    Parameters
    ----------
    cells : iterable of Cell
        The cells to run, in any order.
    folder : str or path
        The folder with the records; created if it does not exist.
    on_progress : callable, optional
        Called with a `Progress` after each cell.

    Returns
    -------
    int
        The number of cells that were run.

    Examples
    --------
    >>> import tempfile
    >>> from experiments.paper import Cell, run
    >>> cells = [Cell("tiny-mnist", "tKKm", 10, seed) for seed in (0, 1)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run(cells, folder), run(cells, folder)
    (2, 0)
    """
    store = Store(folder)
    cells = unique(cells)
    exact = {(cell.data, cell.seed) for cell in cells if cell.method == "KKm"}
    missing = [
        c
        for c in cells
        if not store.is_done(c, exact_planned=(c.data, c.seed) in exact)
    ]
    machine = {
        "processor": processor(),
        "threads": Threads().n_threads,
        "versions": versions(_PACKAGES),
    }
    prepared: PreparedData | None = None
    loaded: tuple[Any, ...] | None = None
    for n_done, cell in enumerate(missing, start=1):
        if prepared is None or loaded != (cell.data, cell.variation):
            # Free the previous data set before the next one is loaded.
            prepared, loaded = None, (cell.data, cell.variation)
            gc.collect()
            prepared = PreparedData.load(cell.data, dict(cell.variation))
            _warm_up(prepared)
        record = _record(prepared, cell, store, machine)
        store.add(cell, record)
        left = seconds_left(store, missing[n_done:])
        on_progress(Progress(cell, record, n_done, len(missing), left))
    return len(missing)


def _warm_up(prepared: PreparedData) -> None:
    """Fit once, so that imports, compilation and thread starts are not measured."""
    X = prepared.data.X[: min(prepared.n, _WARM_UP)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ApproxKernelKMeans(2, kernel=prepared.data.kernel, n_landmarks=20).fit(X)


def _record(
    prepared: PreparedData, cell: Cell, store: Store, machine: Record
) -> Record:
    """Run a cell and return its record; if the cell fails, the record says why."""
    data = prepared.data
    record: Record = {
        "cell": {**cell.__dict__, "settings": [list(pair) for pair in cell.settings]},
        "title": data.title,
        "note": data.note,
        "stand_in": data.stand_in,
        "rows": prepared.n,
        "columns": data.X.shape[1],
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **machine,
    }
    begin = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = fit(prepared, cell)
        except (ValueError, ArithmeticError) as error:
            return record | {"failed": f"{type(error).__name__}: {error}"}
        scores = _label_scores(prepared, cell, store, outcome)
    spent = outcome.costs
    return record | {
        "seconds": {**outcome.seconds, "fit": spent.seconds},
        "cpu_seconds": spent.cpu_seconds,
        "peak_bytes": spent.peak_bytes,
        "above_bytes": spent.above_bytes,
        "memory_by": spent.memory_by,
        "n_iter": outcome.n_iter,
        "inertia": outcome.inertia,
        **scores,
        "warnings": sorted({str(warning.message) for warning in caught}),
        "total_seconds": perf_counter() - begin,
    }


def _label_scores(
    prepared: PreparedData, cell: Cell, store: Store, outcome: Outcome
) -> Record:
    """Return the record fields that describe the quality of the labels."""
    if outcome.labels is None:
        return {}
    labels = np.asarray(outcome.labels)
    if cell.method == "KKm":
        store.save_exact_labels(cell, labels)
    exact = store.exact_labels(cell)
    return {
        "digest": hashlib.sha256(labels.astype(np.int32).tobytes()).hexdigest()[:16],
        "error": {
            "before": prepared.start_error(cell.seed),
            "after": prepared.error(labels),
            "rows": min(prepared.n, ERROR_ROWS),
        },
        "classes": contingency(prepared.data.classes, labels),
        "exact": None if exact is None else contingency(exact, labels),
    }


def contingency(a: Array, b: Array) -> list[list[int]]:
    """Return the contingency table of labels a (n,) and b (n,)."""
    width = int(b.max()) + 1
    codes = a.astype(np.int64) * width + b
    counts = np.bincount(codes, minlength=(int(a.max()) + 1) * width)
    return counts.reshape(-1, width).tolist()


def seconds_left(store: Store, missing: Iterable[Cell]) -> float | None:
    """Estimate how long the missing cells take, from the times of similar cells.

    The estimate for a cell is the mean time of cells with the same method, data set and
    m. If there are no such cells, the time of cells with another m is scaled in
    proportion to m. The result is None if a missing cell has no similar cells at all.
    """
    known: dict[tuple[str, str, int | None], list[float]] = {}
    for record in store.records.values():
        cell = Cell.from_json(record["cell"])
        if "total_seconds" in record:
            times = known.setdefault((cell.data, cell.method, cell.m), [])
            times.append(record["total_seconds"])
    total = 0.0
    for cell in missing:
        times = known.get((cell.data, cell.method, cell.m), [])
        for (data, method, m), seconds in known.items() if not times else ():
            if (data, method) == (cell.data, cell.method) and m and cell.m:
                times = [mean(seconds) * cell.m / m]
        if not times:
            return None
        total += mean(times)
    return total
