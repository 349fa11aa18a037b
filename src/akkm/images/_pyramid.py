"""Spatial pyramids: histograms of visual words in cells, weighted by level."""

import numpy as np

from akkm.typing import Array


def level_weights(levels: int) -> Array:
    """Return the weight of each level (Lazebnik, Schmid, Ponce 2006): (levels,).

    Let L = levels - 1. The weight is 1 / 2^L at level 0, and 1 / 2^(L - l + 1) at level
    l ≥ 1. The weights add up to one.

    Examples
    --------
    >>> from akkm.images._pyramid import level_weights
    >>> level_weights(4).tolist()
    [0.125, 0.125, 0.25, 0.5]
    """
    return 0.5 ** np.minimum(levels - np.arange(levels), levels - 1)


def n_cells(levels: int) -> int:
    """Return the number of cells of all levels, 1 + 4 + 16 + ..."""
    return (4**levels - 1) // 3


def pyramid_histogram(places: Array, words: Array, n_words: int, levels: int) -> Array:
    """Return the share of each word in each cell, times the weight of the level.

    Parameters
    ----------
    places : array of shape (p, 2)
        Coordinates x and y of each descriptor, from 0 to 1.
    words : int array of shape (p,)
        The visual word of each descriptor.
    n_words : int
        Size of the vocabulary.
    levels : int
        Number of levels of the pyramid.

    Returns
    -------
    array of shape (n_cells * n_words,)
        Entries ordered by level, then by cell (row by row from the top), then by word.
        Counts are divided by p, so that images of different sizes are comparable. The
        entries add up to one. So the intersection kernel of an image with itself is
        one.
    """
    side = 2 ** (levels - 1)
    column, row = (places.T * side).astype(np.int64).clip(0, side - 1)
    finest = (row * side + column) * n_words + words
    counts = np.bincount(finest, minlength=side * side * n_words)
    level = counts.reshape(side, side, n_words)
    parts = []
    for weight in level_weights(levels)[::-1]:
        parts.append(level.ravel() * (weight / max(len(words), 1)))
        if len(parts) < levels:  # merge 2 x 2 cells into one of the coarser level
            half = level.shape[0] // 2
            level = level.reshape(half, 2, half, 2, n_words).sum(axis=(1, 3))
    return np.concatenate(parts[::-1])
