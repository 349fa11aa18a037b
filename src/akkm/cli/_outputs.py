"""Files that appear at the very end, each of them complete, or not at all."""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from akkm.atomic_file import AtomicFile

# What the names of files have to end in, by option.
_ENDINGS = {
    "--labels": (".parquet", ".csv"),
    "--model": (".skops",),
    "--report": (".html", ".htm"),
}


class Outputs:
    """Files that are written under hidden names and renamed when all are complete.

    They are made at once, so that a folder that can't be written to is found before
    the long part. A process that is killed leaves hidden files behind; the next one
    that writes the same output removes them.

    Parameters
    ----------
    paths : mapping
        Names of options, and the files that they name, if any.
    inputs : mapping
        The same of files that must not be overwritten.
    written : list
        Takes what was published, in words.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from akkm.cli._outputs import Outputs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, written = Path(folder, "labels.csv"), []
    ...     wanted = {"--labels": str(path), "--model": None}
    ...     with Outputs(wanted, {"DATA": "-"}, written) as outputs:
    ...         _ = outputs["--labels"].write(b"row,cluster")
    ...         before = path.exists()
    ...         outputs.publish()
    ...     before, path.read_text(), written == [str(path)], "--model" in outputs
    (False, 'row,cluster', True, False)
    """

    def __init__(
        self,
        paths: Mapping[str, str | None],
        inputs: Mapping[str, str],
        written: list[str],
    ) -> None:
        self._paths = {name: path for name, path in paths.items() if path is not None}
        self._inputs, self._written = inputs, written
        self._open: dict[str, AtomicFile] = {}

    def __enter__(self) -> Outputs:
        for name, path in self._paths.items():
            _require_ending(name, path)
        _require_different({**self._paths, **self._inputs})
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

    def publish(self) -> None:
        """All files are complete: let them be seen."""
        for output in self._open.values():
            output.sync()
        with _undisturbed():
            for name, output in self._open.items():
                there = output.target.exists()
                output.publish()
                self._written.append(
                    self._paths[name] + (" (replaced)" if there else "")
                )

    def _discard(self) -> None:
        for output in self._open.values():
            output.discard()
        self._open.clear()


def _require_ending(name: str, path: str) -> None:
    endings = _ENDINGS.get(name, ())
    if endings and not path.lower().endswith(endings):
        raise ValueError(
            f"{name} {path}: expected a name that ends in {' or '.join(endings)}."
        )


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


def _create(name: str, path: str) -> AtomicFile:
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
        return AtomicFile(path)
    except OSError as error:
        raise ValueError(
            f"{name} {path} can't be written: {error.strerror}."
        ) from error


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C is not heard during a few renames, which take no time."""
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
