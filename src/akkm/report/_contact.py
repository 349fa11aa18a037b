"""The contact sheet: small pictures of the images that stand for each cluster."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.images import thumbnail
from akkm.inspect._facts import Facts
from akkm.inspect._nearness import typical
from akkm.report._data import shown_clusters
from akkm.report._html import Markup, join, percent, short, tag, void
from akkm.report._sections import Section, left_out

Array = NDArray[Any]

# Pictures of each cluster, and pixels along their longer side: 5 MB for 60 clusters.
_TYPICAL, _UNSURE, _PIXELS = 10, 5, 96


def contact_sheet(facts: Facts, images: Sequence[Any]) -> Section | None:
    """The most typical images of each cluster, and the least certain."""
    near = facts.near
    if near is None:
        return None
    rows = near.sample.rows
    doubt = facts.model.agreement_[rows] if facts.agreement else near.certainty
    parts = []
    for k in shown_clusters(facts):
        first = typical(near, facts.labels, k, _TYPICAL)
        inside = np.setdiff1d(np.flatnonzero(facts.labels[rows] == k), first)
        last = inside[np.argsort(doubt[inside], kind="stable")[:_UNSURE]]
        share = percent(facts.sizes[k] / facts.n)
        title = f"Cluster {k}: {facts.sizes[k]:,} images, {share}"
        parts += [
            tag("h3", title),
            tag(
                "div",
                _group("most typical", facts, images, rows[first]),
                _group("least certain", facts, images, rows[last]),
                class_="sheet",
            ),
        ]
    among = "all images"
    if len(rows) < facts.n:
        among = f"{len(rows):,} of {facts.n:,} images"
    text = (
        "The images nearest to the center of their cluster, and those that could "
        f"almost as well be in another, among {among}."
    )
    content = join([tag("p", text), left_out(facts), *parts])
    return Section("images", "Images", content)


def _group(
    name: str, facts: Facts, images: Sequence[Any], rows: Array
) -> Markup | None:
    if not len(rows):
        return None
    pictures = (
        _picture(images[row], called)
        for row, called in zip(rows.tolist(), facts.names(rows), strict=True)
    )
    return tag("figure", tag("figcaption", name), tag("div", *pictures))


def _picture(image: Any, name: str) -> Markup:
    data = base64.b64encode(thumbnail(image, _PIXELS)).decode()
    source = f"data:image/jpeg;base64,{data}"
    return void("img", src=source, alt=short(name), title=name)
