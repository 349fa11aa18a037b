"""Words: a vocabulary of visual words, and the word of each descriptor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans
from threadpoolctl import threadpool_limits

Array = NDArray[Any]

# Descriptors that are compared with the vocabulary at a time; and per batch of k-means.
_BLOCK, _BATCH = 4096, 4096


def learn_words(values: Array, n_words: int, rng: np.random.Generator) -> Array:
    """Centers of mini-batch k-means on descriptors (p, 128): (n_words, 128) float32."""
    if len(values) < n_words:
        raise ValueError(
            f"n_words={n_words} visual words of {len(values)} descriptors; give more "
            "or larger images, a smaller step, or fewer words."
        )
    k_means = MiniBatchKMeans(
        n_words,
        batch_size=_BATCH,
        n_init=3,
        random_state=int(rng.integers(2**31)),
        compute_labels=False,
    )
    with threadpool_limits(1):  # sums that do not depend on the number of threads
        k_means.fit(values)
    return k_means.cluster_centers_.astype(np.float32)


def words_of(values: Array, vocabulary: Array) -> Array:
    """The nearest word of each descriptor: (p,) integers."""
    half = np.einsum("ij,ij->i", vocabulary, vocabulary) / 2
    starts = range(0, len(values), _BLOCK)
    nearest = [
        (half - values[start : start + _BLOCK] @ vocabulary.T).argmin(axis=1)
        for start in starts
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *nearest])
