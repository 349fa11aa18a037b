"""Count: words per cell of a spatial pyramid, weighted by level."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def level_weights(levels: int) -> Array:
    """What a match counts at each level (Lazebnik, Schmid, Ponce 2006): (levels,).

    With L = levels - 1: 1 / 2^L at level 0 and 1 / 2^(L - l + 1) at level l ≥ 1. They
    add up to one.

    Examples
    --------
    >>> from akkm.images._pyramid import level_weights
    >>> level_weights(4).tolist()
    [0.125, 0.125, 0.25, 0.5]
    """
    last = levels - 1
    return np.array(
        [0.5**last, *(0.5 ** (last - level + 1) for level in range(1, levels))]
    )


def cells(levels: int) -> int:
    """Cells of all levels: 1 + 4 + 16 + ..."""
    return int(sum(4**level for level in range(levels)))


def pyramid(places: Array, words: Array, n_words: int, levels: int) -> Array:
    """Shares of an image's words in each cell, times the level's weight.

    Parameters
    ----------
    places : array of shape (p, 2)
        x and y of each descriptor, from 0 to 1.
    words : int array of shape (p,)
    n_words, levels : int

    Returns
    -------
    histogram : array of shape (cells * n_words,)
        Level by level, cell by cell (rows from the top), word by word. The counts are
        divided by p, so that images of different size compare: the sum is one, and so
        is the kernel of an image with itself.
    """
    side = 2 ** (levels - 1)
    column, row = (places.T * side).astype(np.int64).clip(0, side - 1)
    finest = (row * side + column) * n_words + words
    counts = np.bincount(finest, minlength=side * side * n_words)
    level = counts.reshape(side, side, n_words)
    parts = []
    for weight in level_weights(levels)[::-1]:
        parts.append(level.ravel() * (weight / max(len(words), 1)))
        if len(parts) < levels:  # four cells make one of the level above
            half = level.shape[0] // 2
            level = level.reshape(half, 2, half, 2, n_words).sum(axis=(1, 3))
    return np.concatenate(parts[::-1])
