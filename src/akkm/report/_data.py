"""The numbers that the page's script draws, as data for JSON."""

from typing import Any

import numpy as np

from akkm.diffusion.estimate_k import CONFIDENT_GAP
from akkm.inspect import Inspection
from akkm.report._cards import Cards
from akkm.report._format import json_number, short
from akkm.report._layers import curve_data, is_drawn, tree_data
from akkm.report._shown import Shown
from akkm.typing import Array

# The map is cropped if the extent of all rows is more than this many times the extent
# of 99 % of the rows.
_FAR = 2.0


def picture_data(shown: Shown, cards: Cards) -> dict[str, Any]:
    """The numbers that each picture shows, as a dict with one entry per picture."""
    facts, clusters = shown.facts, shown.clusters
    drawn: dict[str, Any] = {
        "map": _map(shown),
        "names": {k: short(cards.title(k)) for k in cards.clusters},
        "compare": cards.comparison(),
        "sizes": {
            "clusters": clusters,
            "counts": facts.sizes[clusters].tolist(),
            "n": facts.n_rows,
        },
    }
    if facts.evidence is not None:
        drawn["evidence"] = {
            "numbers": [number for number, _, _ in shown.evidence],
            "gaps": [round(gap, 4) for _, gap, _ in shown.evidence],
            "best": facts.evidence.n_clusters,
            "second": facts.evidence.second,
            "limit": CONFIDENT_GAP,
        }
    if facts.layers is not None and is_drawn(facts.layers):
        drawn["tree"] = tree_data(facts.layers, facts.sizes)
    if facts.layers is not None and facts.layers.curve is not None:
        drawn["stability"] = curve_data(facts.layers, facts.n_clusters)
    if facts.convergence is not None and not shown.few_iterations:
        runs = facts.convergence.histories
        drawn["convergence"] = {
            "changed": [run[:, 0].tolist() for run in runs],
            "evaluated": runs[0][:, 1].tolist() if len(runs) == 1 else None,
        }
    if facts.certainty is not None:
        counts, uncertain, edges = facts.certainty.histogram()
        drawn["certainty"] = {
            "counts": [json_number(c) for c in counts],
            "uncertain": [json_number(c) for c in uncertain],
            "edges": edges.tolist(),
            "votes": facts.certainty.from_votes,
        }
    return drawn


def map_frame(xy: Array) -> tuple[Array, Array]:
    """Lower left and upper right corner (2,) of the map; far outliers lie outside."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    inner_low, inner_high = np.quantile(xy, [0.005, 0.995], axis=0)
    width = inner_high - inner_low
    far = (width > 0) & (high - low > _FAR * width)
    low = np.where(far, np.maximum(low, inner_low - 0.2 * width), low)
    high = np.where(far, np.minimum(high, inner_high + 0.2 * width), high)
    return low, high


def n_outside(facts: Inspection) -> int:
    """Number of points outside the map's frame. They are drawn on the frame's edge."""
    xy = facts.map.xy
    low, high = map_frame(xy)
    return int(((xy < low) | (xy > high)).any(axis=1).sum())


def _map(shown: Shown) -> dict[str, Any]:
    facts, rows = shown.facts, shown.facts.map.sample.rows
    low, high = map_frame(facts.map.xy)
    # Coordinates are in units of the longer side of the map.
    scale = float((high - low).max()) or 1.0
    xy = (facts.map.xy.clip(low, high) - low) / scale
    width, height = ((high - low) / scale).round(4).tolist()
    points: dict[str, Any] = {
        "x": xy[:, 0].round(4).tolist(),
        "y": xy[:, 1].round(4).tolist(),
        "height": height,
        "width": width,
        "cluster": facts.labels[rows].tolist(),
        "name": [short(name) for name in shown.names(rows)],
    }
    if facts.distances is not None:
        at = np.searchsorted(facts.distances.sample.rows, rows)
        points["distance"] = [json_number(d) for d in facts.distances.own[at]]
        points["next"] = facts.distances.next_cluster[at].tolist()
        points["other"] = [json_number(d) for d in facts.distances.next[at]]
    if facts.certainty is not None:
        points["measure"] = "agreement" if facts.certainty.from_votes else "certainty"
        points["certainty"] = [json_number(c) for c in facts.certainty.of(rows)]
    if shown.row_values is not None:
        points["features"] = [short(name) for name in shown.row_values.names]
        points["values"] = shown.values(rows)
    return points
