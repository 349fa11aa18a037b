"""Sections of the page: features, certainty, landmarks and scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from akkm.inspect._certainty import AGREEMENT, BORDER
from akkm.inspect._facts import Facts
from akkm.inspect._nearness import typical
from akkm.inspect._values import said
from akkm.report._data import MOST_CLUSTERS, shown_clusters
from akkm.report._html import (
    Markup,
    details,
    heading,
    join,
    number,
    percent,
    scrolling,
    short,
    table,
    tag,
)
from akkm.report._sections import Section, left_out, picture

# Where the heat map's colours change, in standard deviations.
_STEPS = (0.2, 0.5, 1.0, 1.5, 2.5)
# Rows that stand for a cluster, and features that describe it in words.
_TYPICAL, _WORDS = 3, 3


def features(facts: Facts) -> Section | None:
    """What sets clusters apart."""
    told = facts.features
    if told is None:
        return None
    shown = shown_clusters(facts)
    head = ["feature", "between clusters", *(f"{k}" for k in shown)]
    rows = [
        (short(name), percent(told.telling[j]), *(_heat(z) for z in told.z[shown, j]))
        for j, name in enumerate(told.names)
    ]
    most = ""
    if facts.d > len(told.names):
        most = f"The {len(told.names)} most telling of {facts.d:,} columns. "
    content = join(
        [
            tag(
                "p",
                f"{most}Means of the clusters in standard deviations from the mean of "
                "all rows; “between clusters” is the share of a column's variance that "
                "knowing the cluster explains.",
            ),
            left_out(facts),
            table("Standardised means per cluster", head, rows, class_="heat"),
            _typical_rows(facts, shown.tolist()),
        ]
    )
    return Section("features", "What sets clusters apart", content)


def _heat(z: float) -> Markup:
    """A cell that is coloured by its step, and says its number."""
    step = int(np.searchsorted(_STEPS, abs(z)))
    text = f"{z:+.1f}".replace("-", "−")
    if text in ("+0.0", "−0.0"):
        text = "0"
    kind = f"{'low' if z < 0 else 'high'}{step}" if step else "zero"
    return tag("td", text, class_=kind)


def _typical_rows(facts: Facts, shown: list[int]) -> Markup | None:
    if facts.near is None or facts.values is None:
        return None
    names = [short(name) for name in facts.values.names]
    head = tag(
        "tr", *(tag("th", cell, scope="col") for cell in ["row", "distance", *names])
    )
    bodies = [tag("tbody", *_of_cluster(facts, k, 2 + len(names))) for k in shown]
    compared = len(facts.near.sample.rows)
    among = "all rows" if compared == facts.n else f"{compared:,} rows of the data"
    name = "Typical rows of each cluster"
    return join(
        [
            tag("h3", "Typical rows"),
            tag(
                "p",
                f"The rows nearest to the center of their cluster, among {among}, with "
                + (
                    "values as they were before they were encoded."
                    if facts.values.original
                    else "their values as they were clustered (after any scaling)."
                ),
            ),
            scrolling(
                name,
                tag(
                    "table",
                    tag("caption", name),
                    tag("thead", head),
                    *bodies,
                    class_="typical",
                ),
            ),
        ]
    )


def _of_cluster(facts: Facts, k: int, width: int) -> Iterator[Markup]:
    assert facts.near is not None
    assert facts.features is not None
    assert facts.values is not None
    z = facts.features.z[k]
    order = np.argsort(-np.abs(z), kind="stable")[:_WORDS]
    words = ", ".join(
        f"{'low' if z[j] < 0 else 'high'} {short(facts.features.names[j])}"
        for j in order
        if abs(z[j]) >= _STEPS[0]
    )
    share = percent(facts.sizes[k] / facts.n)
    title = f"Cluster {k}, {share} of the rows" + (f": {words}" if words else "")
    yield tag("tr", tag("th", tag("span", title), colspan=width, scope="rowgroup"))
    places = typical(facts.near, facts.labels, k, _TYPICAL)
    rows = facts.near.sample.rows[places]
    named = zip(facts.names(rows), facts.near.own[places], strict=True)
    for (name, distance), values in zip(named, facts.values.of(rows), strict=True):
        cells = [tag("td", said(value)) for value in values]
        yield tag("tr", heading(short(name)), tag("td", number(distance)), *cells)


def certainty(facts: Facts) -> Section | None:
    """How sure assignments are."""
    if facts.certainty is None:
        return None
    share = facts.certainty.unsure()
    if facts.agreement:
        text = (
            "The share of the ensemble's members that agree with the verdict on a row. "
            f"{percent(share)} of the rows have less than {percent(AGREEMENT)} of them."
        )
        label = "Histogram: rows by agreement of the members."
        caption, head = "Rows by agreement", "agreement"
    else:
        text = (
            "Where rows stand between the border to the next cluster (0) and the "
            f"center of their own (1). {percent(share)} of the rows are nearly between "
            f"two clusters (below {BORDER:.2f})."
        )
        if facts.near is not None and len(facts.near.sample.rows) < facts.n:
            text += f" From {len(facts.near.sample.rows):,} rows."
        label = "Histogram: rows by certainty."
        caption, head = "Rows by certainty", "certainty"
    counts, edges = facts.certainty.histogram()
    total = counts.sum()
    rows = []
    for i, count in enumerate(counts):
        span = f"{edges[i]:.1f} to {edges[i + 1]:.1f}"
        if not facts.agreement and i == len(counts) - 1:
            span = f"above {edges[i]:.1f}"
        rows.append((span, f"{round(count):,}", percent(count / total)))
    per_cluster = None
    if facts.near is not None and not facts.agreement:
        per_cluster = details(
            "Certainty per cluster",
            table(
                "Certainty per cluster",
                ["cluster", "median", "nearly between", "most often next"],
                list(_certainty_rows(facts)),
            ),
        )
    content = join(
        [
            tag("p", text),
            picture("certainty-picture", label),
            details(
                f"{caption} as a table",
                table(caption, [head, "rows", "share"], rows),
                again=True,
            ),
            per_cluster,
        ]
    )
    return Section("certainty", "How sure it is", content)


def _certainty_rows(facts: Facts) -> Iterator[tuple[Any, ...]]:
    assert facts.near is not None
    labels = facts.labels[facts.near.sample.rows]
    for k in shown_clusters(facts):
        inside = labels == k
        values = facts.near.certainty[inside]
        following = int(np.bincount(facts.near.next[inside]).argmax())
        low = percent(float((values < BORDER).mean()))
        yield f"{k}", f"{np.median(values):.2f}", low, f"{following}"


def landmarks(facts: Facts) -> Section | None:
    """How much landmarks see of the data."""
    marks = facts.landmarks
    if marks is None:
        return None
    rows = [("Number of " + marks.what, _range(marks.counts))]
    if len(marks.counts) > 1:
        rows[0] = (f"{marks.what.capitalize()} of each member", _range(marks.counts))
    if marks.ranks:
        rows.append(("Dimension of their span (rank)", _range(marks.ranks)))
    if marks.negative_mass is not None:
        rows.append(("Negative share of eigenvalues", percent(marks.negative_mass)))
    if marks.threshold is not None:
        rows.append(("Distance up to which rows follow", number(marks.threshold)))
    how = getattr(facts.model, "landmarks", None)
    if isinstance(how, str):
        rows.append(("Chosen by", how))
    meter = None
    if marks.captured is not None:
        which = "the first member's landmarks" if len(marks.counts) > 1 else "they"
        of = "all" if marks.captured_rows == facts.n else f"{marks.captured_rows:,}"
        text = (
            f"In the kernel's space, {which} span {percent(marks.captured)} of the "
            f"squared lengths of {of} rows (the trace of the kernel matrix)."
        )
        meter = join(
            [
                tag("p", text),
                tag(
                    "meter",
                    percent(marks.captured),
                    min=0,
                    max=1,
                    low=0.5,
                    value=f"{marks.captured:.4f}",
                    aria_label="Share captured by the landmarks",
                ),
            ]
        )
    pairs = (tag("div", tag("dt", name), tag("dd", text)) for name, text in rows)
    content = join([meter, tag("dl", *pairs, class_="facts")])
    return Section(
        "landmarks", "Landmarks" if marks.what == "landmarks" else "Leaders", content
    )


def _range(counts: tuple[int, ...]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def scores(facts: Facts) -> Section | None:
    """Clusters against known classes."""
    known = facts.scores
    if known is None:
        return None
    shown = [k for k in shown_clusters(facts) if k < known.table.shape[1]]
    head = ["class", "rows", *(f"{k}" for k in shown)]
    rows = []
    for name, counts in zip(known.classes[:MOST_CLUSTERS], known.table, strict=False):
        total = counts.sum()
        cells = (_share(counts[k], total) for k in shown)
        rows.append((short(name), f"{total:,}", *cells))
    left = len(known.classes) - MOST_CLUSTERS
    more = f" The {left:,} smallest classes are not shown." if left > 0 else ""
    gone = f" {known.missing:,} rows have no class." if known.missing else ""
    content = join(
        [
            tag(
                "dl",
                tag("div", tag("dt", "Normalised mutual information"),
                    tag("dd", f"{known.nmi:.3f}")),
                tag("div", tag("dt", "Adjusted Rand index"),
                    tag("dd", f"{known.ari:.3f}")),
                class_="facts",
            ),
            tag(
                "p",
                "Both are 1 for clusters that are the classes, and near 0 for clusters "
                "that tell nothing of them. The table says how the rows of each class "
                f"are spread over the clusters.{more}{gone}",
            ),
            table("Classes and clusters", head, rows, class_="heat"),
        ]
    )  # fmt: skip
    return Section("scores", "Against known classes", content)


def _share(count: int, total: int) -> Markup:
    """A count, coloured by its share of the class."""
    step = int(np.ceil(5 * count / total)) if total else 0
    return tag("td", f"{count:,}", class_=f"high{step}" if step else "zero")
