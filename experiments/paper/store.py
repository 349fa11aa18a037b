"""A folder with the records of cells and the labels of exact kernel k-means."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.atomic_file import AtomicFile
from experiments.harness.store import JsonLines, Record
from experiments.paper.plan import Cell

Array = NDArray[Any]


class Store:
    """The records of cells, in `<data>.jsonl`, and the labels of exact kernel k-means.

    If a cell has two records, the later one is used.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._files = {
            p.stem: JsonLines(p) for p in sorted(self.folder.glob("*.jsonl"))
        }
        self.records: dict[str, Record] = {}  # by Cell.key
        for file in self._files.values():
            for number, record in enumerate(file.records, start=1):
                try:
                    self.records[Cell.from_json(record["cell"]).key] = record
                except (KeyError, TypeError, ValueError):
                    raise ValueError(
                        f"{file.path}, line {number} is not the record of a cell. "
                        "Remove the line; the cell will be run again."
                    ) from None

    def get(self, cell: Cell) -> Record | None:
        """Return the record of a cell, or None if the cell was not run."""
        return self.records.get(cell.key)

    def is_done(self, cell: Cell, *, exact_planned: bool) -> bool:
        """Return whether a cell has a record and need not be run again.

        A cell with a record is run again if its labels were not compared with exact
        labels, but can be compared now. This is possible if the exact labels are saved,
        or if the same run computes them (`exact_planned`).
        """
        record = self.get(cell)
        if record is None:
            return False
        can_compare = exact_planned or self._labels_path(cell).exists()
        return record.get("exact", "") is not None or not can_compare

    def add(self, cell: Cell, record: Record) -> None:
        """Add the record of a cell and wait until it is on disk."""
        if cell.data not in self._files:
            path = self.folder / f"{cell.data}.jsonl"
            self._files[cell.data] = JsonLines(path)
        self._files[cell.data].add(record)
        self.records[cell.key] = record

    def save_exact_labels(self, cell: Cell, labels: Array) -> None:
        """Save the labels (n,) of exact kernel k-means."""
        path = self._labels_path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        with AtomicFile(path) as file:
            np.savez_compressed(file, labels=labels.astype(np.uint8))

    def exact_labels(self, cell: Cell) -> Array | None:
        """Return the saved exact labels for the cell's data set and seed, or None."""
        path = self._labels_path(cell)
        if not path.exists():
            return None
        with np.load(path) as saved:
            return np.asarray(saved["labels"])

    def _labels_path(self, cell: Cell) -> Path:
        return self.folder / "labels" / f"{cell.data}-{cell.seed}.npz"
