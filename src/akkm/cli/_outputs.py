"""Files that appear together, complete, at the very end, or not at all."""

from __future__ import annotations

import os
import secrets
import signal
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where a file that is open can't be removed anyway
    fcntl = None  # type: ignore[assignment]


@dataclass(frozen=True)
class _Output:
    """One file to be."""

    path: str  # as it was given
    target: Path  # where it goes, behind symbolic links
    hidden: Path  # where it is written
    file: BinaryIO


class Outputs:
    """Files that are written under hidden names and renamed when all are complete.

    They are made at once, so that a folder that can't be written to is found before
    the long part. A process that is killed leaves hidden files behind; the next one
    that writes the same output removes them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from akkm.cli._outputs import Outputs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "labels.csv")
    ...     with Outputs({"--labels": str(path), "--model": None}) as outputs:
    ...         _ = outputs["--labels"].write(b"row,cluster")
    ...         before = path.exists()
    ...         outputs.publish()
    ...     before, path.read_text(), "--model" in outputs
    (False, 'row,cluster', False)
    """

    def __init__(self, paths: Mapping[str, str | None], data: str = "-") -> None:
        self._paths = {name: path for name, path in paths.items() if path is not None}
        self._data = data  # which must not be overwritten
        self._open: dict[str, _Output] = {}

    def __enter__(self) -> Outputs:
        _require_different({**self._paths, "DATA": self._data})
        try:
            for name, path in self._paths.items():
                self._open[name] = _create(name, path)
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._discard()

    def __contains__(self, name: str) -> bool:
        return name in self._paths

    def __getitem__(self, name: str) -> BinaryIO:
        return self._open[name].file

    @property
    def paths(self) -> list[str]:
        """Where the files are, once they are published."""
        return list(self._paths.values())

    def publish(self) -> None:
        """All files are complete: let them be seen."""
        for output in self._open.values():
            output.file.flush()
            os.fsync(output.file.fileno())
        with _undisturbed():
            for output in self._open.values():
                if fcntl is None:
                    output.file.close()
                os.replace(output.hidden, output.target)

    def _discard(self) -> None:
        for output in self._open.values():
            with suppress(OSError):  # what can't be flushed is not wanted any more
                output.file.close()
            output.hidden.unlink(missing_ok=True)
        self._open.clear()


def _require_different(paths: Mapping[str, str]) -> None:
    seen: dict[str, str] = {}
    for name, path in paths.items():
        real = os.path.realpath(path)
        if path != "-" and real in seen:
            raise ValueError(
                f"{seen[real]} and {name} are the same file, {path}; give them "
                "different names."
            )
        seen[real] = name


def _create(name: str, path: str) -> _Output:
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode if target.exists() else stat.S_IFREG
        if stat.S_ISDIR(mode):
            raise ValueError(f"{name} {path} is a directory; expected a file name.")
        if not stat.S_ISREG(mode):
            raise ValueError(f"{name} {path} is no regular file; give another name.")
        if not target.parent.is_dir():
            raise ValueError(
                f"{name} {path}: there is no folder {target.parent}; make it first."
            )
        _sweep(target)
        hidden = target.with_name(f".{target.name}.{secrets.token_hex(6)}.akkm")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        number = os.open(hidden, flags, 0o666)
    except OSError as error:
        raise ValueError(
            f"{name} {path} can't be written: {error.strerror}."
        ) from error
    file = os.fdopen(number, "w+b")
    if fcntl is not None:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return _Output(path, target, hidden, file)


def _sweep(target: Path) -> None:
    """Remove what processes that were killed left of this output."""
    start = f".{target.name}."
    for name in os.listdir(target.parent):
        token = name.removeprefix(start).removesuffix(".akkm")
        if name != f"{start}{token}.akkm" or len(token) != 12:
            continue
        with suppress(OSError), open(target.with_name(name), "rb") as file:
            if fcntl is not None:  # refused while its process lives
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(file.name)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits: a few renames take no time, and are all or nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {
        number: signal.signal(number, signal.SIG_IGN)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
