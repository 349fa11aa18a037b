"""Checkpoints: the centers and the history of a fit, from which the fit can resume.

The state of the rows is not written: one pass over the rows restores it from the
centers. A checkpoint is therefore small for every n. It does not depend on whether the
rows are in memory, in files or on Dask workers.
"""

import hashlib
import os
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from akkm.atomic_file import AtomicFile
from akkm.core.gram import Centers
from akkm.core.lloyd import Step
from akkm.rows.mapped import explain_errors

_NAME = "akkm-checkpoint.npz"
# Minimum number of seconds between two checkpoints.
_EVERY = 5.0


def fingerprint(*parts: Any) -> str:
    """Return a digest of arrays (by value) and of other objects (by their repr).

    Examples
    --------
    >>> from akkm.approx import fingerprint
    >>> fingerprint(1, "rbf") == fingerprint(1, "rbf") != fingerprint(2, "rbf")
    True
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype} {part.shape}".encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        else:
            digest.update(repr(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()


@dataclass(frozen=True)
class Start:
    """The starting point of a run: centers, or labels of all rows."""

    centers: Centers | None = None
    labels: Any = None  # (n,) array, or one RandomLabels per partition
    history: Sequence[tuple[int, int]] = ()  # history of the run to resume


class Checkpoint:
    """The checkpoint of one fit, in a folder.

    `mark` is the fingerprint of data and settings. Loading a checkpoint with another
    mark raises ValueError.
    """

    def __init__(self, folder: str | os.PathLike[str], mark: str) -> None:
        self.folder, self._mark = Path(folder), mark
        self._written = -np.inf
        self._history: list[tuple[int, int]] = []
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"checkpoint={str(folder)!r} can't be used as a folder: "
                f"{error.strerror}. Give another folder."
            ) from None

    def load(self) -> Start | None:
        """Read the checkpoint if the folder has one."""
        path = self.folder / _NAME
        if not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as saved:
                mark = str(saved["mark"])
                centers = Centers(saved["beta"], saved["alpha"], saved["norms"])
                history = saved["history"].tolist()
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{path} is not a checkpoint, or is damaged ({error}); remove it, or "
                "give another folder."
            ) from None
        if mark != self._mark:
            raise ValueError(
                f"{path} belongs to a fit with other data or settings; remove it to "
                "start again, or give another folder."
            )
        self._history = [(changed, evaluated) for changed, evaluated in history]
        return Start(centers, history=tuple(self._history))

    def watching(self, watch: Callable[[Step], bool] | None) -> Callable[[Step], bool]:
        """Wrap a loop's `watch` so that it also writes checkpoints."""

        def record(step: Step) -> bool:
            if time.monotonic() - self._written > _EVERY:
                self.write(step.centers)
            self._history.append((step.changed, step.evaluated))
            return watch is not None and watch(step)

        return record

    def write(self, centers: Centers) -> None:
        """Write the checkpoint atomically."""
        history = np.array(self._history, dtype=np.int64).reshape(-1, 2)
        with (
            explain_errors(
                f"The checkpoint in {self.folder} can't be written",
                "The previous checkpoint is unchanged; free disk space and fit again",
            ),
            AtomicFile(self.folder / _NAME) as file,
        ):
            mark = np.array(self._mark)
            np.savez(file, mark=mark, history=history, **centers._asdict())
        self._written = time.monotonic()
