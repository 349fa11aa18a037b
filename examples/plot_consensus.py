"""
How certain is a label?
=======================

`ConsensusKernelKMeans` combines twenty fits. The share of fits that agree on a row
says how certain its label is.
"""

# %%
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from akkm import ConsensusKernelKMeans

X, y = load_digits(return_X_y=True)
model = ConsensusKernelKMeans(10, random_state=0).fit(X)

# %%
# A label is wrong here if most digits of its cluster belong to another class. Labels
# on which the fits agree are rarely wrong.
majority = np.array([np.bincount(y[model.labels_ == k]).argmax() for k in range(10)])
wrong = majority[model.labels_] != y
edges = [0, 0.6, 0.8, 0.95, 1]
names, shares = [], []
for low, high in pairwise(edges):
    rows = (model.agreement_ > low) & (model.agreement_ <= high)
    names.append(f"{low} to {high}\n{rows.sum()} rows")
    shares.append(100 * wrong[rows].mean())
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.bar(names, shares)
ax.set(xlabel="share of fits that agree", ylabel="wrong labels, %")
plt.show()
