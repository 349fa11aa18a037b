"""The `akkm` command: its subcommands, and how it ends.

Exit codes: 0 fine; 1 a bug in akkm; 2 bad input, usage or machine (one line on standard
error says which); 130 Ctrl-C; 143 terminated.
"""

from __future__ import annotations

import errno
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from akkm.cli._cluster import cluster
from akkm.cli._compare import compare
from akkm.cli._demo import demo
from akkm.cli._images import images
from akkm.cli._info import info
from akkm.cli._options import Run
from akkm.cli._plan import plan
from akkm.cli._predict import predict
from akkm.version import __version__

# No space, no quota, or a file larger than allowed.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_BUG, _BAD, _STOPPED, _TERMINATED = 1, 2, 130, 143


class App(click.Group):
    """A group whose errors are one line each."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, **extra: Any
    ) -> NoReturn:
        """Run, and leave with an exit code that scripts can trust."""
        given = list(sys.argv[1:] if args is None else args)
        run = Run(given)
        extra.update(prog_name="akkm", standalone_mode=False, obj=run)
        _let_termination_clean_up()
        try:
            code = super().main(given, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            code = _said(error.format_message(), _BAD, prefix="")
        except click.UsageError as error:
            where = error.ctx.command_path if error.ctx else "akkm"
            code = _said(f"{_line(error.format_message())} See: {where} --help", _BAD)
        except click.ClickException as error:
            code = _said(_line(error.format_message()), _BAD)
        except (click.Abort, KeyboardInterrupt):
            code = _said(f"stopped; {run.outcome}.", _STOPPED, prefix="akkm: ")
        except Exception as error:
            code = _failed(error, run)
        sys.exit(code if isinstance(code, int) else 0)


@click.group(
    cls=App,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96},
    epilog="\b\nExample:\n  akkm cluster flowers.csv -k 3 --report flowers.html",
)
@click.version_option(__version__, message="akkm %(version)s")
@click.option("--debug", is_flag=True, help="Show Python's traceback of an error.")
def app(debug: bool) -> None:
    """Kernel clustering of files too large for kernel methods."""


for command in (cluster, images, predict, plan, info, compare, demo):
    app.add_command(command)


def _failed(error: Exception, run: Run) -> int:
    """Say what happened, for people; the exit code."""
    if "--debug" in run.given:
        traceback.print_exception(error)
    if isinstance(error, MemoryError):
        text = "there is not enough memory; 'akkm plan' says how much it takes."
        return _said(text, _BAD)
    if isinstance(error, OSError):
        return _said(_of_machine(error, run), _BAD)
    if isinstance(error, ValueError | ImportError):
        return _said(_line(str(error)), _BAD)
    name = type(error).__name__
    return _said(
        f"this is a bug in akkm ({name}: {_line(str(error))}); 'akkm --debug ...' "
        "shows where.",
        _BUG,
    )


def _of_machine(error: OSError, run: Run) -> str:
    what = f"{error.filename}: " if error.filename else ""
    text = what + (error.strerror or _line(str(error)))
    if error.errno in _FULL:
        text += f"; {run.outcome}. Make room, or write elsewhere"
    elif run.written:
        text += f"; {run.outcome}"
    return f"{text}."


def _said(text: str, code: int, *, prefix: str = "akkm: error: ") -> int:
    click.echo(f"{prefix}{text}", err=True)
    return code


def _line(text: str) -> str:
    return " ".join(text.split())


def _let_termination_clean_up() -> None:
    """SIGTERM ends the process as an exception does: hidden files are removed."""

    def leave(number: int, frame: Any) -> None:
        raise SystemExit(_TERMINATED)

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, leave)
