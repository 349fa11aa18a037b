"""Output files of a command: either all of them appear when it ends, or none."""

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from akkm.atomic_file import AtomicFile

# Required endings of file names.
_ENDINGS = {
    "--labels": (".parquet", ".csv"),
    "--model": (".skops",),
    "--report": (".html", ".htm"),
    "--write": (".parquet", ".csv"),
    "--moved": (".parquet", ".csv"),
    "--card": (".md",),
}


class OutputFile(AtomicFile):
    """A file that is written atomically, and its name as the user gave it."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


@contextmanager
def open_outputs(
    paths: Mapping[str, str | None], inputs: Mapping[str, str], written: list[str]
) -> Iterator[dict[str, OutputFile]]:
    """Open temporary files; give them their final names if the block succeeds.

    The temporary files are created before the long computation. A folder that can't be
    written to is therefore noticed early.

    Parameters
    ----------
    paths : mapping
        The file of each option, by option name; None if an option was not given.
    inputs : mapping
        The files that must not be overwritten, by option name.
    written : list
        List to which the final names are appended when the files appear.

    Yields
    ------
    dict
        The temporary file of each option that was given, by option name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from akkm.cli._outputs import open_outputs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, written = Path(folder, "labels.csv"), []
    ...     paths = {"--labels": str(path), "--model": None}
    ...     with open_outputs(paths, {"DATA": "-"}, written) as outputs:
    ...         _ = outputs["--labels"].file.write(b"row,cluster")
    ...         exists_before = path.exists()
    ...     exists_before, path.read_text(), written == [str(path)]
    (False, 'row,cluster', True)
    """
    given = {name: path for name, path in paths.items() if path is not None}
    for name, path in given.items():
        endings = _ENDINGS.get(name, ("",))
        if not path.lower().endswith(endings):
            expected = " or ".join(endings)
            raise ValueError(f"{name} {path}: expected a name that ends in {expected}.")
    _require_different({**given, **inputs})
    files: dict[str, OutputFile] = {}
    with ExitStack() as cleanup:
        for name, path in given.items():
            files[name] = _create(name, path)
            cleanup.callback(files[name].discard)
        yield files
        for file in files.values():
            file.sync()
        with _ignoring_signals():
            for file in files.values():
                suffix = " (replaced)" if file.target.exists() else ""
                file.publish()
                written.append(file.path + suffix)


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


def _create(name: str, path: str) -> OutputFile:
    """Create the temporary file for an option; raise ValueError if that fails."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{name} {path} is not a regular file; give another name.")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise ValueError(
            f"{name} {path}: there is no folder {folder}; create it first."
        )
    try:
        return OutputFile(path)
    except OSError as error:
        raise ValueError(
            f"{name} {path} can't be written: {error.strerror}."
        ) from error


@contextmanager
def _ignoring_signals() -> Iterator[None]:
    """Ignore Ctrl-C and SIGTERM while files are renamed."""
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
