"""
Two moons: akkm and k-means
===========================

k-means separates clusters by straight lines. No straight line separates two moons.
`DiffusionKernelKMeans` follows chains of near rows instead, so the shape of a cluster
does not matter.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons

import akkm

X, y = make_moons(2000, noise=0.06, random_state=0)
methods = {
    "k-means": KMeans(2, n_init=10, random_state=0),
    "ApproxKernelKMeans": akkm.ApproxKernelKMeans(2, gamma=5, random_state=0),
    "DiffusionKernelKMeans": akkm.DiffusionKernelKMeans(2, random_state=0),
}
figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
for ax, (name, method) in zip(axes, methods.items(), strict=True):
    labels = method.fit_predict(X)
    score = akkm.metrics.adjusted_rand_index(y, labels)
    ax.scatter(*X.T, c=labels, s=4, cmap="coolwarm")
    ax.set(title=f"{name}\nARI {score:.2f}", xticks=[], yticks=[])
plt.show()

# %%
# ARI is 1 if a method finds the true clusters, and 0 if its clusters are unrelated to
# them. New points go to the cluster of their neighbours:
methods["DiffusionKernelKMeans"].predict([[0.0, 1.0], [1.0, -0.5]])
