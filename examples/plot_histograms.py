"""
A kernel for histograms
=======================

Rows that are histograms, such as counts of colours or words, are compared by the chi2
kernel or the intersection kernel. The Gaussian kernel treats a difference in a
frequent bin like an equal difference in a rare bin; chi2 does not.
"""

# %%
# Histograms of 64 colours, for tiles of two photographs.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_images

import akkm

photos = load_sample_images().images
size = 20
rows, places = [], []
for p, photo in enumerate(photos):
    for i in range(0, photo.shape[0] - size, size):
        for j in range(0, photo.shape[1] - size, size):
            tile = photo[i : i + size, j : j + size] // 64
            codes = tile @ np.array([16, 4, 1])
            rows.append(np.bincount(codes.ravel(), minlength=64) / size**2)
            places.append((p, i // size, j // size))
X, places = np.array(rows), np.array(places)

# %%
# Do the clusters tell the two photographs apart?
figure, axes = plt.subplots(2, 3, figsize=(10, 5), layout="constrained")
for column, kernel in enumerate(("rbf", "chi2", "intersection")):
    model = akkm.ApproxKernelKMeans(6, kernel=kernel, random_state=0).fit(X)
    score = akkm.metrics.nmi(places[:, 0], model.labels_)
    for p, ax in enumerate(axes[:, column]):
        own = places[:, 0] == p
        grid = np.full(places[own, 1:].max(axis=0) + 1, -1)
        grid[tuple(places[own, 1:].T)] = model.labels_[own]
        ax.imshow(grid, cmap="tab10", vmin=0, vmax=9)
        ax.set(xticks=[], yticks=[])
    axes[0, column].set_title(f"{kernel}: NMI {score:.2f}")
plt.show()
