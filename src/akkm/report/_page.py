"""Fill the templates of the page with the facts that are shown."""

import base64
import hashlib
import math
from functools import cache
from importlib.resources import files
from typing import Any

from akkm.diffusion.estimate_k import CONFIDENT_GAP
from akkm.extras import import_extra
from akkm.inspect import Inspection
from akkm.report import _format
from akkm.report._cards import Cards
from akkm.report._data import n_outside, picture_data
from akkm.report._shown import MAX_CLUSTERS, Shown
from akkm.version import __version__

_SCRIPTS = ("draw.js", "cards.js", "map.js", "page.js")
# Sections that only the analyst's view shows.
_ANALYST = ("sizes", "features", "certainty", "evidence", "landmarks", "convergence")


def page(shown: Shown, **about: Any) -> str:
    """The whole page as HTML; `about` has title, command, notes and seconds."""
    facts = shown.facts
    rows = f"{facts.n_rows:,} new rows" if facts.new_rows else f"{facts.n_rows:,} rows"
    if facts.sampled is not None:
        about["notes"] = [*about["notes"], _sample_note(facts)]
    about["title"] = _format.short(
        about["title"] or f"{rows} in {len(facts.clusters)} clusters"
    )
    cards = Cards(shown)
    style, script = _text("page.css"), "".join(map(_text, _SCRIPTS))
    return (
        _environment()
        .get_template("page.html")
        .render(
            about,
            shown=shown,
            facts=facts,
            model=facts.model,
            method=type(facts.model).__name__,
            cards=cards,
            sections=_sections(shown, cards),
            analyst=_ANALYST,
            n_outside=n_outside(facts),
            max_clusters=MAX_CLUSTERS,
            sure_gap=CONFIDENT_GAP,
            data=picture_data(shown, cards),
            style=style,
            style_hash=_digest(style),
            script=script,
            script_hash=_digest(script),
            version=__version__,
        )
    )


def _sample_note(facts: Inspection) -> str:
    """A sentence that says which sample of the rows the page describes."""
    assert facts.sampled is not None
    rows, n = facts.sampled
    note = f"this page describes a random sample of {len(rows):,} of {n:,} rows"
    return note if facts.n_rows < n else f"{note}; cluster sizes count all rows"


def _sections(shown: Shown, cards: Cards) -> dict[str, str]:
    """Headings of the sections that apply; keys are ids and template names."""
    facts = shown.facts
    of_fit = " of the fit" if facts.new_rows or facts.sampled is not None else ""
    images = shown.images is not None
    kind = facts.landmarks.kind if facts.landmarks else ""
    compared = cards.profiles and cards.profiles.columns and len(cards.clusters) > 1
    headings = {
        "clusters": "Clusters",
        # Visual words mean nothing to readers.
        "compare": "Two clusters side by side" if compared and not images else "",
        "map": "Map",
        "sizes": "Sizes",
        "features": "Cluster differences" if facts.columns and not images else "",
        "certainty": "Certainty" if facts.certainty else "",
        "evidence": "Number of clusters" if facts.evidence else "",
        "scores": "Comparison with known classes" if shown.comparison else "",
        "summary": "Checks and technical details",
        "landmarks": kind.capitalize(),
        "convergence": f"Convergence{of_fit}" if facts.convergence else "",
    }
    return {name: heading for name, heading in headings.items() if heading}


@cache
def _environment() -> Any:
    """The templates; values are escaped unless they are marked as safe."""
    jinja2 = import_extra("jinja2", "The report needs Jinja2", "report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("akkm.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {
        "allow_nan": False,
        "separators": (",", ":"),
    }
    environment.tests["finite"] = math.isfinite
    for function in (
        _format.count,
        _format.kernel,
        _format.number,
        _format.number_range,
        _format.parameter,
        _format.percent,
        _format.share_cell,
        _format.short,
        _format.unbroken,
        _format.value_text,
    ):
        environment.filters[function.__name__] = function
    return environment


def _text(name: str) -> str:
    return files("akkm.report").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Hash by which the content security policy recognises a script or style."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
