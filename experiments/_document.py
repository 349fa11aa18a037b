"""A document of blocks, as Markdown and as one page of HTML."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from akkm.report._html import Markup, join, table, tag, void

_STYLE = """
.wide img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
figure { margin: 1rem 0; }
figcaption { color: var(--soft); font-size: .875rem; max-width: 46rem; }
td, th { vertical-align: top; }
.words td, .words th { text-align: left; white-space: normal; min-width: 7rem; }
.words .name { min-width: 11rem; max-width: 20rem; width: auto; }
.words td:last-child { min-width: 15rem; }
"""


@dataclass(frozen=True)
class Heading:
    """A section begins."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph; `code` is set as such."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows of cells under their heads; `words` if most cells are sentences."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: bool = False


@dataclass(frozen=True)
class Picture:
    """A figure, in a file of its own beside the Markdown, inside of the page."""

    name: str  # of the file
    caption: str
    png: bytes


Block = Heading | Text | Table | Picture


def markdown(title: str, blocks: Iterable[Block]) -> str:
    """The document as Markdown; pictures by their file names."""
    return "\n\n".join([f"# {title}", *map(_markdown, blocks)]) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Text(text):
            return text
        case Picture(name, caption, _):
            return f"![{caption}]({name})\n\n*{caption}*"
        case Table(caption, head, rows, words):
            align = "---" if words else "---:"
            lines = [head, ["---", *[align] * (len(head) - 1)], *rows]
            text = "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)
            return f"**{caption}**\n\n{text}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def page(title: str, blocks: Iterable[Block]) -> str:
    """The document as HTML that is complete in itself."""
    blocks = list(blocks)
    css = files("akkm.report").joinpath("page.css").read_text("utf-8") + _STYLE
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'"
    sections = [b for b in blocks if isinstance(b, Heading) and b.level == 2]
    links = [tag("li", tag("a", b.text, href=f"#{_id(b.text)}")) for b in sections]
    head = join(
        [
            void("meta", charset="utf-8"),
            void("meta", http_equiv="Content-Security-Policy", content=policy),
            void(
                "meta", name="viewport", content="width=device-width, initial-scale=1"
            ),
            void("meta", name="color-scheme", content="light dark"),
            tag("title", title),
            tag("style", Markup(css)),
        ]
    )
    body = join(
        [
            tag("header", tag("h1", title), tag("nav", tag("ul", *links))),
            tag("main", *map(_html, blocks)),
        ]
    )
    whole = tag("html", tag("head", head), tag("body", body), lang="en")
    return f"<!DOCTYPE html>\n{whole}\n"


def _html(block: Block) -> Markup:
    match block:
        case Heading(text, level):
            return tag(f"h{level}", text, id=_id(text))
        case Text(text):
            return tag("p", _inline(text))
        case Picture(_, caption, png):
            source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
            image = void("img", src=source, alt=caption)
            return tag("figure", image, tag("figcaption", caption), class_="wide")
        case Table(caption, head, rows, words):
            cells = [[_inline(cell) for cell in row] for row in rows]
            kind = "words" if words else None
            return join([tag("h3", caption), table(caption, head, cells, class_=kind)])


def _inline(text: str) -> Markup:
    """Markdown within a paragraph: code, bold, italics, links."""
    parts = re.split(r"`([^`]+)`", html.escape(text))
    for i, part in enumerate(parts):  # every other one is code
        parts[i] = f"<code>{part}</code>" if i % 2 else _emphasis(part)
    return Markup("".join(parts))


def _emphasis(text: str) -> str:
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"\*([^*<>]+)\*", r"<em>\1</em>", text)
    return re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r'<a href="\2">\1</a>', text)


def _id(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
