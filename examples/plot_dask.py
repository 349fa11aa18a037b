"""
Dask
====

A fit also takes Dask arrays and data frames. With an active `dask.distributed` client,
workers process the rows. In each iteration, only sums travel over the network. Without
a client, Dask's scheduler in this process computes the partitions. The labels are the
same.
"""

# %%
import dask.array as da
import matplotlib.pyplot as plt
from sklearn.datasets import make_circles

from akkm import ApproxKernelKMeans

X, y = make_circles(100_000, factor=0.3, noise=0.1, random_state=0)
rows = da.from_array(X, chunks=(20_000, 2))
model = ApproxKernelKMeans(2, random_state=0).fit(rows)
model.labels_

# %%
# `labels_` and the results of `predict` are Dask arrays, computed when needed.
sample = rows[:5000].compute()
labels = model.predict(rows[:5000]).compute()
figure, ax = plt.subplots(figsize=(4, 4), layout="constrained")
ax.scatter(*sample.T, c=labels, s=2, cmap="coolwarm")
ax.scatter(*model.landmarks_.T, c="black", s=4, label="landmarks")
ax.set(aspect="equal", xticks=[], yticks=[])
ax.legend(loc="upper right")
plt.show()
