"""The `akkm` command: its subcommands and its exit codes.

Exit codes:

* 0: success
* 1: a bug in akkm
* 2: bad input, bad usage or a problem with the machine; one line on standard error
  says which
* 130: stopped by Ctrl-C
* 143: terminated by SIGTERM
"""

import errno
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from akkm.cli._console import printable
from akkm.cli._run import Run
from akkm.version import __version__

# Error numbers: no space left, quota exceeded, file larger than allowed.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Maximum length of an error message in characters.
_LONGEST = 1_000
_BUG, _BAD, _STOPPED, _TERMINATED = 1, 2, 130, 143
# Commands with their summaries. A command is imported when it is used, because most
# commands import NumPy and scikit-learn. The function `cluster` is in the module
# `_cluster`, and so on.
SUMMARIES = {
    "cluster": "Cluster the rows of DATA.",
    "images": "Cluster the images in FOLDER and its subfolders.",
    "predict": "Assign the rows of DATA to the clusters of MODEL.",
    "suggest": "Print the rows of DATA whose classes would help most, as CSV.",
    "plan": "Show how DATA would be clustered, and estimate the memory and time.",
    "info": "Show how MODEL was made and which columns it expects.",
    "compare": (
        "Compare two label files: NMI, ARI and how many rows each pair of clusters "
        "shares."
    ),
    "demo": (
        "Cluster points that k-means can't separate, and customers; write two reports."
    ),
}


class App(click.Group):
    """A group of commands that reports each error in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in the order of the help."""
        return list(SUMMARIES)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import a command."""
        if name not in SUMMARIES:
            return None
        command: click.Command = getattr(import_module(f"akkm.cli._{name}"), name)
        return command

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, **extra: Any
    ) -> NoReturn:
        """Run a command and exit with its code."""
        run = Run(list(sys.argv[1:] if args is None else args))
        extra.update(prog_name="akkm", standalone_mode=False, obj=run)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _terminate)
        try:
            code = super().main(run.args, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            code = _fail(error.format_message(), _BAD, prefix="")
        except click.UsageError as error:
            where = error.ctx.command_path if error.ctx else "akkm"
            code = _fail(f"{_one_line(error.format_message())} See: {where} --help")
        except click.ClickException as error:
            code = _fail(_one_line(error.format_message()))
        except (click.Abort, KeyboardInterrupt):
            code = _fail(f"stopped; {run.outcome}.", _STOPPED, prefix="akkm: ")
        except Exception as error:
            if "--debug" in run.args:
                traceback.print_exception(error)
            code = _explain(error, run)
        sys.exit(code if isinstance(code, int) else 0)


@click.group(
    cls=App,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 96,
        "show_default": True,
    },
    epilog="\b\nExample:\n  akkm cluster flowers.csv -k 3 --report flowers.html",
)
@click.version_option(__version__, message="akkm %(version)s")
@click.option("--debug", is_flag=True, help="Show the Python traceback of an error.")
def app(debug: bool) -> None:
    """Kernel clustering of data sets that are too large for a kernel matrix."""


def import_command(args: Sequence[str]) -> None:
    """Import the command that the arguments name, if they name one.

    Parameters
    ----------
    args : sequence of str
        Arguments of `akkm`.
    """
    names = [arg for arg in args if not arg.startswith("-")]
    if names and names[0] in SUMMARIES:
        import_module(f"akkm.cli._{names[0]}")


def _explain(error: Exception, run: Run) -> int:
    """Print what went wrong and return the exit code."""
    if isinstance(error, MemoryError):
        return _fail("not enough memory; 'akkm plan' estimates how much is needed.")
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        text = name + (error.strerror or _one_line(str(error)))
        if error.errno in _FULL:
            text += f"; {run.outcome}. Make room, or write elsewhere"
        elif run.written:
            text += f"; {run.outcome}"
        return _fail(f"{text}.")
    text = _one_line(str(error))
    if isinstance(error, ValueError | ImportError):
        return _fail(text)
    text = f"this is a bug in akkm ({type(error).__name__}: {text})"
    return _fail(f"{text}; 'akkm --debug ...' shows where.", _BUG)


def _fail(text: str, code: int = _BAD, *, prefix: str = "akkm: error: ") -> int:
    """Print an error message and return the exit code."""
    if prefix and len(text) > _LONGEST:  # the text may contain a very long name
        text = f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"
    click.echo(printable(f"{prefix}{text}"), err=True)
    return code


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _terminate(number: int, frame: Any) -> None:
    """Raise SystemExit on SIGTERM, so that temporary files are removed."""
    raise SystemExit(_TERMINATED)
