"""Entry point of the command `akkm`: handles Ctrl-C while libraries are imported.

This module lies outside the package. A module of the package would first import
`akkm/__init__.py`, before Ctrl-C is handled.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Run `akkm` with the arguments of this process."""
    usual = signal.getsignal(signal.SIGINT)
    # A background process ignores Ctrl-C: don't change that.
    if usual is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit_at_once)
    # Imported modules stay in memory, so garbage collection would only take time.
    gc.disable()
    from akkm.cli import main as run

    with suppress(ImportError):  # `run` reports missing libraries
        from akkm.cli._app import import_command

        import_command(sys.argv[1:])
    gc.freeze()
    gc.enable()
    signal.signal(signal.SIGINT, usual)
    run()


def _exit_at_once(number: int, frame: Any) -> None:
    """Exit without an exception: imported code could catch KeyboardInterrupt."""
    os.write(2, b"akkm: stopped; no file was written.\n")
    os._exit(130)
