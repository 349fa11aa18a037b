"""Describe: SIFT descriptors (Lowe 2004) of an image's patches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.images._files import opencv

Array = NDArray[Any]

# A patch has 4 x 4 bins of 8 directions each.
_BINS, _DIRECTIONS = 4, 8
# Blur before gradients, as OpenCV's; entries above this share of a descriptor's length
# are cut, so that one strong edge does not hide the rest.
_BLUR, _CUT = 1.5, 0.2


@dataclass(frozen=True)
class Descriptors:
    """The patches of one image."""

    places: Array  # (p, 2) of their centers: x and y, from 0 to 1
    values: Array  # (p, 128) float32, of length one, or zero where nothing is seen


def dense_sift(gray: Array, step: int, patch_size: int) -> Descriptors:
    """Upright descriptors of patches on a grid, as OpenCV would give them.

    How a pixel counts in a bin is a product of a function of x and one of y: a triangle
    around the bin's center times a Gaussian around the patch's. So all patches at once
    are two matrix products per direction, W_y M W_xᵀ.

    Parameters
    ----------
    gray : float32 array of shape (height, width)
        Not smaller than a patch.
    step : int
        Pixels from one patch to the next.
    patch_size : int
        Pixels along the side of a patch.
    """
    height, width = gray.shape
    y, x = (_centers(size, step, patch_size) for size in gray.shape)
    across = _weights(width, step, patch_size)
    down = _weights(height, step, patch_size)
    pooled = down @ _direction_maps(gray) @ across.T
    bins = pooled.reshape(_DIRECTIONS, len(y), _BINS, len(x), _BINS)
    values = bins.transpose(1, 3, 2, 4, 0).reshape(len(y) * len(x), -1)
    places = np.stack(np.meshgrid((x + 0.5) / width, (y + 0.5) / height), axis=-1)
    return Descriptors(places.reshape(-1, 2), _normalised(values))


def detected_sift(gray: Array) -> Descriptors:
    """Descriptors of the keypoints that OpenCV detects, at their scale and rotation."""
    height, width = gray.shape
    pixels = (gray * 255).clip(0, 255).astype(np.uint8)
    found, values = opencv().SIFT_create().detectAndCompute(pixels, None)
    if values is None:
        return Descriptors(np.empty((0, 2)), np.empty((0, 128), dtype=np.float32))
    places = (np.array([point.pt for point in found]) + 0.5) / (width, height)
    return Descriptors(places.clip(0, 1), _normalised(values))


def _direction_maps(gray: Array) -> Array:
    """How strong the gradient of each pixel is in each direction: (8, h, w)."""
    blurred = opencv().GaussianBlur(gray, (0, 0), _BLUR)
    down, right = np.gradient(blurred)
    turn = np.arctan2(-down, right) * np.float32(_DIRECTIONS / (2 * np.pi))
    strength = np.hypot(down, right)
    # A gradient between two directions counts in both.
    before = np.floor(turn)
    later = (turn - before) * strength
    first = before.astype(np.int64) % _DIRECTIONS * gray.size
    first += np.arange(gray.size).reshape(gray.shape)
    maps = np.zeros(_DIRECTIONS * gray.size, dtype=np.float32)
    maps[first] = strength - later
    maps[(first + gray.size) % maps.size] = later
    return maps.reshape(_DIRECTIONS, *gray.shape)


def _centers(size: int, step: int, patch_size: int) -> Array:
    """Where patches have their centers along one axis, as far left as right: (c,)."""
    room = size - patch_size
    return np.arange(0, room + 1, step) + (room % step + patch_size - 1) / 2


@lru_cache(maxsize=256)
def _weights(size: int, step: int, patch_size: int) -> Array:
    """How pixels count in the bins of patches along one axis: (c * 4, size)."""
    centers = _centers(size, step, patch_size)
    away = (np.arange(size) - centers[:, None]) * (_BINS / patch_size)  # in bins
    middle = np.arange(_BINS) - (_BINS - 1) / 2
    triangle = (1 - np.abs(away[:, None] - middle[:, None])).clip(0)
    window = np.exp(-(away**2) / (2 * (_BINS / 2) ** 2))
    return (triangle * window[:, None]).reshape(-1, size).astype(np.float32)


def _normalised(values: Array) -> Array:
    """Length one, entries cut at 0.2, length one again."""
    for cut in (_CUT, 1):
        lengths = np.sqrt(np.einsum("ij,ij->i", values, values))[:, None]
        # A patch without contrast is zero, whatever rounding left of it.
        values = values / np.where(lengths > 1e-6, lengths, np.inf)
        np.minimum(values, values.dtype.type(cut), out=values)
    return values
