"""Entry point of the command `akkm`: handles Ctrl-C while libraries are imported.

This module lies beside the package, because importing anything from akkm first imports
NumPy and scikit-learn.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Run `akkm` with the arguments of this process."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:  # a process in the background ignores it
        signal.signal(signal.SIGINT, _exit_at_once)
    from akkm.cli import main as run

    with suppress(ImportError):  # `run` reports it
        import akkm.cli._app  # noqa: F401 (imports all libraries)
    signal.signal(signal.SIGINT, usual)
    run()


def _exit_at_once(number: int, frame: Any) -> None:
    """Exit at once: code that is being imported could replace a KeyboardInterrupt."""
    os.write(2, b"akkm: stopped; no file was written.\n")
    os._exit(130)
