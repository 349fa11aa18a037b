"""Limits on the content of files, so that a small file can't exhaust memory or time.

Users raise a limit by setting its environment variable.
"""

import os
from dataclasses import dataclass

__all__ = [
    "CSV_COLUMNS",
    "MEMBERS",
    "PIXELS",
    "RATIO",
    "SPARSE_COLUMNS",
    "TYPED_COLUMNS",
    "Limit",
    "require_ratio",
]

# A file that unpacks to at most this many bytes is accepted at any compression ratio.
_HARMLESS = 32 * 2**20


@dataclass(frozen=True)
class Limit:
    """A limit on the number of things in a file.

    Parameters
    ----------
    variable : str
        The environment variable that replaces the default.
    default : int
        The limit if the variable is not set.
    things : str
        What is counted, for messages.

    Examples
    --------
    >>> from akkm.limits import Limit
    >>> Limit("AKKM_MAX_COLUMNS", 10, "columns").require(11, "x.csv")
    Traceback (most recent call last):
    ...
    ValueError: x.csv: more than 10 columns; if the file is correct, set the environment
    variable AKKM_MAX_COLUMNS to a higher number
    """

    variable: str
    default: int
    things: str

    @property
    def value(self) -> int:
        """The value of the environment variable, or the default if it is not set.

        Raises
        ------
        ValueError
            If the environment variable is not a positive whole number.
        """
        text = os.environ.get(self.variable, "").strip()
        if not text:
            return self.default
        if not (text.isascii() and text.isdigit() and int(text[:18]) > 0):
            raise ValueError(
                f"The environment variable {self.variable} is {text[:40]!r}; expected "
                "a positive whole number."
            )
        return int(text[:18])

    def require(
        self, found: int, name: str, error: type[ValueError] = ValueError
    ) -> None:
        """Raise an error if a file contains too many things.

        Parameters
        ----------
        found : int
            The number of things in the file.
        name : str
            The name of the file, for the message.
        error : type
            The type of the exception.
        """
        if found > self.value:
            raise error(f"{name}: more than {self.value:,} {self.things}; {self.cure}")

    @property
    def cure(self) -> str:
        """What a user can do about a file that exceeds the limit."""
        return (
            "if the file is correct, set the environment variable "
            f"{self.variable} to a higher number"
        )


CSV_COLUMNS = Limit("AKKM_MAX_COLUMNS", 10_000, "columns")
TYPED_COLUMNS = Limit("AKKM_MAX_COLUMNS", 100_000, "columns")
SPARSE_COLUMNS = Limit("AKKM_MAX_COLUMNS", 1_000_000, "columns")
PIXELS = Limit("AKKM_MAX_PIXELS", 120_000_000, "pixels")
RATIO = Limit("AKKM_MAX_RATIO", 200, "times its size when unpacked")
MEMBERS = Limit("AKKM_MAX_MEMBERS", 100_000, "members in the archive")


def require_ratio(
    unpacked: int, packed: int, name: str, error: type[ValueError] = ValueError
) -> None:
    """Raise an error if a compressed file unpacks to far more bytes than it has.

    Parameters
    ----------
    unpacked : int
        The number of bytes after decompression, so far or in total.
    packed : int
        The number of bytes in the file.
    name : str
        The name of the file, for the message.
    error : type
        The type of the exception.

    Examples
    --------
    >>> from akkm.limits import require_ratio
    >>> require_ratio(10**6, 10, "small.csv.gz")
    >>> require_ratio(10**9, 10**8, "usual.csv.gz")
    """
    if unpacked > _HARMLESS:
        RATIO.require(-(-unpacked // max(packed, 1)), name, error)
