"""
Images by their shapes: SIFT and spatial pyramids
=================================================

`SpatialPyramid` turns images into histograms of visual words. The pyramid match kernel
compares these histograms. The images are tiles of the two photographs that ship with
scikit-learn.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_images

from akkm import ApproxKernelKMeans
from akkm.images import SpatialPyramid

photos = load_sample_images().images
size = 60
corners = [
    (p, i, j)
    for p, photo in enumerate(photos)
    for i in range(0, photo.shape[0] - size, size)
    for j in range(0, photo.shape[1] - size, size)
]
colours = [photos[p][i : i + size, j : j + size] for p, i, j in corners]
tiles = [tile.mean(axis=2).astype(np.uint8) for tile in colours]
print(f"{len(tiles)} tiles of {size} x {size} pixels")

# %%
# Words, histograms, clusters:
pyramid = SpatialPyramid(n_words=60, levels=2, random_state=0)
X = pyramid.fit_transform(tiles)
model = ApproxKernelKMeans(5, kernel="intersection", random_state=0).fit(X)

# %%
# Tiles of each cluster, the most typical first. If you have features of a neural
# network, skip the pyramid and give them to `DiffusionKernelKMeans`.
distances = model.transform(X)
figure, axes = plt.subplots(5, 10, figsize=(10, 5), layout="constrained")
for cluster, row in enumerate(axes):
    own = np.flatnonzero(model.labels_ == cluster)
    own = own[np.argsort(distances[own, cluster])]
    for ax in row:
        ax.axis("off")
    for ax, i in zip(row, own, strict=False):
        ax.imshow(colours[i])
plt.show()
