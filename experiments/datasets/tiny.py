"""Tiny twins: generated rows with the same kinds of columns as the real data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]

# Number of classes of every twin.
CLASSES = 4
# Number of distinct rows of every twin.
ROWS = 300


def tiny_mnist(rng: np.random.Generator) -> tuple[Array, Array]:
    """Return pixels (300, 784) from 0 to 1, most of them black, and classes (300,)."""
    y = rng.integers(CLASSES, size=ROWS)
    drawn = rng.random((CLASSES, 784)) < 0.2
    shown = drawn[y] & (rng.random((ROWS, 784)) < 0.8)
    return (shown * rng.uniform(0.5, 1, size=shown.shape)).astype(np.float32), y


def tiny_covtype(rng: np.random.Generator) -> tuple[Array, Array]:
    """Return X (300, 54) and classes (300,).

    The columns of X are numbers, area and soil. Area and soil are one-hot encoded.
    """
    y = rng.integers(CLASSES, size=ROWS)
    numbers = rng.random((CLASSES, 10))[y] + rng.normal(scale=0.1, size=(ROWS, 10))
    area = _one_hot((y + (rng.random(ROWS) < 0.2)) % 4, 4)
    soil = _one_hot(10 * y + rng.integers(3, size=ROWS), 40)
    return np.hstack([numbers.clip(0, 1), area, soil]).astype(np.float32), y


def tiny_kddcup99(rng: np.random.Generator, copies: int = 1) -> tuple[Array, Array]:
    """Return X (n, 50) and classes (n,).

    The columns of X are numbers, protocol and flag. Protocol and flag are one-hot
    encoded. The classes have unequal sizes. Each of the 300 distinct rows occurs
    `copies` times.
    """
    y = rng.choice(CLASSES, size=ROWS, p=(0.6, 0.25, 0.1, 0.05))
    numbers = rng.random((CLASSES, 36))[y] * rng.uniform(0.6, 1, size=(ROWS, 36))
    protocol = _one_hot(y % 3, 3)
    flag = _one_hot(2 * y + rng.integers(2, size=ROWS), 11)
    X = np.hstack([numbers, protocol, flag]).astype(np.float32)
    rows = rng.permutation(np.repeat(np.arange(ROWS), copies))
    return X[rows], y[rows]


def tiny_imagenet12(rng: np.random.Generator) -> tuple[Any, Array]:
    """Return X (300, 850) and classes (300,).

    The rows of X are histograms of 10 words in the 85 cells of a spatial pyramid.
    """
    y = rng.integers(CLASSES, size=ROWS)
    chance = rng.dirichlet(np.full(850, 0.1), size=CLASSES)
    counts = np.array([rng.multinomial(200, chance[k]) for k in y])
    return sparse.csr_array((counts / 200).astype(np.float32)), y


def _one_hot(codes: Array, size: int) -> Array:
    return np.eye(size)[codes]
