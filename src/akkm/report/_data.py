"""What the page's pictures are drawn from, as plain lists for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.diffusion.estimate_k import CONFIDENT_GAP
from akkm.inspect._facts import Facts
from akkm.inspect._quality import Convergence
from akkm.report._html import rounded, short

Array = NDArray[Any]

# Clusters that pictures and tables show; the others are counted.
MOST_CLUSTERS = 60
# Numbers of clusters that are shown: so many, and so many after those that are marked.
_NUMBERS, _AFTER = 20, 5
# Iterations that are told, not drawn.
_BRIEF = 3
# A few points far away would squeeze the map of all others.
_FAR = 2.0


def data(facts: Facts) -> dict[str, Any]:
    """Everything that is drawn."""
    shown = shown_clusters(facts)
    drawn: dict[str, Any] = {
        "map": _map(facts),
        "sizes": {
            "clusters": shown.tolist(),
            "counts": facts.sizes[shown].tolist(),
            "n": facts.n,
        },
    }
    if facts.evidence is not None:
        shown_gaps = shown_numbers(facts)
        drawn["counted"] = {
            "numbers": facts.evidence.numbers[shown_gaps].tolist(),
            "gaps": facts.evidence.gaps[shown_gaps].round(4).tolist(),
            "found": facts.evidence.n_clusters,
            "second": facts.evidence.second,
            "limit": CONFIDENT_GAP,
        }
    if facts.convergence is not None and not is_brief(facts.convergence):
        runs = facts.convergence.histories
        drawn["convergence"] = {
            "changed": [run[:, 0].tolist() for run in runs],
            "looked": runs[0][:, 1].tolist() if len(runs) == 1 else None,
        }
    if facts.certainty is not None:
        counts, edges = facts.certainty.histogram()
        drawn["certainty"] = {
            "counts": [rounded(c) for c in counts],
            "edges": [round(float(edge), 4) for edge in edges],
            "limit": round(facts.certainty.limit, 4),
            "open": not facts.agreement,
        }
    return drawn


def shown_numbers(facts: Facts) -> slice:
    """Places of the numbers of clusters whose evidence is shown."""
    assert facts.evidence is not None
    second = facts.evidence.second or 0
    marked = max(facts.evidence.n_clusters, second, facts.model._wanted)
    return slice(max(_NUMBERS, marked + _AFTER) - 1)


def is_brief(course: Convergence) -> bool:
    """Whether a sentence says as much as a picture of the iterations."""
    return max(map(len, course.histories)) <= _BRIEF


def shown_clusters(facts: Facts) -> Array:
    """Numbers of the clusters that are shown: all, or the largest."""
    clusters = facts.clusters
    if len(clusters) <= MOST_CLUSTERS:
        return clusters
    largest = np.argsort(-facts.sizes[clusters], kind="stable")[:MOST_CLUSTERS]
    return np.sort(clusters[largest])


def frame(xy: Array) -> tuple[Array, Array]:
    """Corners of the map: of all points, or of all but the farthest few."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    inner_low, inner_high = np.quantile(xy, [0.005, 0.995], axis=0)
    width = inner_high - inner_low
    far = (width > 0) & (high - low > _FAR * width)
    low = np.where(far, np.maximum(low, inner_low - 0.2 * width), low)
    high = np.where(far, np.minimum(high, inner_high + 0.2 * width), high)
    return low, high


def beyond(facts: Facts) -> int:
    """Points of the map that are drawn on its edge, as they are beyond."""
    low, high = frame(facts.plane.xy)
    xy = facts.plane.xy
    return int(((xy < low) | (xy > high)).any(axis=1).sum())


def _map(facts: Facts) -> dict[str, Any]:
    rows = facts.drawn.rows
    low, high = frame(facts.plane.xy)
    xy = facts.plane.xy.clip(low, high)
    # In units of the wider side; the page needs no more digits.
    scale = float((high - low).max()) or 1.0
    xy = (xy - low) / scale
    points: dict[str, Any] = {
        "x": xy[:, 0].round(4).tolist(),
        "y": xy[:, 1].round(4).tolist(),
        "height": round(float((high - low)[1] / scale), 4),
        "width": round(float((high - low)[0] / scale), 4),
        "cluster": facts.labels[rows].tolist(),
        "sure": "agreement" if facts.agreement else "certainty",
        "name": [short(name) for name in facts.names(rows)],
    }
    if facts.near is not None and facts.near_drawn is not None:
        near, at = facts.near, facts.near_drawn
        points["distance"] = [rounded(d) for d in near.own[at]]
        points["next"] = near.next[at].tolist()
        points["other"] = [rounded(d) for d in near.other[at]]
    if facts.agreement:
        agreement = facts.model.agreement_[rows]
        points["certainty"] = [rounded(c) for c in agreement]
    elif facts.near is not None:
        assert facts.near_drawn is not None
        certainty = facts.near.certainty[facts.near_drawn]
        points["certainty"] = [rounded(c) for c in certainty]
    if facts.values is not None:
        points["features"] = [short(name) for name in facts.values.names]
        points["values"] = facts.values.of(rows)
    return points
