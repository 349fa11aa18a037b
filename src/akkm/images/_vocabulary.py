"""A vocabulary of visual words, and the nearest word of each descriptor."""

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from threadpoolctl import threadpool_limits

from akkm.typing import Array

# Number of descriptors that are compared with the vocabulary at a time. It is also
# the batch size of k-means.
_BATCH = 4096


def learn_words(values: Array, n_words: int, rng: np.random.Generator) -> Array:
    """Return visual words (n_words, 128): k-means centers of descriptors (p, 128)."""
    if len(values) < n_words:
        raise ValueError(
            f"n_words={n_words}, but there are {len(values)} descriptors; expected at "
            "least one descriptor per word. Give more or larger images, a smaller step "
            "or a smaller n_words."
        )
    k_means = MiniBatchKMeans(
        n_words,
        batch_size=_BATCH,
        n_init=3,
        random_state=int(rng.integers(2**31)),
        compute_labels=False,
    )
    with threadpool_limits(1):  # results must not depend on the number of threads
        k_means.fit(values)
    return k_means.cluster_centers_.astype(np.float32)


def nearest_words(values: Array, vocabulary: Array) -> Array:
    """Return the number of the nearest word of each descriptor (p, 128): (p,)."""
    half = np.einsum("ij,ij->i", vocabulary, vocabulary) / 2
    nearest = [
        (half - values[start : start + _BATCH] @ vocabulary.T).argmin(axis=1)
        for start in range(0, len(values), _BATCH)
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *nearest])
