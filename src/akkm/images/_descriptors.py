"""SIFT descriptors (Lowe 2004) of the patches of an image."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from akkm.images._files import opencv
from akkm.typing import Array

# A patch has 4 x 4 bins.
_BINS = 4
# Each bin sums gradients in 8 directions.
_DIRECTIONS = 8
# Standard deviation of the blur before gradients are computed, as in OpenCV.
_BLUR = 1.5
# Descriptors are scaled to length one. Then their entries are clipped to this value, so
# that one strong edge does not hide weaker ones.
_MAX_ENTRY = 0.2


@dataclass(frozen=True)
class Descriptors:
    """Positions and SIFT descriptors of the p patches of one image."""

    places: Array  # (p, 2): x and y of the centers, from 0 to 1
    values: Array  # (p, 128) float32; length one, or zero for patches without contrast


def dense_sift(gray: Array, step: int, patch_size: int) -> Descriptors:
    """Compute descriptors of upright patches on a grid, equal to those of OpenCV.

    The weight of a pixel in a bin is a function of x times a function of y. Each of
    these functions is a triangle around the center of the bin times a Gaussian around
    the center of the patch. So two matrix products per direction compute the bins of
    all patches: W_y M W_xᵀ. M (h, w) contains the gradients in this direction. A row of
    W_x contains one bin's function of x for all w values of x. W_y is analogous.

    Parameters
    ----------
    gray : float32 array of shape (height, width)
        The image, at least as large as a patch.
    step : int
        Distance between neighbouring patches in pixels.
    patch_size : int
        Side of a patch in pixels.

    Returns
    -------
    Descriptors
        The patches, row by row from the top.
    """
    height, width = gray.shape
    y, x = (_centers(size, step, patch_size) for size in gray.shape)
    across = _weights(width, step, patch_size)
    down = _weights(height, step, patch_size)
    pooled = down @ _direction_maps(gray) @ across.T
    bins = pooled.reshape(_DIRECTIONS, len(y), _BINS, len(x), _BINS)
    values = bins.transpose(1, 3, 2, 4, 0).reshape(len(y) * len(x), -1)
    places = np.stack(np.meshgrid((x + 0.5) / width, (y + 0.5) / height), axis=-1)
    return Descriptors(places.reshape(-1, 2), _normalise(values))


def detected_sift(gray: Array) -> Descriptors:
    """Compute descriptors of keypoints that OpenCV detects, with scale and rotation."""
    height, width = gray.shape
    pixels = (gray * 255).clip(0, 255).astype(np.uint8)
    keypoints, values = opencv().SIFT_create().detectAndCompute(pixels, None)
    if values is None:
        return Descriptors(np.empty((0, 2)), np.empty((0, 128), dtype=np.float32))
    places = (np.array([point.pt for point in keypoints]) + 0.5) / (width, height)
    return Descriptors(places.clip(0, 1), _normalise(values))


def _direction_maps(gray: Array) -> Array:
    """Return the strength of each pixel's gradient in each direction: (8, h, w)."""
    blurred = opencv().GaussianBlur(gray, (0, 0), _BLUR)
    down, right = np.gradient(blurred)
    turn = np.arctan2(-down, right) * np.float32(_DIRECTIONS / (2 * np.pi))
    strength = np.hypot(down, right)
    # A gradient between two directions is divided between them according to its angle.
    before = np.floor(turn)
    later = (turn - before) * strength
    first = before.astype(np.int64) % _DIRECTIONS * gray.size
    first += np.arange(gray.size).reshape(gray.shape)
    maps = np.zeros(_DIRECTIONS * gray.size, dtype=np.float32)
    maps[first] = strength - later
    maps[(first + gray.size) % maps.size] = later
    return maps.reshape(_DIRECTIONS, *gray.shape)


def _centers(size: int, step: int, patch_size: int) -> Array:
    """Return centers of patches along one axis (c,), with equal margins."""
    room = size - patch_size
    return np.arange(0, room + 1, step) + (room % step + patch_size - 1) / 2


@lru_cache(maxsize=256)
def _weights(size: int, step: int, patch_size: int) -> Array:
    """Return weights of pixels in all patches' bins along one axis: (c * 4, size)."""
    centers = _centers(size, step, patch_size)
    away = (np.arange(size) - centers[:, None]) * (_BINS / patch_size)  # in bins
    middle = np.arange(_BINS) - (_BINS - 1) / 2
    triangle = (1 - np.abs(away[:, None] - middle[:, None])).clip(0)
    window = np.exp(-(away**2) / (2 * (_BINS / 2) ** 2))
    return (triangle * window[:, None]).reshape(-1, size).astype(np.float32)


def _normalise(values: Array) -> Array:
    """Scale rows to length one, clip entries at 0.2, and scale again: (p, 128)."""
    for most in (_MAX_ENTRY, 1):
        lengths = np.sqrt(np.einsum("ij,ij->i", values, values))[:, None]
        # The values of a patch without contrast are rounding errors. Set them to zero.
        values = values / np.where(lengths > 1e-6, lengths, np.inf)
        np.minimum(values, values.dtype.type(most), out=values)
    return values
