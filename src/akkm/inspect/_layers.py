"""The tree of clusters of a model, and how reproducible numbers of clusters are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from akkm.layers.curve import LayerCurve
from akkm.layers.tree import cut_tree
from akkm.typing import Array


@dataclass(frozen=True)
class Layers:
    """Nested layers of clusters, and the stability of numbers of clusters.

    Parameters
    ----------
    numbers : tuple of int
        Number of clusters of each layer, from coarse to fine; empty if the model has no
        tree.
    tree : array of shape (C - 1, 4) or None
        Merges of the finest clusters, as in `ClusterLayers.tree_`.
    curve : LayerCurve or None
        How reproducible each number of clusters is.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect import Layers
    >>> tree = np.array([[0.0, 2.0, 1.0, 2.0], [1.0, 3.0, 4.0, 3.0]])
    >>> found = Layers((2, 3), tree, None)
    >>> found.order.tolist(), found.cuts
    ([1, 0, 2], [2.5, 0.5])
    >>> [sizes.tolist() for sizes in found.sizes(np.array([10, 20, 30]))]
    [[40, 20], [10, 20, 30]]
    """

    numbers: tuple[int, ...]
    tree: Array | None
    curve: LayerCurve | None

    @property
    def order(self) -> Array:
        """Finest clusters (C,), in an order in which no branches of the tree cross."""
        from scipy.cluster.hierarchy import leaves_list  # a slow import

        assert self.tree is not None
        return np.asarray(leaves_list(self.tree))

    @property
    def cuts(self) -> list[float]:
        """Height at which each layer cuts the tree: midway between two merges."""
        assert self.tree is not None
        heights = np.concatenate([[0.0], self.tree[:, 2]])
        C = len(heights)
        return [
            float((heights[C - n] + heights[min(C - n + 1, C - 1)]) / 2)
            for n in self.numbers
        ]

    def sizes(self, finest: Array) -> list[Array]:
        """Number of rows of each cluster, for each layer.

        Parameters
        ----------
        finest : int array of shape (C,)
            Number of rows of each cluster of the finest layer.

        Returns
        -------
        list of int arrays
            Sizes of the clusters of each layer, from coarse to fine.
        """
        assert self.tree is not None
        return [
            np.bincount(cut_tree(self.tree, n), finest, n).astype(np.int64)
            for n in self.numbers
        ]


def layers_of(model: Any) -> Layers | None:
    """The layers of a model; None if it has no tree and measured no stability."""
    tree, curve = getattr(model, "tree_", None), getattr(model, "stability_", None)
    if tree is not None and not len(tree):
        tree = None  # there is only one cluster
    if tree is None and curve is None:
        return None
    numbers = () if tree is None else tuple(model.layer_numbers_)
    return Layers(numbers, tree, curve)
