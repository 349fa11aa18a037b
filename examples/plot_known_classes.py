"""
Ten answers improve the clusters
================================

Semi-supervised clustering uses the classes of a few rows. Here, someone labels ten
digits. The fit then follows these answers, and finds better clusters for the others.
"""

# %%
# A fit without answers:
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import akkm

X, y = load_digits(return_X_y=True)
chosen = np.isin(y, (1, 7, 8, 9))  # digits that are often confused
X, y = X[chosen], y[chosen]
model = akkm.ApproxKernelKMeans(4, random_state=0).fit(X)
before = akkm.metrics.nmi(y, model.labels_)

# %%
# Ask for the classes of ten rows: typical and uncertain rows of each cluster.
certainty = model.certainty(X)
asked = []
for cluster in range(4):
    own = np.flatnonzero(model.labels_ == cluster)
    own = own[np.argsort(certainty[own])]
    asked += [own[-1], own[0], own[len(own) // 4]]
asked = asked[:10]
figure, axes = plt.subplots(1, 10, figsize=(10, 1.5), layout="constrained")
for ax, i in zip(axes, asked, strict=True):
    ax.imshow(X[i].reshape(8, 8), cmap="Greys")
    ax.set(title=str(y[i]), xticks=[], yticks=[])

# %%
# Fit again with the answers:
answers = {int(i): int(y[i]) for i in asked}
guided = akkm.ApproxKernelKMeans(4, random_state=0).fit(X, known=answers)
after = akkm.metrics.nmi(y, guided.labels_)
print(f"NMI without answers {before:.3f}, with ten answers {after:.3f}")

# %%
# Each cluster has the name of a class:
guided.label_names_
