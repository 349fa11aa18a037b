"""One run of the command line."""

import shlex
from dataclasses import dataclass, field

from akkm.cli._console import printable


@dataclass(frozen=True)
class Run:
    """One run of `akkm`: its arguments, and the files that it has written."""

    args: list[str]
    written: list[str] = field(default_factory=list)

    @property
    def command(self) -> str:
        """The command line, quoted for a shell."""
        return printable(shlex.join(["akkm", *self.args]))

    @property
    def outcome(self) -> str:
        """The files written so far, as a clause for messages."""
        if not self.written:
            return "no file was written"
        return f"written: {', '.join(self.written)}"
