"""Raw results: one line of JSON per run, written as it comes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from experiments.benchmarks.tasks import Task

Record = dict[str, Any]


def _key(settings: dict[str, Any], contestant: str, seed: int) -> str:
    """What makes two runs the same run."""
    return json.dumps([settings, contestant, seed], sort_keys=True)


class Results:
    """The runs in a file; of several of the same kind the last one counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.records: dict[str, Record] = {}
        for record in map(json.loads, lines):
            self._keep(record)

    def _keep(self, record: Record) -> None:
        about = record["settings"], record["contestant"], record["seed"]
        self.records[_key(*about)] = record

    def find(self, task: Task, contestant: str) -> dict[int, Record]:
        """Runs by seed, those that failed too."""
        keys = {s: _key(task.settings, contestant, s) for s in range(task.seeds)}
        return {s: self.records[k] for s, k in keys.items() if k in self.records}

    def good(self, task: Task, contestant: str) -> dict[int, Record]:
        """Runs by seed, those that went well."""
        found = self.find(task, contestant)
        return {s: r for s, r in found.items() if "failed" not in r}

    def add(self, record: Record) -> None:
        """Keep a record, on disk before this returns."""
        self._keep(record)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def forget(self, runs: Iterable[tuple[Task, str, int]]) -> None:
        """Drop these runs, also on disk."""
        for task, contestant, seed in runs:
            self.records.pop(_key(task.settings, contestant, seed), None)
        if self.path.exists():
            lines = [json.dumps(record) + "\n" for record in self.records.values()]
            self.path.write_text("".join(lines))
