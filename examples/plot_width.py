"""
The width of the kernel
=======================

The parameter `gamma` decides which rows count as near each other. A larger gamma means
a narrower kernel. The default, ``"scale"``, is a good start, but not always right.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import make_circles

from akkm import ApproxKernelKMeans

X, y = make_circles(5000, factor=0.3, noise=0.1, random_state=0)
figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
for ax, gamma in zip(axes, ("median", "scale", 20, 1000), strict=True):
    model = ApproxKernelKMeans(2, gamma=gamma, random_state=0).fit(X)
    ax.scatter(*X.T, c=model.labels_, s=2, cmap="coolwarm")
    width = f"{gamma} = {model.kernel_.gamma:.2g}" if isinstance(gamma, str) else gamma
    ax.set(title=f"gamma: {width}", aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# A wide kernel (left) behaves like k-means, and cuts the ring in two. A narrow kernel
# (right) sees only the nearest rows, and the clusters become arbitrary. Errors of
# different widths are not comparable, so try a few widths and look at the clusters.
