"""Sections of the page: summary, map, sizes and convergence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from akkm.report._data import MOST_CLUSTERS, beyond, shown_clusters
from akkm.report._doubts import doubts
from akkm.report._facts import Facts
from akkm.report._html import (
    Markup,
    details,
    join,
    number,
    percent,
    short,
    table,
    tag,
)

# Facts that are longer than numbers.
_WIDE = ("Method", "Kernel")


@dataclass(frozen=True)
class Section:
    """A part of the page."""

    id: str
    heading: str
    content: Markup


def framed(section: Section) -> Markup:
    """The section with its heading."""
    name = f"{section.id}-heading"
    return tag(
        "section",
        tag("h2", section.heading, id=name),
        section.content,
        id=section.id,
        aria_labelledby=name,
    )


def picture(name: str, label: str, **attributes: Any) -> Markup:
    """The place of a picture that the script draws."""
    return tag("div", class_="picture", id=name, data_label=label, **attributes)


def summary(
    facts: Facts, command: str | None, notes: Sequence[str], seconds: float | None
) -> Section:
    """What was done, and where it should not be trusted."""
    model = facts.model
    rows = [
        ("Rows", f"{facts.n:,}"),
        ("Columns", f"{facts.d:,}"),
        ("Clusters", f"{len(facts.clusters):,}"),
        ("Method", type(model).__name__),
        ("Kernel", _kernel(model.kernel_)),
        ("Iterations", f"{model.n_iter_:,}"),
    ]
    if hasattr(model, "inertia_") and np.isfinite(model.inertia_):
        rows.append(("Clustering error", number(model.inertia_)))
    if hasattr(model, "anmi_"):
        rows.append(("Members' agreement (NMI)", f"{model.anmi_:.3f}"))
    if seconds is not None:
        rows.append(("Time", f"{number(seconds)} s"))
    settings = [(name, _setting(v)) for name, v in model.get_params().items()]
    repeat = None
    if command:
        repeat = join(
            [
                tag("h3", "To do it again"),
                tag("pre", tag("code", command), tabindex="0", aria_label="Command"),
            ]
        )
    told = None
    if notes:
        told = join(
            [
                tag("h3", "Good to know"),
                tag("ul", *(tag("li", note) for note in notes)),
            ]
        )
    pairs = (
        tag(
            "div",
            tag("dt", name),
            tag("dd", text),
            class_="wide" if name in _WIDE else None,
        )
        for name, text in rows
    )
    content = join(
        [
            _warnings(doubts(facts)),
            tag("dl", *pairs, class_="facts"),
            repeat,
            told,
            details("All settings", table("Settings", ["name", "value"], settings)),
        ]
    )
    return Section("summary", "Summary", content)


def _warnings(found: list[str]) -> Markup:
    if not found:
        text = "None of the checks on this page found a reason to doubt the result."
        return tag("p", text, class_="calm")
    return tag(
        "div",
        tag("h3", "Read this first"),
        tag("ul", *(tag("li", text) for text in found)),
        class_="warnings",
        role="note",
    )


def _kernel(kernel: Any) -> str:
    """The kernel with the digits that matter, without what was not given."""
    text = re.sub(r"(, )?\w+=None", "", repr(kernel))
    return short(re.sub(r"\d+\.\d{5,}(e[-+]\d+)?", _four_digits, text))


def _four_digits(found: re.Match[str]) -> str:
    return f"{float(found[0]):.4g}"


def _setting(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"array of shape {value.shape}"
    return short(value)


def map_(facts: Facts) -> Section:
    """Rows on the two leading directions."""
    drawn = len(facts.drawn.rows)
    all_ = "All" if drawn == facts.n else f"{drawn:,} of"
    text = (
        f"{all_} {facts.n:,} rows on the two leading directions of the kernel's space, "
        f"which hold {percent(facts.plane.share)} of the variance there: clusters that "
        "overlap here may be apart in others."
    )
    if drawn < facts.n:
        text += " Small clusters are drawn with more of their rows."
    if far := beyond(facts):
        text += f" {far:,} that lie farther out are drawn on the edge."
    content = join(
        [
            tag("p", text),
            tag(
                "div",
                join(
                    [
                        picture(
                            "map-picture",
                            f"Map of {drawn:,} rows. Left and right arrow keys go from "
                            "row to row, up and down from cluster to cluster.",
                            data_points=drawn,
                        ),
                        tag(
                            "div",
                            tag(
                                "p",
                                "Point at a row, touch it, or use the arrow keys.",
                                class_="hint",
                            ),
                            id="map-row",
                            class_="card",
                            aria_live="polite",
                        ),
                    ]
                ),
                class_="map",
            ),
            tag("div", id="map-legend", class_="legend", role="group",
                aria_label="Show one cluster only"),
            details(f"The {drawn:,} rows as a table", tag("div", id="map-table")),
        ]
    )  # fmt: skip
    return Section("map", "Map", content)


def sizes(facts: Facts) -> Section:
    """How many rows each cluster has."""
    shown = shown_clusters(facts)
    rows = [
        (f"{k}", f"{facts.sizes[k]:,}", percent(facts.sizes[k] / facts.n))
        for k in shown
    ]
    content = join(
        [
            left_out(facts),
            picture("sizes-picture", f"Bars: rows of {len(shown)} clusters."),
            details(
                "Sizes as a table",
                table("Rows per cluster", ["cluster", "rows", "share"], rows),
            ),
        ]
    )
    return Section("sizes", "Sizes", content)


def left_out(facts: Facts) -> Markup | None:
    """A word about clusters that are not shown."""
    if len(facts.clusters) <= MOST_CLUSTERS:
        return None
    return tag("p", f"The {MOST_CLUSTERS} largest of {len(facts.clusters):,} clusters.")


def convergence(facts: Facts) -> Section | None:
    """How labels settled."""
    course = facts.convergence
    if course is None:
        return None
    runs = course.histories
    if len(runs) == 1:
        last = int(runs[0][-1, 0])
        text = (
            f"{len(runs[0]):,} iterations; in the last of them {last:,} labels changed."
            if last
            else f"Settled after {len(runs[0]):,} iterations: no label changed in the "
            "last."
        )
        rows = [
            (f"{i}", f"{changed:,}", f"{looked:,}")
            for i, (changed, looked) in enumerate(runs[0].tolist(), 1)
        ]
        head = ["iteration", "labels changed", "rows looked at"]
    else:
        settled = len(runs) - course.unsettled
        text = f"{settled} of {len(runs)} members settled."
        rows = [
            (f"{i}", f"{len(run):,}", f"{run[-1, 0]:,}") for i, run in enumerate(runs)
        ]
        head = ["member", "iterations", "labels changed in the last"]
    content = join(
        [
            tag("p", text),
            picture("convergence-picture", "Line: labels changed per iteration."),
            details("Iterations as a table", table("Iterations", head, rows)),
        ]
    )
    return Section("convergence", "Convergence", content)
