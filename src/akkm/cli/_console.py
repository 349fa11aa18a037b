"""Print facts and tables to standard output."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import click


class Printer:
    """Prints to standard output; prints nothing if `quiet`.

    On a terminal, names are bold. Elsewhere, click removes styles.
    """

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet

    @property
    def shows_progress(self) -> bool:
        """Whether to show progress on standard error."""
        return not self._quiet

    def say(self, text: str = "", style: str | None = None) -> None:
        """Print a line or paragraph; `style` is the name of a colour."""
        if self._quiet:
            return
        try:
            click.secho(printable(text), fg=style)
        except BrokenPipeError:  # the reader has stopped, as in `akkm ... | head -1`
            self._quiet = True
        except OSError as error:
            raise OSError(error.errno, error.strerror, "standard output") from error

    def facts(self, facts: Mapping[str, str | Sequence[str]]) -> None:
        """Print each name and its value.

        A list takes one line per item. Names with an empty list are skipped.
        """
        lines = {name: [v] if isinstance(v, str) else v for name, v in facts.items()}
        width = max((len(name) for name in lines if lines[name]), default=0)
        for name in lines:
            for i, line in enumerate(lines[name]):
                shown = "" if i else name
                self.say(f"{click.style(f'{shown:<{width}}', bold=True)}  {line}")

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print a table; the first column is left-aligned, the others right-aligned."""
        lines = [list(head), *map(list, rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for i, (first, *rest) in enumerate(lines):
            cells = map(str.rjust, rest, widths[1:])
            text = "  ".join([first.ljust(widths[0]), *cells])
            self.say(click.style(text, bold=i == 0 or None))


def printable(text: str) -> str:
    r"""Replace the bytes of a file name that are not valid UTF-8 by question marks.

    Examples
    --------
    >>> from akkm.cli._console import printable
    >>> printable("caf\udce9.csv")
    'caf?.csv'
    """
    return text.encode("utf-8", "replace").decode()


@contextmanager
def silenced_libraries() -> Iterator[None]:
    """Discard the messages that C libraries print to standard error.

    libpng prints a line for each image that is damaged or has an unusual profile.
    """
    sys.stderr.flush()
    try:
        saved = os.dup(2)
    except OSError:  # standard error is closed
        yield
        return
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 2)
    os.close(sink)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(saved, 2)
        os.close(saved)


def seconds(value: float) -> str:
    """Format a duration.

    Examples
    --------
    >>> from akkm.cli._console import seconds
    >>> seconds(0.0312), seconds(75), seconds(7320)
    ('0.031 s', '1 min 15 s', '2 h 2 min')
    """
    if value < 60:
        return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def short_kernel(kernel: str) -> str:
    """Shorten the text of a kernel: six digits, no unset parameters.

    Examples
    --------
    >>> from akkm.cli._console import short_kernel
    >>> short_kernel("RBF(gamma=0.018518518511901734, sigma=None)")
    'RBF(gamma=0.0185185)'
    """
    kernel = re.sub(r", \w+=None|\w+=None, ", "", kernel)
    return re.sub(r"\d+\.\d{7,}(e-?\d+)?", lambda m: f"{float(m[0]):.6g}", kernel)


def megabytes(size: float) -> str:
    """Format a number of bytes.

    Examples
    --------
    >>> from akkm.cli._console import megabytes
    >>> megabytes(3_200), megabytes(125_498_592), megabytes(3e9)
    ('0.0032 MB', '125 MB', '3.0 GB')
    """
    if size >= 1e9:
        return f"{size / 1e9:.1f} GB"
    return f"{size / 1e6:.0f} MB" if size >= 1e7 else f"{size / 1e6:.2g} MB"
