"""Where a fit was when it was killed: centers and iterations, in a file of a folder.

The state of the rows is not written: from the centers, one pass over the rows makes it
anew, wherever they are. So a checkpoint is small, whatever n, and the same for rows in
memory, in files and on a cluster.
"""

from __future__ import annotations

import hashlib
import os
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.atomic_file import AtomicFile
from akkm.core.gram import Centers

Array = NDArray[Any]

_NAME = "akkm-checkpoint.npz"
# Seconds between checkpoints.
_EVERY = 5.0


def fingerprint(*parts: Any) -> str:
    """A digest of arrays and of anything that prints the same when it is the same.

    Examples
    --------
    >>> from akkm.approx.checkpoint import fingerprint
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


class Checkpoint:
    """The checkpoint of one fit."""

    def __init__(self, folder: str | os.PathLike[str], mark: str) -> None:
        self.folder, self._mark = Path(folder), mark
        self._written = -np.inf
        self._history: list[tuple[int, int]] = []
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"checkpoint={str(folder)!r} can't be used as a folder: "
                f"{error.strerror}."
            ) from None

    def load(self) -> tuple[Centers, list[tuple[int, int]]] | None:
        """Centers and the history that led there, if a fit was here before."""
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
                f"{path} is no checkpoint, or damaged ({error}); remove it, or give "
                "another folder."
            ) from None
        if mark != self._mark:
            raise ValueError(
                f"{path} is of a fit to other data or with other settings; remove it "
                "to start anew, or give another folder."
            )
        self._history = [(changed, evaluated) for changed, evaluated in history]
        return centers, list(self._history)

    def step(self, centers: Centers, changed: int, evaluated: int) -> None:
        """An iteration from these centers ended; write it down now and then."""
        if time.monotonic() - self._written > _EVERY:
            self.write(centers)
        self._history.append((changed, evaluated))

    def write(self, centers: Centers) -> None:
        """Where the fit is: all of it, or what was written before."""
        history = np.array(self._history, dtype=np.int64).reshape(-1, 2)
        try:
            with AtomicFile(self.folder / _NAME) as file:
                np.savez(
                    file,
                    mark=np.array(self._mark),
                    history=history,
                    **centers._asdict(),
                )
        except OSError as error:
            raise OSError(
                error.errno,
                f"The checkpoint in {self.folder} can't be written: {error.strerror}. "
                "The one before is still there; make room and start again",
            ) from None
        self._written = time.monotonic()
