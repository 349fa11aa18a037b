"""
Rows that fit no cluster
========================

With `coverage` below 1, `ClusterLayers` leaves the least certain rows without a
cluster. They get the label -1. A new row that is as uncertain gets -1, too.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import akkm

X, y = load_digits(return_X_y=True)
model = akkm.ClusterLayers(10, coverage=0.95, random_state=0).fit(X)
outside = np.flatnonzero(model.labels_ == -1)
print(f"{len(outside)} of {len(X)} digits get no cluster")

# %%
# Digits with the lowest certainty, and digits with the highest:
order = np.argsort(model.certainty_)
figure, axes = plt.subplots(2, 12, figsize=(10, 2.2), layout="constrained")
for row, chosen, title in zip(
    axes, (order[:12], order[-12:]), ("uncertain", "certain"), strict=True
):
    for ax, i in zip(row, chosen, strict=True):
        ax.imshow(X[i].reshape(8, 8), cmap="Greys")
        ax.set(xticks=[], yticks=[], title=f"{model.certainty_[i]:.2f}")
    row[0].set_ylabel(title)
plt.show()

# %%
# Without the uncertain digits, clusters agree better with the classes:
inside = model.labels_ >= 0
everything = akkm.ClusterLayers(10, random_state=0).fit(X)
for name, labels, rows in (
    ("all digits", everything.labels_, slice(None)),
    ("95 % of the digits", model.labels_, inside),
):
    print(f"{name}: NMI {akkm.metrics.nmi(y[rows], labels[rows]):.3f}")
