"""Records of measurements: an append-only file with one JSON object per line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class JsonLines:
    """The records of one file, in the order in which they were added.

    A record is on disk when `add` returns. If a run is killed while it writes, the file
    ends with an incomplete line. Reading ignores this line; the next `add` removes it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     records = JsonLines(Path(folder) / "runs.jsonl")
    ...     records.add({"data": "digits", "seed": 0, "nmi": 0.9})
    ...     JsonLines(records.path).find(data="digits")
    [{'data': 'digits', 'seed': 0, 'nmi': 0.9}]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.records: list[Record] = []
        raw = self.path.read_bytes() if self.path.exists() else b""
        for number, line in enumerate(_complete_lines(raw).splitlines(), start=1):
            try:
                self.records.append(dict(json.loads(line)))
            except (ValueError, TypeError):
                raise ValueError(
                    f"{self.path}, line {number} is not a JSON object, but each line "
                    "must be one. Remove the line; its measurement will be repeated."
                ) from None

    def find(self, **fields: Any) -> list[Record]:
        """Return the records that have these fields with these values."""
        return [r for r in self.records if fields.items() <= r.items()]

    def add(self, record: Record) -> None:
        """Append a record and wait until it is on disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()
        with self.path.open("rb+") as file:
            file.truncate(len(_complete_lines(file.read())))
            file.seek(0, os.SEEK_END)
            file.write(_line(record))
            file.flush()
            os.fsync(file.fileno())
        self.records.append(record)

    def remove(self, records: Iterable[Record]) -> None:
        """Remove records from memory and from the file."""
        removed = {id(record) for record in records}
        self.records = [r for r in self.records if id(r) not in removed]
        if removed:
            from akkm.atomic_file import AtomicFile  # slow to import

            with AtomicFile(self.path) as file:
                file.writelines(map(_line, self.records))


def _line(record: Record) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _complete_lines(raw: bytes) -> bytes:
    return raw[: raw.rfind(b"\n") + 1]
