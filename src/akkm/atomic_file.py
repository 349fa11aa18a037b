"""A file that is there completely or not at all.

It is written under a hidden name beside its own, brought to the disk, and renamed. What
a process that was killed leaves behind is removed by the next one that writes there.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where a file that is open can't be removed anyway
    fcntl = None  # type: ignore[assignment]

__all__ = ["WholeFile", "whole_file"]


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which appears under its name if nothing goes wrong.

    Parameters
    ----------
    path : str or path
        Symbolic links are followed; a file that exists is replaced.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from akkm.atomic_file import whole_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.txt")
    ...     with whole_file(path) as file:
    ...         _ = file.write(b"all of it")
    ...         before = path.exists()
    ...     before, path.read_text()
    (False, 'all of it')
    """
    whole = WholeFile(path)
    try:
        yield whole.file
        whole.settle()
        whole.appear()
    finally:
        whole.discard()


class WholeFile:
    """The same in steps, for several files that appear together.

    Attributes
    ----------
    file : binary file, for writing and reading
    target : Path
        Where it will be, behind symbolic links.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.target = Path(os.path.realpath(path))
        _sweep(self.target)
        self._hidden, self.file = _create(self.target)

    def settle(self) -> None:
        """All was written: bring it to the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def appear(self) -> None:
        """Take the place that it was written for."""
        if fcntl is None:
            self.file.close()
        os.replace(self._hidden, self.target)

    def discard(self) -> None:
        """Leave nothing behind, unless it has appeared."""
        with suppress(OSError):  # what can't be flushed is not wanted any more
            self.file.close()
        self._hidden.unlink(missing_ok=True)


def _create(target: Path) -> tuple[Path, BinaryIO]:
    """A hidden file beside the target, locked as long as it is open."""
    while True:
        hidden = target.with_name(f".{target.name}.{secrets.token_hex(6)}.akkm")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(hidden, flags, 0o666), "w+b")
        if fcntl is None:
            return hidden, file
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file.fileno()).st_nlink:
            return hidden, file
        file.close()  # swept away by another process before it was locked


def _sweep(target: Path) -> None:
    """Remove what processes that were killed left of this file."""
    start = f".{target.name}."
    for name in os.listdir(target.parent):
        token = name.removeprefix(start).removesuffix(".akkm")
        if name != f"{start}{token}.akkm" or len(token) != 12:
            continue
        with suppress(OSError), open(target.with_name(name), "rb") as file:
            if fcntl is not None:  # refused while its process lives
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(file.name)
