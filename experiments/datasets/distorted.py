"""Any number of images of digits: MNIST's images, shifted, rotated and bent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_SIDE = 28  # pixels
# Largest shift in pixels, largest rotation in degrees, and the standard deviation of
# the elastic deformation in pixels.
_SHIFT, _ROTATION, _BEND = 1.5, 10.0, 0.6
# The elastic deformation is drawn on a grid of _GRID x _GRID points and interpolated.
_GRID = 5
# Number of images that are made at a time.
_BLOCK = 8192


def distorted_digits(
    pixels: Array, classes: Array, n: int, seed: int = 0
) -> tuple[Array, Array]:
    """Draw n images at random, and distort each of them.

    Parameters
    ----------
    pixels : array of shape (p, 784)
        Images of 28 x 28 pixels from 0 to 1.
    classes : array of shape (p,)
        The class of each image.
    n : int
        Number of images to make.
    seed : int, default=0
        Seed of the random choices.

    Returns
    -------
    X : float32 array of shape (n, 784)
        Distorted images.
    y : array of shape (n,)
        Their classes.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.datasets.distorted import distorted_digits
    >>> pixels = np.zeros((3, 784), dtype=np.float32)
    >>> X, y = distorted_digits(pixels, np.arange(3), n=10)
    >>> X.shape, y.shape
    ((10, 784), (10,))
    """
    rng = np.random.default_rng(seed)
    source = rng.integers(len(pixels), size=n)
    X = np.empty((n, _SIDE**2), dtype=np.float32)
    for start in range(0, n, _BLOCK):
        chosen = source[start : start + _BLOCK]
        images = pixels[chosen].astype(np.float32).reshape(-1, _SIDE, _SIDE)
        X[start : start + len(chosen)] = _distort(images, rng)
    return X, classes[source]


def _distort(images: Array, rng: np.random.Generator) -> Array:
    """Distort images (b, 28, 28); return them as rows (b, 784)."""
    b = len(images)
    angle = np.deg2rad(rng.uniform(-_ROTATION, _ROTATION, (b, 1, 1))).astype(np.float32)
    shift = rng.uniform(-_SHIFT, _SHIFT, (2, b, 1, 1)).astype(np.float32)
    bend = _BEND * rng.standard_normal((2, b, _GRID, _GRID), dtype=np.float32)
    smooth = _interpolation()
    bend = smooth @ bend @ smooth.T
    middle = np.float32((_SIDE - 1) / 2)
    row, column = np.indices((_SIDE, _SIDE), dtype=np.float32) - middle
    cos, sin = np.cos(angle), np.sin(angle)
    # Where the value of each pixel comes from: (b, 28, 28).
    from_row = cos * row - sin * column + middle + shift[0] + bend[0]
    from_column = sin * row + cos * column + middle + shift[1] + bend[1]
    return _sample(images, from_row, from_column).reshape(b, -1)


def _interpolation() -> Array:
    """Return the matrix (28, 5) that interpolates linearly between grid points."""
    place = np.linspace(0, _GRID - 1, _SIDE)
    distance = np.abs(place[:, None] - np.arange(_GRID))
    return np.maximum(0, 1 - distance).astype(np.float32)


def _sample(images: Array, row: Array, column: Array) -> Array:
    """Return the images at real-valued positions; zero outside the images."""
    padded = np.pad(images, ((0, 0), (1, 2), (1, 2)))
    side = padded.shape[1]
    row, column = (np.clip(p + 1, 0, side - 2) for p in (row, column))
    top, left = row.astype(np.int32), column.astype(np.int32)
    down, right = row - top, column - left
    first = np.arange(len(images), dtype=np.int32)[:, None, None] * side**2
    place = first + top * side + left
    flat = padded.ravel()
    upper = flat[place] * (1 - right) + flat[place + 1] * right
    place += side
    lower = flat[place] * (1 - right) + flat[place + 1] * right
    return np.asarray(upper * (1 - down) + lower * down)
