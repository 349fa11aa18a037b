"""Sections of the page: summary, map, sizes and convergence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from akkm.inspect._checks import DOUBT, LOOK, Check, checks, tally
from akkm.inspect._facts import Facts
from akkm.report._data import MOST_CLUSTERS, beyond, is_brief, shown_clusters
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
    # What new rows are put into was found before.
    of_fit = " of the fit" if facts.new_rows else ""
    there = len(facts.clusters)
    fewer = facts.new_rows and there < model._wanted
    rows = [
        ("New rows" if facts.new_rows else "Rows", f"{facts.n:,}"),
        ("Columns", f"{facts.d:,}"),
        ("Clusters", f"{there:,} of {model._wanted:,}" if fewer else f"{there:,}"),
        ("Method", type(model).__name__),
        ("Kernel", _kernel(model.kernel_)),
        (f"Iterations{of_fit}", f"{model.n_iter_:,}"),
    ]
    if hasattr(model, "inertia_") and np.isfinite(model.inertia_):
        rows.append((f"Clustering error{of_fit}", number(model.inertia_)))
    if hasattr(model, "anmi_"):
        rows.append((f"Members' agreement{of_fit} (NMI)", f"{model.anmi_:.3f}"))
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
    asked = checks(facts)
    content = join(
        [
            _warnings(asked),
            tag("dl", *pairs, class_="facts"),
            _checked(asked),
            told,
            repeat,
            details("All settings", table("Settings", ["name", "value"], settings)),
        ]
    )
    return Section("summary", "Summary", content)


def _warnings(asked: list[Check]) -> Markup | None:
    doubts = [check.advice for check in asked if check.grade == DOUBT]
    if not doubts:
        return None
    return tag(
        "div",
        tag("h3", "Read this first"),
        tag("ul", *(tag("li", text) for text in doubts)),
        class_="warnings",
        role="note",
    )


def _checked(asked: list[Check]) -> Markup:
    """What was looked at and how it came out; doubts are explained above."""
    rows = [
        (check.name, check.found, tag("td", check.grade, class_=check.grade.split()[0]))
        for check in asked
    ]
    closer = [check.advice for check in asked if check.grade == LOOK]
    return join(
        [
            tag("h3", "What was checked"),
            tag(
                "p",
                f"{tally(asked)} They catch common mishaps; whether the clusters mean "
                "something is for you to judge.",
            ),
            tag("ul", *(tag("li", text) for text in closer)) if closer else None,
            table("Checks", ["check", "found", "outcome"], rows, class_="checks"),
        ]
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
            details(
                f"The {drawn:,} rows as a table",
                tag("div", id="map-table"),
                again=True,
            ),
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
                again=True,
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
    runs, few = course.histories, is_brief(course)
    if len(runs) == 1:
        text = _course(runs[0][:, 0].tolist(), facts.n, few)
        rows = [
            (f"{i}", f"{changed:,}", f"{looked:,}")
            for i, (changed, looked) in enumerate(runs[0].tolist(), 1)
        ]
        head = ["iteration", "labels changed", "rows looked at"]
    else:
        settled = len(runs) - course.unsettled
        text = f"{settled} of {len(runs)} members settled"
        text += f", within {max(map(len, runs))} iterations." if few else "."
        rows = [
            (f"{i}", f"{len(run):,}", f"{run[-1, 0]:,}") for i, run in enumerate(runs)
        ]
        head = ["member", "iterations", "labels changed in the last"]
    if course.restarts:
        each = "for each of them " if len(runs) > 1 else ""
        text += (
            f" Before the first iteration, {each}{course.restarts} restarts had run on "
            "a sample of the rows (on all of them where they are few), and the best, "
            "improved, was the start; so there may be little left to do."
        )
    line = picture("convergence-picture", "Line: labels changed per iteration.")
    content = join(
        [
            tag("p", text),
            None if few else line,
            details(
                "Iterations as a table", table("Iterations", head, rows), again=True
            ),
        ]
    )
    name = "Convergence of the fit" if facts.new_rows else "Convergence"
    return Section("convergence", name, content)


def _course(changed: list[int], n: int, few: bool) -> str:
    """Labels that changed in each iteration in a sentence; `few` one by one."""
    times = f"{len(changed):,} iteration{'s' if len(changed) > 1 else ''}"
    steps = []
    if few:
        steps = [f"{count:,} labels changed" for count in changed[:-1]]
    if steps and changed[0] == n:
        steps[0] = "each row got a label"
    steps.append(f"{changed[-1]:,} labels" if changed[-1] else "no label")
    steps[-1] += " changed in the last"
    how = "Stopped" if changed[-1] else "Settled"
    return f"{how} after {times}: {', then '.join(steps)}."
