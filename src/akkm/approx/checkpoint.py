"""Checkpoints: files from which an interrupted fit resumes.

A checkpoint has the centers, the sums over the clusters and the history. The state of
the rows is not written: one pass over the rows restores it from the centers. The size
of a checkpoint therefore hardly depends on n. The sums are written because their last
digits depend on all previous iterations. So a resumed fit gives the same result, bit
for bit, as a fit that was not interrupted.
"""

import hashlib
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from akkm.atomic_file import AtomicFile
from akkm.core.gram import Centers, Gram
from akkm.core.lloyd import LloydStep, Position
from akkm.core.parts import Stats
from akkm.rows.mapped import explain_errors
from akkm.typing import Array

_NAME = "akkm-checkpoint.npz"
# Minimum number of seconds between two checkpoints.
_EVERY = 5.0
# Version of the file's format; it is increased whenever the format changes.
_FORMAT = 3


def fingerprint(*parts: Any) -> str:
    """Return a digest of arrays (by value) and of other objects (by their repr).

    Memory addresses in a repr are ignored, because they differ between processes. A
    function is therefore recognised by its name.

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
            with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
                text = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(part))
            digest.update(text.encode())
        digest.update(b"\0")
    return digest.hexdigest()


@dataclass(frozen=True)
class Start:
    """The starting point of a run: a position, or labels of all rows."""

    position: Position | None = None
    labels: Any = None  # (n,) array, or one RandomLabels per partition


class Checkpoint:
    """The checkpoint of one fit, in a folder.

    `mark` is the fingerprint of data and settings. Loading a checkpoint with another
    mark raises ValueError.
    """

    def __init__(self, folder: str | os.PathLike[str], mark: str) -> None:
        self.folder, self._mark = Path(folder), mark
        self._written = -np.inf
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"checkpoint={str(folder)!r} can't be used as a folder: "
                f"{error.strerror}. Give another folder."
            ) from None

    def load(self, n_clusters: int, gram: Gram) -> Start | None:
        """Read the checkpoint if the folder has one."""
        path = self.folder / _NAME
        if not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as file:
                saved = {name: file[name] for name in file}
            if int(saved.get("format", 1)) != _FORMAT:
                problem = "was written by another version of akkm"
            elif str(saved["mark"]) != self._mark:
                problem = "belongs to a fit with other data or settings"
            else:
                return Start(_position(saved, n_clusters, gram))
        except Exception as error:  # damaged files cause errors of any type
            problem = f"is not a checkpoint, or is damaged ({error})"
        raise ValueError(
            f"{path} {problem}; remove it to start again, or give another folder."
        )

    def watching(
        self, watch: Callable[[LloydStep], bool] | None
    ) -> Callable[[LloydStep], bool]:
        """Wrap a loop's `watch` so that it also writes checkpoints."""

        def record(step: LloydStep) -> bool:
            if time.monotonic() - self._written > _EVERY:
                self.write(step.position)
            return watch is not None and watch(step)

        return record

    def write(self, position: Position) -> None:
        """Write the checkpoint atomically."""
        with (
            explain_errors(
                f"The checkpoint in {self.folder} can't be written",
                "The previous checkpoint is unchanged; free disk space and fit again",
            ),
            AtomicFile(self.folder / _NAME) as file,
        ):
            np.savez(
                file,
                format=np.array(_FORMAT),
                mark=np.array(self._mark),
                history=np.array(position.history, dtype=np.int64).reshape(-1, 2),
                largest=position.largest,
                sums=position.stats.sums,
                counts=position.stats.counts,
                previous=np.array(position.previous),
                **position.centers._asdict(),
            )
        self._written = time.monotonic()


def _position(saved: dict[str, Array], n_clusters: int, gram: Gram) -> Position:
    """Return the position saved in a file; raise ValueError for unexpected shapes."""
    m, r = gram.whitener.shape
    shapes = {"beta": (n_clusters, r), "alpha": (n_clusters, m), "norms": (n_clusters,)}
    shapes |= {"sums": (n_clusters, m), "counts": (n_clusters,)}
    shapes |= {"largest": (n_clusters,), "previous": ()}
    for name, shape in shapes.items():
        if saved[name].shape != shape or saved[name].dtype != np.float64:
            raise ValueError(f"{name} has shape {saved[name].shape}")
    return Position(
        Centers(saved["beta"], saved["alpha"], saved["norms"]),
        Stats(saved["sums"], saved["counts"]),
        saved["largest"],
        [(changed, evaluated) for changed, evaluated in saved["history"].tolist()],
        float(saved["previous"]),
    )
