"""Read a folder of images as rows, for `akkm images` and `akkm predict`."""

import os
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from akkm.cli._console import printable, silenced_libraries
from akkm.cli._progress import Phases
from akkm.images import SpatialPyramid, find_files

# Name of the column that identifies images in label files.
KEY = "path"
# Maximum number of unreadable files that are listed by name.
_NAMED = 20


@dataclass(frozen=True, eq=False)
class Folder:
    """The readable images of a folder; has the attributes of `tables.Encoded`."""

    X: Any  # CSR (n, d)
    files: list[str]  # n paths that can be opened
    ids: Any  # pyarrow array (n,) of paths inside the folder
    notes: list[str]  # about files that could not be read
    labels: None = None
    on_disk: bool = False


def read_folder(
    pyramid: SpatialPyramid, folder: str, phases: Phases, *, fit: bool
) -> Folder:
    """Describe all images by visual words; if `fit`, learn the words first."""
    files = find_files(folder)
    if fit:
        with phases.phase("words") as phase, silenced_libraries():
            pyramid.learn(files, phase.advance)
    with phases.phase("images", len(files)) as phase, silenced_libraries():
        described = pyramid.describe(files, phase.advance)
    kept = [files[i] for i in described.rows]
    inside = [os.path.relpath(path, folder) for path in kept]
    ids = pa.array([printable(name) for name in inside])
    notes = [f"left out: {printable(text)}" for text in described.unreadable[:_NAMED]]
    if len(described.unreadable) > _NAMED:
        notes.append(f"left out: {len(described.unreadable) - _NAMED:,} more files")
    return Folder(described.X, kept, ids, notes)
