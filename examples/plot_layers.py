"""
An unknown number of clusters
=============================

Real data rarely have one correct number of clusters. `ClusterLayers` finds the
reproducible numbers of clusters, and returns nested layers from coarse to fine.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import dendrogram
from sklearn.datasets import load_digits

import akkm

X, y = load_digits(return_X_y=True)
model = akkm.ClusterLayers(random_state=0).fit(X)
model.layer_numbers_

# %%
# The score of each number of clusters. Each peak gives a layer.
curve = model.stability_
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.plot(curve.numbers, curve.scores, marker="o")
ax.set(xlabel="number of clusters", ylabel="score")
plt.show()

# %%
# Left: the finest clusters, each with its most typical digits. Right: the tree in which
# these clusters merge.
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4), width_ratios=(1, 2), layout="constrained"
)
width = min(len(rows) for rows in model.exemplars_)
shown = [np.hstack(X[rows[:width]].reshape(-1, 8, 8)) for rows in model.exemplars_]
left.imshow(np.vstack(shown), cmap="Greys")
left.set(title="typical digits", xticks=[], yticks=[], ylabel="cluster")
dendrogram(model.tree_, ax=right, color_threshold=0)
right.set(title="order in which clusters merge", xlabel="cluster", yticks=[])
plt.show()

# %%
# The clusters agree with the digits that people read:
round(akkm.metrics.nmi(y, model.labels_), 3)
