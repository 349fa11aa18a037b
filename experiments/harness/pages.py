"""Documents made of blocks, written as Markdown and as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import mean, stdev
from typing import Any

from akkm.atomic_file import AtomicFile


@dataclass(frozen=True)
class Heading:
    """The heading of a section."""

    text: str
    level: int = 2

    @property
    def anchor(self) -> str:
        """The target of links to the section."""
        return re.sub(r"[^a-z0-9]+", "-", self.text.lower()).strip("-")


@dataclass(frozen=True)
class Paragraph:
    """A paragraph or a list, in Markdown."""

    text: str


@dataclass(frozen=True)
class ResultTable:
    """A table: column names, and rows of cells in inline Markdown."""

    caption: str  # may be empty
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    prose: bool = False  # most cells are sentences, so they are left-aligned


class Folded(str):
    """A cell of parts separated by "; ". Parts after the first are folded away."""

    def unfolding(self, inline: Callable[[str], str]) -> str:
        """Return HTML; `inline` converts the text of a part."""
        shown, _, folded = str(self).partition("; ")
        if not folded:
            return inline(shown)
        summary = f"<summary>{inline(shown)}</summary>"
        return f"<details>{summary}{inline(folded)}</details>"


@dataclass(frozen=True)
class Picture:
    """A figure: a separate file for the Markdown page, embedded in the HTML page."""

    name: str  # name of the file
    caption: str
    png: bytes

    @property
    def source(self) -> str:
        """The image as a data URI."""
        return f"data:image/png;base64,{base64.b64encode(self.png).decode()}"


Block = Heading | Paragraph | ResultTable | Picture


def markdown(title: str, blocks: Iterable[Block]) -> str:
    """Return the document as Markdown that refers to pictures by file name."""
    return "\n\n".join([f"# {title}", *map(_markdown, blocks)]) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Picture(name, caption, _):
            return f"![{caption}]({name})\n\n*{caption}*"
        case ResultTable(caption, head, rows, prose):
            table = markdown_table(head, rows, prose=prose)
            return f"**{caption}**\n\n{table}" if caption else table


def markdown_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, prose: bool = False
) -> str:
    """Return a Markdown table without a line break at the end.

    Examples
    --------
    >>> print(markdown_table(["m", "seconds"], [["100", "0.2"]]))
    | m | seconds |
    | --- | ---: |
    | 100 | 0.2 |
    """
    align = "---" if prose else "---:"
    lines = [head, ["---", *[align] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(map(_escape, line))} |" for line in lines)


def _escape(cell: str) -> str:
    if isinstance(cell, Folded):
        return cell.unfolding(_escape)
    return cell.replace("|", "\\|").replace("\n", " ")


def mean_and_deviation(values: Sequence[float]) -> str:
    """Format the mean of some values ± their standard deviation; "–" without values.

    Examples
    --------
    >>> mean_and_deviation([0.5, 0.7]), mean_and_deviation([0.5])
    ('0.600 ± 0.141', '0.500')
    """
    if len(values) < 2:
        return f"{values[0]:.3f}" if values else "–"
    return f"{mean(values):.3f} ± {stdev(values):.3f}"


def html_page(title: str, blocks: Iterable[Block]) -> str:
    """Return the document as an HTML page that needs no other file."""
    css = files("experiments.harness").joinpath("page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return _template().render(title=title, blocks=list(blocks), css=css, digest=digest)


@cache
def _template() -> Any:
    from jinja2 import Environment, PackageLoader
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("experiments.harness", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    parser = MarkdownIt("commonmark", {"html": False})

    def inline(text: str) -> Any:
        if isinstance(text, Folded):
            return Markup(text.unfolding(parser.renderInline))
        return Markup(parser.renderInline(text))

    environment.filters["inline"] = inline
    environment.filters["kind"] = lambda block: type(block).__name__
    return environment.get_template("page.html.jinja")


def write_file(path: Any, text: str | bytes) -> None:
    """Write a file atomically: completely or not at all."""
    with AtomicFile(path) as file:
        file.write(text if isinstance(text, bytes) else text.encode())
