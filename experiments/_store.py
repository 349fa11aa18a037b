"""Raw results: one line of JSON per cell, on disk as soon as it is there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.atomic_file import AtomicFile
from experiments._plan import Cell

Array = NDArray[Any]
Record = dict[str, Any]


class Store:
    """The records in a folder, `<data>.jsonl` each, and labels to compare with.

    Of two records of the same cell the later one counts.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.records: dict[str, Record] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            lines = _whole_lines(path.read_bytes()).splitlines()
            for number, line in enumerate(lines, start=1):
                try:
                    record = json.loads(line)
                    self.records[Cell.of(record["cell"]).key] = record
                except (ValueError, KeyError, TypeError):
                    raise ValueError(
                        f"{path}, line {number}: expected the record of a cell; remove "
                        "that line, and the cell will be run again."
                    ) from None

    def get(self, cell: Cell) -> Record | None:
        """The record of a cell, if it was run."""
        return self.records.get(cell.key)

    def has(self, cell: Cell, *, exact: bool) -> bool:
        """Whether a cell was run, and compared with exact labels.

        If there are such; or if there will be, `exact`.
        """
        record = self.get(cell)
        if record is None:
            return False
        there = exact or self._labels(cell).exists()
        return record.get("exact", "") is not None or not there

    def add(self, cell: Cell, record: Record) -> None:
        """Keep a record; it is on disk when this returns."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{cell.data}.jsonl"
        path.touch()
        with path.open("rb+") as file:
            # A run that was killed may have left half a line.
            file.truncate(len(_whole_lines(file.read())))
            file.seek(0, os.SEEK_END)
            file.write(json.dumps(record).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.records[cell.key] = record

    def keep_labels(self, cell: Cell, labels: Array) -> None:
        """Labels (n,) of exact kernel k-means, which others are compared with."""
        path = self._labels(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        with AtomicFile(path) as file:
            np.savez_compressed(file, labels=labels.astype(np.uint8))

    def exact_labels(self, cell: Cell) -> Array | None:
        """Those of the same data set and seed, if they are there."""
        path = self._labels(cell)
        if not path.exists():
            return None
        with np.load(path) as saved:
            return np.asarray(saved["labels"])

    def _labels(self, cell: Cell) -> Path:
        return self.folder / "labels" / f"{cell.data}-{cell.seed}.npz"


def _whole_lines(raw: bytes) -> bytes:
    return raw[: raw.rfind(b"\n") + 1]
