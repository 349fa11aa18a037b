"""The page about one clustering: its sections, and the values for its templates."""

from typing import Any

from akkm.diffusion.estimate_k import CONFIDENT_GAP
from akkm.inspect import Inspection
from akkm.report import _format
from akkm.report._cards import Cards
from akkm.report._data import n_outside, picture_data
from akkm.report._layers import is_drawn
from akkm.report._shown import MAX_CLUSTERS, Shown
from akkm.report._templates import filled

_SCRIPTS = ("draw.js", "cards.js", "map.js", "layers.js", "page.js")
# Sections that only the analyst's view shows.
_ANALYST = ("sizes", "features", "certainty", "evidence", "landmarks", "convergence")


def page(shown: Shown, **about: Any) -> str:
    """The whole page as HTML; `about` has title, command, notes, doubts and seconds."""
    facts = shown.facts
    rows = f"{facts.n_rows:,} new rows" if facts.new_rows else f"{facts.n_rows:,} rows"
    if facts.sampled is not None:
        about["notes"] = [*about["notes"], _sample_note(facts)]
    about["title"] = _format.short(
        about["title"] or f"{rows} in {len(facts.clusters)} clusters"
    )
    encodings = facts.encodings
    about["notes"] = [note for note in about["notes"] if note not in encodings]
    cards, layers = Cards(shown), facts.layers
    has_tree = layers is not None and layers.tree is not None
    sizes = layers.sizes(facts.sizes) if layers is not None and has_tree else []
    return filled(
        "page.html",
        _SCRIPTS,
        **about,
        shown=shown,
        facts=facts,
        model=facts.model,
        method=type(facts.model).__name__,
        cards=cards,
        encodings=encodings,
        sections=_sections(shown, cards),
        analyst=_ANALYST if has_tree else (*_ANALYST, "layers"),
        layer_sizes=list(zip(layers.numbers, sizes, strict=True)) if layers else [],
        tree_is_drawn=layers is not None and is_drawn(layers),
        n_outside=n_outside(facts),
        max_clusters=MAX_CLUSTERS,
        sure_gap=CONFIDENT_GAP,
        data=picture_data(shown, cards),
    )


def _sample_note(facts: Inspection) -> str:
    """A note that the page describes only a sample of the rows."""
    assert facts.sampled is not None
    rows, n = facts.sampled
    note = f"this page describes a random sample of {len(rows):,} of {n:,} rows"
    return note if facts.n_rows < n else f"{note}; cluster sizes count all rows"


def _sections(shown: Shown, cards: Cards) -> dict[str, str]:
    """Headings of the sections that apply.

    Each key is the id of a section on the page, and the name of its template.
    """
    facts = shown.facts
    of_fit = " of the fit" if facts.new_rows or facts.sampled is not None else ""
    images = shown.images is not None
    kind = facts.landmarks.kind if facts.landmarks else ""
    compared = cards.profiles and cards.profiles.columns and len(cards.clusters) > 1
    headings = {
        "clusters": "Clusters",
        # Images are compared by visual words, which mean nothing to readers.
        "compare": "Two clusters side by side" if compared and not images else "",
        "map": "Map",
        "layers": _layers_heading(facts),
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


def _layers_heading(facts: Inspection) -> str:
    """The heading of the section about layers; empty if there is none."""
    if facts.layers is None:
        return ""
    return "Stability" if facts.layers.tree is None else "Layers of clusters"
