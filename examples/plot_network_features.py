"""
Cluster images by features of a convolutional network
=====================================================

If you have features from a neural network, pass them to an estimator like other rows.
This example needs no download, so a small convolutional network stands in for yours.
Its filters are learned without labels, by k-means on patches [1]_. Use the activations
of your network instead; the last two steps stay the same.

.. [1] A. Coates, A. Ng, H. Lee: An analysis of single-layer networks in unsupervised
   feature learning, 2011.
"""

# %%
# Tiles of the two photographs that ship with scikit-learn.
import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_sample_images
from sklearn.decomposition import PCA

import akkm

photos = [photo / 255 for photo in load_sample_images().images]
size = 40
tiles = np.array(
    [
        photo[i : i + size, j : j + size]
        for photo in photos
        for i in range(0, photo.shape[0] - size, size)
        for j in range(0, photo.shape[1] - size, size)
    ]
)


# %%
# The network: filters of 6 x 6 pixels, a threshold, and means over four quarters.
def patches(tile):
    """All patches of a tile, without their mean brightness."""
    windows = sliding_window_view(tile, (6, 6), axis=(0, 1))[::2, ::2]
    flat = windows.reshape(*windows.shape[:2], -1)
    flat = flat - flat.mean(axis=2, keepdims=True)
    return flat / (flat.std(axis=2, keepdims=True) + 0.05)


examples = np.concatenate([patches(tile).reshape(-1, 108) for tile in tiles[::4]])
network = MiniBatchKMeans(64, n_init=1, random_state=0).fit(examples)


def features(tile):
    """Activations of 64 filters, averaged over the quarters of a tile."""
    maps = patches(tile)
    distances = network.transform(maps.reshape(-1, 108))
    active = np.maximum(0, distances.mean(axis=1, keepdims=True) - distances)
    active = active.reshape(*maps.shape[:2], 64)
    quarters = [part for half in np.array_split(active, 2) for part in
                np.array_split(half, 2, axis=1)]  # fmt: skip
    return np.concatenate([quarter.mean(axis=(0, 1)) for quarter in quarters])


X = np.array([features(tile) for tile in tiles])
X.shape

# %%
# Cluster the features. Principal components remove noise.
points = PCA(20, random_state=0).fit_transform(X)
model = akkm.DiffusionKernelKMeans(6, random_state=0).fit(points)

# %%
# Each row of the picture shows tiles of one cluster, the most certain first.
certainty = model.certainty(points)
figure, axes = plt.subplots(6, 12, figsize=(10, 5), layout="constrained")
for cluster, row in enumerate(axes):
    own = np.flatnonzero(model.labels_ == cluster)
    own = own[np.argsort(-certainty[own])]
    for ax in row:
        ax.axis("off")
    for ax, i in zip(row, own, strict=False):
        ax.imshow(tiles[i])
plt.show()
