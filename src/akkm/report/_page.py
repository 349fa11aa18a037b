"""The page: sections in their frame, with style and script inside."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import Any

from akkm.inspect._facts import Facts
from akkm.report import _details, _sections
from akkm.report._contact import contact_sheet
from akkm.report._counted import counted
from akkm.report._data import data
from akkm.report._html import Markup, join, short, tag, to_json


@dataclass(frozen=True)
class About:
    """What a page says beside what can be seen from model and rows."""

    title: str | None = None
    command: str | None = None
    notes: tuple[str, ...] = ()
    seconds: float | None = None
    images: Sequence[Any] | None = None


def page(facts: Facts, about: About) -> str:
    """The whole page as HTML."""
    rows = f"{facts.n:,} new rows" if facts.new_rows else f"{facts.n:,} rows"
    title = short(about.title or f"{rows} in {len(facts.clusters)} clusters")
    images = about.images
    sections = [
        _sections.summary(facts, about.command, about.notes, about.seconds),
        # Visual words mean nothing to people: pictures in their place.
        None if images is None else contact_sheet(facts, images),
        _sections.map_(facts),
        _sections.sizes(facts),
        counted(facts),
        _details.features(facts) if images is None else None,
        _details.certainty(facts),
        _details.scores(facts),
        _details.landmarks(facts),
        _sections.convergence(facts),
    ]
    there = [section for section in sections if section is not None]
    links = [
        tag("li", tag("a", section.heading, href=f"#{section.id}")) for section in there
    ]
    style, script = (
        _file("page.css"),
        _file("draw.js") + _file("map.js") + _file("page.js"),
    )
    return Template(_file("page.html")).substitute(
        title=join([title]),
        policy=_policy(style, script),
        style=style,
        script=script,
        links=join(links),
        sections=join(_sections.framed(section) for section in there),
        data=to_json(data(facts)),
        version=join([version("akkm")]),
    )


def _file(name: str) -> Markup:
    return Markup(files("akkm.report").joinpath(name).read_text(encoding="utf-8"))


def _policy(style: str, script: str) -> Markup:
    """Nothing from anywhere else; and of what is here only this style and script."""
    return Markup(
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; "
        f"script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
