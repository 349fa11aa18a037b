"""What is said on standard output: tables on a terminal, plain text elsewhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text


class Voice:
    """Says things to people, or nothing at all if it is quiet."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._fancy = sys.stdout.isatty()
        self._console = Console(highlight=False, markup=False, emoji=False)

    @property
    def shows_progress(self) -> bool:
        """Whether somebody is looking."""
        return sys.stderr.isatty() and not self._quiet

    def say(self, text: str = "", style: str = "") -> None:
        """One line or paragraph."""
        if self._quiet:
            return
        with self._writing():
            if self._fancy:
                self._console.print(Text(text, style=style))
            else:
                click.echo(text)

    def facts(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Names and values; several values under one name have no name themselves."""
        pairs = list(pairs)
        if self._quiet:
            return
        if self._fancy:
            grid = Table.grid(padding=(0, 2))
            for name, value in pairs:
                grid.add_row(Text(name, style="bold"), Text(value))
            self._console.print(grid)
            return
        width = max((len(name) for name, _ in pairs), default=0)
        for name, value in pairs:
            self.say(f"{name:<{width}}  {value}".rstrip())

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Columns of numbers under their names, the first on the left."""
        lines = [list(row) for row in rows]
        if self._quiet:
            return
        if self._fancy:
            table = Table(box=box.SIMPLE)
            for i, name in enumerate(head):
                table.add_column(Text(name), justify="right" if i else "left")
            for line in lines:
                table.add_row(*map(Text, line))
            self._console.print(table)
            return
        widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
        for line in [list(head), *lines]:
            first = line[0].ljust(widths[0])
            rest = (cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))
            self.say("  ".join([first, *rest]).rstrip())

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Nobody has to listen; anything else that is wrong is said."""
        try:
            yield
        except BrokenPipeError:
            self._quiet = True
        except OSError as error:
            where = "standard output"
            raise OSError(error.errno, error.strerror, where) from error


def seconds(value: float) -> str:
    """A time, for people.

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


def brief(kernel: str) -> str:
    """A kernel with as many digits as people read.

    Examples
    --------
    >>> from akkm.cli._console import brief
    >>> brief("RBF(gamma=0.018518518511901734, sigma=None)")
    'RBF(gamma=0.0185185)'
    """
    kernel = re.sub(r", \w+=None|\w+=None, ", "", kernel)
    return re.sub(r"\d+\.\d{7,}(e-?\d+)?", lambda m: f"{float(m[0]):.6g}", kernel)


def megabytes(size: float) -> str:
    """A size in memory, for people.

    Examples
    --------
    >>> from akkm.cli._console import megabytes
    >>> megabytes(3_200), megabytes(125_498_592), megabytes(3e9)
    ('0.0032 MB', '125 MB', '3.0 GB')
    """
    if size >= 1e9:
        return f"{size / 1e9:.1f} GB"
    return f"{size / 1e6:.0f} MB" if size >= 1e7 else f"{size / 1e6:.2g} MB"
