"""Run measurements that have no record yet; call functions in new processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from experiments.harness.store import JsonLines, Record

_ROOT = Path(__file__).parents[2]


def run_missing(
    records: JsonLines, runs: Iterable[Record], measure: Callable[..., Record]
) -> int:
    """Measure the runs that have no record yet, and return their number.

    After an interruption, call this function again to measure the remaining runs. A run
    that failed has a record, too, and is not repeated.

    Parameters
    ----------
    records : JsonLines
        Each result is added as soon as it is measured.
    runs : iterable of dict
        The fields that identify each run.
    measure : callable
        Called with the fields of a run as keyword arguments; returns a dict with the
        other fields of the record.

    Returns
    -------
    int
        The number of runs that were measured.
    """
    n_measured = 0
    for run in runs:
        if not records.find(**run):
            print(*run.values(), sep=", ", end=": ", flush=True)
            result = measure(**run)
            records.add(run | result)
            print(result, flush=True)
            n_measured += 1
    return n_measured


def in_new_process(
    function: Callable[..., Record],
    /,
    *,
    timeout: float | None = None,
    **arguments: Any,
) -> Record:
    """Call a function in a new Python process, so that its peak memory can be measured.

    Parameters
    ----------
    function : callable
        A top-level function of a module in `experiments` that returns a dict.
    timeout : float, optional
        Time limit in seconds. A process that exceeds the limit is killed.
    **arguments : Any
        Keyword arguments of the function. Their values must be valid JSON.

    Returns
    -------
    dict
        The function's result, or `{"failed": reason}` if it raised an error, was
        killed or took too long.
    """
    order = [function.__module__, function.__qualname__, json.dumps(arguments)]
    command = [sys.executable, "-m", "experiments.harness.runner", *order]
    try:
        ended = subprocess.run(
            command, cwd=_ROOT, capture_output=True, text=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"longer than {timeout:g} s"}
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or ["no message"])[-1]
        return {"failed": f"{last} (exit status {ended.returncode})"}
    return dict(json.loads(ended.stdout.splitlines()[-1]))


if __name__ == "__main__":
    module, name, arguments = sys.argv[1:]
    print(json.dumps(getattr(import_module(module), name)(**json.loads(arguments))))
