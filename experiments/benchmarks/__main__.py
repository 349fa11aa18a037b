"""The benchmark: `python -m experiments.benchmarks`, from the project's root."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from experiments.benchmarks.contestants import fits
from experiments.benchmarks.data import CACHE, prepare
from experiments.benchmarks.results import Record, Results
from experiments.benchmarks.tables import report
from experiments.benchmarks.tasks import SECTIONS, Section, Task

_HERE = Path(__file__).parent


def main() -> None:
    options = _options()
    where = CACHE / "quick" if options.quick else _HERE / "results"
    results = Results(where / "raw.jsonl")
    sections = tuple(s.reduced(options.quick, options.seeds) for s in SECTIONS)
    chosen = [s for s in sections if s.name in options.tasks]
    if options.fresh:
        results.forget(run for section in chosen for run in section.runs())
    page = where / "README.md"
    for section in chosen:
        try:
            _run(section, results, options.data)
        except FileNotFoundError as error:
            print(f"{section.name}: left out; {error}", flush=True)
        if results.records:
            page.write_text(report(results, sections))
    print(f"Tables: {page}" if results.records else "No results.")


def _options() -> argparse.Namespace:
    names = list(dict.fromkeys(section.name for section in SECTIONS))
    folder = os.environ.get("AKKM_DATA")
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks", description=__doc__
    )
    parser.add_argument(
        "--tasks",
        type=lambda text: text.split(","),
        default=names,
        help=f"some of {','.join(names)}; default: all",
    )
    parser.add_argument("--seeds", type=int, help="this many, for every task")
    parser.add_argument("--fresh", action="store_true", help="forget earlier runs")
    parser.add_argument("--quick", action="store_true", help="small, to see it work")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(folder) if folder else None,
        help="folder with the real data sets; default: AKKM_DATA",
    )
    options = parser.parse_args()
    if unknown := set(options.tasks) - set(names):
        parser.error(f"unknown tasks {sorted(unknown)}; expected some of {names}")
    return options


def _run(section: Section, results: Results, folder: Path | None) -> None:
    """The runs of a section that are not there yet."""
    for task, contestant, seed in section.runs():
        name = f"{task.data} n={task.n} m={task.m} C={task.n_clusters}"
        name += f" · seed {seed} · {contestant}: "
        if seed in results.good(task, contestant):
            print(f"{name}there already")
        elif not fits(task, contestant):
            print(f"{name}does not fit")
        else:
            data = prepare(task.data, task.n, folder)
            print(name, end="", flush=True)
            record = _run_one(task, contestant, seed, data)
            results.add(record)
            print(_summary(record), flush=True)


def _run_one(task: Task, contestant: str, seed: int, data: Path) -> Record:
    about = {"contestant": contestant, "seed": seed}
    order = {"task": asdict(task), "data": str(data), **about}
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.run_one", json.dumps(order)],
        cwd=_HERE.parent,
        capture_output=True,
        text=True,
    )
    record: Record = {"settings": task.settings, **about}
    if child.returncode:
        lines = child.stderr.strip().splitlines() or ["no message"]
        return {**record, "failed": f"{lines[-1]} (exit status {child.returncode})"}
    return {**record, **json.loads(child.stdout.splitlines()[-1])}


def _summary(record: Record) -> str:
    if "failed" in record:
        return f"failed: {record['failed']}"
    memory = record["peak_above_data_bytes"] / 1e6
    return f"{record['seconds']:.2f} s, {memory:.0f} MB above the data"


if __name__ == "__main__":
    main()
