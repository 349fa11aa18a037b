"""Output files of a command: all of them appear at its end, complete, or none."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import BinaryIO

from akkm.atomic_file import AtomicFile

# Required endings of file names.
_ENDINGS = {
    "--labels": (".parquet", ".csv"),
    "--model": (".skops",),
    "--report": (".html", ".htm"),
}


class Outputs:
    """Temporary files that are renamed when all of them are complete.

    They are created at once, so that a folder that can't be written to is noticed
    before the long computation.

    Parameters
    ----------
    paths : mapping
        Option names and the files that they name; None if an option was not given.
    inputs : mapping
        Option names and files that must not be overwritten.
    written : list
        The names of published files are appended to it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from akkm.cli._outputs import Outputs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, written = Path(folder, "labels.csv"), []
    ...     paths = {"--labels": str(path), "--model": None}
    ...     with Outputs(paths, {"DATA": "-"}, written) as outputs:
    ...         _ = outputs["--labels"].write(b"row,cluster")
    ...         exists_before = path.exists()
    ...         outputs.publish()
    ...     exists_before, path.read_text(), written == [str(path)]
    (False, 'row,cluster', True)
    """

    def __init__(
        self,
        paths: Mapping[str, str | None],
        inputs: Mapping[str, str],
        written: list[str],
    ) -> None:
        self._paths = {name: path for name, path in paths.items() if path is not None}
        self._inputs, self._written = inputs, written
        self._files: dict[str, AtomicFile] = {}
        self._cleanup = ExitStack()

    def __enter__(self) -> Outputs:
        for name, path in self._paths.items():
            endings = _ENDINGS.get(name, ("",))
            if not path.lower().endswith(endings):
                raise ValueError(
                    f"{name} {path}: expected a name that ends in "
                    f"{' or '.join(endings)}."
                )
        _require_different({**self._paths, **self._inputs})
        with ExitStack() as cleanup:  # if one of the files can't be created
            for name, path in self._paths.items():
                self._files[name] = _create(name, path)
                cleanup.callback(self._files[name].discard)
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cleanup.close()

    def __contains__(self, name: str) -> bool:
        return name in self._paths

    def __getitem__(self, name: str) -> BinaryIO:
        return self._files[name].file

    def path(self, name: str) -> str | None:
        """The file that an option names, if it was given."""
        return self._paths.get(name)

    def publish(self) -> None:
        """Rename all temporary files; call it when all of them are complete."""
        for file in self._files.values():
            file.sync()
        with _ignoring_signals():
            for name, file in self._files.items():
                suffix = " (replaced)" if file.target.exists() else ""
                file.publish()
                self._written.append(self._paths[name] + suffix)


def _require_different(paths: Mapping[str, str]) -> None:
    """Raise ValueError if two options name the same file."""
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
    """The temporary file for an option; ValueError if it can't be written."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{name} {path} is not a regular file; give another name.")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise ValueError(
            f"{name} {path}: there is no folder {folder}; create it first."
        )
    try:
        return AtomicFile(path)
    except OSError as error:
        raise ValueError(
            f"{name} {path} can't be written: {error.strerror}."
        ) from error


@contextmanager
def _ignoring_signals() -> Iterator[None]:
    """Ignore Ctrl-C and SIGTERM during a few renames."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {
        number: signal.signal(number, signal.SIG_IGN)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
