"""
Single cells
============

Single-cell data are counts of molecules per cell and gene. They are sparse and noisy,
and cells differ much in depth, the total count of a cell. The usual recipe is to divide
by depth, take logarithms, reduce by principal components and cluster a graph of
neighbours. The counts of this example are simulated, because no such data ship with
scikit-learn.
"""

# %%
# Eight types of cells, three of them rare. A type has 60 marker genes.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

import akkm

rng = np.random.default_rng(0)
sizes = [600, 500, 400, 300, 200, 60, 40, 30]
y = np.repeat(np.arange(8), sizes)
genes = 1500
level = rng.gamma(0.4, size=genes)
effect = np.ones((8, genes))
for kind in effect:
    kind[rng.choice(genes, 60, replace=False)] = 8
depth = rng.lognormal(sigma=0.5, size=len(y))
counts = rng.poisson(rng.gamma(2, effect[y] * level * depth[:, None] / 2))
print(f"{(counts == 0).mean():.0%} of all counts are zero")

# %%
# Divide by depth, take logarithms, keep 30 components, and estimate the number of
# clusters.
shares = counts / counts.sum(axis=1, keepdims=True)
X = PCA(30, random_state=0).fit_transform(np.log1p(1e4 * shares))
model = akkm.DiffusionKernelKMeans("auto", random_state=0).fit(X)
score = akkm.metrics.adjusted_rand_index(y, model.labels_)
print(f"{model.n_clusters_} clusters, ARI {score:.2f}")

# %%
# Mean of each marker gene in each cluster:
markers = np.concatenate([np.flatnonzero(kind > 1)[:10] for kind in effect])
table = np.array(
    [
        np.log1p(1e4 * shares[model.labels_ == k][:, markers]).mean(axis=0)
        for k in range(model.n_clusters_)
    ]
)
figure, ax = plt.subplots(figsize=(9, 3), layout="constrained")
picture = ax.imshow(
    table / np.maximum(table.max(axis=0), 1e-9), aspect="auto", cmap="viridis"
)
ax.set(xlabel="marker gene, ten of each type", ylabel="cluster", xticks=[])
figure.colorbar(picture, label="relative level")
plt.show()
