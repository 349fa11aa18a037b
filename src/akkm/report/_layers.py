"""The numbers that the pictures of layers show."""

from typing import Any

import numpy as np

from akkm.inspect import Layers
from akkm.report._format import json_number
from akkm.typing import Array

# Maximum number of clusters of a tree that is drawn.
MAX_LEAVES = 300


def is_drawn(layers: Layers) -> bool:
    """Whether the tree is drawn: trees of very many clusters are not."""
    return layers.tree is not None and len(layers.tree) < MAX_LEAVES


def tree_data(layers: Layers, sizes: Array) -> dict[str, Any]:
    """The tree: clusters from top to bottom, merges, and the cuts of the layers.

    A merge is a list [height, height of a, height of b, place of a, place of b], where
    a and b are the merged clusters. The finest clusters have the places 0, 1, ...
    """
    assert layers.tree is not None
    C, order = len(layers.tree) + 1, layers.order
    top = float(layers.tree[-1, 2]) or 1.0
    place, height = np.zeros(2 * C - 1), np.zeros(2 * C - 1)
    place[order] = np.arange(C)
    merges = []
    for step, (a, b) in enumerate(layers.tree[:, :2].astype(int)):
        own = height[C + step] = layers.tree[step, 2] / top
        place[C + step] = (place[a] + place[b]) / 2
        values = (own, height[a], height[b], place[a], place[b])
        merges.append([json_number(value) for value in values])
    return {
        "clusters": order.tolist(),
        "sizes": sizes[order].tolist(),
        "merges": merges,
        "layers": list(layers.numbers),
        "cuts": [json_number(cut / top) for cut in layers.cuts],
    }


def curve_data(layers: Layers, n_clusters: int) -> dict[str, Any]:
    """The stability curve with its spread, and the curve of rows without clusters."""
    curve = layers.curve
    assert curve is not None
    marked = layers.numbers or (n_clusters,)
    known = [n for n in marked if n in curve.numbers]
    return {
        "numbers": curve.numbers.tolist(),
        "stability": [json_number(v) for v in curve.stability],
        "spread": [json_number(v) for v in curve.spread],
        "reference": [json_number(v) for v in curve.reference],
        "marked": [int(n) for n in known],
    }
