"""Write files atomically: they appear complete under their name, or not at all.

The content is written to a hidden temporary file in the same folder and flushed to
disk. Then the file is renamed. A process that is killed (SIGKILL) may leave its
temporary file behind, but never a partial file under the final name.
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["AtomicFile"]


class AtomicFile:
    """A binary file that replaces its target only when it is complete.

    As a context manager it yields the temporary file, publishes it if the block
    succeeds, and removes it otherwise. To publish several files together, call `sync`
    on all of them, then `publish` on each, and `discard` in any case.

    Parameters
    ----------
    path : str or path-like
        Name of the final file. Symbolic links are followed; an existing file is
        replaced.

    Attributes
    ----------
    file : BinaryIO
        The temporary file, open for writing and reading.
    target : Path
        The final file, with symbolic links resolved.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from akkm.atomic_file import AtomicFile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.txt")
    ...     with AtomicFile(path) as file:
    ...         _ = file.write(b"complete")
    ...         exists_before = path.exists()
    ...     exists_before, path.read_text()
    (False, 'complete')
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.target = Path(os.path.realpath(path))
        hidden = f".{self.target.name}.{secrets.token_hex(6)}.akkm"
        self._temporary = self.target.with_name(hidden)
        # tempfile would make the file private; `open` lets the umask set permissions.
        self.file: BinaryIO = open(self._temporary, "x+b")  # noqa: SIM115

    def sync(self) -> None:
        """Flush the content to the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def publish(self) -> None:
        """Rename the temporary file to the target."""
        self.file.close()  # Windows renames closed files only
        os.replace(self._temporary, self.target)

    def discard(self) -> None:
        """Close and remove the temporary file, unless it was published."""
        with suppress(OSError):  # closing flushes, and the disk may be full
            self.file.close()
        self._temporary.unlink(missing_ok=True)

    def __enter__(self) -> BinaryIO:
        return self.file

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            if kind is None:
                self.sync()
                self.publish()
        finally:
            self.discard()
