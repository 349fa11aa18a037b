"""Where the command `akkm` begins: Ctrl-C is heard before anything heavy is imported.

It lies beside the package, as whatever is inside imports NumPy and scikit-learn first.
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
    if usual is signal.default_int_handler:  # not so in the background
        signal.signal(signal.SIGINT, _leave)
    from akkm.cli import main as run

    with suppress(ImportError):  # of which it tells
        import akkm.cli._app  # noqa: F401 (all that is heavy)
    signal.signal(signal.SIGINT, usual)
    run()


def _leave(number: int, frame: Any) -> None:
    """End at once: an exception within an import may come out as another one."""
    os.write(2, b"akkm: stopped; no file was written.\n")
    os._exit(130)
