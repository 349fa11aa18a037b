"""A folder of images as rows: what `akkm images` and `akkm predict` read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from akkm.cli._progress import Phases

if TYPE_CHECKING:
    from akkm.images import SpatialPyramid

# Names the rows in label files.
KEY = "path"
# Unreadable files that are named one by one.
_NAMED = 20


@dataclass(frozen=True, eq=False)
class Folder:
    """The images of a folder that could be read, as a table's rows are encoded."""

    X: Any  # CSR (n, d)
    files: list[str]  # n paths that can be opened
    ids: Any  # pyarrow array (n,) of paths inside the folder
    notes: list[str]  # about files that could not be read
    labels: None = None

    @property
    def rows(self) -> Any:
        """Numbers of the rows: (n,)."""
        return np.arange(len(self.files))


def read_folder(
    pyramid: SpatialPyramid, folder: str, phases: Phases, *, fit: bool
) -> Folder:
    """Learn the visual words, if they are to be, and describe all images by them."""
    from akkm.images import find_files

    files = find_files(folder)
    if fit:
        with phases.phase("words") as phase:
            pyramid.learn(files, phase.advance)
    with phases.phase("images", len(files)) as phase:
        found = pyramid.describe(files, phase.advance)
    kept = [files[i] for i in found.rows]
    inside = [os.path.relpath(path, folder) for path in kept]
    # A name that is no UTF-8 is written with question marks.
    ids = pa.array(
        [name.encode("utf-8", "replace").decode("utf-8", "replace") for name in inside]
    )
    notes = [f"left out: {text}" for text in found.unreadable[:_NAMED]]
    if len(found.unreadable) > _NAMED:
        notes.append(f"left out: {len(found.unreadable) - _NAMED:,} more files")
    return Folder(found.X, kept, ids, notes)
